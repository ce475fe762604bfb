"""Bands of levels: what fast sigmoidal sums compare, and the pairs that they leave out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.sigmoid_pairs import (
    NO_PLACES,
    NO_RUNS,
    NONE,
    Jobs,
    by_query,
    pairs_of_queries,
    runs_of_edges,
)
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]
Links = tuple[IntArray, IntArray, IntArray, IntArray]

FULL: Links = 4 * (NO_PLACES,)
"""The links of the full graph."""
NO_JOBS = Jobs(NO_RUNS, NONE, NONE, NO_PLACES)
BAND_ROWS = 32
"""Levels of less than half as many rows share a band with others, unless the levels of their query
have as many on average; the pairs within it are summed one by one."""
GREATEST_SHARE = 7.0 / 8.0
"""The part of its query's weight from which a level is heavy."""
LARGE_EDGE = 2_000
"""Edges of at most this many pairs are summed pair by pair."""


@dataclass(frozen=True, eq=False)
class Bands:
    """The bands of some queries, lowest first, under the full graph; else their levels.

    In queries whose levels have at least half of `BAND_ROWS` rows on average, a band is a level. In
    others it is a level of so many rows, or a run of successive smaller ones, of fewer than 1.5
    `BAND_ROWS` rows. Under the full graph every band is compared with all others of its query,
    under another one with those that `links` names.
    """

    start: IntArray
    """Where each band begins in the layout. Those of query k are start[query[k] : query[k + 1]],
    whose last entry is the end of the query."""
    query: IntArray
    """Where each query begins in `start`, (n_queries + 1,)."""
    scale: FloatArray
    """The factor on each query's pairs, (n_queries,)."""
    links: Links
    """The bands below band b, as links[0][links[1][b] : links[1][b + 1]], and those above. All
    empty if the graph is full."""
    within: Jobs
    """The pairs that are left: within bands, or of small edges."""
    meets_itself: NDArray[np.bool_]
    """Whether a band has several levels, none of which is heavy, (start.size,)."""
    is_even: NDArray[np.bool_]
    """Whether all bands of several levels of a query meet themselves, (n_queries,)."""
    ties: Jobs
    """The pairs within levels of bands of several levels, at a negative scale."""

    @property
    def between(self) -> Jobs:
        """All pairs of rows of different bands, one job per query; for the full graph only."""
        first, end = self.query[:-1], self.query[1:] - 1
        sizes = np.diff(self.start, append=0).astype(np.float64)
        sizes[end] = 0.0
        rows = (self.start[end] - self.start[first]).astype(np.float64)
        pairs = 0.5 * (rows**2 - np.add.reduceat(sizes**2, first))
        every = np.arange(first.size)
        return Jobs(np.column_stack((first, end)), self.scale, pairs, self.start, query=every)


def make_bands(levels: Levels, queries: IntArray, least_rows: int | None = None) -> Bands:
    """Return the bands of some queries, at least one, in O(groups + edges log edges)."""
    scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
    n_groups = np.diff(levels.query_group)[queries]
    of_query = np.repeat(np.arange(queries.size), n_groups)
    begin = np.cumsum(n_groups) - n_groups
    group = np.arange(of_query.size) + (levels.query_group[queries] - begin)[of_query]
    if levels.edges is None:
        is_first = _begin_bands(levels, group, of_query, least_rows or BAND_ROWS)
    else:
        is_first = np.ones(group.size, dtype=bool)
    at = np.flatnonzero(is_first)
    n_bands = np.bincount(of_query[at], minlength=queries.size)
    query = np.append(0, np.cumsum(n_bands + 1))
    place = np.arange(at.size) + of_query[at]
    start = np.empty(query[-1], dtype=np.int64)
    start[place] = levels.group_start[group[at]]
    start[query[1:] - 1] = levels.group_start[levels.query_group[queries + 1]]
    if levels.edges is not None:
        links, within = _of_graph(levels, queries, group, place, scale)
        none = np.zeros(start.size, dtype=bool)
        uneven = np.zeros(queries.size, dtype=bool)
        return Bands(start, query, scale[queries], links, within, none, uneven, NO_JOBS)
    members = np.diff(at, append=group.size)
    several = members > 1
    first = group[at[several]]
    groups = np.column_stack((first, first + members[several]))
    sizes = np.diff(levels.group_start)
    rows = levels.group_start[groups[:, 1]] - levels.group_start[groups[:, 0]]
    squares = np.add.reduceat(sizes[group].astype(np.float64) ** 2, at)[several]
    pairs = 0.5 * (rows.astype(np.float64) ** 2 - squares)
    own = of_query[at[several]]
    within = Jobs(groups, scale[queries[own]], pairs, levels.group_start, query=own)
    shared = np.repeat(several, members)
    is_even = ~_has_heavy(levels, group, of_query, shared)
    meets_itself = np.zeros(start.size, dtype=bool)
    meets_itself[place] = several & is_even[of_query[at]]
    tied = np.flatnonzero(shared & (sizes[group] > 1))
    ties = _ties(levels, group[tied], scale[queries[of_query[tied]]], of_query[tied])
    return Bands(start, query, scale[queries], FULL, within, meets_itself, is_even, ties)


