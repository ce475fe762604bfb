"""Whether finished cells agree with the figures that a paper prints, and why they do not."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

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
    difference = abs(found - (printed.mean or 0.0))
    return not math.isnan(difference) and difference <= allowed(quantity, printed) + 1e-12


def allowed(quantity: Quantity, printed: Printed) -> float:
    """Return the largest difference from what the paper prints that still agrees with it."""
    tolerance = quantity.tolerance or 0.0
    if quantity.relative:
        tolerance *= abs(printed.mean or 0.0)
    if printed.spread is not None:
        tolerance = 2.0 * printed.spread
    return max(tolerance, quantity.rounding)


def farthest(found: Mapping[str, float], paper: Mapping[str, tuple[float, float]]) -> float:
    """Return the largest distance of figures from the paper's: name -> (figure, unit)."""
    return max(abs(found[name] - mean) / unit for name, (mean, unit) in paper.items())


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


class Tested(NamedTuple):
    """What is known of a difference, by the test of its reason; with the figures of the test."""

    state: Literal["explained", "cause unknown", "refuted", "not tested"]
    figure: str


def without_reason(study: Study, readings: Readings) -> Iterator[str]:
    """Yield the places where ours differs from the paper's and no reason is stated."""
    for table, (row, column, quantity, _), agreed, reason in compared(study, readings):
        if not agreed and reason is None:
            yield f"{study.name} {table.label}: {row}, {column}: {quantity.title}"


def check_reason(reason: Reason, readings: Readings, place: Difference) -> Tested:
    """Return what the test of a reason finds of one difference."""
    try:
        status, figure = reason.test(readings, place)
    except NotRun:
        return Tested("not tested", "")
    if status != "holds":
        return Tested("refuted" if status == "does not hold" else "not tested", figure)
    return Tested("cause unknown" if reason.unknown else "explained", figure)


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


def by_search(*tables: str, column: str | None = None, within: float = 1.0) -> Test:
    """Return a test that no alternative in searches gives the paper's figures together.

    A search is a cell in the same row of another table of the study, with the values "tried", the
    number of alternatives; "distance", the largest one from the paper's figures (see `farthest`) at
    the nearest alternative; and the figures there. Figures agree `within` a distance.
    """

    def test(readings: Readings, place: Difference) -> Verdict:
        at = place.column if column is None else column
        tried = sum(readings.mean(name, place.row, at, "tried") for name in tables)
        distance, name = min((readings.mean(n, place.row, at, "distance"), n) for n in tables)
        nearest = moved(readings.mean(name, place.row, at, place.quantity.value), place)
        return verdict(
            distance > within,
            f"the nearest of {tried:,.0f} alternatives gives {nearest.figure}, and differs by "
            f"{distance / within:.1f} times what agreement allows in one of the figures",
        )

    return test
