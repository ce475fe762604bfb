"""The schedule of a hinge sum: near rows by distance, small runs, edges, or a tree of levels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.pair_sums.near_pairs import (
    Partners,
    Ranges,
    partners_by_edges,
    partners_in_queries,
    ranges_of,
    scale_by_group,
)
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

SMALL_QUERY, ROWS_A_LEVEL = 512, 32
"""Queries of at most this many rows, and rows per level, are summed pair by pair.

Measured ns per row of a gradient, a gradient with curvature, and a Hessian product, pair by pair:
15, 28 and 15 at 100 rows of 5 levels, 12, 28 and 14 at 100 rows of 2 levels, 41, 95 and 42 at 400
rows of 400 levels; sorted: 86, 140 and 12; 23, 28 and 5; 81, 145 and 41.
"""
NEAR_ROWS = 14
"""Pairs of rows at most this far apart in the layout are summed distance by distance, in loops over
hundreds of rows: whole queries of so many rows, and edges between so small groups."""
LEAF_ROWS = 48
"""Groups of at most this many rows share a leaf of the tree, which is summed pair by pair."""
FEW_GROUPS = 6
"""Up to this many levels, each pair of levels is an edge; more levels form a tree."""
_NO_EDGES = np.empty((0, 2), dtype=np.int64)


class Schedule(NamedTuple):
    """The parts of a hinge sum over Levels; every pair belongs to exactly one. All are int64."""

    segments: IntArray
    """Ranges of places of the layout to sort separately, (n_segments, 2)."""
    jobs: IntArray
    """Runs of groups that are summed pair by pair, (n_jobs, 5); see `compiled.sorted_blocks`."""
    job_edges: IntArray
    """The edges (low group, high group) that jobs refer to."""
    edges: IntArray
    """Pairs of sorted groups, (n_edges, 3); see `compiled.sorted_edges`."""
    nodes: IntArray
    """Merges of sorted runs, (n_nodes, 4); see `compiled.sorted_tree`."""
    tree_ranges: IntArray
    """The places of queries whose groups form a tree, (n_trees, 2)."""
    near: Ranges | None
    """The pairs of rows that lie near each other in the layout; see `compiled.hinge_offsets`."""

    @property
    def keeps_scores(self) -> bool:
        """Whether scores are needed after those of groups are sorted."""
        return len(self.jobs) > 0 or self.near is not None


def make_schedule(levels: Levels) -> Schedule:
    """Divide the work of gradients, or of products with the Hessian.

    Costs O(groups + edges), and O(leaves log leaves) for trees.
    """
    query_group, queries = levels.query_group, np.arange(levels.n_queries)
    n_rows, n_groups = np.diff(levels.query_start), np.diff(query_group)
    partners, tiny, edges = _near(levels, n_rows)
    if edges is None:
        bounds, n_edges = np.full(query_group.size, -1), np.where(tiny, 0, n_groups - 1)
    else:
        bounds = np.searchsorted(edges[:, 0], query_group)
        n_edges = np.diff(bounds)
    small = (n_rows <= SMALL_QUERY) & (n_rows <= ROWS_A_LEVEL * n_groups)
    many = n_groups > FEW_GROUPS if edges is None else n_groups < 0
    small, large = small & (n_edges > 0), ~small & (n_edges > 0)
    few = large & ~many
    if edges is None:
        merged, job_edges = _all_pairs(query_group, few), _NO_EDGES
    else:
        merged, job_edges = np.column_stack((edges, np.repeat(queries, n_edges))), edges
        merged = merged[few[merged[:, 2]]]
    leaves = _leaves(levels, large & many)
    groups = np.flatnonzero(np.repeat(few, n_groups))
    runs = (query_group[:-1], query_group[1:], bounds[:-1], bounds[1:], queries)
    shared = leaves[leaves[:, 1] - leaves[:, 0] > 1]
    whole = np.full(len(shared), -1)
    places = np.column_stack((levels.query_start[:-1], levels.query_start[1:]))
    return Schedule(
        segments=levels.group_start[
            np.concatenate((np.column_stack((groups, groups + 1)), leaves[:, :2]))
        ],
        jobs=np.concatenate(
            (
                np.column_stack(runs)[small],
                np.column_stack((shared[:, :2], whole, whole, shared[:, 2])),
            )
        ),
        job_edges=job_edges,
        edges=merged,
        nodes=_merges(levels.group_start, leaves),
        tree_ranges=places[large & many],
        near=None if partners is None else _ranges(levels, partners),
    )


def _ranges(levels: Levels, partners: Partners) -> Ranges:
    return ranges_of(levels, partners, scale_by_group(levels, partners))


def _near(
    levels: Levels, n_rows: IntArray
) -> tuple[Partners | None, NDArray[np.bool_], IntArray | None]:
    """Return the partners of near rows, which queries are summed by them, and the edges left."""
    edges, tiny = levels.edges, np.zeros(n_rows.size, dtype=np.bool_)
    if edges is None:
        tiny = n_rows <= NEAR_ROWS + 1
        partners = partners_in_queries(levels, np.flatnonzero(tiny))
        return (partners if partners.end.any() else None), tiny, None
    partners, near = partners_by_edges(levels, edges, NEAR_ROWS)
    return (partners if near.any() else None), tiny, np.ascontiguousarray(edges[~near])


def _all_pairs(query_group: IntArray, chosen: NDArray[np.bool_]) -> IntArray:
    """Return every pair (low, high, query) of groups within each query chosen, sorted."""
    n_groups = np.diff(query_group)
    query = np.repeat(np.arange(n_groups.size), n_groups)
    group = np.flatnonzero(chosen[query])
    n_above = query_group[query[group] + 1] - group - 1
    low = np.repeat(group, n_above)
    high = low + 1 + np.arange(low.size) - np.repeat(np.cumsum(n_above) - n_above, n_above)
    return np.column_stack((low, high, query[low]))


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


def _merges(group_start: IntArray, leaves: IntArray) -> IntArray:
    """Return the merges of each query's leaves, children first, each about halved by rows.

    A merge is its first row, the first row of its upper half, its end, and its query.
    """
    start, end, query = group_start[leaves[:, 0]], group_start[leaves[:, 1]], leaves[:, 2]
    begins = np.diff(query, prepend=-1) > 0
    low, high = np.flatnonzero(begins), np.flatnonzero(np.roll(begins, -1)) + 1
    found = [np.empty((0, 4), dtype=np.int64)]
    while low.size:
        low, high = low[high - low > 1], high[high - low > 1]
        half = (start[low] + end[high - 1]) // 2
        middle = np.clip(np.searchsorted(start, half), low + 1, high - 1)
        middle -= (middle > low + 1) & (half - start[middle - 1] < start[middle] - half)
        found.append(np.column_stack((start[low], start[middle], end[high - 1], query[low])))
        low, high = np.concatenate((low, middle)), np.concatenate((middle, high))
    nodes = np.concatenate(found)
    return nodes[np.lexsort((-nodes[:, 0], nodes[:, 2]))]
