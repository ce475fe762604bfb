"""Finished cells as claims, pictures and the page read them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

from reproduction.study import Cell, NotRun, Study, Table

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
