"""What a paper's module says, cells, tables and claims, and how these read finished cells."""

from __future__ import annotations

import hashlib
import json
import math
import re
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

ANY = "*"
"""Stands for every row, or every column, in `reasons` and `not_compared`."""

Place = tuple[str, str]
"""A row and a column of a table."""

Note = TypeVar("Note")


class Printed(NamedTuple):
    """A figure that a paper prints.

    Attributes
    ----------
    mean : float or None
        None is the paper's star: its method did not finish.
    spread : float or None
        Its standard deviation; None if the paper gives none.
    """

    mean: float | None
    spread: float | None = None


STAR = Printed(None)


@dataclass(frozen=True)
class Cell:
    """One computation, in a process of its own, with limits.

    Attributes
    ----------
    row, column : str
        The place in the table. Cells of several tables with the same `run`, `config` and `seed` are
        computed once.
    run : function
        A function of a module: ``run(**config, seed=seed)`` returns a mapping of names to a number,
        a list of numbers (folds, repeats, points of a curve) or text. It raises
        DatasetNotFoundError or MissingLibraryError if something is absent.
    config : mapping
        Keyword arguments that JSON can hold.
    seed : int
    timed : bool
        It reports times: it runs while no other cell runs.
    full : bool
        It runs with ``--full`` only.
    seconds, memory : float
        The limits, in seconds and in GiB. A cell that passes one is printed as a star.
    threads : int
        The threads of pairrank and of linear algebra.
    """

    row: str
    column: str
    run: Callable[..., Mapping[str, Any]]
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    timed: bool = False
    full: bool = False
    seconds: float = 120.0
    memory: float = 4.0
    threads: int = 1

    @property
    def function(self) -> str:
        """The function as text, "module:name"."""
        return f"{self.run.__module__}:{self.run.__qualname__}"

    @property
    def digest(self) -> str:
        """What tells the computation from others: function, configuration, seed, threads."""
        facts = [self.function, dict(self.config), self.seed, self.threads]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


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

    A quantity with "second" in its title is a time: it is marked if the machine was busy.
    """

    value: str
    title: str
    paper: Mapping[Place, Printed] = field(default_factory=dict)
    form: str = ".3f"
    tolerance: float | None = None
    relative: bool = False
    reasons: Mapping[Place, str] = field(default_factory=dict)
    not_compared: Mapping[Place, str] = field(default_factory=dict)

    @property
    def is_time(self) -> bool:
        """Whether it is a time."""
        return "second" in self.title

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit that is printed; 0 if that depends on the number."""
        digits = re.search(r"\.(\d+)f$", self.form)
        return 0.5 * 10.0 ** -int(digits[1]) if digits else 0.0


def at_place(notes: Mapping[Place, Note], row: str, column: str) -> Note | None:
    """Return the note of a place, the most special first."""
    for place in ((row, column), (row, ANY), (ANY, column), (ANY, ANY)):
        if place in notes:
            return notes[place]
    return None


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
    tiny : Cell
        A cell of seconds, for the tests: it returns every quantity's value.
    quantities : tuple of Quantity
        With one column of cells, quantities become the columns; else each has a table of its own.
        None for a figure that is shown as a picture only.
    note : str
        What differs from the paper's protocol, in Markdown.
    draw : function of Readings to a matplotlib figure, or None
        It raises NotRun if there is nothing to draw.
    row_title : str
        The heading of the first column.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    tiny: Cell
    quantities: tuple[Quantity, ...] = ()
    note: str = ""
    draw: Callable[[Readings], Any] | None = None
    row_title: str = ""

    @property
    def label(self) -> str:
        """The name as the paper has it: "Table 3", "Figure 2"."""
        return f"Figure {self.name[3:]}" if self.name.startswith("fig") else f"Table {self.name}"


class Verdict(NamedTuple):
    """What a claim's check found, with its figures as text."""

    status: Literal["holds", "does not hold", "not run"]
    figure: str


def verdict(holds: bool, figure: str) -> Verdict:
    """Return what a check found."""
    return Verdict("holds" if holds else "does not hold", figure)


