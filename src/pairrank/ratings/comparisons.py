"""Comparisons of named items, checked, coded and added up."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import _validation as validation
from pairrank._arrays import as_array, as_float_array, is_missing
from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics._inputs import check_flags
from pairrank.preferences.pair_inputs import name_codes, pair_codes

_DAY = np.timedelta64(1, "D")
_PER_ROW = ("tie", "weight", "multiplicity", "covariates")


class Comparisons(NamedTuple):
    """Comparisons of positive weight.

    items: the names, (n_items,); winner, loser: codes into them, (m,); tie: whether neither won;
    weight: as given, times the decay by age; multiplicity: as given, else 1; covariates:
    (m, p), with their names; group: codes of groups, or None.
    """

    items: NDArray[Any]
    winner: NDArray[np.int32]
    loser: NDArray[np.int32]
    tie: NDArray[np.bool_]
    weight: FloatArray
    multiplicity: FloatArray
    covariates: FloatArray
    covariate_names: NDArray[Any]
    group: NDArray[np.int32] | None

    @property
    def n_comparisons(self) -> FloatArray:
        """The comparisons of each item by weight; a tie counts as one."""
        both = np.concatenate((self.winner, self.loser))
        twice = np.tile(self.multiplicity, 2)
        return np.bincount(both, twice, self.items.size).astype(np.float64)

    @property
    def squares(self) -> FloatArray:
        """The sum of the squared weights of the comparisons that each entry stands for.

        If all multiplicities are whole numbers, k equal comparisons are k entries of 1 / k of the
        weight; otherwise each entry is one comparison.
        """
        square = self.weight**2
        is_whole = (self.multiplicity == np.rint(self.multiplicity)).all()
        return square / self.multiplicity if is_whole else square


def check_comparisons(
    winner: Any,
    loser: Any,
    *,
    tie: Any = None,
    weight: Any = None,
    covariates: Any = None,
    groups: Any = None,
    time: Any = None,
    half_life: Any = None,
) -> Comparisons:
    """Return checked comparisons; those whose weight is 0 are dropped, with their items.

    A PairrankError names the first row that is wrong. Costs O(m) for m comparisons.
    """
    items, first, second = pair_codes(winner, loser)
    size = first.size
    if not size:
        raise NoPairsError("there is no comparison: winner and loser are empty")
    is_tie = np.zeros(size, dtype=bool) if tie is None else check_flags(tie, "tie", size)
    count = validation.check_weights(weight, size, "weight")
    count = np.ones(size) if count is None else count
    features, names = _check_covariates(covariates, size)
    group = None if groups is None else name_codes(groups, "groups")[1]
    if group is not None:
        validation.check_length(group, "groups", size)
    decayed = count * decay(time, half_life, size)
    found = Comparisons(items, first, second, is_tie, decayed, count, features, names, group)
    return found if decayed.all() else _kept(found, decayed > 0)


def decay(time: Any, half_life: Any, size: int) -> FloatArray:
    """Return 0.5^(age / half_life) for each time; the age is counted from the latest time."""
    if half_life is None and time is None:
        return np.ones(size)
    if half_life is None:
        raise PairrankError("time is used with half_life only: set half_life, or leave time out")
    if time is None:
        raise PairrankError("half_life needs the time of each comparison: pass time to fit")
    instants = _instants(time, size)
    ages = instants.max() - instants
    if ages.dtype.kind == "m":
        ages = ages / _DAY
        if isinstance(half_life, (datetime.timedelta, np.timedelta64)):
            half_life = _days(half_life)
    elif isinstance(half_life, (datetime.timedelta, np.timedelta64)):
        raise PairrankError("half_life is a duration, but time holds numbers: pass dates")
    validation.check_number(half_life, "half_life")
    with np.errstate(under="ignore", over="ignore"):
        return np.exp2(-(ages / float(half_life)))


def _days(duration: Any) -> float:
    try:
        return float(np.timedelta64(duration) / _DAY)
    except TypeError:
        raise PairrankError(
            f"half_life is {duration!r}, but months and years differ in length: give days"
        ) from None


def _instants(time: Any, size: int) -> NDArray[Any]:
    """Return times as float64, or as datetime64 if they are dates or ISO text.

    Text is numbers if all of it is: "2020" is the year 2020, not the start of it.
    """
    array = as_array(time, "time")
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1:
        raise PairrankError(f"time must have one dimension, got shape {array.shape}")
    validation.check_length(array, "time", size)
    if array.dtype.kind in "OUST":
        values = array.tolist()
        _refuse_missing(np.array([is_missing(each) for each in values]))
        numeric = np.array([_is_number(each) for each in values])
        if numeric.any() and not numeric.all():
            row = int(numeric.argmax())
            raise PairrankError(
                f"time mixes numbers and dates: row {row} holds {values[row]!s}; give all as "
                "dates, or all as numbers"
            )
        array = array.astype(np.float64) if numeric.all() else array
    if array.dtype.kind not in "MOUST":
        return validation.check_numbers(array, "time", size)
    try:
        with warnings.catch_warnings():
            # numpy turns times of a zone into UTC, as ages need, and warns.
            warnings.filterwarnings("ignore", "no explicit representation of timezones")
            warnings.filterwarnings("ignore", "parsing timezone aware datetimes")
            dates = array.astype("datetime64[us]")
    except (TypeError, ValueError) as error:
        raise PairrankError(f"time must hold numbers or ISO dates: {error}") from None
    _refuse_missing(np.isnat(dates))
    return dates


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_missing(missing: NDArray[np.bool_]) -> None:
    if missing.any():
        row = int(missing.argmax())
        raise PairrankError(f"time is missing in row {row}; give it, or drop the row")


def _check_covariates(covariates: Any, size: int) -> tuple[FloatArray, NDArray[Any]]:
    if covariates is None:
        return np.empty((size, 0)), np.empty(0, dtype="<U1")
    names = getattr(covariates, "columns", None)
    if names is None and isinstance(getattr(covariates, "name", None), str):
        names = [covariates.name]
    if isinstance(covariates, Mapping):
        names, columns = list(covariates), list(covariates.values())
        columns = [
            validation.check_numbers(column, f"covariate {name!r}", size)
            for name, column in zip(names, columns, strict=True)
        ]
        covariates = np.column_stack(columns) if columns else np.empty((size, 0))
    array = as_float_array(covariates, "covariates")
    array = np.ascontiguousarray(array[:, None] if array.ndim == 1 else array)
    if array.ndim != 2:
        raise PairrankError(f"covariates must have two dimensions, got shape {array.shape}")
    validation.check_length(array, "covariates", size)
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.unravel_index(int(np.argmin(finite)), array.shape)
        raise PairrankError(
            f"covariates are not finite in row {row}, column {column}; drop the row, or give 0 if "
            "neither item has the advantage"
        )
    labels = [f"x{at}" for at in range(array.shape[1])] if names is None else map(str, names)
    return array, np.array(list(labels), dtype=str)


def _kept(found: Comparisons, keep: NDArray[np.bool_]) -> Comparisons:
    """Return the comparisons of a mask, and only the items that they name."""
    first, second = found.winner[keep], found.loser[keep]
    present = np.zeros(found.items.size, dtype=bool)
    present[first] = present[second] = True
    place = (np.cumsum(present) - 1).astype(np.int32)
    per_row = {name: getattr(found, name)[keep] for name in _PER_ROW}
    group = None if found.group is None else found.group[keep]
    ends = {"items": found.items[present], "winner": place[first], "loser": place[second]}
    return found._replace(**ends, **per_row, group=group)


WIN, TIE, LOSS = 0, 1, 2
"""The outcomes of a margin, seen from its first item."""


class Margins(NamedTuple):
    """Distinct pairs of items with equal covariates, and what happened between them.

    design: (K, n_items + p), +1 for the first item, -1 for the second, then the covariates seen
    from the first, in units of `unit`; its product with scores and effects is the margin d.
    weight: the weight of each outcome, (3, K); square: the sum of the squared weights of its
    comparisons, repeated ones one by one. place, outcome: the margin and the outcome of each
    comparison.
    """

    n_items: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    design: sparse.csr_array
    unit: FloatArray
    weight: FloatArray
    square: FloatArray
    place: NDArray[np.int64]
    outcome: NDArray[np.int8]


def add_up(found: Comparisons) -> Margins:
    """Return the margins of comparisons; O(m log m)."""
    n_items = found.items.size
    swapped = found.winner > found.loser
    low, high = np.minimum(found.winner, found.loser), np.maximum(found.winner, found.loser)
    keys, place = np.unique(low.astype(np.int64) * n_items + high, return_inverse=True)
    sign = np.where(swapped, -1.0, 1.0)
    oriented = found.covariates * sign[:, None]
    for column in oriented.T:
        values, code = np.unique(column, return_inverse=True)
        keys, place = np.unique(place * values.size + code, return_inverse=True)
    size = keys.size
    of_margin = np.empty(size, dtype=np.int64)
    of_margin[place] = np.arange(place.size)
    first, second = low[of_margin].astype(np.int64), high[of_margin].astype(np.int64)
    outcome = np.where(found.tie, TIE, np.where(swapped, LOSS, WIN)).astype(np.int8)
    cell = outcome.astype(np.int64) * size + place
    totals = (np.bincount(cell, w, 3 * size) for w in (found.weight, found.squares))
    weight, square = (total.astype(np.float64).reshape(3, size) for total in totals)
    largest = np.abs(oriented).max(axis=0)
    largest[largest == 0.0] = 1.0
    unit = largest * np.sqrt(np.mean((oriented / largest) ** 2, axis=0))
    unit[unit == 0.0] = 1.0
    design = _design(first, second, oriented[of_margin] / unit, n_items)
    return Margins(n_items, first, second, design, unit, weight, square, place, outcome)


def _design(
    first: NDArray[np.int64], second: NDArray[np.int64], covariates: FloatArray, n_items: int
) -> sparse.csr_array:
    size, width = covariates.shape
    columns = np.empty((size, 2 + width), dtype=np.int64)
    values = np.empty((size, 2 + width))
    columns[:, 0], columns[:, 1], columns[:, 2:] = first, second, n_items + np.arange(width)
    values[:, 0], values[:, 1], values[:, 2:] = 1.0, -1.0, covariates
    starts = np.arange(size + 1) * (2 + width)
    shape = (size, n_items + width)
    return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)
