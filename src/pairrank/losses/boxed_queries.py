"""Sigmoidal pair sums of large queries by box sums: every pair, in time linear in the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.fast_sums.box_rule import BoxRule, box_rule, check_eps
from pairrank.fast_sums.box_tables import children_map, coarse_blocks, limits_of
from pairrank.fast_sums.profiles import BEND, COST, EVEN, SIGMOID, Profile
from pairrank.losses.box_halves import HalvedQuery
from pairrank.losses.box_plan import SEGMENT_FACTOR, QueryPlan, make_plans, weights_around
from pairrank.preferences import Levels
from pairrank.sums import box_levels, box_pairs
from pairrank.sums.boxes import least_and_greatest

PRODUCT_EPS = 1e-6
"""Products with the Hessian need no smaller errors: the gradient decides where Newton ends."""
ROUNDING = 1e-15
"""Value by even parts loses so much of the sum of the absolute differences."""

_NONE = np.empty(0)


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
        `LOGISTIC` or `PROBIT` of `pairrank.fast_sums.profiles`.
    eps : float
        Every row's gradient is within eps times the weight of its pairs, the value within eps times
        that of all pairs; the bound is `pairrank.fast_sums.box_rule.error_bound`. Rounding adds
        about 1e-14 of those weights, and of the value 1e-15.

    Notes
    -----
    Costs O(rows) and, for each large level, a product of boxes that depends on the spread of the
    scores alone. Where scores lie so far apart that boxes outnumber rows, or that even parts would
    cancel, the levels are halved again and again instead: O(rows log levels). Memory: 4 bytes a
    row, and 28 more in queries with small levels.
    """

    def __init__(self, levels: Levels, queries: NDArray[np.int64], kind: int, eps: float) -> None:
        self.levels, self.kind, self.eps = levels, kind, check_eps(eps)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.parts = [
            BoxedQuery(levels, plan, kind, self.eps, float(scale[plan.query]))
            for plan in make_plans(levels, queries)
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
        self.parts = owner.parts
        self.scores = scores
        self._states = [part.bends(scores) for part in self.parts]

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,), to `result`."""
        for part, state in zip(self.parts, self._states, strict=True):
            part.product(self.scores, state, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the Hessian's diagonal, (n_rows,), to `result`."""
        for part, state in zip(self.parts, self._states, strict=True):
            part.diagonal(self.scores, state, result)


class _Grid(NamedTuple):
    """The scores of a query in boxes, and the moments of its weights."""

    rule: BoxRule
    scores: FloatArray
    extremes: FloatArray
    keys: FloatArray
    slot: NDArray[np.int32]
    moments: FloatArray


class _Bends(NamedTuple):
    """What products with the Hessian have in common: the sums of phi'' times the weights."""

    grid: _Grid
    series: FloatArray


