"""Sigmoidal pair sums of large queries by box sums: every pair, in time linear in the rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import box_pairs, boxes
from pairrank.pair_sums import box_grid
from pairrank.pair_sums.box_grid import (
    SEGMENT_FACTOR,
    BoxGrid,
    make_plan,
    weights_around,
)
from pairrank.pair_sums.box_halves import HalvedQuery
from pairrank.pair_sums.profiles import BEND, COST, EVEN, SIGMOID, Profile, box_rule, check_eps
from pairrank.preferences import Levels


class BoxedQueries:
    """The pairs of some queries of `Levels` under a sigmoidal loss, by box sums.

    A row's gradient is a sum of S over the rows of other levels, less the weight of the lower ones:
    every large level has moments of its own, and those of the others are added up for it. Small
    levels in a row share a segment: there the sum runs over all rows, and a level's own pairs are
    taken away one by one; the value comes from phi(d) = e(d) - d/2 with e even, so that the pairs
    within levels can be taken away from those of all.

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
    Costs O(rows) and, for each large level, a product of boxes that depends on the spread of the
    scores alone. Where scores lie so far apart that boxes outnumber rows, fewer levels have boxes
    of their own; at last, or where even parts would cancel, the levels are halved again and again
    instead: O(rows log levels). Memory: 4 bytes a row, and 24 more in queries with small levels;
    a curvature 20 bytes a row.
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
        """Return the Hessian at these scores, kept as they are."""
        return BoxedCurvature(self, scores.copy())

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add, a row, the sum over the pairs (a over b) that it is in of phi'(d) (v_a - v_b)."""
        for part in self.parts:
            part.influence(scores, vector, result)


class BoxedCurvature:
    """The Hessian of `BoxedQueries` at fixed scores."""

    def __init__(self, owner: BoxedQueries, scores: FloatArray) -> None:
        self._bends = [part.bends(scores) for part in owner.parts]

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,), to `result`."""
        for bends in self._bends:
            bends.product(v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the Hessian's diagonal, (n_rows,), to `result`."""
        for bends in self._bends:
            bends.diagonal(result)


PRODUCT_EPS = 1e-6
"""Products with the Hessian need no smaller errors: the gradient decides where Newton ends."""
ROUNDING = 1e-15
"""Even parts lose so much of the sum of the absolute differences."""
COARSER, LARGEST_DIRECT = 8, 2000
"""Where boxes are too many, levels must be so many times larger to have their own, up to this."""
_SAMPLE = 1000

_NONE = np.empty(0)


class Bends(Protocol):
    """The Hessian of one query's pairs at fixed scores."""

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,)."""
        ...

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal."""
        ...


class QueryPairs(Protocol):
    """The pairs of one query, in whatever way they are summed."""

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, (n_rows,); return the value."""
        ...

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add phi'(d) (v_a - v_b) for both rows of every pair."""
        ...

    def bends(self, scores: FloatArray) -> Bends:
        """Return the Hessian; `scores` must stay as they are."""
        ...


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
        What its pairs are multiplied by.
    large_level : int
        Levels of so many rows have boxes of their own.
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
        self.bend_rule = box_rule((BEND[kind],), max(eps, PRODUCT_EPS) / share)
        self.weight = _NONE if levels.weight is None else levels.weight
        self._squares = float(np.square(plan.self_weight).sum())
        self._leaning = float(np.abs(plan.balance).sum())
        self._fallback: QueryPairs | None = None

    @property
    def fallback(self) -> QueryPairs:
        """The same pairs where boxes are too many: with fewer large levels, or halved at last."""
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
            linear, distance = self._lean(grid.scores)
            if not ROUNDING * distance <= self.eps * self._leaning:
                return self._halved().value_and_gradient(scores, gradient)
        moments = grid.moments(plan.weight)
        series, value = grid.meet(
            moments, SIGMOID[kind], pulls=True, value_of=(COST[kind], EVEN[kind])
        )
        grid.add(self.scale, series, gradient)
        if plan.balance.size:
            gradient[plan.rows] -= self.scale * plan.pull
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
        series, _ = grid.meet(grid.moments(plan.weight), profile, pulls=True)
        self._add_differences(grid, series, profile, vector, result, pulls=True)
        if plan.pull.size:
            self._take_from_segments(vector, result)
        self._pairs(box_pairs.INFLUENCE, scores, vector, result)

    def bends(self, scores: FloatArray) -> Bends:
        """Return the Hessian; `scores` must stay as they are."""
        grid = BoxGrid(self.plan, self.bend_rule, scores, keep=True)
        return BoxedBends(self, scores, grid) if grid.feasible else self.fallback.bends(scores)

    def add_product(
        self,
        scores: FloatArray,
        grid: BoxGrid,
        series: FloatArray,
        v: FloatArray,
        result: FloatArray,
    ) -> None:
        """Add the Hessian times v, from the grid and the series of phi''."""
        self._add_differences(grid, series, BEND[self.kind], v, result)
        self._pairs(box_pairs.PRODUCT, scores, v, result)

    def add_diagonal(
        self, scores: FloatArray, grid: BoxGrid, series: FloatArray, result: FloatArray
    ) -> None:
        """Add the Hessian's diagonal, likewise."""
        plan = self.plan
        grid.add(self.scale, series, result)
        if plan.self_weight.size:
            result[plan.rows] -= self.scale * _at_zero(BEND[self.kind]) * plan.self_weight**2
        self._pairs(box_pairs.DIAGONAL, scores, _NONE, result)

    def _halved(self) -> QueryPairs:
        """Return the halved pairs, which cancel nothing."""
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

    def _lean(self, scores: FloatArray) -> tuple[float, float]:
        """Return the sum of balance * score, and the sum of its absolute terms.

        Scores count from their mean: the balances sum to nothing.
        """
        with np.errstate(over="ignore"):
            centre = float(scores.mean())
        return boxes.lean(scores, centre, self.plan.balance)

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


class BoxedBends:
    """The Hessian of a `BoxedQuery`: the sums of phi'' times the weights are found once."""

    def __init__(self, owner: BoxedQuery, scores: FloatArray, grid: BoxGrid) -> None:
        self._owner, self._scores, self._grid = owner, scores, grid
        self._series, _ = grid.meet(grid.moments(owner.plan.weight), BEND[owner.kind])

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,)."""
        self._owner.add_product(self._scores, self._grid, self._series, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal."""
        self._owner.add_diagonal(self._scores, self._grid, self._series, result)