def _has_heavy(
    levels: Levels, group: IntArray, of_query: IntArray, shared: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which queries have a heavy level among those that share bands.

    The errors of a sum over all rows are in proportion to their weight, and must be small beside
    the weight of the other levels.
    """
    weight = np.diff(levels.group_start)[group].astype(np.float64)
    if levels.weight is not None:
        weight = np.add.reduceat(levels.weight, levels.group_start[:-1])[group]
    heavy = shared & (weight > GREATEST_SHARE * np.bincount(of_query, weight)[of_query])
    return np.bincount(of_query, heavy) > 0


def _ties(levels: Levels, groups: IntArray, scale: FloatArray, query: IntArray) -> Jobs:
    """Return the pairs of rows of the same group, at a negative scale."""
    start, end = levels.group_start[groups], levels.group_start[groups + 1]
    pairs = 0.5 * (end - start) * (end - start - 1.0)
    every = np.arange(levels.group_start[-1] + 1) if groups.size else NO_PLACES
    return Jobs(np.column_stack((start, end)), -scale, pairs, every, query=query)


def links_of(edges: IntArray, n_codes: int) -> Links:
    """Return the codes below and above each code by the edges (low, high); see `Bands.links`."""
    low, high = edges.T
    by_high, by_low = np.argsort(high, kind="stable"), np.argsort(low, kind="stable")
    codes = np.arange(n_codes + 1)
    return (
        low[by_high], np.searchsorted(high[by_high], codes),
        high[by_low], np.searchsorted(low[by_low], codes),
    )  # fmt: skip


def cost_of_bands(levels: Levels, pairs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return about how many bands each query has, and pairs that they leave, both (n_queries,).

    `pairs` (n_queries,) are all pairs.
    """
    n_levels, rows = np.diff(levels.query_group) * 1.0, np.diff(levels.query_start)
    if levels.edges is None:
        has_several = 2 * rows < BAND_ROWS * n_levels
        n_bands = np.where(has_several, rows / BAND_ROWS, n_levels)
        return n_bands, np.where(has_several, np.minimum(0.5 * BAND_ROWS * rows, pairs), 0.0)
    sizes = np.diff(levels.group_start)
    small = sizes[levels.edges[:, 0]] * sizes[levels.edges[:, 1]] <= LARGE_EDGE
    return n_levels, pairs_of_queries(levels, levels.edges[small])


def _begin_bands(
    levels: Levels, group: IntArray, of_query: IntArray, least_rows: int
) -> NDArray[np.bool_]:
    """Return which of some groups are the first of a band."""
    sizes, n_groups = np.diff(levels.group_start)[group], np.bincount(of_query)
    few_levels = 2 * np.bincount(of_query, sizes) >= least_rows * n_groups
    large = (2 * sizes >= least_rows) | few_levels[of_query]
    first = np.diff(of_query, prepend=-1) > 0
    start = levels.group_start[group]
    piece = start - np.repeat(start[first], np.diff(np.flatnonzero(first), append=group.size))
    first |= np.diff(piece // least_rows, prepend=-1) > 0
    first |= large
    first[1:] |= large[:-1]
    return np.asarray(first)


def _of_graph(
    levels: Levels, queries: IntArray, group: IntArray, place: IntArray, scale: FloatArray
) -> tuple[Links, Jobs]:
    """Return the links between levels by large edges, and the pairs of small ones."""
    assert levels.edges is not None
    band_of = np.full(levels.group_level.size, -1)
    band_of[group] = place
    edges = levels.edges[band_of[levels.edges[:, 0]] >= 0]
    sizes = np.diff(levels.group_start)
    large = sizes[edges[:, 0]] * sizes[edges[:, 1]] > LARGE_EDGE
    small = edges[~large]
    links = links_of(band_of[edges[large]], int(place[-1]) + 2)
    pairs = by_query(levels, small[:, 0], (sizes[small[:, 0]] * sizes[small[:, 1]]) * 1.0)
    some = np.flatnonzero(pairs)
    groups = np.column_stack((levels.query_group[some], levels.query_group[some + 1]))
    own = np.searchsorted(queries, some)
    return links, Jobs(groups, scale[some], pairs[some], *runs_of_edges(levels, small), query=own)
