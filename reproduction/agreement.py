"""Whether finished cells agree with the figures that a paper prints, and why they do not."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reproduction.readings import Readings, Record, numbers
from reproduction.study import (
    Difference,
    NotRun,
    Printed,
    Quantity,
    Reason,
    Study,
    Table,
    Verdict,
    at_place,
    verdict,
)

Test = Callable[[Readings, Difference], Verdict]


def agrees(record: Record, quantity: Quantity, printed: Printed) -> bool | None:
    """Return whether ours is close enough; None where there is nothing to compare."""
    found = record["values"].get(quantity.value)
    if quantity.tolerance is None or printed.mean is None or isinstance(found, str | None):
        return None
    return is_close(statistics.fmean(numbers(found)), quantity, printed)


def is_close(found: float, quantity: Quantity, printed: Printed) -> bool:
    """Return whether a figure is within what the quantity allows of what the paper prints.

    Close enough is within two of the paper's standard deviations, or within the quantity's
    tolerance if the paper gives none; and always within the rounding of what it prints.
    """
    mean, tolerance = printed.mean or 0.0, quantity.tolerance or 0.0
    allowed = tolerance * abs(mean) if quantity.relative else tolerance
    if printed.spread is not None:
        allowed = 2.0 * printed.spread
    difference = abs(found - mean)
    return not math.isnan(difference) and difference <= max(allowed, quantity.rounding) + 1e-12


class Compared(NamedTuple):
    """A figure that is compared: its table, where it stands, whether it agrees, or why not."""

    table: Table
    place: Difference
    agrees: bool
    reason: Reason | None


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
                    place = Difference(row, column, quantity, printed)
                    yield Compared(table, place, close, reason)


def unexplained(study: Study, readings: Readings) -> Iterator[str]:
    """Yield the places where ours differs from the paper's and no reason is stated."""
    for table, (row, column, quantity, _), agreed, reason in compared(study, readings):
        if not agreed and reason is None:
            yield f"{study.name} {table.label}: {row}, {column}: {quantity.title}"


def check_reason(reason: Reason, readings: Readings, place: Difference) -> Verdict:
    """Return what the test of a reason finds of one difference."""
    try:
        return reason.test(readings, place)
    except NotRun:
        return Verdict("not run", "")


def moved(found: float, place: Difference) -> Verdict:
    """Return whether a changed computation gives the paper's figure."""
    quantity, printed = place.quantity, place.printed
    figure = f"{found:{quantity.form}} against the paper's {printed.mean or 0.0:{quantity.form}}"
    return verdict(is_close(found, quantity, printed), figure)


def by_cell(table: str, *, column: str | None = None, value: str | None = None) -> Test:
    """Return a test that takes its figure from the same row of another table of the study."""

    def test(readings: Readings, place: Difference) -> Verdict:
        at = place.column if column is None else column
        return moved(readings.mean(table, place.row, at, value or place.quantity.value), place)

    return test
