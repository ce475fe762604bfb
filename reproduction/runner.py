"""Runs the cells that are missing: untimed ones side by side, then timed ones alone."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO

from reproduction.limits import is_busy, run_cell
from reproduction.page import as_text
from reproduction.store import Places, Store
from reproduction.study import Cell, Record, Study, Table


@dataclass(frozen=True)
class Choice:
    """Which cells to run.

    Attributes
    ----------
    tables : tuple of str
        Names; empty for every table.
    full : bool
        Also those of ``--full``.
    timed : bool
        Also timed ones.
    again_busy : bool
        Also those that other processes disturbed.
    """

    tables: tuple[str, ...] = ()
    full: bool = False
    timed: bool = True
    again_busy: bool = False

    def takes(self, table: Table, cell: Cell) -> bool:
        """Return whether a cell is among them."""
        named = not self.tables or table.name in self.tables
        return named and (self.full or not cell.full) and (self.timed or not cell.timed)


@dataclass(frozen=True)
class Work:
    """A cell to run, with where it is kept and shown."""

    study: Study
    table: Table
    cell: Cell
    store: Store

    @property
    def name(self) -> str:
        """What the progress line calls it."""
        place = f"{self.cell.row}, {self.cell.column}" if self.cell.column else self.cell.row
        return f"{self.study.name} {self.table.label}: {place}"


def missing(studies: Sequence[Study], places: Places, choice: Choice) -> list[Work]:
    """Return the cells to run; one of several tables only once.

    The studies take turns, each in proportion to its cells, so that a run of limited hours gets
    equally far in all of them.
    """
    placed: list[tuple[float, Work]] = []
    for study in studies:
        found: dict[str, Work] = {}
        store = Store(places, study)
        for table in study.tables:
            for cell in table.cells:
                record = store.find(cell) if choice.takes(table, cell) else {}
                again = record and choice.again_busy and is_busy(record)
                if record is None or again:
                    found.setdefault(cell.digest, Work(study, table, cell, store))
        placed += [(place / len(found), work) for place, work in enumerate(found.values())]
    return [work for _, work in sorted(placed, key=lambda each: each[0])]


@dataclass
class Runner:
    """Runs cells until all are done or the hours are over.

    A cell starts only if its time limit fits into what is left.

    Attributes
    ----------
    jobs : int
        How many untimed cells run side by side.
    hours : float
    out : text file
        Where progress goes.
    """

    jobs: int = 2
    hours: float = float("inf")
    out: IO[str] = field(default_factory=lambda: sys.stdout)

    def run(self, works: Sequence[Work]) -> list[Work]:
        """Run cells and keep their records; return those that did not fit into the hours."""
        self._start, self._done, self._total = time.monotonic(), 0, len(works)
        self._lock = threading.Lock()
        left: list[Work] = []
        with ThreadPoolExecutor(self.jobs) as pool:
            for late in pool.map(self._run_one, (work for work in works if not work.cell.timed)):
                left += late
        for work in works:
            if work.cell.timed:
                left += self._run_one(work)
        return left

    def _run_one(self, work: Work) -> list[Work]:
        """Run a cell; return it if it does not fit into the hours."""
        if time.monotonic() - self._start + work.cell.seconds > self.hours * 3600:
            return [work]
        record = run_cell(work.cell)
        with self._lock:
            work.store.keep(record)
            self._done += 1
            self._say(work, record)
        return []

    def _say(self, work: Work, record: Record) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        place = f"[{self._done:>4}/{self._total}  {minutes:>3}:{seconds:02}]"
        shown = "; ".join(_results(work.table, record)) or record["reason"]
        busy = "  (busy machine)" if is_busy(record) else ""
        print(f"{place} {work.name}: {shown}{busy}", file=self.out, flush=True)


def _results(table: Table, record: Record) -> Iterator[str]:
    """Yield what a finished cell found, in short."""
    if record["status"] != "done":
        return
    for quantity in table.quantities:
        if quantity.value in record["values"]:
            shown = as_text(record["values"][quantity.value], quantity.form)
            yield f"{quantity.title} {shown}"
    yield f"{record['seconds']:.1f} s"
