"""Hinges over levels at fixed scores: pair by pair, or sorted and merged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled.merges import (
    find_merges,
    sums_over_merges,
    sums_over_runs,
)
from pairrank.compiled.sorting import sort_segments
from pairrank.pair_sums._bound import Terms, borders_of
from pairrank.preferences import Levels
from pairrank.preferences._codes import query_of_groups

IntArray = NDArray[np.int64]

ROWS_PER_PART = 1 << 14
"""Threads share the queries in parts of about so many rows."""
SMALL_QUERY, ROWS_PER_LEVEL = 512, 32
"""Queries of at most this many rows, and rows per level, are summed pair by pair.

Measured ns per row of a gradient, a gradient with curvature, and a Hessian product, pair by pair:
15, 28 and 15 at 100 rows of 5 levels, 12, 28 and 14 at 100 rows of 2 levels, 41, 95 and 42 at 400
rows of 400 levels; sorted: 86, 140 and 12; 23, 28 and 5; 81, 145 and 41.
"""
LEAF_ROWS = 128
"""Levels of fewer than half as many rows share a leaf of the tree, which is summed pair by pair."""
_NO_EDGES = np.empty((0, 2), dtype=np.int64)


class Hinge(NamedTuple):
    """The loss c max(0, margin - d), or c times its square that goes on as a line.

    The line begins where the excess is `width`; it has the slope of the square there.
    """

    margin: float
    squared: bool
    factor: float
    width: float = np.inf


def hinges_of(terms: Terms) -> list[Hinge]:
    """Return the terms (m, p, c) of a loss as hinges.

    A square less the same square of a smaller margin is one hinge: far beyond both margins the two
    would cancel.
    """
    found: list[Hinge] = []
    for margin, power, factor in terms:
        hinge = Hinge(margin, power == 2, factor)
        if found and hinge.squared and _goes_on(found[-1], hinge):
            found[-1] = found[-1]._replace(width=found[-1].margin - margin)
        else:
            found.append(hinge)
    return found


def _goes_on(first: Hinge, second: Hinge) -> bool:
    """Return whether the second square, subtracted, turns the first into a line."""
    is_whole = first.squared and first.width == np.inf
    return is_whole and second.factor == -first.factor and second.margin < first.margin


class SortedPlan(NamedTuple):
    """The parts of a hinge sum over Levels; every pair belongs to exactly one. All are int64."""

    segments: IntArray
    """Ranges of places of the layout to sort separately, (n_segments, 2)."""
    runs: IntArray
    """Runs of groups that are summed pair by pair, (n_runs, 5); see `compiled.merges`."""
    edges: IntArray
    """The edges (low group, high group) that runs refer to."""
    merges: IntArray
    """Merges of sorted runs of rows, (n_merges, 6); see `compiled.merges`."""
    starts: IntArray
    """Where the rows of each merge begin, and the end, (n_merges + 1,)."""


class Part:
    """Some queries of a `SortedSum`."""

    def __init__(self, levels: Levels, by_pairs: bool) -> None:
        self.levels, self.plan = levels, plan_of(levels, by_pairs=by_pairs)
        scale = np.asarray(levels.pair_scale, dtype=np.float64)
        self.scale = np.ascontiguousarray(np.broadcast_to(scale, levels.n_queries))
        winner, loser = levels.sides
        if winner is None or loser is None:
            winner = loser = np.ones(levels.row_of.size)
        self.sides = winner, loser
        """The weights of rows as winners and as losers, (n_kept,)."""


class PartState:
    """The scores of a part in the layout, and the rows and positions of its merges."""

    def __init__(self, part: Part, scores: FloatArray, margin: float) -> None:
        self.part, plan = part, part.plan
        self.scores = scores[part.levels.row_of]
        size, n_rows = int(plan.starts[-1]), self.scores.size
        self._places, self._positions = np.empty((2, size), dtype=np.int32)
        self._longest = int(np.diff(plan.starts).max(initial=0))
        self._longest_half = int(np.diff(plan.merges[:, :4])[:, ::2].max(initial=0))
        if size:
            order, spare = np.empty((2, n_rows), dtype=np.int32)
            line, here = np.empty((2, n_rows)), np.arange(n_rows, dtype=np.int32)
            sort_segments(self.scores, here, plan.segments, line[0], order, line[1], spare)
            del line, here, spare
            find_merges(
                plan.merges, plan.starts, self.scores, margin, order, self._places,
                self._positions, np.empty(self._longest), np.empty(self._longest, np.int32),
            )  # fmt: skip

    def sums(
        self, hinge: Hinge, c: float, winner: FloatArray, loser: FloatArray, *, counted: bool
    ) -> tuple[float, FloatArray]:
        """Return c times the cost of all pairs, and c times the sums by row, (2, n_kept).

        Line 0 has each row's sum over the rows that it wins against, of their `loser` times the
        excess (a square) or 1 (a hinge, or if `counted`); line 1 that over the rows that it loses
        to, of their `winner`. If `counted`, the cost has no meaning.
        """
        sums, value, plan = np.zeros((2, self.scores.size)), 0.0, self.part.plan
        scale, squared = c * self.part.scale, hinge.squared and not counted
        if len(plan.runs):
            value += sums_over_runs(
                plan.runs, plan.edges, self.part.levels.group_start, scale, self.scores, winner,
                loser, hinge.margin, squared, hinge.width, sums,
            )  # fmt: skip
        if self._longest:
            running = np.empty((5 if squared else 4, self._longest_half))
            value += sums_over_merges(
                plan.merges, plan.starts, self._places, self._positions, scale, self.scores,
                winner, loser, hinge.margin, squared, running, sums,
            )  # fmt: skip
        return value, sums


class SortedSum:
    """The sums of hinges over the preferences of `Levels`, by their order at some scores.

    Small queries are summed pair by pair. In larger ones the rows are sorted by score: many levels
    form a tree, whose nodes are merges of two sorted runs, and under any graph but the full one
    each edge is a merge of two groups. Several hinges, or one that goes on as a line, are summed
    pair by pair whatever the query's size. Threads share the queries.

    O(rows log rows) where merged, else O(pairs), a third of a nanosecond each. Where merged, a
    state keeps 8 bytes per row and level of the tree.
    """

    def __init__(self, levels: Levels, terms: Terms, kind: type[PartState] = PartState) -> None:
        self.levels, self.hinges, self.kind = levels, hinges_of(terms), kind
        by_pairs = len(self.hinges) > 1 or self.hinges[0].width < np.inf
        self.parts = [Part(part, by_pairs) for part in levels.parts(ROWS_PER_PART)]

    def at(self, scores: FloatArray) -> SortedState:
        """Return the state at scores in the user's order, which may change afterwards."""
        return SortedState(self, scores)


