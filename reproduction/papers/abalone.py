"""Why Abalone has two columns more than the papers count: its sex is in three."""

from __future__ import annotations

from reproduction.agreement import moved
from reproduction.readings import Readings
from reproduction.study import Difference, Reason, Verdict

N_SEXES = 3


def _one_column(readings: Readings, place: Difference) -> Verdict:
    """Return whether the sex as one column gives the number of columns in Table 1."""
    found = readings.mean("1", place.row, place.column, place.quantity.value)
    return moved(found - N_SEXES + 1, place)


SEX = Reason("The sex is one-hot, in three columns; the paper counts one column.", _one_column)
