"""Probit sums of queries by Beaulieu's series, as in Raykar 2007: the gradient in O(m)."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid import PROBIT, PROBIT_SCALE
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.boxes import BoxedQueries
from pairrank.pair_sums.costs import pairs_of_queries
from pairrank.pair_sums.exact_pairs import SigmoidPairs, sum_of_edges, sum_of_ties
from pairrank.pair_sums.papers.beaulieu import SeriesSum
from pairrank.pair_sums.sigmoid_pairs import NONE, Derivative
from pairrank.preferences import Levels
from pairrank.preferences._codes import group_totals, totals_around

IntArray = NDArray[np.int64]

ERFC_SCALE = PROBIT_SCALE * math.sqrt(0.5)
"""S(d) = erfc(-ERFC_SCALE d) / 2: the sqrt(3)/(sqrt(2) pi) before Eq. 3."""
FEW_PAIRS = 20_000
"""Queries and edges of at most this many pairs are faster pair by pair."""
SMALL_GROUP = 64
"""In groups of at most this many rows, the pairs within are subtracted pair by pair."""


class BeaulieuQueries:
    """The part of a probit pair sum whose gradient goes by Beaulieu's series, O(m) each time.

    A row's gradient is sums of erfc over the rows that it is compared with (E- and E+ of the paper,
    Section 4), by `SeriesSum.merged_at`. Under the full graph a row needs the sum over its query
    less that over its level, so any number of levels costs two sums per row. Under other graphs
    each edge costs one sum per row, as in the paper. Queries and edges of few pairs and the sums
    within small levels go pair by pair. The value, which the paper does not sum fast, and the
    derivatives at fixed scores are those of `BoxedQueries` at the same eps.

    The error of a row's gradient is at most eps times the weight of its pairs. Each sum has an
    error of eps/2 per unit of weight (`SeriesRule`), and erfc counts half. Over an edge that is
    eps/4 of the weight of the row's pairs. Under the full graph W_all + W_own is at most three
    times W_others if W_own is at most half of W_all: 3/4 eps. The one level that may weigh more is
    summed apart from the others, without differences of large numbers. Rounding adds 2e-14 of the
    weight of the row's pairs.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        if kind != PROBIT:
            raise PairrankError(
                "Beaulieu's series adds up erfc, so it serves the probit loss alone: choose "
                "another route or another loss"
            )
        few = pairs_of_queries(levels)[queries] <= FEW_PAIRS
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        self._direct = SigmoidPairs(levels, queries[few], kind, eps)
        self._boxed = BoxedQueries(levels, queries[~few], kind, eps)
        of_query = _EdgeSeries if levels.edges is not None else _LevelSeries
        self._series = [
            of_query(levels, query, 0.5 * eps, float(scale[query]))
            for query in queries[~few].tolist()
        ]

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        value = self._direct.value_and_gradient(scores, gradient)
        if self._series:
            value += self._boxed.value_and_gradient(scores, np.zeros(scores.size))
        for series in self._series:
            series.add_gradient(scores, gradient)
        return value

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        parts = (self._direct, self._boxed)
        return [each for part in parts for each in part.derivatives(order, scores)]


class _Query:
    """The rows of one query in the layout, and series over some of them."""

    def __init__(self, levels: Levels, query: int, eps: float, scale: float) -> None:
        here = slice(*levels.query_start[query : query + 2])
        groups = levels.query_group[query : query + 2]
        self.rows, self.first_group, self.eps, self.scale = (
            levels.row_of[here],
            groups[0],
            eps,
            scale,
        )
        self.weight = NONE if levels.weight is None else levels.weight[here]
        self.start = levels.group_start[groups[0] : groups[1] + 1] - here.start
        self.sizes = np.diff(self.start)
        self.totals = group_totals(
            self.sizes, self.start, self.weight if self.weight.size else None
        )

    def series(self, scores: FloatArray, rows: slice | NDArray[np.bool_]) -> SeriesSum:
        """Return the sum of erfc over some rows."""
        weight = self.weight[rows] if self.weight.size else NONE
        return SeriesSum(scores[rows], weight, self.eps, ERFC_SCALE)

    def rows_of(self, group: int) -> slice:
        """Return the rows of a group."""
        return slice(int(self.start[group]), int(self.start[group + 1]))

    def add(self, force: FloatArray, gradient: FloatArray) -> None:
        """Add the rows' gradients, given without their weights and the scale."""
        force *= self.scale
        gradient[self.rows] += force * self.weight if self.weight.size else force


