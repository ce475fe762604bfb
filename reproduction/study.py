"""What a paper's module says: cells, quantities, tables, claims, and the paper's own figures."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from reproduction.readings import Readings

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
    reasons : mapping of (row, column) to Reason
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
    reasons: Mapping[Place, Reason] = field(default_factory=dict)
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


class Difference(NamedTuple):
    """A figure of ours that differs from the paper's."""

    row: str
    column: str
    quantity: Quantity
    printed: Printed


@dataclass(frozen=True)
class Reason:
    """Why figures differ from the paper's, or that this is not known, with a test.

    Attributes
    ----------
    text : str
    test : function of Readings and Difference to Verdict
        The test of an explanation changes what the text names: it holds if this gives the paper's
        figure. The test of an unknown cause searches what the text names: it holds if nothing there
        gives the paper's figure. It raises NotRun (as Readings does) if the cells that it needs are
        not there.
    unknown : bool
        The text says what was searched without finding the paper's figure. Otherwise it explains
        the difference.
    """

    text: str
    test: Callable[[Readings, Difference], Verdict]
    unknown: bool = False


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


@dataclass(frozen=True)
class Places:
    """Where a run keeps its files.

    Attributes
    ----------
    root : Path
        The repository, or another folder.
    """

    root: Path

    @property
    def cells(self) -> Path:
        """Finished cells, one file each, by which a run is resumed."""
        return self.root / "reproduction" / "cells"

    @property
    def results(self) -> Path:
        """What the page is made from, one file per paper."""
        return self.root / "reproduction" / "results"

    @property
    def pictures(self) -> Path:
        """The pictures of the page."""
        return self.root / "reproduction" / "pictures"

    @property
    def page(self) -> Path:
        """The page."""
        return self.root / "REPRODUCTION.md"
