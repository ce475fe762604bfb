"""Approximate costs of a query, in nanoseconds: pair by pair, in one interval, or by boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.near_pairs import LARGEST_OFFSETS, partners_by_edges
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

LARGE_LEVELS = [250, 250]
"""Levels of at least so many rows have separate boxes, for logistic and for probit; smaller ones
share those of a segment, and the pairs within them are subtracted."""
LARGE_EDGE = 2_000
"""Edges of more pairs than this use boxes, others are summed pair by pair."""
JOB_PAIR, JOB_ROW, JOB_LEVEL = (0.25, 1.0), 9.0, (25.0, 60.0)
"""Nanoseconds by jobs: per pair of logistic (without row weights) and of probit; per row; and per
level. Pairs of a row fill whole vectors of eight.

All costs here are means of a gradient and a Hessian product.
"""
LANE_DISTANCE, LANE_ROW = (0.3, 0.78), (7.0, 4.0)
"""Nanoseconds of queries in lanes, of logistic and of probit: per row and other row of its query,
and per row. With 5 levels, 10 rows took 0.10 us and 0.12 us (by jobs 0.28 and 0.41), 32 rows 0.48
and 0.86 (by jobs 0.55 and 1.1), 64 rows 1.6 and 3.4 (by jobs 1.2 and 2.9)."""
OFFSET, OFFSET_ROW = (0.5, 1.5), 8.0
"""Nanoseconds per row and offset, of logistic and of probit, and per row, of edges of near rows."""
BOXED_QUERY, BOXED_ROW, BOXED_LEVEL = 25_000.0, 4.0, 1_500.0
"""Nanoseconds of a box sum per query, per row, and per level (or edge) with separate boxes.

All costs here were measured with normal scores at eps 1e-6: 500 rows of 2 levels took 34 us, 2000
rows of 20 levels 65, and 5000 rows of 5 levels 46.
"""
SPANNED_ROW, SPANNED_LEVEL = (4.0, 0.2), (40.0, 0.2)
"""Nanoseconds of a sum in one interval: per row, and per row and term; per level, and per level and
squared number of terms. The rows of a level count as whole vectors of eight.

