"""Sigmoidal sums of middling queries, whose scores fit into one interval of a short series."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.fast_sums.profiles import BEND, COST, SIGMOID
from pairrank.fast_sums.span_tables import LEAST, SpanTables, span_tables
from pairrank.losses.boxed_queries import BoxedQueries
from pairrank.losses.direct_queries import DirectQueries
from pairrank.losses.sigmoid_schedule import boxed_cost, direct_cost
from pairrank.preferences import Levels
from pairrank.sums import spans

IntArray = NDArray[np.int64]

PRODUCT_EPS = 1e-6
"""Products with the Hessian need no smaller errors: the gradient decides where Newton ends."""
_NONE = np.empty(0)
_NO_TABLES = np.empty((0, 0, 0))


class SpannedQueries:
    """The part of a sigmoidal pair sum whose queries are too large to go pair by pair.

    And too small for box sums: all scores of a query are in one interval, where k(s_i - s_j) is a
    double Chebyshev series of ten to thirty terms; see `pairrank.sums.spans`. A query whose scores
    at its turn spread too far for that goes pair by pair, or by boxes where it is large.

    Parameters
    ----------
    levels : Levels
        Under the full graph; any weights and scales.
    queries : int64 array of shape (n_chosen,)
        The queries that it sums, each with a pair.
    kind : int
        LOGISTIC or PROBIT of `pairrank.sums.sigmoids`.
    eps : float
        Every row's gradient is within eps times the weight of its pairs, the value within eps times
        that of all pairs (`pairrank.fast_sums.span_tables.span_tables`); rounding adds 1e-14 of
        those weights.

    Notes
    -----
    Costs O(rows * terms + levels * terms^2): at 300 rows of 5 levels, eps 1e-6 and scores of spread
    6 a third of what pairs or boxes cost.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        self.levels, self.queries, self.kind, self.eps = levels, queries, kind, eps
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self._scale = np.ascontiguousarray(scale[queries])
        self._weight = _NONE if levels.weight is None else levels.weight
        self._large = (boxed_cost(levels) < direct_cost(levels, kind))[queries]
        self._tables = span_tables((SIGMOID[kind], COST[kind]), eps)
        self._bends = span_tables((BEND[kind],), max(eps, PRODUCT_EPS))

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient` (n_rows,), in the user's order; return the part of the value."""
        costs = self._tables.tables[1]
        value, wide = self._sums(spans.PULL, self._tables, costs, scores, _NONE, gradient)
        return value + sum(part.value_and_gradient(scores, gradient) for part in wide)

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add, a row, the sum over its pairs (a over b) of weight * phi'(d) (v_a - v_b)."""
        asked, tables = spans.INFLUENCE, self._tables
        for part in self._sums(asked, tables, _NO_TABLES, scores, vector, result)[1]:
            part.influence(scores, vector, result)

    def curvature(self, scores: FloatArray) -> SpannedCurvature:
        """Return the Hessian at these scores; it keeps a copy of them."""
        return SpannedCurvature(self, scores.copy())

    def add_product(self, scores: FloatArray, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times `v`, as a curvature does."""
        asked, tables = spans.PRODUCT, self._bends
        for part in self._sums(asked, tables, _NO_TABLES, scores, v, result)[1]:
            part.curvature(scores).product(v, result)

    def add_diagonal(self, scores: FloatArray, result: FloatArray) -> None:
        """Add the diagonal of the Hessian."""
        asked, tables = spans.PLAIN, self._bends
        for part in self._sums(asked, tables, _NO_TABLES, scores, _NONE, result)[1]:
            part.curvature(scores).diagonal(result)

    def _sums(
        self,
        asked: int,
        tables: SpanTables,
        costs: FloatArray,
        scores: FloatArray,
        v: FloatArray,
        result: FloatArray,
    ) -> tuple[float, list[DirectQueries | BoxedQueries]]:
        """Add what is asked for; return the value and the sums of what is left to do otherwise."""
        levels = self.levels
        wide = np.zeros(self.queries.size, dtype=bool)
        value = spans.sums_in_spans(
            asked, self.queries, levels.query_group, levels.group_start, levels.row_of,
            self._scale, scores, self._weight, v, LEAST, tables.tables[0], costs, tables.degrees,
            wide, result,
        )  # fmt: skip
        return value, self._otherwise(wide) if wide.any() else []

    def _otherwise(self, wide: NDArray[np.bool_]) -> list[DirectQueries | BoxedQueries]:
        levels, kind, eps = self.levels, self.kind, self.eps
        small, large = self.queries[wide & ~self._large], self.queries[wide & self._large]
        parts: list[DirectQueries | BoxedQueries] = []
        if small.size:
            parts.append(DirectQueries(levels, small, kind, eps))
        if large.size:
            parts.append(BoxedQueries(levels, large, kind, eps))
        return parts


class SpannedCurvature:
    """The Hessian of `SpannedQueries` at fixed scores."""

    def __init__(self, owner: SpannedQueries, scores: FloatArray) -> None:
        self.owner, self.scores = owner, scores

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times `v` to `result`, both (n_rows,) in the user's order."""
        self.owner.add_product(self.scores, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal to `result`, (n_rows,)."""
        self.owner.add_diagonal(self.scores, result)
