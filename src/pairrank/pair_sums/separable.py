"""The sum of exponentials over pairs as a product of sums, O(rows)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.layout import join_groups
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.preferences import Levels

_NO_EDGES = np.empty((0, 2), dtype=np.int64)


class Around(NamedTuple):
    """One side of all pairs at fixed scores: terms of rows in layout order, and sums by group."""

    rows: FloatArray
    """weight * exp(sign rate (s - best of the row's group)), (n_kept,)."""
    best: FloatArray
    """The score of each group whose exponential is largest, (n_groups,)."""
    joined_best: FloatArray
    """The same over the groups that the group is joined with on this side."""
    joined: FloatArray
    """The sum over their rows, relative to that of `joined_best`."""


class SeparableSum(BoundSum):
    r"""The sum of exp(-rate (s_i - s_j)) over the preferences of `Levels`.

    .. math:: \sum_{(i, j)} a_i b_j e^{-r (s_i - s_j)}
        = \sum_g \Big(\sum_{i \in g} a_i e^{-r s_i}\Big) \sum_{g' < g} \sum_{j \in g'} b_j e^{r s_j}

    over groups g of rows and the groups g' that the graph puts below them.

    Parameters
    ----------
    levels : Levels
        Any order graph, weights (also by role) and scales.
    rate : float

    Notes
    -----
    O(rows + groups), or O(rows + edges) under another graph than the full one, for an evaluation as
    for a Hessian product, with two exponentials per row. Every sum counts relative to its largest
    term, so that an offset of the scores, or a wide spread, costs no digits; where a pair costs
    more than the largest float the value is infinite. A curvature keeps 16 bytes per row.
    """

    def __init__(self, levels: Levels, rate: float) -> None:
        self.levels, self.rate, self.n_rows = levels, rate, levels.n_rows
        self.sizes = np.diff(levels.group_start)
        self.edges = _NO_EDGES if levels.edges is None else levels.edges
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self._scale = np.repeat(scale, np.diff(levels.query_group))
        self._has_edges = levels.edges is None or len(levels.edges) > 0

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs a Hessian product each.
        """
        curvature = SeparableCurvature(self, as_scores(scores, self.n_rows))
        result = np.empty(np.shape(vectors))
        for vector, row in zip(vectors, result, strict=True):
            won, lost = curvature.parts(as_scores(vector, self.n_rows))
            row[:] = self.levels.from_layout(lost - won) * self.rate
        return result

    def sides(self, s: FloatArray) -> tuple[Around, Around]:
        """Return the losers' side of all pairs and the winners', for scores in layout order."""
        winner, loser = self.levels.sides
        return self._side(s, loser, upwards=True), self._side(s, winner, upwards=False)

    def join(self, side: Around, values: FloatArray, *, upwards: bool) -> FloatArray:
        """Return the sums of values, (n_kept,), over the groups that each group is joined with."""
        joined, best = np.empty(self.sizes.size), np.empty(self.sizes.size)
        sums = np.add.reduceat(values, self.levels.group_start[:-1])
        self._join(side.best, sums, best, joined, upwards)
        return joined

    def factors(self, losers: Around, winners: Around) -> tuple[FloatArray, FloatArray]:
        """Return the factors of the groups' sums, for winners and for losers."""
        with np.errstate(over="ignore", under="ignore"):
            won = self._scale * np.exp(self.rate * (losers.joined_best - winners.best))
            lost = self._scale * np.exp(self.rate * (losers.best - winners.joined_best))
        return won, lost

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        return SeparableCurvature(self, scores).value_and_gradient()

    def _curvature(self, scores: FloatArray) -> SeparableCurvature:
        return SeparableCurvature(self, scores)

    def _side(self, s: FloatArray, weight: FloatArray | None, *, upwards: bool) -> Around:
        extreme = np.maximum if upwards else np.minimum
        counted = s
        if self.levels.roles is not None and weight is not None:
            counted = np.where(weight > 0, s, -np.inf if upwards else np.inf)
        best = extreme.reduceat(counted, self.levels.group_start[:-1])
        with np.errstate(over="ignore", under="ignore"):
            rows = np.abs(s - np.repeat(best, self.sizes))
            rows *= -self.rate
            np.exp(rows, out=rows)
        if weight is not None:
            rows *= weight
        joined_best, joined = np.empty(best.size), np.empty(best.size)
        sums = np.add.reduceat(rows, self.levels.group_start[:-1])
        self._join(best, sums, joined_best, joined, upwards)
        return Around(rows, best, joined_best, joined)

    def _join(
        self, best: FloatArray, sums: FloatArray, joined_best: FloatArray, joined: FloatArray,
        upwards: bool,
    ) -> None:  # fmt: skip
        query_group = self.levels.query_group if self._has_edges else np.zeros(1, dtype=np.int64)
        join_groups(self.rate, upwards, query_group, self.edges, best, sums, joined_best, joined)


class SeparableCurvature(OneByOne):
    """A `SeparableSum` at fixed scores: value, gradient, Hessian, and sums over parts of it."""

    def __init__(self, owner: SeparableSum, scores: FloatArray) -> None:
        self.owner = owner
        if owner.sizes.size:
            self._losers, self._winners = owner.sides(scores[owner.levels.row_of])
            self._won, self._lost = owner.factors(self._losers, self._winners)

    def value_and_gradient(self) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient, (n_rows,)."""
        owner = self.owner
        if not owner.sizes.size:
            return 0.0, np.zeros(owner.n_rows)
        losers, winners = self._losers, self._winners
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            own = np.add.reduceat(winners.rows, owner.levels.group_start[:-1])
            value = float((self._won * losers.joined * own).sum())
            gradient = losers.rows * np.repeat(self._lost * winners.joined, owner.sizes)
            gradient -= winners.rows * np.repeat(self._won * losers.joined, owner.sizes)
            gradient *= owner.rate
        return value, owner.levels.from_layout(gradient)

    def apart(self, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the sums over the pairs whose winner alone is chosen, and whose loser alone is.

        `chosen` (n_rows,). All terms are positive, so that a small sum keeps its digits.
        """
        owner = self.owner
        if not owner.sizes.size:
            return 0.0, 0.0
        chosen = chosen[owner.levels.row_of]
        return self._across(chosen, ~chosen), self._across(~chosen, chosen)

    def _across(self, winner: NDArray[np.bool_], loser: NDArray[np.bool_]) -> float:
        """Return the sum over the pairs whose winner and loser are both marked."""
        owner = self.owner
        below = owner.join(self._losers, self._losers.rows * loser, upwards=True)
        own = np.add.reduceat(self._winners.rows * winner, owner.levels.group_start[:-1])
        return float((self._won * below * own).sum())

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        won, lost = self.parts(as_scores(v, self.owner.n_rows))
        return self.owner.levels.from_layout((won + lost) * self.owner.rate**2)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        owner = self.owner
        if not owner.sizes.size:
            return np.zeros(owner.n_rows)
        result = self._winners.rows * np.repeat(self._won * self._losers.joined, owner.sizes)
        result += self._losers.rows * np.repeat(self._lost * self._winners.joined, owner.sizes)
        return owner.levels.from_layout(result * owner.rate**2)

    def parts(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each row's sums of phi(d) (own v less other v), over pairs won and pairs lost."""
        owner = self.owner
        if not owner.sizes.size:
            return np.zeros(0), np.zeros(0)
        losers, winners = self._losers, self._winners
        v = v[owner.levels.row_of]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            below = owner.join(losers, losers.rows * v, upwards=True)
            above = owner.join(winners, winners.rows * v, upwards=False)
            won = v * np.repeat(losers.joined, owner.sizes) - np.repeat(below, owner.sizes)
            won *= winners.rows * np.repeat(self._won, owner.sizes)
            lost = v * np.repeat(winners.joined, owner.sizes) - np.repeat(above, owner.sizes)
            lost *= losers.rows * np.repeat(self._lost, owner.sizes)
        return won, lost
