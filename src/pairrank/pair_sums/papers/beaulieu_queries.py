"""Probit sums of queries by Beaulieu's series, as Raykar 2007 has them: the gradient in O(m)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid import PROBIT, PROBIT_SCALE
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.boxes import BoxedQueries
from pairrank.pair_sums.costs import pairs_of_queries
from pairrank.pair_sums.papers.beaulieu import SeriesSum
from pairrank.pair_sums.sigmoid_pairs import SigmoidPairs
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

ERFC_SCALE = PROBIT_SCALE * math.sqrt(0.5)
"""S(d) = erfc(-ERFC_SCALE d) / 2: the sqrt(3)/(sqrt(2) pi) before Eq. 3."""
FEW_PAIRS = 20_000
"""Queries and edges of up to so many pairs are faster pair by pair."""
SMALL_GROUP = 64
"""Groups of up to so many rows take what they add to themselves back pair by pair."""
_GROUPS_AT_ONCE = 1 << 10
_NO_WEIGHT = np.empty(0)


class BeaulieuQueries:
    """The part of a probit pair sum whose gradient goes by Beaulieu's series, O(m) each time.

    A row's gradient is sums of erfc over the rows that it is compared with (E- and E+ of the paper,
    Section 4), found by `SeriesSum` of the module `beaulieu`, merged. Under the full graph a row
    needs the sum over its query less that over its own level, so that any number of levels costs
    two sums a row; under other graphs each edge costs one sum a row, as in the paper. What is small
    goes pair by pair: queries of few pairs, edges of few pairs, the own sums of small levels.

    The value, which the paper does not sum fast, the Hessian and `influence` are those of
    `pairrank.pair_sums.boxes.BoxedQueries` at the same eps.

    Parameters
    ----------
    levels : Levels
        Any order graph, weights and scales.
    queries : int64 array of shape (n_chosen,)
        The queries that it sums.
    kind : int
        PROBIT of `pairrank.compiled.sigmoid`.
    eps : float
        What a row's gradient may be off by, as a part of the weight of its pairs.

    Raises
    ------
    PairrankError
        If the loss is not probit.

    Notes
    -----
    *Error.* Each sum is kept to eps/2 a unit of weight (`SeriesRule`), and erfc counts half. Over
    an edge that is eps/4 of the weight of the row's pairs. Under the full graph W_all + W_own is at
    most three times W_others where W_own is at most half of W_all: 3/4 eps. The one level that may
    weigh more is kept apart from the others: its rows need the sum over the others alone, and the
    others' rows add the sum over it, with no difference of large numbers. Rounding adds 2e-14 of
    the weight of the row's pairs.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        if kind != PROBIT:
            raise PairrankError(
                "Beaulieu's series adds up erfc, so it serves the probit loss alone: choose "
                "another route or another loss"
            )
        self.levels, self.eps = levels, eps
        few = pairs_of_queries(levels)[queries] <= FEW_PAIRS
        self._direct = SigmoidPairs(levels, queries[few], kind, eps)
        self._queries = queries[~few]
        self._boxed = BoxedQueries(levels, self._queries, kind, eps)
        scale = np.asarray(levels.pair_scale, dtype=np.float64)
        self._scale = np.broadcast_to(scale, levels.n_queries)
        self._query_start = levels.query_start

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient` (n_rows,), in the user's order; return the part of the value."""
        value = self._direct.value_and_gradient(scores, gradient)
        if self._queries.size:
            value += self._boxed.value_and_gradient(scores, np.zeros(scores.size))
        for query in self._queries:
            self._add_gradient(int(query), scores, gradient)
        return value

    def curvature(self, scores: FloatArray) -> BeaulieuCurvature:
        """Return the Hessian at these scores."""
        parts = [self._direct.curvature(scores)]
        return BeaulieuCurvature(
            [*parts, self._boxed.curvature(scores)] if self._queries.size else parts
        )

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add, a row, the sum over its pairs (a over b) of weight * phi'(d) (v_a - v_b)."""
        self._direct.influence(scores, vector, result)
        if self._queries.size:
            self._boxed.influence(scores, vector, result)

    def _add_gradient(self, query: int, scores: FloatArray, gradient: FloatArray) -> None:
        levels = self.levels
        low, high = self._query_start[query : query + 2]
        groups = levels.query_group[query : query + 2]
        rows = levels.row_of[low:high]
        weight = _NO_WEIGHT if levels.weight is None else levels.weight[low:high]
        start = levels.group_start[groups[0] : groups[1] + 1] - low
        own = _QuerySeries(scores[rows], weight, start, 0.5 * self.eps)
        if levels.edges is None:
            force = own.force_of_all()
        else:
            first, last = np.searchsorted(levels.edges[:, 0], groups)
            force = own.force_of_edges(levels.edges[first:last] - groups[0])
        force *= self._scale[query]
        gradient[rows] += force * weight if weight.size else force


class BeaulieuCurvature:
    """The Hessian of `BeaulieuQueries` at fixed scores, exact or by boxes."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times `v` to `result`, both (n_rows,) in the user's order."""
        for part in self.parts:
            part.product(v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal to `result`, (n_rows,)."""
        for part in self.parts:
            part.diagonal(result)


class _QuerySeries:
    """The forces on the rows of one query: their gradients without their weights and the scale.

    Parameters
    ----------
    scores, weight : float64 arrays of shape (n,)
        In the layout; `weight` may have length 0.
    start : int64 array of shape (n_groups + 1,)
        Where the groups begin.
    eps : float
    """

    def __init__(self, scores: FloatArray, weight: FloatArray, start: IntArray, eps: float) -> None:
        self.scores, self.weight, self.start, self.eps = scores, weight, start, eps
        sizes = np.diff(start)
        self.sizes = sizes
        self.totals = np.add.reduceat(weight, start[:-1]) if weight.size else sizes.astype(float)

    def force_of_all(self) -> FloatArray:
        """Return the weight of the higher rows less half the sum of erfc over all others, (n,)."""
        if self.sizes.size == 2:
            return self.force_of_edges(np.array([[0, 1]]))
        above = np.zeros(self.totals.size)
        above[:-1] = np.cumsum(self.totals[:0:-1])[::-1]
        force = self._sum_over_others()
        force *= -0.5
        force += np.repeat(above, self.sizes)
        return force

    def force_of_edges(self, edges: IntArray) -> FloatArray:
        """Return the same of the groups that edges (low, high) join, (n,)."""
        from pairrank.compiled.beaulieu import add_edge_forces

        force = np.zeros(self.scores.size)
        is_small = self.sizes[edges[:, 0]] * self.sizes[edges[:, 1]] <= FEW_PAIRS
        ends = np.column_stack((self.start[edges], self.start[edges + 1]))[:, [0, 2, 1, 3]]
        ends = ends[is_small]
        for at in range(0, len(ends), _GROUPS_AT_ONCE):
            part = np.ascontiguousarray(ends[at : at + _GROUPS_AT_ONCE])
            add_edge_forces(self.scores, self.weight, part, ERFC_SCALE, force)
        self._add_large_edges(edges[~is_small], force)
        return force

    def _add_large_edges(self, edges: IntArray, force: FloatArray) -> None:
        known: dict[int, SeriesSum] = {}
        for low, high in edges.tolist():
            for group in (low, high):
                if group not in known:
                    known[group] = self._sum_over(self._rows(group))
            lower, higher = self._rows(low), self._rows(high)
            force[higher] -= 0.5 * known[low].merged_at(self.scores[higher])
            force[lower] += self.totals[high] - 0.5 * known[high].merged_at(self.scores[lower])

    def _sum_over_others(self) -> FloatArray:
        """Return each row's sum of erfc over the rows of other groups; see the class's notes."""
        heavy = int(self.totals.argmax())
        is_light = np.ones(self.totals.size, dtype=bool)
        is_light[heavy] = self.totals[heavy] <= 0.5 * self.totals.sum()
        result = self._own_sums(is_light)
        np.negative(result, out=result)
        if is_light[heavy]:
            return result + self._sum_over(slice(None)).merged_at(self.scores)
        light, rows = np.repeat(is_light, self.sizes), self._rows(heavy)
        among = self._sum_over(light)
        result[light] += among.merged_at(self.scores[light])
        result[light] += self._sum_over(rows).merged_at(self.scores[light])
        result[rows] = among.merged_at(self.scores[rows])
        return result

    def _own_sums(self, is_light: NDArray[np.bool_]) -> FloatArray:
        """Return each row's sum over its own group, zeros in the group that is not light."""
        from pairrank.compiled.beaulieu import add_own_sums

        result = np.zeros(self.scores.size)
        is_small = self.sizes <= SMALL_GROUP
        ranges = np.column_stack((self.start[:-1], self.start[1:]))[is_light & is_small]
        for at in range(0, len(ranges), _GROUPS_AT_ONCE):
            part = ranges[at : at + _GROUPS_AT_ONCE]
            add_own_sums(self.scores, self.weight, part, ERFC_SCALE, result)
        for group in np.flatnonzero(is_light & ~is_small).tolist():
            rows = self._rows(group)
            result[rows] = self._sum_over(rows).merged_at(self.scores[rows])
        return result

    def _rows(self, group: int) -> slice:
        return slice(int(self.start[group]), int(self.start[group + 1]))

    def _sum_over(self, rows: slice | NDArray[np.bool_]) -> SeriesSum:
        weight = self.weight[rows] if self.weight.size else self.weight
        return SeriesSum(self.scores[rows], weight, self.eps, ERFC_SCALE)
