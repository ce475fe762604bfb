"""Sigmoidal pair sums of large queries by box sums, in time linear in the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.pair_sums import costs
from pairrank.pair_sums.box_grid import SEGMENT_FACTOR, BoxGrid, make_plan
from pairrank.pair_sums.box_halves import HalvedQuery
from pairrank.pair_sums.exact_pairs import sum_of_edges
from pairrank.pair_sums.profiles import COST, DERIVATIVE, EVEN, PRODUCT_EPS, at_zero, box_rule
from pairrank.pair_sums.sigmoid_pairs import Derivative, QuerySum
from pairrank.pair_sums.tied_groups import TiedGroups
from pairrank.preferences import Levels

ROUNDING = 1e-15
"""The rounding of even parts, relative to the sum of the absolute differences."""
COARSER, LARGEST_DIRECT = 8, 2000
"""The factor of LARGE_LEVELS where boxes are too many, and the largest level size that it gives."""
_SAMPLE = 1000
ROWS_A_BLOCK = 1 << 14
"""Passes by numpy go over blocks of so many rows, which stay in the cache."""


class BoxedQueries:
    """The pairs of some queries of `Levels` under a sigmoidal loss, by box sums.

    A row's gradient is a sum of S over the rows of other levels, less the weight of the lower ones.
    Every large level has its own moments, and the sum uses those of the other levels. Successive
    small levels share a segment: the sum over all its rows, less those within each level
    (`TiedGroups`). The value of a segment comes from phi(d) = e(d) - d/2 with e even, so it needs
    no order either.

    Every row's gradient is within eps times the weight of its pairs, the value within eps times
    that of all pairs; the bound is `pairrank.pair_sums.profiles.error_bound`. Rounding adds about
    1e-14 of those weights, and 1e-14 of the value. Scores may be up to 1e305.

    Costs O(rows) and, for each large level, a product of boxes that depends only on the spread of
    the scores. Where scores lie so far apart that boxes outnumber rows, fewer levels have separate
    boxes. If that does not suffice, or if even parts would cancel, the levels are halved
    recursively: O(rows log levels). Memory is 4 bytes per row, and 24 more in queries with small
    levels; derivatives take 20 bytes per row.
    """

    def __init__(self, levels: Levels, queries: NDArray[np.int64], kind: int, eps: float) -> None:
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        large = costs.LARGE_LEVELS[kind]
        self.parts = [
            BoxedQuery(levels, query, kind, eps, float(scale[query]), large)
            for query in queries.tolist()
        ]

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value; threads share the queries."""
        return sum(threads.run(lambda part: part.value_and_gradient(scores, gradient), self.parts))

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        found = threads.run(lambda part: part.derivatives(order, scores), self.parts)
        return [_ByQuery(found)]


class _ByQuery:
    """The derivatives of several queries, which threads share."""

    def __init__(self, queries: list[list[Derivative]]) -> None:
        self._queries = queries

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._run(lambda derivative: derivative.product(v, result))

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        self._run(lambda derivative: derivative.diagonal(result))

    def _run(self, add: Callable[[Derivative], None]) -> None:
        def add_query(derivatives: list[Derivative]) -> None:
            for derivative in derivatives:
                add(derivative)

        threads.run(add_query, self._queries)


