"""What commands show: progress on a terminal, tables and JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pairrank.blocks.local_passes import Reading

_COMPILING = "(compiles for this machine, once)"


class Progress:
    """A line on standard error that says what is done, with new seconds all the time.

    It is shown on a terminal only, unless quiet, and removed at the end. It is a callback of
    solvers; elsewhere than on a terminal each of their iterations is a line that stays. The line
    says so when functions had to be compiled.
    """

    def __init__(self, doing: str = "fitting", *, quiet: bool) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self.is_shown = self.console.is_terminal and not quiet
        self._doing, self._done, self._pass = doing, "", ""
        self._start, self._n_compiled = time.monotonic(), n_compiled()
        self._live = Live(
            console=self.console,
            get_renderable=lambda: Text(self.text, no_wrap=True, overflow="ellipsis"),
            transient=True,
        )

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        if self.is_shown:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @property
    def text(self) -> str:
        """The line now."""
        seconds = f"{time.monotonic() - self._start:.0f} s"
        compiling = _COMPILING if n_compiled() > self._n_compiled else ""
        return "  ".join(filter(None, (self._doing, self._done, self._pass, seconds, compiling)))

    def keep(self, message: str) -> None:
        """Print a line that stays."""
        self.console.print(Text(message), soft_wrap=True)

    def __call__(self, step: Any) -> None:
        """Show one iteration: a `Step`."""
        left = ""
        if not math.isnan(step.gap):
            left = f"  gap {step.gap:.3g}"
        elif not math.isnan(step.gradient_norm):
            left = f"  gradient {step.gradient_norm:.3g}"
        self._doing, self._done = f"{step.n_iter:4d}", f"objective {step.value:.6g}{left}"
        if not self.is_shown:
            self.keep(f"{self._doing}  {self._done}  {step.seconds:.2f} s")

    def reading(self, reading: Reading) -> None:
        """Show how far a pass over blocks has come: a hook of RowBlocks."""
        of_all = "" if reading.all_blocks is None else f" of {reading.all_blocks:,}"
        self._pass = (
            f"pass {reading.number}: {reading.n_blocks:,}{of_all} blocks, {reading.n_rows:,} rows, "
            f"{decimal(reading.n_bytes)}"
        )

    def read(self, n_bytes: int, size: int, n_rows: int) -> None:
        """Show how much of a file is read: a callback of `read_rows`; 0 is unknown."""
        of_all = f" of {decimal(size)}" if size else ""
        self._done = f"{decimal(n_bytes)}{of_all}{f'  {n_rows:,} rows' if n_rows else ''}"


def n_compiled() -> int:
    """Return how many functions this process has compiled; 0 where none was needed yet."""
    count = getattr(sys.modules.get("pairrank.compiled._jit"), "n_compiled", None)
    return 0 if count is None else int(count())


def print_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output; NaN and infinity become null."""
    text = json.dumps(record, default=lambda value: value.tolist())
    typer.echo(json.dumps(json.loads(text, parse_constant=lambda _: None)))


def report(
    title: str, summary: Mapping[str, Any], output: str, *, quiet: bool, as_json: bool
) -> None:
    """Show a summary after the output is written."""
    if as_json:
        print_json(summary)
    elif not quiet:
        print_facts(title, summary, err=output == "-")


def print_facts(title: str, record: Mapping[str, Any], *, err: bool = False) -> None:
    """Print a table of names and values."""
    print_table(title, ["", ""], record.items(), err=err)


def print_table(
    title: str, columns: list[str], rows: Iterable[Iterable[Any]], *, err: bool = False
) -> None:
    """Print a table with text in the first column and numbers in the others."""
    table = Table(show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(figure(each)) for each in row))
    console = Console(stderr=err)
    console.print(Text(title), soft_wrap=True)
    console.print(table)


def print_lines(*lines: str) -> None:
    """Print lines as they are."""
    Console().print(Text("\n".join(lines)), soft_wrap=True)


def figure(value: Any) -> str:
    """Return a value as text for a table: integers in full, other numbers to six digits."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
