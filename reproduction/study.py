"""A paper as cells, tables and claims, the values of its finished cells, and their file."""

from __future__ import annotations

import json
import math
import os
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pairrank.exceptions import FileFormatError

ANY = "*"
"""Stands for every row, or every column, in `reasons` and `not_compared`."""

Place = tuple[str, str]
"""A row and a column of a table."""

Record = Mapping[str, Any]
"""A finished cell as JSON holds it: function, config, status, values, limits and where it ran."""


class NotRun(Exception):
    """A cell is not there: not run yet, without data, or beyond its limit."""


class Printed(NamedTuple):
    """A figure that a paper prints, with its standard deviation; None is the paper's star."""

    mean: float | None
    spread: float | None = None


STAR = Printed(None)


def printed_of(
    columns: Sequence[str], figures: Mapping[str, Sequence[Any]]
) -> dict[Place, Printed]:
    """Return the figures of some columns by row: each a mean, or a mean and its deviation."""
    return {
        (row, column): Printed(*figure) if isinstance(figure, tuple) else Printed(figure)
        for row, line in figures.items()
        for column, figure in zip(columns, line, strict=False)
    }


def key_of(function: str, config: Mapping[str, Any]) -> str:
    """Return what tells a computation from others."""
    return f"{function} {json.dumps(config, sort_keys=True)}"


@dataclass(frozen=True)
class Cell:
    """One computation, in a process of its own, with limits.

    ``run(**config)`` returns a mapping of names to a number, a list of numbers (folds, repeats,
    points of a curve) or text; JSON can hold both mappings. It raises DatasetNotFoundError or
    ImportError if something is absent. Cells of several tables with the same `run` and
    `config` are computed once. While a `timed` cell runs, no other does; a `full` one runs with
    ``--full`` only. Limits are in seconds and GiB; a cell that passes one is printed as a star.
    """

    row: str
    column: str
    run: Callable[..., Mapping[str, Any]]
    config: Mapping[str, Any] = field(default_factory=dict)
    timed: bool = False
    full: bool = False
    seconds: float = 120.0
    memory: float = 4.0

    @property
    def limits(self) -> tuple[float, float]:
        """The limits in seconds and in GiB: those given, or of a full cell 2 hours and 12 GiB."""
        return (7200.0, 12.0) if self.full else (self.seconds, self.memory)

    @property
    def function(self) -> str:
        """The function as text, "module:name"."""
        return f"{self.run.__module__}:{self.run.__qualname__}"

    @cached_property
    def key(self) -> str:
        """What tells the computation from others."""
        return key_of(self.function, self.config)


@dataclass(frozen=True)
class Quantity:
    """What a table shows of its cells' values, beside the paper's figures.

    `value` is a name in what `run` returns; of a list, mean and standard deviation are shown. Ours
    agrees with the paper's within two of its standard deviations, or, if it gives none, within the
    tolerance (a share of the figure if `relative`), and within the rounding of what it prints.
    Without a tolerance, figures are not compared, as times are. `reasons` say why ours differs, and
    `not_compared` why data or protocol are not the paper's, so that agreement would mean nothing.
    """

    value: str
    title: str
    paper: Mapping[Place, Printed] = field(default_factory=dict)
    form: str = ".3f"
    tolerance: float | None = None
    relative: bool = False
    reasons: Mapping[Place, str] = field(default_factory=dict)
    not_compared: Mapping[Place, str] = field(default_factory=dict)

    def text(self, value: Any) -> str:
        """Return a value as text: a number, mean ± deviation of a list, or text as it is."""
        if isinstance(value, str):
            return value
        found = numbers(value)
        mean = f"{statistics.fmean(found):{self.form}}"
        return mean if len(found) == 1 else f"{mean} ± {spread(found):{self.form}}"

    def agrees(self, record: Record, printed: Printed) -> bool | None:
        """Return whether ours is close to the paper's; None where there is nothing to compare."""
        found = record["values"].get(self.value)
        if self.tolerance is None or printed.mean is None or isinstance(found, str | None):
            return None
        allowed = self.tolerance * (abs(printed.mean) if self.relative else 1.0)
        if printed.spread is not None:
            allowed = 2.0 * printed.spread
        digits = re.search(r"\.(\d+)f$", self.form)
        rounding = 0.5 * 10.0 ** -int(digits[1]) if digits else 0.0
        difference = abs(statistics.fmean(numbers(found)) - printed.mean)
        return difference <= max(allowed, rounding) + 1e-12


class Curve(NamedTuple):
    """A value with many numbers, drawn against another, or against the steps + 1."""

    value: str
    title: str
    against: str = ""
    is_log: bool = False


@dataclass(frozen=True)
class Table:
    """A table or a figure of a paper; its name is as the command line takes it: "3", "fig2".

    Rows and columns are shown in the order of their first cell. With one column of cells,
    quantities become the columns; else an entry has all of them. `note` says in Markdown what
    differs from the paper's protocol. A picture has a row of axes for each curve, one for each row
    of the table.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    quantities: tuple[Quantity, ...]
    note: str = ""
    curves: tuple[Curve, ...] = ()
    row_title: str = ""

    @property
    def label(self) -> str:
        """The name as the paper has it: "Table 3", "Figure 2"."""
        return f"Figure {self.name[3:]}" if self.name.startswith("fig") else f"Table {self.name}"

    @cached_property
    def places(self) -> dict[Place, Cell]:
        """The cells by row and column."""
        return {(cell.row, cell.column): cell for cell in self.cells}

    @property
    def rows(self) -> list[str]:
        """The rows in order."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        """The columns in order."""
        return list(dict.fromkeys(cell.column for cell in self.cells))


class Verdict(NamedTuple):
    """What a claim's check found, with its figures as text."""

    holds: bool
    figure: str