class BoxedQuery:
    """The pairs of one query by box sums; see `BoxedQueries`."""

    def __init__(
        self, levels: Levels, plan: QueryPlan, kind: int, eps: float, scale: float
    ) -> None:
        self.levels, self.plan, self.kind, self.scale = levels, plan, kind, scale
        self.eps = eps / SEGMENT_FACTOR if plan.segment.any() else eps
        bend_eps = max(eps, PRODUCT_EPS)
        bend_eps = bend_eps / SEGMENT_FACTOR if plan.segment.any() else bend_eps
        self.rule = box_rule((SIGMOID[kind], COST[kind], EVEN[kind]), self.eps)
        self.bend_rule = box_rule((BEND[kind],), bend_eps)
        self.weight = _NONE if levels.weight is None else levels.weight
        self._squares = float(plan.self_weight @ plan.self_weight)
        self._segment_size = float(np.abs(plan.balance).sum())
        self._halved: HalvedQuery | None = None

    @property
    def halved(self) -> HalvedQuery:
        """The same pairs, level by level halved: for scores far apart."""
        if self._halved is None:
            self._halved = HalvedQuery(
                self.levels, self.plan.query, self.kind, self.eps, self.scale
            )
        return self._halved

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`; return the value."""
        plan, kind = self.plan, self.kind
        grid = self._grid(scores, self.rule)
        if grid is None:
            return self.halved.value_and_gradient(scores, gradient)
        linear = 0.0
        if plan.balance.size:
            centred = grid.scores - grid.scores.mean()
            if self._cancels(centred):
                return self.halved.value_and_gradient(scores, gradient)
            linear = float(centred @ plan.balance)
        blocks, even = COST[kind], EVEN[kind]
        value = box_levels.value_of_levels(
            grid.keys, grid.moments, plan.segment, plan.below, plan.below_start,
            *self._tables(blocks, grid.rule), *self._tables(even, grid.rule), grid.rule.coarse,
        )  # fmt: skip
        self._add(grid, _NONE, self._series(grid, SIGMOID[kind], True), _NONE, gradient)
        if plan.pull.size:
            gradient[plan.rows] -= self.scale * plan.pull
            half_of_zero = 0.5 * float(even.function(np.zeros(1))[0])
            value -= 0.5 * linear + half_of_zero * self._squares
        value *= self.scale
        asked = box_pairs.GRADIENT
        value -= self._pairs(box_pairs.within, plan.small, asked, scores, _NONE, gradient)
        return value + self._pairs(box_pairs.between, plan.edges, asked, scores, _NONE, gradient)

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add phi'(d) (v_a - v_b) for both rows of every pair."""
        plan = self.plan
        grid = self._grid(scores, self.rule)
        if grid is None:
            self.halved.influence(scores, vector, result)
            return
        v = self._centred(vector)
        weighted = v * plan.weight if plan.weight.size else v
        other = self._regrid(grid, weighted)
        profile = SIGMOID[self.kind]
        self._add(
            grid, v, self._series(grid, profile, True), self._series(other, profile, True), result
        )
        if plan.pull.size:
            self._lost_in_segments(vector, result)
        asked = box_pairs.INFLUENCE
        self._pairs(box_pairs.within, plan.small, asked, scores, vector, result)
        self._pairs(box_pairs.between, plan.edges, asked, scores, vector, result)

    def bends(self, scores: FloatArray) -> _Bends | None:
        """Return what is fixed while the scores are; None where levels are halved."""
        grid = self._grid(scores, self.bend_rule)
        if grid is None:
            return None
        return _Bends(grid, self._series(grid, BEND[self.kind], False))

    def product(
        self, scores: FloatArray, state: _Bends | None, v: FloatArray, result: FloatArray
    ) -> None:
        """Add the Hessian times v."""
        if state is None:
            self.halved.product(scores, v, result)
            return
        plan = self.plan
        here = self._centred(v)
        weighted = here * plan.weight if plan.weight.size else here
        series = self._series(self._regrid(state.grid, weighted), BEND[self.kind], False)
        self._add(state.grid, here, state.series, series, result)
        asked = box_pairs.PRODUCT
        self._pairs(box_pairs.within, plan.small, asked, scores, v, result)
        self._pairs(box_pairs.between, plan.edges, asked, scores, v, result)

    def diagonal(self, scores: FloatArray, state: _Bends | None, result: FloatArray) -> None:
        """Add the diagonal of the Hessian."""
        if state is None:
            self.halved.diagonal(scores, result)
            return
        plan = self.plan
        self._add(state.grid, _NONE, state.series, _NONE, result)
        if plan.self_weight.size:
            at_zero = float(BEND[self.kind].function(np.zeros(1))[0])
            result[plan.rows] -= (self.scale * at_zero) * plan.self_weight**2
        asked = box_pairs.DIAGONAL
        self._pairs(box_pairs.within, plan.small, asked, scores, _NONE, result)
        self._pairs(box_pairs.between, plan.edges, asked, scores, _NONE, result)

    def _grid(self, scores: FloatArray, rule: BoxRule) -> _Grid | None:
        """Return the query's boxes and moments, or None where they would be too many."""
        here = np.ascontiguousarray(scores[self.plan.rows])
        extremes = np.array(least_and_greatest(here))
        grid = _Grid(rule, here, extremes, _NONE, np.empty(0, dtype=np.int32), _NONE)
        grid = self._regrid(grid, self.plan.weight)
        return grid if grid.keys.size else None

    def _regrid(self, grid: _Grid, weight: FloatArray) -> _Grid:
        """Return the same boxes with the moments of other weights."""
        rule = grid.rule
        keys, slot, moments = box_levels.summarise_levels(
            grid.scores, self.plan.code, weight, self.plan.n_codes, grid.extremes,
            np.array([rule.fine, rule.coarse]), children_map(rule),
        )  # fmt: skip
        return grid._replace(keys=keys, slot=slot, moments=moments)

    @staticmethod
    def _tables(profile: Profile, rule: BoxRule) -> tuple[FloatArray, FloatArray]:
        return coarse_blocks(profile, rule), limits_of(profile)

    def _series(self, grid: _Grid, profile: Profile, pulls: bool) -> FloatArray:
        plan = self.plan
        return box_levels.series_of_levels(
            grid.keys, grid.moments, plan.segment, plan.below, plan.below_start, plan.above,
            plan.above_start, *self._tables(profile, grid.rule), grid.rule.coarse, pulls,
        )  # fmt: skip

    def _add(
        self, grid: _Grid, v: FloatArray, one: FloatArray, other: FloatArray, result: FloatArray
    ) -> None:
        plan, rule = self.plan, grid.rule
        contiguous = isinstance(plan.rows, slice)
        here = result[plan.rows] if contiguous else np.zeros(grid.scores.size)
        box_levels.add_levels(
            grid.scores, plan.code, plan.weight, v, grid.slot, grid.keys.size, grid.extremes,
            np.array([rule.fine, rule.coarse]), children_map(rule), self.scale, one, other, here,
        )  # fmt: skip
        if not contiguous:
            result[plan.rows] += here

    def _pairs(self, function, places, asked, scores, v, result) -> float:  # type: ignore[no-untyped-def]
        if not len(places):
            return 0.0
        return function(
            self.kind, asked, places, self.levels.row_of, scores, self.weight, v, self.scale, result
        )

    def _cancels(self, centred: FloatArray) -> bool:
        """Whether even parts would lose more than eps to rounding."""
        size = float(np.abs(centred) @ np.abs(self.plan.balance))
        return not ROUNDING * size <= self.eps * self._segment_size

    def _centred(self, vector: FloatArray) -> FloatArray:
        """Return a query's values less their mean: only differences count."""
        here = vector[self.plan.rows]
        return here - here.mean()

    def _lost_in_segments(self, vector: FloatArray, result: FloatArray) -> None:
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
