"""Sigmoidal sums of queries of medium size, by one short series over an interval of scores."""

from __future__ import annotations

import importlib

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import spans
from pairrank.compiled._lane_series import LANES
from pairrank.pair_sums.costs import boxed_cost, direct_cost, most_terms
from pairrank.pair_sums.profiles import COST, CURVATURE, PRODUCT_EPS, SIGMOID
from pairrank.pair_sums.sigmoid_pairs import NONE, Derivative, QuerySum, batches
from pairrank.pair_sums.span_tables import LEAST, MOST_TERMS, span_tables
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

_NO_TABLES = np.empty((0, 0, 0))
ROWS_A_BATCH = 1 << 14
"""Threads share the queries in batches of about so many rows."""


class SpannedQueries:
    """The queries of a sigmoidal pair sum between the sizes for direct sums and for box sums.

    All scores of a query are in one interval, where k(s_i - s_j) is a double Chebyshev series of
    ten to thirty terms; see `pairrank.compiled.spans`. A query whose scores spread too far is
    summed pair by pair or by boxes, whichever costs less.

    The graph must be full. Every row's gradient is within eps times the weight of its pairs, the
    value within eps times that of all pairs (`span_tables`); rounding adds 1e-14 of those weights.
    Costs O(rows * terms + levels * terms^2). At 300 rows of 5 levels, eps 1e-6 and scores of spread
    6 this is a third of the cost of pairs or boxes. Memory is 12 bytes per row, with every level
    filled up to whole vectors of eight rows.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        self.levels, self.queries, self.kind, self.eps = levels, queries, kind, eps
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self._scale = scale[queries]
        self._lay_out()
        self._batches = batches(self._sizes[0], ROWS_A_BATCH)
        direct, boxed = direct_cost(levels, kind), boxed_cost(levels, kind)
        self._large = (boxed < direct)[queries]
        self._most = most_terms(levels, np.minimum(direct, boxed))[queries]
        self._others: tuple[NDArray[np.bool_], list[QuerySum]] | None = None
        self._tables = {
            1: span_tables((SIGMOID[kind], COST[kind]), eps),
            2: span_tables((CURVATURE[kind],), max(eps, PRODUCT_EPS)),
        }

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        value, others = self.add(1, scores, gradient, costs=self._tables[1].tables[1])
        return value + sum(part.value_and_gradient(scores, gradient) for part in others)

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        known = np.zeros(scores.size)
        _, others = self.add(order, scores, known)
        own = SpannedDerivative(self, order, scores, known)
        return [own, *(each for part in others for each in part.derivatives(order, scores))]

    def add(
        self,
        order: int,
        scores: FloatArray,
        result: FloatArray,
        *,
        v: FloatArray = NONE,
        known: FloatArray = NONE,
        costs: FloatArray = _NO_TABLES,
    ) -> tuple[float, list[QuerySum]]:
        """Add the sums of `pairrank.compiled.spans.sums_in_spans`.

        Return the value, if there are `costs`, and the sums of queries of too wide a spread.
        """
        known_terms = self._tables[order]
        wide = np.zeros(self.queries.size, dtype=bool)

        places, n_levels = self._sizes

        def add_batch(batch: slice) -> float:
            scratch = spans.scratch(places[batch].max(), n_levels[batch].max(), MOST_TERMS)
            return float(
                spans.sums_in_spans(
                    order, self._query_level[batch.start : batch.stop + 1], self._level_start,
                    self._rows, self._scale[batch], scores, self._weight, v, known, LEAST,
                    known_terms.tables[0], costs, known_terms.degrees, self._most[batch],
                    *scratch, wide[batch], result,
                )
            )  # fmt: skip

        value = sum(threads.run(add_batch, self._batches))
        return value, self._otherwise(wide) if wide.any() else []

    def _lay_out(self) -> None:
        """Set where levels and queries begin if every level fills whole vectors, and their rows."""
        levels, queries = self.levels, self.queries
        n_levels = np.diff(levels.query_group)[queries]
        self._query_level = np.append(0, np.cumsum(n_levels))
        of_query = np.repeat(levels.query_group[queries] - self._query_level[:-1], n_levels)
        group = of_query + np.arange(of_query.size)
        start, sizes = levels.group_start[group], np.diff(levels.group_start)[group]
        whole = -(-sizes // LANES) * LANES
        self._level_start = np.append(0, np.cumsum(whole))
        place = np.arange(self._level_start[-1]) - np.repeat(self._level_start[:-1], whole)
        inside = place < np.repeat(sizes, whole)
        laid = np.repeat(start, whole) + np.where(inside, place, 0)
        self._rows = levels.row_of[laid].view(np.uint32)
        self._weight = np.where(inside, 1.0 if levels.weight is None else levels.weight[laid], 0.0)
        self._sizes = np.diff(self._level_start[self._query_level]), n_levels

    def _otherwise(self, wide: NDArray[np.bool_]) -> list[QuerySum]:
        """Return other sums over these queries, and keep them.

        They are imported when they are needed: that takes a tenth of a first fit from the cache.
        """
        if self._others is None or not np.array_equal(self._others[0], wide):
            small, large = self.queries[wide & ~self._large], self.queries[wide & self._large]
            parts: list[QuerySum] = []
            if small.size:
                exact_pairs = importlib.import_module("pairrank.pair_sums.exact_pairs")
                parts.append(exact_pairs.SigmoidPairs(self.levels, small, self.kind, self.eps))
            if large.size:
                boxes = importlib.import_module("pairrank.pair_sums.boxes")
                parts.append(boxes.BoxedQueries(self.levels, large, self.kind, self.eps))
            self._others = (wide, parts)
        return self._others[1]


class SpannedDerivative:
    """The derivatives of `SpannedQueries` at fixed scores; the sums without v are known."""

    def __init__(
        self, owner: SpannedQueries, order: int, scores: FloatArray, known: FloatArray
    ) -> None:
        self._owner, self._order, self._scores, self._known = owner, order, scores, known

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._owner.add(self._order, self._scores, result, v=v, known=self._known)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        result += self._known
