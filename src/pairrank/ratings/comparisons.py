"""Comparisons of named items, checked, coded and added up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import _validation as validation
from pairrank._arrays import as_float_array
from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics._inputs import check_flags
from pairrank.preferences.pair_inputs import name_codes, pair_codes


class Comparisons(NamedTuple):
    """Comparisons of positive weight.

    items: the names, (n_items,); winner, loser: codes into them, (m,); tie: whether neither won;
    weight: as given, else 1; covariates: (m, p), with their names; group: codes of groups, or None.
    """

    items: NDArray[Any]
    winner: NDArray[np.int32]
    loser: NDArray[np.int32]
    tie: NDArray[np.bool_]
    weight: FloatArray
    covariates: FloatArray
    covariate_names: NDArray[Any]
    group: NDArray[np.int32] | None

    @property
    def n_comparisons(self) -> FloatArray:
        """The comparisons of each item by weight; a tie counts as one."""
        both = np.concatenate((self.winner, self.loser))
        return np.bincount(both, np.tile(self.weight, 2), self.items.size).astype(np.float64)


def check_comparisons(
    winner: Any,
    loser: Any,
    *,
    tie: Any = None,
    weight: Any = None,
    covariates: Any = None,
    groups: Any = None,
) -> Comparisons:
    """Return checked comparisons; those whose weight is 0 are dropped, with their items.

    A PairrankError names the first row that is wrong. Costs O(m log m) for m comparisons.
    """
    items, first, second = pair_codes(winner, loser)
    size = first.size
    if not size:
        raise NoPairsError("there is no comparison: winner and loser are empty")
    is_tie = np.zeros(size, dtype=bool) if tie is None else check_flags(tie, "tie", size)
    count = validation.check_weights(weight, size, "weight")
    count = np.ones(size) if count is None else count
    features, names = checked_covariates(covariates, size)
    group = None if groups is None else name_codes(groups, "groups")[1]
    if group is not None:
        validation.check_length(group, "groups", size)
    kept = np.flatnonzero(count)
    present, codes = np.unique((first[kept], second[kept]), return_inverse=True)
    winner, loser = codes.reshape(2, -1).astype(np.int32)
    group = None if group is None else group[kept]
    return Comparisons(
        items[present], winner, loser, is_tie[kept], count[kept], features[kept], names, group
    )


def checked_covariates(
    covariates: Any, size: int, known: NDArray[Any] | None = None
) -> tuple[FloatArray, NDArray[Any]]:
    """Return checked covariates, (size, p), and their names.

    Columns without names have those of `known` if there are as many, else x0, x1, ...
    """
    if covariates is None:
        return np.empty((size, 0)), np.empty(0, dtype="<U1")
    if isinstance(getattr(covariates, "name", None), str):
        covariates = {covariates.name: covariates}
    elif not isinstance(covariates, Mapping) and not hasattr(covariates, "columns"):
        array = as_float_array(covariates, "covariates")
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise PairrankError(f"covariates must have two dimensions, got shape {array.shape}")
        names = [f"x{at}" for at in range(array.shape[1])]
        if known is not None and known.size == len(names):
            names = known.tolist()
        covariates = dict(zip(names, array.T, strict=True))
    columns = {
        str(name): validation.check_numbers(covariates[name], f"covariate {str(name)!r}", size)
        for name in getattr(covariates, "columns", covariates)
    }
    array = np.array(list(columns.values())).reshape(len(columns), size).T
    return np.ascontiguousarray(array), np.array(list(columns), dtype=str)


WIN, TIE, LOSS = 0, 1, 2
"""The outcomes of a margin, seen from its first item."""


class Margins(NamedTuple):
    """Distinct pairs of items with equal covariates, and what happened between them.

    design: (K, n_items + p), +1 for the first item, -1 for the second, then the covariates seen
    from the first, in units of `unit`; its product with scores and effects is the margin d.
    weight: the weight of each outcome, (3, K); square: the sum of the squared weights of its
    comparisons: if all weights are whole numbers, one of weight k is k comparisons of weight 1.
    place, outcome: the margin and the outcome of each comparison.
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
    is_whole = (found.weight == np.rint(found.weight)).all()
    squares = found.weight if is_whole else found.weight**2
    totals = (np.bincount(cell, each, 3 * size) for each in (found.weight, squares))
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
