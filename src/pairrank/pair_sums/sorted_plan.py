"""The work of a hinge sum by sorting: runs of groups pair by pair, and merges of sorted runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

SMALL_QUERY, ROWS_PER_LEVEL = 512, 32
"""Queries of at most this many rows, and rows per level, are summed pair by pair.

Measured ns per row of a gradient, a gradient with curvature, and a Hessian product, pair by pair:
15, 28 and 15 at 100 rows of 5 levels, 12, 28 and 14 at 100 rows of 2 levels, 41, 95 and 42 at 400
rows of 400 levels; sorted: 86, 140 and 12; 23, 28 and 5; 81, 145 and 41.
"""
LEAF_ROWS = 128
"""Groups of at most this many rows share a leaf of the tree, which is summed pair by pair."""
_NO_EDGES = np.empty((0, 2), dtype=np.int64)


class SortedPlan(NamedTuple):
    """The parts of a hinge sum over Levels; every pair belongs to exactly one. All are int64."""

    segments: IntArray
    """Ranges of places of the layout to sort separately, (n_segments, 2)."""
    runs: IntArray
    """Runs of groups that are summed pair by pair, (n_runs, 5); see `compiled.pair_runs`."""
    edges: IntArray
    """The edges (low group, high group) that runs refer to."""
    merges: IntArray
    """Merges of sorted runs of rows, (n_merges, 6); see `compiled.merges`."""
    starts: IntArray
    """Where the rows of each merge begin, and the end, (n_merges + 1,)."""


def plan_of(levels: Levels, *, by_pairs: bool) -> SortedPlan:
    """Divide the pairs; `by_pairs`: all pair by pair, whatever that costs.

    In queries that are not small the groups of the full graph form a tree; of other graphs, each
    edge is a merge of two groups. Costs O(groups + edges), and O(leaves log leaves) for trees.
    """
    query_group, edges = levels.query_group, levels.edges
    queries = np.arange(levels.n_queries)
    n_rows, n_groups = np.diff(levels.query_start), np.diff(query_group)
    small = (n_rows <= SMALL_QUERY) & (n_rows <= ROWS_PER_LEVEL * n_groups)
    small |= by_pairs
    if edges is None:
        bounds, some = np.full(query_group.size, -1), n_groups > 1
        leaves = _leaves(levels, ~small & some)
        segments = np.column_stack((levels.query_start[:-1], levels.query_start[1:]))
        segments = segments[~small & some]
        merges = _tree(levels.group_start, leaves)
    else:
        bounds = np.searchsorted(edges[:, 0], query_group)
        some = np.diff(bounds) > 0
        leaves = np.empty((0, 3), dtype=np.int64)
        query = np.repeat(queries, np.diff(bounds))
        large = ~small[query]
        groups = np.unique(edges[large])
        segments = levels.group_start[np.column_stack((groups, groups + 1))]
        ends = levels.group_start[edges[large][:, [0, 0, 1, 1]] + [0, 1, 0, 1]]
        merges = np.column_stack((ends, query[large], np.zeros(len(ends), dtype=np.int64)))
    runs = np.column_stack((query_group[:-1], query_group[1:], bounds[:-1], bounds[1:], queries))
    shared = leaves[leaves[:, 1] - leaves[:, 0] > 1]
    whole = np.full(len(shared), -1)
    sizes = merges[:, 1] - merges[:, 0] + merges[:, 3] - merges[:, 2]
    return SortedPlan(
        segments,
        np.concatenate(
            (runs[small & some], np.column_stack((shared[:, :2], whole, whole, shared[:, 2])))
        ),
        _NO_EDGES if edges is None else edges,
        merges,
        np.concatenate(([0], np.cumsum(sizes))),
    )


def _leaves(levels: Levels, chosen: NDArray[np.bool_]) -> IntArray:
    """Return the leaves (first group, last + 1, query) of each query chosen.

    A leaf is one large group, or the small ones between two of them that begin within `LEAF_ROWS`.
    """
    query = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_group))
    groups = np.flatnonzero(chosen[query])
    query, start = query[groups], levels.group_start[groups]
    stretch = (start - levels.query_start[query]) // LEAF_ROWS
    large = levels.group_start[groups + 1] - start > LEAF_ROWS
    begins = np.ones(groups.size, dtype=np.bool_)
    begins[1:] = (query[1:] != query[:-1]) | (stretch[1:] != stretch[:-1]) | large[1:] | large[:-1]
    first, last = np.flatnonzero(begins), np.flatnonzero(np.roll(begins, -1))
    return np.column_stack((groups[first], groups[last] + 1, query[first]))


def _tree(group_start: IntArray, leaves: IntArray) -> IntArray:
    """Return the merges of each query's leaves, parents first, each about halved by rows."""
    start, end, query = group_start[leaves[:, 0]], group_start[leaves[:, 1]], leaves[:, 2]
    begins = np.diff(query, prepend=-1) > 0
    low, high = np.flatnonzero(begins), np.flatnonzero(np.roll(begins, -1)) + 1
    found = [np.empty((0, 6), dtype=np.int64)]
    while low.size:
        low, high = low[high - low > 1], high[high - low > 1]
        half = (start[low] + end[high - 1]) // 2
        middle = np.clip(np.searchsorted(start, half), low + 1, high - 1)
        middle -= (middle > low + 1) & (half - start[middle - 1] < start[middle] - half)
        cut, splits = start[middle], np.ones(low.size, dtype=np.int64)
        found.append(np.column_stack((start[low], cut, cut, end[high - 1], query[low], splits)))
        low, high = np.concatenate((low, middle)), np.concatenate((middle, high))
    nodes = np.concatenate(found)
    return nodes[np.lexsort((-nodes[:, 3], nodes[:, 0]))]
