"""Comparisons of named items, checked, coded and added up."""

from __future__ import annotations

import contextlib
import datetime
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import _validation as validation
from pairrank._arrays import as_array, as_float_array
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
    if half_life is None or time is None:
        raise PairrankError(
            "half_life and time need one another: set half_life and pass time to fit, or leave "
            "both out"
        )
    instants = _instants(time, size)
    ages = instants.max() - instants
    is_duration = isinstance(half_life, (datetime.timedelta, np.timedelta64))
    with contextlib.suppress(TypeError):  # of months and years, which differ in length
        if ages.dtype.kind == "m" and is_duration:
            half_life, is_duration = float(np.timedelta64(half_life) / _DAY), False
    if is_duration:
        raise PairrankError(
            f"half_life is {half_life!r}: give a number, in units of time or in days, or with "
            "dates a duration in days"
        )
    validation.check_number(half_life, "half_life")
    ages = ages / _DAY if ages.dtype.kind == "m" else ages
    with np.errstate(under="ignore", over="ignore"):
        return np.exp2(-(ages / float(half_life)))


def _instants(time: Any, size: int) -> NDArray[Any]:
    """Return times as float64, or as datetime64 if they are dates or ISO text.

    Text is numbers if all of it is: "2020" is the year 2020, not the start of it.
    """
    array = as_array(time, "time")
    if array.ndim > 1 and array.shape != (size, 1):
        raise PairrankError(f"time must have one dimension, got shape {array.shape}")
    array = array.ravel()
    if array.dtype.kind in "OUST":
        values = array.tolist()
        kinds = [_is_number(each) for each in values]
        if kinds[:1] * len(kinds) != kinds:
            row = kinds.index(not kinds[0])
            raise PairrankError(
                f"time must hold numbers only or dates only, but row {row} holds {values[row]!r} "
                f"after {values[0]!r}"
            )
        array = array.astype(np.float64) if all(kinds) else array
    if array.dtype.kind not in "MOUST":
        return validation.check_numbers(array, "time", size)
    validation.check_length(array, "time", size)
    try:
        with warnings.catch_warnings():
            # numpy turns times of a zone into UTC, as ages need, and warns.
            warnings.filterwarnings("ignore", "no explicit representation of timezones")
            warnings.filterwarnings("ignore", "parsing timezone aware datetimes")
            dates = array.astype("datetime64[us]")
    except (TypeError, ValueError) as error:
        raise PairrankError(f"time must hold numbers or ISO dates: {error}") from None
    if np.isnat(dates).any():
        row = int(np.isnat(dates).argmax())
        raise PairrankError(f"time is missing in row {row}; give it, or drop the row")
    return dates


def _is_number(value: Any) -> bool:
    with contextlib.suppress(TypeError, ValueError):
        return float(value) is not None
    return False


def _check_covariates(covariates: Any, size: int) -> tuple[FloatArray, NDArray[Any]]:
    """Return checked covariates, (size, p), and their names; x0, x1, ... where there are none."""
    if covariates is None:
        return np.empty((size, 0)), np.empty(0, dtype="<U1")
    if isinstance(getattr(covariates, "name", None), str):
        covariates = {covariates.name: covariates}
    elif not isinstance(covariates, Mapping) and not hasattr(covariates, "columns"):
        array = as_float_array(covariates, "covariates")
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise PairrankError(f"covariates must have two dimensions, got shape {array.shape}")
        covariates = {f"x{at}": column for at, column in enumerate(array.T)}
    columns = {
        str(name): validation.check_numbers(covariates[name], f"covariate {str(name)!r}", size)
        for name in getattr(covariates, "columns", covariates)
    }
    array = np.array(list(columns.values())).reshape(len(columns), size).T
    return np.ascontiguousarray(array), np.array(list(columns), dtype=str)


def _kept(found: Comparisons, keep: NDArray[np.bool_]) -> Comparisons:
    """Return the comparisons of a mask, and only the items that they name."""
    per_row = {name: getattr(found, name)[keep] for name in _PER_ROW}
    both = np.concatenate((found.winner[keep], found.loser[keep]))
    present, codes = np.unique(both, return_inverse=True)
    winner, loser = np.split(codes.astype(np.int32), 2)
    group = None if found.group is None else found.group[keep]
    items = found.items[present]
    return found._replace(items=items, winner=winner, loser=loser, group=group, **per_row)


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
    unit = np.abs(oriented).max(axis=0)
    unit[unit == 0.0] = 1.0
    ends = np.column_stack((first, second))
    signs = sparse.csr_array(
        (np.tile([1.0, -1.0], size), ends.ravel(), np.arange(0, 2 * size + 1, 2)),
        shape=(size, n_items),
    )
    design = sparse.hstack([signs, oriented[of_margin] / unit], format="csr")
    return Margins(n_items, first, second, design, unit, weight, square, place, outcome)
