"""Exact sigmoidal sums: near rows of the layout by their offset, other pairs by jobs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid_pairs import ALL_LOWER, EARLIER
from pairrank.pair_sums import sigmoid_pairs
from pairrank.pair_sums.costs import are_in_lanes, pairs_of_queries
from pairrank.pair_sums.near_pairs import (
    LARGEST_OFFSETS,
    IntArray,
    partners_by_edges,
    partners_in_groups,
    partners_in_queries,
    scale_by_group,
)
from pairrank.pair_sums.sigmoid_offsets import OffsetSum
from pairrank.pair_sums.sigmoid_pairs import JobSum, StatelessSum
from pairrank.preferences import Levels

TIED_ROWS = 4096
"""The approximate number of rows of a job of ties."""


class ExactSum(StatelessSum):
    """The sum of other sums of pairs."""

    def __init__(self, parts: list[StatelessSum]) -> None:
        self.parts = parts

    def add(self, order: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the sums of `Derivative`; see `StatelessSum.add`."""
        return sum(part.add(order, scores, v, result) for part in self.parts)


class SigmoidPairs(ExactSum):
    """The pairs of some queries, under any order graph, weights and scales.

    `eps` is ignored, because the sum is exact.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        edges = levels.edges
        parts: list[StatelessSum] = []
        if edges is None:
            small = are_in_lanes(levels, kind)[queries]
            partners, queries = partners_in_queries(levels, queries[small]), queries[~small]
            is_some = small.any()
        else:
            edges = edges[_edges_of(levels, queries)]
            partners, near = partners_by_edges(levels, edges, LARGEST_OFFSETS[kind])
            is_some, edges = near.any(), np.ascontiguousarray(edges[~near])
        if is_some:
            parts.append(OffsetSum(levels, kind, partners, scale_by_group(levels, partners)))
        jobs, query, pairs = _jobs_of(levels, queries, edges)
        if query.size:
            parts.append(JobSum(levels, kind, jobs, scale[query], pairs, edges=edges))
        super().__init__(parts)


def sum_of_edges(
    levels: Levels, query: int, kind: int, scale: float, edges: IntArray
) -> StatelessSum:
    """Return the pairs of some edges (low group, high group) of a query, pair by pair."""
    parts: list[StatelessSum] = []
    if len(edges):
        partners, near = partners_by_edges(levels, edges, LARGEST_OFFSETS[kind])
        if near.any():
            parts.append(OffsetSum(levels, kind, partners, np.array([scale])))
        if not near.all():
            parts.append(_jobs_by_edges(levels, query, kind, scale, edges[~near]))
    return ExactSum(parts)


def sum_of_ties(levels: Levels, kind: int, scale: float, groups: IntArray) -> StatelessSum:
    """Return the pairs within some groups, as if later rows were preferred to earlier ones.

    Sums over all rows of a query, in a total order of its rows, have them in excess. `groups`
    ascend.
    """
    small = np.diff(levels.group_start)[groups] <= LARGEST_OFFSETS[kind] + 1
    parts: list[StatelessSum] = []
    if small.any():
        partners = partners_in_groups(levels, groups[small])
        parts.append(OffsetSum(levels, kind, partners, np.array([scale])))
    if not small.all():
        parts.append(_jobs_in_groups(levels, kind, scale, groups[~small]))
    return ExactSum(parts)


def _edges_of(levels: Levels, queries: IntArray) -> NDArray[np.bool_]:
    """Return which edges are of the chosen queries."""
    assert levels.edges is not None
    chosen = np.zeros(levels.n_queries, dtype=bool)
    chosen[queries] = True
    of_group = np.repeat(chosen, np.diff(levels.query_group))
    return np.asarray(of_group[levels.edges[:, 0]])


def _jobs_by_edges(
    levels: Levels, query: int, kind: int, scale: float, edges: IntArray
) -> StatelessSum:
    """Return the pairs of some edges of a query, as one job."""
    first, last = levels.query_group[query : query + 2]
    sizes = np.diff(levels.group_start)
    n_rows = levels.query_start[query + 1] - levels.query_start[query]
    pairs = sizes[edges[:, 0]] * sizes[edges[:, 1]]
    jobs = np.array([(first, last, 0, len(edges), 0, n_rows)], dtype=np.int64)
    return JobSum(
        levels, kind, jobs, np.array([scale]), np.array([float(pairs.sum())]),
        edges=np.ascontiguousarray(edges),
    )  # fmt: skip


def _jobs_in_groups(levels: Levels, kind: int, scale: float, groups: IntArray) -> StatelessSum:
    """Return the pairs within some groups; runs of successive ones are jobs of some 1000 rows."""
    sizes = np.diff(levels.group_start)[groups]
    piece = np.cumsum(sizes) // TIED_ROWS
    new = (np.diff(groups, prepend=-2) > 1) | (np.diff(piece, prepend=-1) > 0)
    begin, end = groups[new], groups[np.roll(new, -1)] + 1
    rule = np.full(begin.size, EARLIER)
    rows = levels.group_start[end] - levels.group_start[begin]
    jobs = np.column_stack((begin, end, rule, rule, 0 * rows, rows))
    pairs = np.bincount(np.cumsum(new) - 1, 0.5 * sizes * (sizes - 1.0)).astype(np.float64)
    return JobSum(levels, kind, jobs, np.full(begin.size, scale), pairs)


def _jobs_of(
    levels: Levels, queries: IntArray, edges: IntArray | None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return one job per query with pairs, or several for a query with very many pairs.

    Also return the query and the number of pairs of each.
    """
    group = levels.query_group
    bounds = np.full(levels.n_queries + 1, ALL_LOWER, dtype=np.int64)
    if edges is not None:
        bounds = np.searchsorted(edges[:, 0], group)
    several = (group[queries + 1] - group[queries] > 1) & (
        (bounds[queries + 1] > bounds[queries]) | (edges is None)
    )
    queries = queries[several]
    sizes = np.diff(levels.query_start)[queries]
    pairs = pairs_of_queries(levels, edges)[queries]
    parts = np.minimum(np.ceil(pairs / sigmoid_pairs.PAIRS_AT_ONCE), sizes).astype(np.int64)
    step = -(-sizes // np.maximum(parts, 1))
    of_query = np.repeat(np.arange(queries.size), parts)
    part = np.arange(of_query.size) - np.repeat(np.cumsum(parts) - parts, parts)
    query = queries[of_query]
    begin = part * step[of_query]
    end = np.minimum(begin + step[of_query], sizes[of_query])
    ends = (group[query], group[query + 1], bounds[query], bounds[query + 1], begin, end)
    return np.column_stack(ends).astype(np.int64), query, (pairs / parts)[of_query]
