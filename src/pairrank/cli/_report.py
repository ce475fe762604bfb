"""The output of commands: tables, JSON and the progress line."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pairrank.cli._errors import print_message
from pairrank.cli._process import silence_stdout
from pairrank.exceptions import PairrankError

_REFRESH = 0.1


def print_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output; NaN and infinity become null."""
    typer.echo(json.dumps(_plain(record), allow_nan=False))


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def report(
    title: str, summary: Mapping[str, Any], output: str, *, quiet: bool, as_json: bool
) -> None:
    """Show a summary after the output is written; warn if its table cannot be shown."""
    try:
        if as_json:
            print_json(summary)
        elif not quiet:
            print_facts(title, summary, err=output == "-")
            sys.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        silence_stdout()
        if as_json:
            raise PairrankError(
                f"{output} is written, but standard output does not take the JSON: "
                f"{error.strerror}; redirect it to a place that can be written"
            ) from None
        print_message(f"{output} is written; no summary: {error.strerror}.", kind="warning")


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


def announce_compiling(say: Callable[[str], None]) -> None:
    """Say once on standard error, if it is a terminal, when loops have to be compiled."""
    if Console(stderr=True).is_terminal:
        logger = logging.getLogger("pairrank")
        logger.addHandler(_Announcement(say))
        logger.setLevel(logging.INFO)


class _Announcement(logging.Handler):
    """Passes the messages of log records to a function."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Say one message."""
        self._say(record.getMessage())


def figure(value: Any) -> str:
    """Return a value as text for a table: integers in full, other numbers to six digits."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def gap_of(step: Any) -> float:
    """Return how far the objective may be above its minimum; NaN if the solver gives no bound."""
    if hasattr(step, "lower_bound"):
        return float(step.value - step.lower_bound)
    return float(step.gap)


class Progress:
    """The progress line on standard error: objective, duality gap or gradient norm, time.

    On a terminal one line is rewritten, and removed at the end; elsewhere each line stays. It is a
    context manager, and a callback of solvers and of `recommend`.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._rewrites = self._console.is_terminal and not quiet
        self._next = 0.0

    def __enter__(self) -> Self:
        if self._rewrites:
            self._live.start()
            announce_compiling(self.keep)
        return self

    def __exit__(self, *_: object) -> None:
        if self._rewrites:
            self._live.stop()

    def __call__(self, step: Any) -> None:
        """Show one iteration: a `Step`, or a `BoundStep`."""
        gap = gap_of(step)
        left = f"gradient {step.gradient_norm:.3g}" if math.isnan(gap) else f"gap {gap:.3g}"
        line = f"{step.n_iter:4d}  objective {step.value:.6g}  {left}  {step.seconds:.2f} s"
        if self._rewrites:
            self._rewrite(line)
        else:
            self.keep(line)

    def count(self, n_done: int, n_all: int) -> None:
        """Show how many users are done, on a terminal only."""
        if self._rewrites:
            self._rewrite(f"{n_done:,} of {n_all:,} users")

    def keep(self, line: str) -> None:
        """Print a line that stays."""
        self._console.print(Text(line), soft_wrap=True)

    def _rewrite(self, line: str) -> None:
        if time.monotonic() >= self._next:
            self._live.update(Text(line), refresh=True)
            self._next = time.monotonic() + _REFRESH
