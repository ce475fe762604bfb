"""Whether finished cells agree with the figures that a paper prints, and why they do not."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import NamedTuple

from reproduction.study import Printed, Quantity, Readings, Record, Study, Table, at_place, numbers


def agrees(record: Record, quantity: Quantity, printed: Printed) -> bool | None:
    """Return whether ours is close enough; None where there is nothing to compare.

    Close enough is within two of the paper's standard deviations, or within the quantity's
    tolerance if the paper gives none; and always within the rounding of what it prints.
    """
    found = record["values"].get(quantity.value)
    if quantity.tolerance is None or printed.mean is None or isinstance(found, str | None):
        return None
    allowed = quantity.tolerance * (abs(printed.mean) if quantity.relative else 1.0)
    if printed.spread is not None:
        allowed = 2.0 * printed.spread
    difference = abs(statistics.fmean(numbers(found)) - printed.mean)
    return difference <= max(allowed, quantity.rounding) + 1e-12


class Compared(NamedTuple):
    """A figure that is compared: where it stands, whether it agrees, or why not."""

    table: Table
    row: str
    column: str
    quantity: Quantity
    agrees: bool
    reason: str | None


def compared(study: Study, readings: Readings) -> Iterator[Compared]:
    """Yield what is compared with the paper's figures."""
    for table in study.tables:
        for quantity in table.quantities:
            for (row, column), printed in quantity.paper.items():
                if at_place(quantity.not_compared, row, column) is not None:
                    continue
                if readings.status(table.name, row, column) != "done":
                    continue
                record = readings.record(table.name, row, column)
                close = None if record is None else agrees(record, quantity, printed)
                if close is not None:
                    reason = None if close else at_place(quantity.reasons, row, column)
                    yield Compared(table, row, column, quantity, close, reason)


def without_reason(study: Study, readings: Readings) -> Iterator[str]:
    """Yield the places where ours differs from the paper's and no reason is stated."""
    for each in compared(study, readings):
        if not each.agrees and each.reason is None:
            place = f"{each.row}, {each.column}: {each.quantity.title}"
            yield f"{study.name} {each.table.label}: {place}"
