"""Hinges over levels at fixed scores: pair by pair, or sorted and merged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled.layout import scatter_add
from pairrank.compiled.merges import find_merges, sums_over_merges, values_over_merges
from pairrank.compiled.pair_runs import sums_over_runs
from pairrank.compiled.sorting import sort_segments
from pairrank.pair_sums.sorted_plan import plan_of
from pairrank.preferences import Levels

ROWS_PER_PART = 1 << 14
"""Threads share the queries in parts of about so many rows."""

Terms = tuple[tuple[float, int, float], ...]


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
        """Return c times the cost of all pairs, and of the sums by row, (2, n_kept).

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
            lines = np.empty((2, self._longest + 1))
            found = plan.merges, plan.starts, self._places, self._positions, scale
            if counted:
                values_over_merges(*found, winner, loser, lines, sums)
            else:
                running = np.empty((3 if squared else 2, self._longest_half))
                value += sums_over_merges(
                    *found, self.scores, winner, loser, hinge.margin, squared, lines, running, sums
                )
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

    def gradient(self, gradient: FloatArray) -> float:
        """Add the rows' gradients to those in the user's order, (n_rows,); return the value."""

        def add(state: PartState) -> float:
            winner, loser = state.part.sides
            value, total = 0.0, np.zeros(winner.size)
            for hinge in self.hinges:
                cost, sums = state.sums(hinge, hinge.factor, winner, loser, counted=False)
                sums[0] *= winner
                sums[1] *= loser
                sums[1] -= sums[0]
                sums[1] *= 2.0 if hinge.squared else 1.0
                total += sums[1]
                value += cost
            scatter_add(total, state.part.levels.row_of, gradient)
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
                scatter_add(sums[0], rows, result[0])
                scatter_add(sums[1], rows, result[-1])

        threads.run(add, self._parts)