class BoxedQuery:
    """The pairs of one query by box sums, times `scale`.

    Levels of at least `large_level` rows have separate boxes.
    """

    def __init__(
        self, levels: Levels, query: int, kind: int, eps: float, scale: float, large_level: int
    ) -> None:
        self.kind, self.scale, self._large_level = kind, scale, large_level
        self._made_of = levels, query, kind, eps, scale
        self.plan = plan = make_plan(levels, query, large_level, scale)
        share = SEGMENT_FACTOR if plan.segment.any() else 1.0
        self.eps = eps / share
        self.rules = {
            1: box_rule((DERIVATIVE[1][kind], COST[kind], EVEN[kind]), self.eps),
            2: box_rule((DERIVATIVE[2][kind],), max(eps, PRODUCT_EPS) / share),
        }
        self.singles: list[QuerySum] = []
        self._ties: TiedGroups | None = None
        if plan.tied.size:
            errors = {1: eps * plan.tied_share, 2: max(eps, PRODUCT_EPS) * plan.tied_share}
            self._ties = TiedGroups(levels, kind, -scale, plan.tied, errors)
        if plan.small_edges.size:
            self.singles.append(sum_of_edges(levels, query, kind, scale, plan.small_edges))
        here = slice(*levels.query_start[query : query + 2])
        self.row_of = levels.row_of[here]
        self._squares = float(np.square(plan.segment_weight).sum())
        self._balance_norm = float(np.abs(plan.balance).sum())
        self._blocks = threads.blocks(self.row_of.size, ROWS_A_BLOCK)
        self._halved: HalvedQuery | None = None
        self._coarser: BoxedQuery | None = None

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        plan, kind = self.plan, self.kind
        grid = BoxGrid(plan, self.rules[1], scores)
        if not grid.feasible:
            return self._fallback().value_and_gradient(scores, gradient)
        linear = 0.0
        if plan.balance.size:
            linear, distance = self._linear_part(grid)
            if not ROUNDING * distance <= self.eps * self._balance_norm:
                return self._halves().value_and_gradient(scores, gradient)
        series, value = grid.meet(
            grid.boxes.moments(plan.weight), DERIVATIVE[1][kind], 1, (COST[kind], EVEN[kind])
        )
        grid.add(self.scale, series, gradient)
        if plan.balance.size:
            self._subtract_lower(gradient)
            value -= 0.5 * (linear + at_zero(EVEN[kind]) * self._squares)
        pairs = sum(part.value_and_gradient(scores, gradient) for part in self.singles)
        if self._ties:
            pairs += self._ties.value_and_gradient(scores, gradient)
        return self.scale * value + pairs

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        grid = BoxGrid(self.plan, self.rules[order], scores)
        if not grid.feasible:
            return self._fallback().derivatives(order, scores)
        singles = [each for part in self.singles for each in part.derivatives(order, scores)]
        ties = [self._ties.derivative(order, scores)] if self._ties else []
        return [BoxedDerivative(self, order, grid), *ties, *singles]

    def _fallback(self) -> QuerySum:
        """Return the same pairs for too many boxes: with fewer large levels, or else halved."""
        larger = COARSER * self._large_level
        if self._coarser is None and larger <= LARGEST_DIRECT:
            self._coarser = BoxedQuery(*self._made_of, larger)
        coarser = self._coarser
        if coarser is None or coarser.plan.n_codes == self.plan.n_codes:
            return self._halves()
        return coarser

    def _halves(self) -> QuerySum:
        """Return the same pairs halved; these sums do not cancel."""
        if self._halved is None:
            self._halved = HalvedQuery(*self._made_of)
        return self._halved

    def _linear_part(self, grid: BoxGrid) -> tuple[float, float]:
        """Return the sum of balance * score, and at least the sum of its absolute terms.

        Scores are relative to the middle of their boxes, because the balances sum to 0. If too much
        could then be lost, they are relative to their mean, and the absolute terms are summed.
        """
        scores, balance, keys = grid.scores, self.plan.balance, grid.boxes.keys
        coarse = self.rules[1].coarse
        lowest, highest = coarse * keys[0], coarse * (keys[-1] + 1.0)
        middle, most = 0.5 * (lowest + highest), 0.5 * (highest - lowest)
        if ROUNDING * most <= self.eps:
            sums = threads.run(
                lambda rows: float((scores[rows] - middle) @ balance[rows]), self._blocks
            )
            return float(np.sum(sums)), most * self._balance_norm
        mean = scores.mean()

        def sums_of(rows: slice) -> tuple[float, float]:
            with np.errstate(over="ignore", invalid="ignore"):
                terms = (scores[rows] - mean) * balance[rows]
                return float(terms.sum()), float(np.abs(terms).sum())

        linear, distance = zip(*threads.run(sums_of, self._blocks), strict=True)
        return float(np.sum(linear)), float(np.sum(distance))

    def _subtract_lower(self, gradient: FloatArray) -> None:
        """Subtract the part of the gradient that does not depend on the scores."""
        rows, lower = self.plan.rows, self.plan.lower_weight
        if not isinstance(rows, slice):
            gradient[rows] -= lower
            return
        here = gradient[rows]

        def subtract(block: slice) -> None:
            here[block] -= lower[block]

        threads.run(subtract, self._blocks)


class BoxedDerivative:
    """The boxes' part of the derivatives of a `BoxedQuery`; sums of k alone are computed once."""

    def __init__(self, owner: BoxedQuery, order: int, grid: BoxGrid) -> None:
        self._owner, self._order, self._grid, self._plan = owner, order, grid, owner.plan
        self._profile = DERIVATIVE[order][owner.kind]
        self._series, _ = grid.meet(grid.boxes.moments(self._plan.weight), self._profile, order)

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j).

        A mean over some rows is subtracted from v first, so that differences keep their digits.
        """
        plan, grid, scale = self._plan, self._grid, self._owner.scale
        own = np.ascontiguousarray(v[plan.rows])
        shift = float(own[:: max(1, own.size // _SAMPLE)].mean())
        if plan.weight.size:
            moments = grid.boxes.moments(plan.weight * (own - shift))
        else:
            moments = grid.boxes.moments(own, shift)
        less, _ = grid.meet(moments, self._profile, self._order)
        grid.add(scale, self._series, result, v=own, shift=shift, less=less)
        weight = plan.segment_weight
        if self._order == 1 and weight.size:
            x = v[self._owner.row_of] - shift
            sizes = np.diff(plan.level_start)
            below, below_v = (np.repeat(plan.around(w)[0], sizes) for w in (weight, weight * x))
            result[self._owner.row_of] -= scale * weight * (x * below - below_v)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k, of order 2."""
        plan, scale = self._plan, self._owner.scale
        self._grid.add(scale, self._series, result)
        if plan.segment_weight.size:
            own = at_zero(self._profile) * plan.segment_weight**2
            result[self._owner.row_of] -= scale * own