class SortedState:
    """The sums of a `SortedSum` at fixed scores."""

    def __init__(self, owner: SortedSum, scores: FloatArray) -> None:
        self.hinges, margin = owner.hinges, owner.hinges[0].margin
        self._parts = threads.run(lambda part: owner.kind(part, scores, margin), owner.parts)

    def add_gradient(self, gradient: FloatArray) -> float:
        """Add the rows' gradients to those in the user's order, (n_rows,); return the value."""

        def add(state: PartState) -> float:
            (winner, loser), value = state.part.sides, 0.0
            for hinge in self.hinges:
                cost, sums = state.sums(hinge, hinge.factor, winner, loser, counted=False)
                sums[0] *= winner
                sums[1] *= loser
                sums[1] -= sums[0]
                sums[1] *= 2.0 if hinge.squared else 1.0
                gradient[state.part.levels.row_of] += sums[1]
                value += cost
            return value

        return float(sum(threads.run(add, self._parts)))

    def add_partners(self, values: FloatArray, result: FloatArray) -> None:
        """Add 2 c times the sum of the values of each row's partners that are counted in.

        Both are (S, n_rows): values as winners and as losers, sums over losers and over winners;
        with one line, values of either and sums over both.
        """

        def add(state: PartState) -> None:
            rows = state.part.levels.row_of
            laid = [side[rows] for side in values]
            for hinge in self.hinges:
                c = 2.0 * hinge.factor
                _, sums = state.sums(hinge, c, laid[0], laid[-1], counted=True)
                result[0][rows] += sums[0]
                result[-1][rows] += sums[1]

        threads.run(add, self._parts)


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
    """Return the leaves (first group, last + 1, query) of each query chosen: its bands."""
    borders = borders_of(levels, chosen, LEAF_ROWS)
    query = query_of_groups(levels.query_group)[borders[:-1]]
    return np.column_stack((borders[:-1], borders[1:], query))[chosen[query]]


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
