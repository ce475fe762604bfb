"""What people and machines get to see: tables, JSON, the progress line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text


def print_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output; NaN and infinity become null."""
    typer.echo(json.dumps({key: _plain(value) for key, value in record.items()}, allow_nan=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def print_facts(title: str, record: Mapping[str, Any], *, err: bool = False) -> None:
    """Print a table of names and values."""
    print_table(title, ["", ""], record.items(), err=err)


def print_table(
    title: str, columns: list[str], rows: Iterable[Iterable[Any]], *, err: bool = False
) -> None:
    """Print a table whose first column is text and whose others are figures."""
    table = Table(show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(figure(each)) for each in row))
    console = Console(stderr=err)
    console.print(Text(title), soft_wrap=True)
    console.print(table)


def figure(value: Any) -> str:
    """Return a value as a table shows it: counts in full, other numbers to six digits."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}"


def gap_of(step: Any) -> float:
    """Return what the objective may be above the least one; NaN where the solver has no bound."""
    if hasattr(step, "lower_bound"):
        return float(step.value - step.lower_bound)
    return float(step.gap)


class Progress:
    """The progress line on standard error: objective, duality gap or gradient norm, pairs, time.

    On a terminal one line is rewritten; elsewhere each iteration is a line. It is a callback of a
    solver and a context manager.
    """

    def __init__(self, *, quiet: bool, n_pairs: int) -> None:
        self.quiet = quiet
        self.n_pairs = n_pairs
        self._console = Console(stderr=True)
        self._live: Live | None = None

    def __enter__(self) -> Progress:
        if not self.quiet and self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, step: Any) -> None:
        """Show one iteration: a `Step`, or a `BoundStep`."""
        if self.quiet:
            return
        gap = gap_of(step)
        left = f"gradient {step.gradient_norm:.3g}" if math.isnan(gap) else f"gap {gap:.3g}"
        line = (
            f"{step.n_iter:4d}  objective {step.value:.6g}  {left}  "
            f"pairs {self.n_pairs:,}  {step.seconds:.2f} s"
        )
        if self._live is not None:
            self._live.update(Text(line))
        else:
            typer.echo(line, err=True)

    def keep(self, line: str) -> None:
        """Leave a line for good."""
        if not self.quiet:
            self._console.print(Text(line), soft_wrap=True)
