"""About what a query costs pair by pair, in one interval, or by boxes, in nanoseconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

NEAR_PAIR, PAIR, DIRECT_ROW = 0.6, 2.0, 25.0
"""Nanoseconds a pair of logistic scores that meet without an exponential, of others, and a row.

The mean of a gradient and a Hessian product, as all costs here.
"""
BOXED_QUERY, BOXED_ROW, BOXED_LEVEL = 25_000.0, 4.0, 1_500.0
"""Nanoseconds of a box sum: a query, a row, a level (or edge) with boxes of its own.

Measured with normal scores at eps 1e-6, as all of these: at 500 rows of 2 levels 34 us, at 2000 of
20 levels 65, at 5000 of 5 levels 46.
"""
SPANNED_ROW, SPANNED_LEVEL = (6.0, 0.7), (50.0, 0.6)
"""Nanoseconds of a sum in one interval: a row and times its terms, a level and times their square.

At 100 rows of 5 levels and 16 terms 2.6 us, where pairs take 5.2 (logistic) and 12 (probit); at 300
rows 7, by pairs 25 and 71; at 1000 rows 18, by boxes 30.
"""
USUAL_TERMS = 16.0
"""Terms of scores of spread 6 at eps 1e-6."""
EXACT = 1.3
"""Sums in one interval must be so many times faster than pairs, which are exact."""
SMALL_LEVEL_ROW, SMALL_EDGE_PAIR = 28.0, 10.0
"""Nanoseconds a row of levels that share boxes, and a pair of edges that have none."""


def pairs_of_queries(levels: Levels) -> FloatArray:
    """Return the number of preferences of each query, (n_queries,), as float64."""
    sizes = np.diff(levels.group_start).astype(np.float64)
    if levels.edges is None:
        rows = np.diff(levels.query_start).astype(np.float64)
        return (rows * rows - _by_query(levels, sizes * sizes)) / 2.0
    low, high = levels.edges.T
    return _by_query_of(levels, low, sizes[low] * sizes[high])


def direct_cost(levels: Levels, kind: int) -> FloatArray:
    """Return about what each query costs pair by pair, in nanoseconds, (n_queries,)."""
    from pairrank.compiled.sigmoid import LOGISTIC

    a_pair = NEAR_PAIR if kind == LOGISTIC and levels.weight is None else PAIR
    return a_pair * pairs_of_queries(levels) + DIRECT_ROW * np.diff(levels.query_start)


def boxed_cost(levels: Levels) -> FloatArray:
    """Return about what each query costs by boxes, in nanoseconds, (n_queries,)."""
    from pairrank.pair_sums.box_grid import LARGE_EDGE, LARGE_LEVEL

    sizes = np.diff(levels.group_start).astype(np.float64)
    cost = BOXED_QUERY + BOXED_ROW * np.diff(levels.query_start)
    if levels.edges is None:
        large = sizes >= LARGE_LEVEL
        return cost + _by_query(levels, np.where(large, BOXED_LEVEL, SMALL_LEVEL_ROW * sizes))
    low, high = levels.edges.T
    pairs = sizes[low] * sizes[high]
    of_edge = np.where(pairs > LARGE_EDGE, BOXED_LEVEL, SMALL_EDGE_PAIR * pairs)
    return cost + _by_query_of(levels, low, of_edge)


def spanned_cost(levels: Levels, terms: float = USUAL_TERMS) -> FloatArray:
    """Return about what each query costs in one interval, in nanoseconds, (n_queries,).

    Infinite under graphs that are not full, which such sums do not serve.
    """
    if levels.edges is not None:
        return np.full(levels.n_queries, np.inf)
    rows, groups = np.diff(levels.query_start), np.diff(levels.query_group)
    of_rows = (SPANNED_ROW[0] + SPANNED_ROW[1] * terms) * rows
    return of_rows + (SPANNED_LEVEL[0] + SPANNED_LEVEL[1] * terms**2) * groups


def most_terms(levels: Levels, otherwise: FloatArray) -> FloatArray:
    """Return up to how many terms one interval costs no more than `otherwise`, (n_queries,).

    How many it takes depends on the spread of the scores, which is known at each turn.
    """
    rows, groups = np.diff(levels.query_start), np.diff(levels.query_group)
    left = np.maximum(otherwise - spanned_cost(levels, 0.0), 0.0)
    square, linear = SPANNED_LEVEL[1] * groups, SPANNED_ROW[1] * rows
    return 2.0 * left / (linear + np.sqrt(linear**2 + 4.0 * square * left))


def _by_query(levels: Levels, of_groups: FloatArray) -> FloatArray:
    """Sum a value a group by query."""
    return _by_query_of(levels, np.arange(of_groups.size), of_groups)


def _by_query_of(levels: Levels, groups: IntArray, values: FloatArray) -> FloatArray:
    """Sum values that belong to groups by the groups' queries."""
    query_of_group = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_group))
    summed = np.bincount(query_of_group[groups], values, levels.n_queries)
    return summed.astype(np.float64)