With 5 levels and 16 to 20 terms, 100 rows took 1.2 us (by pairs 1.7 for logistic and 6.5 for
probit), 300 rows 2.6 (by pairs 9 and 47), and 1000 rows 7 (by boxes 30).
"""
VECTOR = 8
"""The rows of a vector; `compiled._lane_series.LANES`, without loading numba."""
USUAL_TERMS = 16.0
"""The number of terms for scores of spread 6 at eps 1e-6."""
EXACT = 1.3
"""The speed-up that a sum in one interval needs over pairs, which are exact."""
LEAST_SPANNED_ROWS = 48
"""Smaller queries are summed exactly, which takes about as long."""
SMALL_LEVEL_ROW, TIED_ROW = 8.0, 6.0
"""Nanoseconds per row of levels that share boxes, and at most for the pairs within its level."""
MOST_SPANNED_ROWS = 8192
"""Larger queries are not summed in one interval: their terms would leave the cache."""


def pairs_of_queries(levels: Levels, edges: IntArray | None = None) -> FloatArray:
    """Return the number of preferences of each query, (n_queries,), as float64.

    They are those of `edges` (low group, high group) only, if given.
    """
    edges = levels.edges if edges is None else edges
    sizes = np.diff(levels.group_start).astype(np.float64)
    if edges is None:
        rows = np.diff(levels.query_start).astype(np.float64)
        return (rows * rows - _by_query(levels, sizes * sizes)) / 2.0
    low, high = edges.T
    return _by_query_of(levels, low, sizes[low] * sizes[high])


def direct_cost(levels: Levels, kind: int) -> FloatArray:
    """Return the approximate nanoseconds of each query pair by pair, (n_queries,)."""
    if levels.edges is None:
        return np.minimum(*_ways_of_queries(levels, kind))
    return _by_query_of(levels, levels.edges[:, 0], _edge_cost(levels, kind, levels.edges))


def are_in_lanes(levels: Levels, kind: int) -> NDArray[np.bool_]:
    """Return which queries cost less in lanes than by jobs under the full graph, (n_queries,)."""
    in_lanes, by_jobs = _ways_of_queries(levels, kind)
    return in_lanes < by_jobs


def _ways_of_queries(levels: Levels, kind: int) -> tuple[FloatArray, FloatArray]:
    """Return the approximate nanoseconds of each query in lanes, and by jobs, (n_queries,)."""
    k = kind if levels.weight is None else 1
    rows = np.diff(levels.query_start).astype(np.float64)
    groups = np.diff(levels.query_group)
    lower = levels.group_start[:-1] - np.repeat(levels.query_start[:-1], groups)
    sizes = np.diff(levels.group_start)
    pairs = _by_query(levels, sizes * (-(-lower // VECTOR) * float(VECTOR)))
    in_lanes = (LANE_ROW[k] + LANE_DISTANCE[k] * rows) * rows
    return in_lanes, JOB_PAIR[k] * pairs + JOB_ROW * rows + JOB_LEVEL[k] * groups


def _edge_cost(levels: Levels, kind: int, edges: IntArray) -> FloatArray:
    """Return the approximate nanoseconds of each edge pair by pair, (n_edges,)."""
    low, high = edges.T
    sizes = np.diff(levels.group_start).astype(np.float64)
    a_pair = JOB_PAIR[kind] if levels.weight is None else JOB_PAIR[1]
    by_jobs = a_pair * sizes[low] * sizes[high] + JOB_ROW * (sizes[low] + sizes[high])
    _, near = partners_by_edges(levels, edges, LARGEST_OFFSETS[kind])
    by_offsets = (OFFSET_ROW + OFFSET[kind] * (sizes[low] + sizes[high])) * sizes[low]
    return np.where(near, by_offsets, by_jobs)


def boxed_cost(levels: Levels, kind: int) -> FloatArray:
    """Return the approximate nanoseconds of each query by boxes, (n_queries,)."""
    sizes = np.diff(levels.group_start).astype(np.float64)
    cost = BOXED_QUERY + BOXED_ROW * np.diff(levels.query_start)
    if levels.edges is None:
        small = (SMALL_LEVEL_ROW + np.minimum(0.5 * JOB_PAIR[kind] * sizes, TIED_ROW)) * sizes
        return cost + _by_query(levels, np.where(sizes >= LARGE_LEVELS[kind], BOXED_LEVEL, small))
    low, high = levels.edges.T
    of_edge = np.where(
        sizes[low] * sizes[high] > LARGE_EDGE, BOXED_LEVEL, _edge_cost(levels, kind, levels.edges)
    )
    return cost + _by_query_of(levels, low, of_edge)


def spanned_cost(levels: Levels, terms: float = USUAL_TERMS) -> FloatArray:
    """Return the approximate nanoseconds of each query in one interval, (n_queries,).

    The cost is infinite for small and very large queries, and for graphs other than the full one,
    which such sums do not support.
    """
    if levels.edges is not None:
        return np.full(levels.n_queries, np.inf)
    places, groups = _places_of_queries(levels), np.diff(levels.query_group)
    rows = np.diff(levels.query_start)
    is_spanned = (rows >= LEAST_SPANNED_ROWS) & (rows <= MOST_SPANNED_ROWS)
    places = np.where(is_spanned, places, np.inf)
    of_rows = (SPANNED_ROW[0] + SPANNED_ROW[1] * terms) * places
    return of_rows + (SPANNED_LEVEL[0] + SPANNED_LEVEL[1] * terms**2) * groups


def most_terms(levels: Levels, otherwise: FloatArray) -> FloatArray:
    """Return the number of terms up to which one interval costs at most `otherwise`, (n_queries,).

    The number of terms that is needed depends on the spread of the scores.
    """
    places, groups = _places_of_queries(levels), np.diff(levels.query_group)
    left = np.maximum(otherwise - spanned_cost(levels, 0.0), 0.0)
    square, linear = SPANNED_LEVEL[1] * groups, SPANNED_ROW[1] * places
    return 2.0 * left / (linear + np.sqrt(linear**2 + 4.0 * square * left))


def _places_of_queries(levels: Levels) -> FloatArray:
    """Return the rows of each query if every level fills whole vectors, (n_queries,)."""
    sizes = np.diff(levels.group_start)
    return _by_query(levels, -(-sizes // VECTOR) * float(VECTOR))


def _by_query(levels: Levels, of_groups: FloatArray) -> FloatArray:
    """Sum values per group by query."""
    return _by_query_of(levels, np.arange(of_groups.size), of_groups)


def _by_query_of(levels: Levels, groups: IntArray, values: FloatArray) -> FloatArray:
    """Sum values of the given groups by query."""
    query_of_group = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_group))
    summed = np.bincount(query_of_group[groups], values, levels.n_queries)
    return summed.astype(np.float64)
