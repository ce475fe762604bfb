"""The sigmoidal pairs of one query by box sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.fast_sums.box_rule import box_rule
from pairrank.fast_sums.profiles import BEND, COST, EVEN, SIGMOID, Profile
from pairrank.losses.box_grid import BoxGrid
from pairrank.losses.box_halves import HalvedQuery
from pairrank.losses.box_plan import SEGMENT_FACTOR, QueryPlan, weights_around
from pairrank.preferences import Levels
from pairrank.sums import box_pairs

PRODUCT_EPS = 1e-6
"""Products with the Hessian need no smaller errors: the gradient decides where Newton ends."""
ROUNDING = 1e-15
"""Even parts lose so much of the sum of the absolute differences."""
_SAMPLE = 1000

_NONE = np.empty(0)


class Bends(NamedTuple):
    """What products with the Hessian have in common: the sums of phi'' times the weights."""

    grid: BoxGrid
    series: FloatArray


class BoxedQuery:
    """The pairs of one query by box sums.

    Parameters
    ----------
    levels : Levels
    plan : QueryPlan
    kind : int
        `LOGISTIC` or `PROBIT`.
    eps : float
    scale : float
        What its pairs are multiplied by.
    """

    def __init__(
        self, levels: Levels, plan: QueryPlan, kind: int, eps: float, scale: float
    ) -> None:
        self.levels, self.plan, self.kind, self.scale = levels, plan, kind, scale
        share = SEGMENT_FACTOR if plan.segment.any() else 1.0
        self.eps = eps / share
        self.rule = box_rule((SIGMOID[kind], COST[kind], EVEN[kind]), self.eps)
        self.bend_rule = box_rule((BEND[kind],), max(eps, PRODUCT_EPS) / share)
        self.weight = _NONE if levels.weight is None else levels.weight
        self._leaning = np.abs(plan.balance)
        self._squares = float(plan.self_weight @ plan.self_weight)
        self._halved: HalvedQuery | None = None

    @property
    def halved(self) -> HalvedQuery:
        """The same pairs by halving the levels: for scores far apart."""
        if self._halved is None:
            self._halved = HalvedQuery(
                self.levels, self.plan.query, self.kind, self.eps, self.scale
            )
        return self._halved

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, (n_rows,); return the value."""
        plan, kind = self.plan, self.kind
        grid = BoxGrid(plan, self.rule, scores)
        centred = self._centred(grid.scores) if plan.balance.size else _NONE
        if not grid.feasible or self._cancels(centred):
            return self.halved.value_and_gradient(scores, gradient)
        moments = grid.moments(plan.weight)
        series, value = grid.meet(
            moments, SIGMOID[kind], pulls=True, value_of=(COST[kind], EVEN[kind])
        )
        grid.add(self.scale, series, gradient)
        if plan.balance.size:
            gradient[plan.rows] -= self.scale * plan.pull
            value -= 0.5 * float(centred @ plan.balance)
            value -= 0.5 * _at_zero(EVEN[kind]) * self._squares
        pairs = self._pairs(box_pairs.GRADIENT, scores, _NONE, gradient)
        return self.scale * value + pairs

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add phi'(d) (v_a - v_b) for both rows of every pair."""
        plan, profile = self.plan, SIGMOID[self.kind]
        grid = BoxGrid(plan, self.rule, scores, keep=True)
        if not grid.feasible:
            self.halved.influence(scores, vector, result)
            return
        series, _ = grid.meet(grid.moments(plan.weight), profile, pulls=True)
        self._add_differences(grid, series, profile, vector, result, pulls=True)
        if plan.pull.size:
            self._take_from_segments(vector, result)
        self._pairs(box_pairs.INFLUENCE, scores, vector, result)

    def bends(self, scores: FloatArray) -> Bends | None:
        """Return what is fixed while the scores are; None where levels are halved."""
        grid = BoxGrid(self.plan, self.bend_rule, scores, keep=True)
        if not grid.feasible:
            return None
        return Bends(grid, grid.meet(grid.moments(self.plan.weight), BEND[self.kind])[0])

    def product(
        self, scores: FloatArray, state: Bends | None, v: FloatArray, result: FloatArray
    ) -> None:
        """Add the Hessian times v."""
        if state is None:
            self.halved.product(scores, v, result)
            return
        self._add_differences(state.grid, state.series, BEND[self.kind], v, result)
        self._pairs(box_pairs.PRODUCT, scores, v, result)

    def diagonal(self, scores: FloatArray, state: Bends | None, result: FloatArray) -> None:
        """Add the diagonal of the Hessian."""
        if state is None:
            self.halved.diagonal(scores, result)
            return
        plan = self.plan
        state.grid.add(self.scale, state.series, result)
        if plan.self_weight.size:
            result[plan.rows] -= self.scale * _at_zero(BEND[self.kind]) * plan.self_weight**2
        self._pairs(box_pairs.DIAGONAL, scores, _NONE, result)

    def _add_differences(
        self,
        grid: BoxGrid,
        series: FloatArray,
        profile: Profile,
        vector: FloatArray,
        result: FloatArray,
        *,
        pulls: bool = False,
    ) -> None:
        """Add weight * the sum of weight * k (v_i - v_j) over the boxes.

        A mean over some rows is taken off v first: only differences count, and they keep their
        digits so.
        """
        plan = self.plan
        v = np.ascontiguousarray(vector[plan.rows])
        shift = float(v[:: max(1, v.size // _SAMPLE)].mean())
        if plan.weight.size:
            moments = grid.moments(plan.weight * (v - shift))
        else:
            moments = grid.moments(v, shift)
        less, _ = grid.meet(moments, profile, pulls=pulls)
        grid.add(self.scale, series, result, v=v, shift=shift, less=less)

    def _pairs(self, asked: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the pairs that have no boxes, and take away those within levels that share them."""
        runs = self.plan.runs
        if not len(runs):
            return 0.0
        return box_pairs.pairs_of_runs(
            self.kind, asked, runs, self.levels.row_of, scores, self.weight, v, self.scale, result
        )

    @staticmethod
    def _centred(scores: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            return scores - scores.mean()

    def _cancels(self, centred: FloatArray) -> bool:
        """Whether even parts would lose more than eps to rounding."""
        if not centred.size:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            distance = float(np.abs(centred) @ self._leaning)
            return not ROUNDING * distance <= self.eps * float(self._leaning.sum())

    def _take_from_segments(self, vector: FloatArray, result: FloatArray) -> None:
        """Take away weight * (v L - L_v), L the weight of the lower levels of a row's segment.

        L_v is the sum of weight * v over them.
        """
        levels, plan = self.levels, self.plan
        first, last = levels.query_group[plan.query], levels.query_group[plan.query + 1]
        starts = levels.group_start[first : last + 1]
        here = slice(int(starts[0]), int(starts[-1]))
        rows, sizes = levels.row_of[here], np.diff(starts)
        v = vector[rows]
        v = v - v.mean()
        weight = np.ones(rows.size) if levels.weight is None else levels.weight[here]
        below = [
            np.repeat(weights_around(plan.level_code, totals, plan.segment)[0], sizes)
            for x in (weight, weight * v)
            for totals in (np.add.reduceat(x, starts[:-1] - starts[0]),)
        ]
        result[rows] -= self.scale * weight * (v * below[0] - below[1])


def _at_zero(profile: Profile) -> float:
    return float(profile.function(np.zeros(1))[0])