@dataclass(frozen=True)
class Claim:
    """A claim that the paper rests on.

    Attributes
    ----------
    text : str
    check : function of Readings to Verdict
        It raises NotRun (as Readings does) if the cells that it needs are not there.
    note : str
        Why it does not hold, if that is known.
    threshold : str
        How the figure that decides was chosen, if it was changed after results were seen. The page
        says it whatever the verdict.
    """

    text: str
    check: Callable[[Readings], Verdict]
    note: str = ""
    threshold: str = ""


@dataclass(frozen=True)
class Study:
    """A paper: its tables and its claims.

    Attributes
    ----------
    name : str
        As ``--paper`` takes it.
    title, citation : str
    tables : tuple of Table
    claims : tuple of Claim
    note : str
        What holds for all of its tables, in Markdown.
    """

    name: str
    title: str
    citation: str
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...] = ()
    note: str = ""


class NotRun(Exception):
    """A cell is not there: not run yet, without data, or beyond its limit."""


Record = Mapping[str, Any]
"""A finished cell as JSON holds it: status, values, seconds, machine and others."""


class Readings:
    """The records of a study's cells, by table, row and column.

    Parameters
    ----------
    study : Study
    records : mapping of digests to records
    """

    def __init__(self, study: Study, records: Mapping[str, Record]) -> None:
        self._tables = {table.name: table for table in study.tables}
        self._records = records
        self._cells = {
            (table.name, cell.row, cell.column): cell
            for table in study.tables
            for cell in table.cells
        }

    def table(self, name: str) -> Table:
        """Return a table of the study."""
        return self._tables[name]

    def record(self, table: str, row: str, column: str) -> Record | None:
        """Return a cell's record, also of one beyond its limit; None if it was not run."""
        return self._records.get(self._cells[table, row, column].digest)

    def status(self, table: str, row: str, column: str) -> str:
        """Return "done", "time", "memory", "failed", "absent", or "not run"."""
        if (table, row, column) not in self._cells:
            return "not run"
        record = self.record(table, row, column)
        return "not run" if record is None else str(record["status"])

    def values(self, table: str, row: str, column: str, name: str) -> list[float]:
        """Return a value as a list; NotRun if the cell is not done."""
        if self.status(table, row, column) != "done":
            raise NotRun(f"{table}: {row}, {column}")
        record = self.record(table, row, column)
        found = record["values"][name] if record is not None else []
        return numbers(found)

    def mean(self, table: str, row: str, column: str, name: str) -> float:
        """Return the mean of a value; NotRun if the cell is not done."""
        return statistics.fmean(self.values(table, row, column, name))

    def done(self, table: str) -> list[Cell]:
        """Return the cells of a table that are done; NotRun if there is none."""
        cells = [
            cell
            for cell in self._tables[table].cells
            if self.status(table, cell.row, cell.column) == "done"
        ]
        if not cells:
            raise NotRun(table)
        return cells

    def pairs(
        self, table: str, first: str, second: str, name: str
    ) -> list[tuple[str, float, float]]:
        """Return (row, value in the first column, value in the second) of rows that have both."""
        found = [
            (row, self.mean(table, row, first, name), self.mean(table, row, second, name))
            for row in rows_of(self._tables[table])
            if self.status(table, row, first) == self.status(table, row, second) == "done"
        ]
        if not found:
            raise NotRun(f"{table}: {first} beside {second}")
        return found


def numbers(found: Any) -> list[float]:
    """Return a stored value as a list of numbers; None stands for NaN."""
    listed = found if isinstance(found, list) else [found]
    return [math.nan if each is None else each for each in listed]


def rows_of(table: Table) -> list[str]:
    """Return the rows of a table in order."""
    return list(dict.fromkeys(cell.row for cell in table.cells))


def columns_of(table: Table) -> list[str]:
    """Return the columns of a table in order."""
    return list(dict.fromkeys(cell.column for cell in table.cells))


def spread(values: list[float]) -> float:
    """Return the standard deviation; NaN of fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else math.nan
