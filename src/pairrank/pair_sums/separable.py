"""The sum of exponentials over pairs as a product of sums, O(rows)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.layout import join_groups
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.preferences import Levels


class SeparableSum(BoundSum):
    r"""The sum of exp(-(s_i - s_j)) over the preferences of `Levels`.

    .. math:: \sum_{(i, j)} a_i b_j e^{-(s_i - s_j)}
        = \sum_g \Big(\sum_{i \in g} a_i e^{-s_i}\Big) \sum_{g' < g} \sum_{j \in g'} b_j e^{s_j}

    over groups g of rows and the groups g' that the graph puts below them. O(rows + groups), or
    O(rows + edges) under another graph than the full one, for an evaluation as for a Hessian
    product, with two exponentials per row. Every sum counts relative to its largest term, so that
    an offset of the scores, or a wide spread, costs no digits; where a pair costs more than the
    largest float the value is infinite. A curvature keeps 16 bytes per row.
    """

    def __init__(self, levels: Levels) -> None:
        self.levels, self.n_rows = levels, levels.n_rows

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs a Hessian product each.
        """
        point = SeparableCurvature(self.levels, as_scores(scores, self.n_rows))
        parts = (point.parts(as_scores(vector, self.n_rows)) for vector in vectors)
        rows = [self.levels.from_layout(lost - won) for won, lost in parts]
        return np.reshape(rows, np.shape(vectors))

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        return SeparableCurvature(self.levels, scores).value_and_gradient()

    def _curvature(self, scores: FloatArray) -> SeparableCurvature:
        return SeparableCurvature(self.levels, scores)


class _Side(NamedTuple):
    """One side of all pairs, with x = s for losers and -s for winners."""

    rows: FloatArray
    """weight * exp(x - best of the row's group), (n_kept,) in layout order."""
    best: FloatArray
    """The largest x of positive weight of each group, (n_groups,)."""
    joined_best: FloatArray
    """The same over the groups that the group is joined with on this side."""
    joined: FloatArray
    """The sum over their rows of weight * exp(x - joined_best)."""


class SeparableCurvature(OneByOne):
    """The sum at fixed scores: value, gradient and Hessian."""

    def __init__(self, levels: Levels, scores: FloatArray) -> None:
        self.levels, self._sizes = levels, np.diff(levels.group_start)
        s, (winner, loser) = scores[levels.row_of], levels.sides
        self._losers, self._winners = self._side(s, loser, True), self._side(-s, winner, False)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        scale = np.repeat(scale, np.diff(levels.query_group))
        with np.errstate(over="ignore", under="ignore"):
            self._won = scale * np.exp(self._losers.joined_best + self._winners.best)
            self._lost = scale * np.exp(self._losers.best + self._winners.joined_best)

    def value_and_gradient(self) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient, (n_rows,)."""
        losers, winners = self._losers, self._winners
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            own = self._by_group(np.add, winners.rows)
            value = float((self._won * losers.joined * own).sum())
            won, lost = self._terms()
            return value, self.levels.from_layout(lost - won)

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        won, lost = self.parts(as_scores(v, self.levels.n_rows))
        return self.levels.from_layout(won + lost)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        won, lost = self._terms()
        return self.levels.from_layout(won + lost)

    def parts(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each row's sums of phi(d) (own v less other v), over pairs won and pairs lost."""
        losers, winners, sizes = self._losers, self._winners, self._sizes
        v = v[self.levels.row_of]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            below, above = self._join(losers, v, True), self._join(winners, v, False)
            won = v * np.repeat(losers.joined, sizes) - np.repeat(below, sizes)
            lost = v * np.repeat(winners.joined, sizes) - np.repeat(above, sizes)
            won *= winners.rows * np.repeat(self._won, sizes)
            lost *= losers.rows * np.repeat(self._lost, sizes)
        return won, lost

    def _terms(self) -> tuple[FloatArray, FloatArray]:
        """Return each row's sums of phi(d) over pairs won and pairs lost, (n_kept,)."""
        losers, winners = self._losers, self._winners
        won = winners.rows * np.repeat(self._won * losers.joined, self._sizes)
        return won, losers.rows * np.repeat(self._lost * winners.joined, self._sizes)

    def _by_group(self, ufunc: np.ufunc, values: FloatArray) -> FloatArray:
        """Return values per row (n_kept,) combined over each group, (n_groups,)."""
        if not self._sizes.size:
            return np.empty(0)
        return np.asarray(ufunc.reduceat(values, self.levels.group_start[:-1]))

    def _side(self, x: FloatArray, weight: FloatArray | None, upwards: bool) -> _Side:
        counted = x
        if self.levels.roles is not None and weight is not None:
            counted = np.where(weight > 0, x, -np.inf)
        best = self._by_group(np.maximum, counted)
        with np.errstate(over="ignore", under="ignore"):
            rows = np.exp(-np.abs(x - np.repeat(best, self._sizes)))
        if weight is not None:
            rows *= weight
        return _Side(rows, best, *self._joined(best, self._by_group(np.add, rows), upwards))

    def _join(self, side: _Side, factor: FloatArray, upwards: bool) -> FloatArray:
        """Return the sums of `side.rows` times factors over the groups each group is joined with.

        `factor` (n_kept,); the result (n_groups,) is relative to `side.joined_best`.
        """
        return self._joined(side.best, self._by_group(np.add, side.rows * factor), upwards)[1]

    def _joined(
        self, best: FloatArray, sums: FloatArray, upwards: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the greatest `best` of the joined groups, and their sums relative to it."""
        levels, edges = self.levels, self.levels.edges
        joined_best, joined = np.empty(best.size), np.empty(best.size)
        query_group = levels.query_group if edges is None else np.zeros(1, dtype=np.int64)
        edges = np.empty((0, 2), dtype=np.int64) if edges is None else edges
        join_groups(upwards, query_group, edges, best, sums, joined_best, joined)
        return joined_best, joined