@dataclass(frozen=True)
class Claim:
    """A claim that the paper rests on; `check` raises NotRun if cells that it needs are not there.

    `note` says why it does not hold, if that is known; `threshold` how the figure that decides was
    chosen, if it was changed after results were seen. The page says that whatever the verdict.
    """

    text: str
    check: Callable[[Study], Verdict]
    note: str = ""
    threshold: str = ""

    def judge(self, study: Study) -> tuple[str, str]:
        """Return "holds", "does not hold" or "not run", and the figures with notes behind them."""
        try:
            found = self.check(study)
        except NotRun:
            return "not run", ""
        parts = [found.figure, self.threshold, "" if found.holds else self.note]
        shown = ". ".join(part.rstrip(".") for part in parts if part)
        return "holds" if found.holds else "does not hold", shown


@dataclass(frozen=True)
class Study:
    """A paper: its tables and claims, and the records of its finished cells by their keys.

    Its name is as ``--paper`` takes it; its note holds for all of its tables, in Markdown.
    """

    name: str
    title: str
    citation: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...] = ()
    note: str = ""
    records: dict[str, Record] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """Return a table by its name."""
        return next(table for table in self.tables if table.name == name)

    def record(self, table: str, row: str, column: str) -> Record | None:
        """Return a cell's record, also of one beyond its limit; None if there is none."""
        cell = self.table(table).places.get((row, column))
        return None if cell is None else self.records.get(cell.key)

    def status(self, table: str, row: str, column: str) -> str:
        """Return "done", "time", "memory", "failed", "absent", or "not run"."""
        record = self.record(table, row, column)
        return "not run" if record is None else str(record["status"])

    def values(self, table: str, row: str, column: str, name: str) -> list[float]:
        """Return a value as a list; NotRun if the cell is not done."""
        record = self.record(table, row, column)
        if record is None or record["status"] != "done":
            raise NotRun(f"{table}: {row}, {column}")
        return numbers(record["values"][name])

    def mean(self, table: str, row: str, column: str, name: str) -> float:
        """Return the mean of a value; NotRun if the cell is not done."""
        return statistics.fmean(self.values(table, row, column, name))

    def done(self, table: str) -> list[Cell]:
        """Return the cells of a table that are done; NotRun if there is none."""
        cells = self.table(table).cells
        found = [cell for cell in cells if self.status(table, cell.row, cell.column) == "done"]
        if not found:
            raise NotRun(table)
        return found

    def pairs(
        self, table: str, first: str, second: str, name: str
    ) -> list[tuple[str, float, float]]:
        """Return (row, value in the first column, value in the second) of rows that have both."""
        found = [
            (row, self.mean(table, row, first, name), self.mean(table, row, second, name))
            for row in self.table(table).rows
            if self.status(table, row, first) == self.status(table, row, second) == "done"
        ]
        if not found:
            raise NotRun(f"{table}: {first} beside {second}")
        return found

    def line(self, table: str, row: str, name: str, columns: Iterable[str]) -> dict[str, float]:
        """Return a value of those of some columns that are done, by column."""
        return {
            column: self.mean(table, row, column, name)
            for column in columns
            if self.status(table, row, column) == "done"
        }

    def gains(self, table: str, first: str, second: str, name: str) -> dict[str, float]:
        """Return the first column's value less the second's, by row; see `pairs`."""
        return {row: one - two for row, one, two in self.pairs(table, first, second, name)}


def at_place(notes: Mapping[Place, str], row: str, column: str) -> str | None:
    """Return the note of a place, the most special first."""
    for place in ((row, column), (row, ANY), (ANY, column), (ANY, ANY)):
        if place in notes:
            return notes[place]
    return None


def numbers(found: Any) -> list[float]:
    """Return a stored value as a list of numbers; None stands for NaN."""
    listed = found if isinstance(found, list) else [found]
    return [math.nan if each is None else each for each in listed]


def ends(values: Iterable[float], form: str) -> str:
    """Return the least and the largest of some values as text."""
    found = list(values)
    return f"{min(found):{form}} to {max(found):{form}}"


def spread(values: list[float]) -> float:
    """Return the standard deviation; NaN of fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else math.nan


def read_records(path: Path) -> dict[str, Record]:
    """Return the finished cells of a file by their keys: a list in JSON, one cell per line."""
    try:
        records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return {key_of(each["function"], each["config"]): each for each in records}
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path}: not finished cells ({error}); remove it") from None


def write_records(path: Path, records: Mapping[str, Record]) -> None:
    """Write the records to a temporary file, one per line, and move it into place."""
    lines = ",\n".join(json.dumps(records[key]) for key in sorted(records))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    temporary.replace(path)
