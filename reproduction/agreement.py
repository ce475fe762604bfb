"""Whether a finished cell agrees with the figure that a paper prints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from reproduction.readings import Readings, Record, numbers
from reproduction.study import Printed, Quantity, Study, at_place


def agrees(record: Record, quantity: Quantity, printed: Printed) -> bool | None:
    """Return whether ours is close enough; None where there is nothing to compare.

    Close enough is within two of the paper's standard deviations, or within the quantity's
    tolerance if the paper gives none; and always within the rounding of what it prints.
    """
    found = record["values"].get(quantity.value)
    tolerance, mean = quantity.tolerance, printed.mean
    if tolerance is None or mean is None or found is None or isinstance(found, str):
        return None
    allowed = tolerance * abs(mean) if quantity.relative else tolerance
    if printed.spread is not None:
        allowed = 2.0 * printed.spread
    difference = abs(statistics.fmean(numbers(found)) - mean)
    return not math.isnan(difference) and difference <= max(allowed, quantity.rounding) + 1e-12


def unexplained(study: Study, readings: Readings) -> Iterator[str]:
    """Yield the places where ours differs from the paper's and no reason is stated."""
    for table in study.tables:
        for quantity in table.quantities:
            for (row, column), printed in quantity.paper.items():
                if at_place(quantity.not_compared, row, column) is not None:
                    continue
                if at_place(quantity.reasons, row, column) is not None:
                    continue
                if readings.status(table.name, row, column) != "done":
                    continue
                record = readings.record(table.name, row, column)
                if record is not None and agrees(record, quantity, printed) is False:
                    yield f"{study.name} {table.label}: {row}, {column}: {quantity.title}"
