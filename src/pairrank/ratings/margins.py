"""Margins: equal comparisons added up, so that a fit costs as much as there are distinct ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank.ratings.comparisons import Comparisons, FloatArray

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
    """Return the margins of comparisons; O(m), and a sort where names or covariates are many."""
    n_items = found.items.size
    swapped = found.winner > found.loser
    low, high = np.minimum(found.winner, found.loser), np.maximum(found.winner, found.loser)
    keys, place = distinct(low.astype(np.int64) * n_items + high, n_items**2)
    sign = np.where(swapped, -1.0, 1.0)
    oriented = found.covariates * sign[:, None]
    for column in oriented.T:
        values, code = np.unique(column, return_inverse=True)
        keys, place = distinct(place * values.size + code, keys.size * values.size)
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


def distinct(keys: NDArray[np.int64], span: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys below `span`, sorted, and each key's place among them.

    O(keys + span) if the span is small beside the keys, else a sort.
    """
    if span > 4 * keys.size + (1 << 16):
        found, place = np.unique(keys, return_inverse=True)
        return found, place.astype(np.int64)
    present = np.zeros(span, dtype=bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


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
