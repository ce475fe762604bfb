"""Sigmoidal pair sums of large queries by box sums, in time linear in the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import box_pairs, boxes
from pairrank.pair_sums import box_grid
from pairrank.pair_sums._bound import QueryCurvature, QuerySum
from pairrank.pair_sums.box_grid import (
    SEGMENT_FACTOR,
    BoxGrid,
    make_plan,
    weights_around,
)
from pairrank.pair_sums.box_halves import HalvedQuery
from pairrank.pair_sums.profiles import COST, CURVATURE, EVEN, SIGMOID, Profile, box_rule, check_eps
from pairrank.preferences import Levels


class BoxedQueries:
    """The pairs of some queries of `Levels` under a sigmoidal loss, by box sums.

    A row's gradient is a sum of S over the rows of other levels, less the weight of the lower ones.
    Every large level has its own moments, and the sum uses those of the other levels. Successive
    small levels share a segment. There the sum is over all rows, and the pairs within a level are
    subtracted one by one. The value comes from phi(d) = e(d) - d/2 with e even, so that the pairs
    within levels can be subtracted from all pairs.

    Parameters
    ----------
    levels : Levels
    queries : int64 array
        The queries that are summed here.
    kind : int
        `LOGISTIC` or `PROBIT` of `pairrank.compiled.sigmoid`.
    eps : float
        Every row's gradient is within eps times the weight of its pairs, the value within eps times
        that of all pairs; the bound is `pairrank.pair_sums.profiles.error_bound`. Rounding adds
        about 1e-14 of those weights, and 1e-14 of the value. Scores may be up to 1e305.

    Notes
    -----
    Costs O(rows) and, for each large level, a product of boxes that depends only on the spread of
    the scores. Where scores lie so far apart that boxes outnumber rows, fewer levels have separate
    boxes. If that does not suffice, or if even parts would cancel, the levels are halved
    recursively: O(rows log levels). Memory is 4 bytes per row, and 24 more in queries with small
    levels; a curvature takes 20 bytes per row.
    """

    def __init__(self, levels: Levels, queries: NDArray[np.int64], kind: int, eps: float) -> None:
        self.levels, self.kind, self.eps = levels, kind, check_eps(eps)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.parts = [
            BoxedQuery(levels, query, kind, self.eps, float(scale[query]), box_grid.LARGE_LEVEL)
            for query in queries.tolist()
        ]

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient by the scores, (n_rows,), to `gradient`; return the value."""
        return sum(part.value_and_gradient(scores, gradient) for part in self.parts)

    def curvature(self, scores: FloatArray) -> BoxedCurvature:
        """Return the Hessian at a copy of these scores."""
        return BoxedCurvature(self, scores.copy())

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add to each row the sum over its pairs (a over b) of phi'(d) (v_a - v_b)."""
        for part in self.parts:
            part.influence(scores, vector, result)


class BoxedCurvature:
    """The Hessian of `BoxedQueries` at fixed scores."""

    def __init__(self, owner: BoxedQueries, scores: FloatArray) -> None:
        self._curvatures = [part.curvature(scores) for part in owner.parts]

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,), to `result`."""
        for curvature in self._curvatures:
            curvature.product(v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the Hessian's diagonal, (n_rows,), to `result`."""
        for curvature in self._curvatures:
            curvature.diagonal(result)


PRODUCT_EPS = 1e-6
"""The least error of products with the Hessian; only the gradient decides where Newton ends."""
ROUNDING = 1e-15
"""The rounding of even parts, relative to the sum of the absolute differences."""
COARSER, LARGEST_DIRECT = 8, 2000
"""The factor of LARGE_LEVEL where boxes are too many, and the largest level size that it gives."""
_SAMPLE = 1000

_NONE = np.empty(0)


