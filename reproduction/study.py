"""A paper as cells, tables and claims, and the values of its finished cells."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

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


def key_of(function: str, config: Mapping[str, Any]) -> str:
    """Return what tells a computation from others."""
    return f"{function} {json.dumps(config, sort_keys=True)}"


@dataclass(frozen=True)
class Cell:
    """One computation, in a process of its own, with limits.

    Attributes
    ----------
    row, column : str
        The place in the table. Cells of several tables with the same `run` and `config` are
        computed once.
    run : function
        A function of a module: ``run(**config)`` returns a mapping of names to a number, a list of
        numbers (folds, repeats, points of a curve) or text. It raises DatasetNotFoundError or
        MissingLibraryError if something is absent.
    config : mapping
        Keyword arguments that JSON can hold.
    timed : bool
        It reports times: it runs while no other cell runs.
    full : bool
        It runs with ``--full`` only.
    seconds, memory : float
        The limits, in seconds and in GiB, of a cell that does not need ``--full``; others have two
        hours and 12 GiB. A cell that passes one is printed as a star.
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
        """The limits in seconds and in GiB."""
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

    Attributes
    ----------
    value : str
        The name in the values that `run` returns; of a list, mean and standard deviation are shown.
    title : str
    paper : mapping of (row, column) to Printed
    form : str
        The format of a number, such as ".3f".
    tolerance : float or None
        Ours agrees with the paper's within two of its standard deviations, or, if it gives none,
        within this; and within the rounding of what it prints. None: not compared, as times are.
    relative : bool
        The tolerance is a share of the paper's figure.
    reasons : mapping of (row, column) to str
        Why ours differs from the paper's; `ANY` stands for every row or column.
    not_compared : mapping of (row, column) to str
        Why data or protocol are not the paper's, so that agreement would mean nothing.
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


@dataclass(frozen=True)
class Table:
    """A table or a figure of a paper.

    Attributes
    ----------
    name : str
        As the command line takes it: "3", "fig2".
    title : str
    cells : tuple of Cell
        Rows and columns are shown in the order of their first cell.
    quantities : tuple of Quantity
        With one column of cells, quantities become the columns; else an entry has all of them.
    note : str
        What differs from the paper's protocol, in Markdown.
    draw : function of Study to a matplotlib figure, or None
        It raises NotRun if there is nothing to draw.
    row_title : str
        The heading of the first column.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    quantities: tuple[Quantity, ...]
    note: str = ""
    draw: Callable[[Study], Any] | None = None
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
    """A claim that the paper rests on.

    Attributes
    ----------
    text : str
    check : function of Study to Verdict
        It raises NotRun if the cells that it needs are not there.
    note : str
        Why it does not hold, if that is known.
    threshold : str
        How the figure that decides was chosen, if it was changed after results were seen. The page
        says it whatever the verdict.
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
    """A paper: its tables and claims, and the records of its finished cells.

    Attributes
    ----------
    name : str
        As ``--paper`` takes it.
    title, citation : str
    tables : tuple of Table
    claims : tuple of Claim
    note : str
        What holds for all of its tables, in Markdown.
    records : dict of keys to records
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


def spread(values: list[float]) -> float:
    """Return the standard deviation; NaN of fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else math.nan