class _LevelSeries(_Query):
    """The gradient of a query under the full graph."""

    def __init__(self, levels: Levels, query: int, eps: float, scale: float) -> None:
        super().__init__(levels, query, eps, scale)
        heavy = int(self.totals.argmax())
        self.light = np.ones(self.totals.size, dtype=bool)
        self.light[heavy] = self.totals[heavy] <= 0.5 * self.totals.sum()
        self.heavy = None if self.light[heavy] else self.rows_of(heavy)
        small = self.light & (self.sizes <= SMALL_GROUP)
        self.large = np.flatnonzero(self.light & ~small).tolist()
        tied = self.first_group + np.flatnonzero(small & (self.sizes > 1))
        self.ties = sum_of_ties(levels, PROBIT, -scale, tied)
        above = totals_around(self.totals, np.array([0, self.totals.size]))[1]
        weight = self.weight if self.weight.size else np.ones(self.rows.size)
        after = totals_around(weight, self.start)[1] + 0.5 * weight
        self.above = np.repeat(above, self.sizes) + np.where(np.repeat(small, self.sizes), after, 0)

    def add_gradient(self, scores: FloatArray, gradient: FloatArray) -> None:
        """Add the weight of the higher rows less half the sum of erfc over other levels.

        For small levels it is the gradient of a total order of the rows, less that within the
        level.
        """
        own = scores[self.rows]
        sums = np.zeros(own.size)
        for group in self.large:
            rows = self.rows_of(group)
            sums[rows] -= self.series(own, rows).merged_at(own[rows])
        if self.heavy is None:
            sums += self.series(own, slice(None)).merged_at(own)
        else:
            light = np.repeat(self.light, self.sizes)
            among = self.series(own, light)
            sums[light] += among.merged_at(own[light])
            sums[light] += self.series(own, self.heavy).merged_at(own[light])
            sums[self.heavy] = among.merged_at(own[self.heavy])
        self.add(self.above - 0.5 * sums, gradient)
        self.ties.value_and_gradient(scores, gradient)


class _EdgeSeries(_Query):
    """The gradient of a query under another graph, edge by edge."""

    def __init__(self, levels: Levels, query: int, eps: float, scale: float) -> None:
        super().__init__(levels, query, eps, scale)
        edges = levels.edges
        assert edges is not None
        edges = edges[slice(*np.searchsorted(edges[:, 0], levels.query_group[query : query + 2]))]
        low, high = edges.T - self.first_group
        small = self.sizes[low] * self.sizes[high] <= FEW_PAIRS
        self.small = sum_of_edges(levels, query, PROBIT, scale, edges[small])
        self.large = (edges[~small] - self.first_group).tolist()

    def add_gradient(self, scores: FloatArray, gradient: FloatArray) -> None:
        """Add for each edge the weight of the higher rows less half the sums of erfc."""
        own = scores[self.rows]
        force = np.zeros(own.size)
        series_of = functools.cache(lambda group: self.series(own, self.rows_of(group)))
        for low, high in self.large:
            lower, higher = self.rows_of(low), self.rows_of(high)
            force[higher] -= 0.5 * series_of(low).merged_at(own[higher])
            force[lower] += self.totals[high] - 0.5 * series_of(high).merged_at(own[lower])
        self.add(force, gradient)
        self.small.value_and_gradient(scores, gradient)