class BoxedQuery:
    """The pairs of one query by box sums.

    Parameters
    ----------
    levels : Levels
    query : int
    kind : int
        `LOGISTIC` or `PROBIT`.
    eps : float
    scale : float
        The factor of the query's pairs.
    large_level : int
        Levels of at least this many rows have separate boxes.
    """

    def __init__(
        self, levels: Levels, query: int, kind: int, eps: float, scale: float, large_level: int
    ) -> None:
        self.levels, self.kind, self.scale = levels, kind, scale
        self.plan = plan = make_plan(levels, query, large_level)
        self.large_level = large_level
        self._asked_eps = eps
        share = SEGMENT_FACTOR if plan.segment.any() else 1.0
        self.eps = eps / share
        self.rule = box_rule((SIGMOID[kind], COST[kind], EVEN[kind]), self.eps)
        self.curvature_rule = box_rule((CURVATURE[kind],), max(eps, PRODUCT_EPS) / share)
        self.weight = _NONE if levels.weight is None else levels.weight
        self._squares = float(np.square(plan.self_weight).sum())
        self._balance_norm = float(np.abs(plan.balance).sum())
        self._fallback: QuerySum | None = None

    @property
    def fallback(self) -> QuerySum:
        """The same pairs for too many boxes: with fewer large levels, or else halved."""
        if self._fallback is None:
            levels, query, larger = self.levels, self.plan.query, COARSER * self.large_level
            made = (levels, query, self.kind, self._asked_eps, self.scale)
            coarser = BoxedQuery(*made, larger) if larger <= LARGEST_DIRECT else None
            if coarser is None or coarser.plan.n_codes == self.plan.n_codes:
                self._fallback = HalvedQuery(*made)
            else:
                self._fallback = coarser
        return self._fallback

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, (n_rows,); return the value."""
        plan, kind = self.plan, self.kind
        grid = BoxGrid(plan, self.rule, scores)
        if not grid.feasible:
            return self.fallback.value_and_gradient(scores, gradient)
        linear = 0.0
        if plan.balance.size:
            linear, distance = self._linear_part(grid.scores)
            if not ROUNDING * distance <= self.eps * self._balance_norm:
                return self._halved().value_and_gradient(scores, gradient)
        moments = grid.moments(plan.weight)
        series, value = grid.meet(
            moments, SIGMOID[kind], subtract_lower=True, value_of=(COST[kind], EVEN[kind])
        )
        grid.add(self.scale, series, gradient)
        if plan.balance.size:
            gradient[plan.rows] -= self.scale * plan.lower_weight
            value -= 0.5 * (linear + _at_zero(EVEN[kind]) * self._squares)
        pairs = self._pairs(box_pairs.GRADIENT, scores, _NONE, gradient)
        return self.scale * value + pairs

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add phi'(d) (v_a - v_b) for both rows of every pair."""
        plan, profile = self.plan, SIGMOID[self.kind]
        grid = BoxGrid(plan, self.rule, scores, keep=True)
        if not grid.feasible:
            self.fallback.influence(scores, vector, result)
            return
        series, _ = grid.meet(grid.moments(plan.weight), profile, subtract_lower=True)
        self._add_differences(grid, series, profile, vector, result, subtract_lower=True)
        if plan.lower_weight.size:
            self._subtract_segments(vector, result)
        self._pairs(box_pairs.INFLUENCE, scores, vector, result)

    def curvature(self, scores: FloatArray) -> QueryCurvature:
        """Return the Hessian; `scores` must not be changed."""
        grid = BoxGrid(self.plan, self.curvature_rule, scores, keep=True)
        return (
            BoxedQueryCurvature(self, scores, grid)
            if grid.feasible
            else self.fallback.curvature(scores)
        )

    def add_product(
        self,
        scores: FloatArray,
        grid: BoxGrid,
        series: FloatArray,
        v: FloatArray,
        result: FloatArray,
    ) -> None:
        """Add the Hessian times v, from the grid and the series of phi''."""
        self._add_differences(grid, series, CURVATURE[self.kind], v, result)
        self._pairs(box_pairs.PRODUCT, scores, v, result)

    def add_diagonal(
        self, scores: FloatArray, grid: BoxGrid, series: FloatArray, result: FloatArray
    ) -> None:
        """Add the Hessian's diagonal, from the grid and the series of phi''."""
        plan = self.plan
        grid.add(self.scale, series, result)
        if plan.self_weight.size:
            result[plan.rows] -= self.scale * _at_zero(CURVATURE[self.kind]) * plan.self_weight**2
        self._pairs(box_pairs.DIAGONAL, scores, _NONE, result)

    def _halved(self) -> QuerySum:
        """Return the halved pairs, whose sums do not cancel."""
        if not isinstance(self._fallback, HalvedQuery):
            made = (self.levels, self.plan.query, self.kind, self._asked_eps, self.scale)
            self._fallback = HalvedQuery(*made)
        return self._fallback

    def _add_differences(
        self,
        grid: BoxGrid,
        series: FloatArray,
        profile: Profile,
        vector: FloatArray,
        result: FloatArray,
        *,
        subtract_lower: bool = False,
    ) -> None:
        """Add weight * the sum of weight * k (v_i - v_j) over the boxes.

        A mean over some rows is subtracted from v first, so that differences keep their digits.
        """
        plan = self.plan
        v = np.ascontiguousarray(vector[plan.rows])
        shift = float(v[:: max(1, v.size // _SAMPLE)].mean())
        if plan.weight.size:
            moments = grid.moments(plan.weight * (v - shift))
        else:
            moments = grid.moments(v, shift)
        less, _ = grid.meet(moments, profile, subtract_lower=subtract_lower)
        grid.add(self.scale, series, result, v=v, shift=shift, less=less)

    def _pairs(self, asked: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the pairs without boxes, and subtract those within levels of a segment."""
        runs = self.plan.runs
        if not len(runs):
            return 0.0
        return box_pairs.pairs_of_runs(
            self.kind, asked, runs, self.levels.row_of, scores, self.weight, v, self.scale, result
        )

    def _linear_part(self, scores: FloatArray) -> tuple[float, float]:
        """Return the sum of balance * score, and the sum of its absolute terms.

        Scores are relative to their mean, because the balances sum to 0.
        """
        with np.errstate(over="ignore"):
            centre = float(scores.mean())
        return boxes.linear_sums(scores, centre, self.plan.balance)

    def _subtract_segments(self, vector: FloatArray, result: FloatArray) -> None:
        """Subtract weight * (v L - L_v), L the weight of the lower levels of a row's segment.

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


class BoxedQueryCurvature:
    """The Hessian of a `BoxedQuery`; the sums of phi'' times the weights are computed once."""

    def __init__(self, owner: BoxedQuery, scores: FloatArray, grid: BoxGrid) -> None:
        self._owner, self._scores, self._grid = owner, scores, grid
        self._series, _ = grid.meet(grid.moments(owner.plan.weight), CURVATURE[owner.kind])

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,)."""
        self._owner.add_product(self._scores, self._grid, self._series, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal."""
        self._owner.add_diagonal(self._scores, self._grid, self._series, result)
