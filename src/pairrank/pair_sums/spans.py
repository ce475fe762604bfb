"""Sigmoidal sums of queries of medium size, by one short series over an interval of scores."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from pairrank._protocols import FloatArray
from pairrank.compiled import spans
from pairrank.pair_sums.boxes import BoxedQueries
from pairrank.pair_sums.costs import boxed_cost, direct_cost, most_terms
from pairrank.pair_sums.profiles import COST, CURVATURE, SIGMOID, Profile
from pairrank.pair_sums.sigmoid_pairs import SigmoidPairs
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PRODUCT_EPS = 1e-6
"""The least error of products with the Hessian; only the gradient decides where Newton ends."""
_NONE = np.empty(0)
_NO_TABLES = np.empty((0, 0, 0))


class SpannedQueries:
    """The queries of a sigmoidal pair sum between the sizes for direct sums and for box sums.

    All scores of a query are in one interval, where k(s_i - s_j) is a double Chebyshev series of
    ten to thirty terms; see `pairrank.compiled.spans`. A query whose scores spread too far is
    summed pair by pair or by boxes, whichever costs less.

    Parameters
    ----------
    levels : Levels
        Under the full graph; any weights and scales.
    queries : int64 array of shape (n_chosen,)
        The queries to sum, each with at least one pair.
    kind : int
        LOGISTIC or PROBIT of `pairrank.compiled.sigmoid`.
    eps : float
        Every row's gradient is within eps times the weight of its pairs, the value within eps times
        that of all pairs (`pairrank.pair_sums.spans.span_tables`); rounding adds 1e-14 of
        those weights.

    Notes
    -----
    Costs O(rows * terms + levels * terms^2). At 300 rows of 5 levels, eps 1e-6 and scores of spread
    6 this is a third of the cost of pairs or boxes.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        self.levels, self.queries, self.kind, self.eps = levels, queries, kind, eps
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self._scale = np.ascontiguousarray(scale[queries])
        self._weight = _NONE if levels.weight is None else levels.weight
        direct, boxed = direct_cost(levels, kind), boxed_cost(levels)
        self._large = (boxed < direct)[queries]
        self._most = most_terms(levels, np.minimum(direct, boxed))[queries]
        self._others: tuple[NDArray[np.bool_], list[SigmoidPairs | BoxedQueries]] | None = None
        self._tables = span_tables((SIGMOID[kind], COST[kind]), eps)
        self._curvature_tables = span_tables((CURVATURE[kind],), max(eps, PRODUCT_EPS))
        self._last_gradient: tuple[FloatArray, FloatArray] | None = None

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient` (n_rows,), in the user's order; return the part of the value."""
        value, others = self.add_gradient(scores, gradient, self._tables.tables[1])
        return value + sum(part.value_and_gradient(scores, gradient) for part in others)

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add to each row the sum over its pairs (a over b) of weight * phi'(d) (v_a - v_b).

        The gradient at the last scores is kept for the next vector.
        """
        if self._last_gradient is None or not np.array_equal(self._last_gradient[0], scores):
            known = np.zeros(scores.size)
            self.add_gradient(scores, known, _NO_TABLES)
            self._last_gradient = (scores.copy(), known)
        _, others = self._sums(
            True, self._tables, _NO_TABLES, scores, result, vector, self._last_gradient[1]
        )
        for part in others:
            part.influence(scores, vector, result)

    def curvature(self, scores: FloatArray) -> SpannedCurvature:
        """Return the Hessian at these scores; it keeps a copy of them."""
        return SpannedCurvature(self, scores.copy())

    def add_gradient(
        self, scores: FloatArray, result: FloatArray, costs: FloatArray
    ) -> tuple[float, list[SigmoidPairs | BoxedQueries]]:
        """Add the gradient; return the value if there are `costs`, and the other sums to add."""
        return self._sums(True, self._tables, costs, scores, result, _NONE, _NONE)

    def add_hessian(
        self,
        scores: FloatArray,
        result: FloatArray,
        v: FloatArray = _NONE,
        known: FloatArray = _NONE,
    ) -> list[SigmoidPairs | BoxedQueries]:
        """Add the Hessian's diagonal or, given the diagonal as `known`, the Hessian times v."""
        return self._sums(False, self._curvature_tables, _NO_TABLES, scores, result, v, known)[1]

    def _sums(
        self, add_gradient: bool, tables: SpanTables, costs: FloatArray, scores: FloatArray,
        result: FloatArray, v: FloatArray, known: FloatArray,
    ) -> tuple[float, list[SigmoidPairs | BoxedQueries]]:  # fmt: skip
        """Add the sums; return the value and the other sums for queries of a wide spread."""
        levels = self.levels
        wide = np.zeros(self.queries.size, dtype=bool)
        value = spans.sums_in_spans(
            add_gradient, self.queries, levels.query_group, levels.group_start, levels.row_of,
            self._scale, scores, self._weight, v, known, LEAST, tables.tables[0], costs,
            tables.degrees, self._most, wide, result,
        )  # fmt: skip
        return value, self._otherwise(wide) if wide.any() else []

    def _otherwise(self, wide: NDArray[np.bool_]) -> list[SigmoidPairs | BoxedQueries]:
        """Return other sums over these queries, and keep them."""
        if self._others is not None and np.array_equal(self._others[0], wide):
            return self._others[1]
        levels, kind, eps = self.levels, self.kind, self.eps
        small, large = self.queries[wide & ~self._large], self.queries[wide & self._large]
        parts: list[SigmoidPairs | BoxedQueries] = []
        if small.size:
            parts.append(SigmoidPairs(levels, small, kind, eps))
        if large.size:
            parts.append(BoxedQueries(levels, large, kind, eps))
        self._others = (wide, parts)
        return parts


class SpannedCurvature:
    """The Hessian of `SpannedQueries` at fixed scores."""

    def __init__(self, owner: SpannedQueries, scores: FloatArray) -> None:
        self.owner, self.scores = owner, scores
        self._diagonal = np.zeros(scores.size)
        others = owner.add_hessian(scores, self._diagonal)
        self._others = [part.curvature(scores) for part in others]

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times `v` to `result`, both (n_rows,) in the user's order."""
        self.owner.add_hessian(self.scores, result, v, self._diagonal)
        for part in self._others:
            part.product(v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal to `result`, (n_rows,)."""
        result += self._diagonal
        for part in self._others:
            part.diagonal(result)


LEAST, MOST = -8, 10
"""Tables are for radii 2**(LEAST/2), 2**((LEAST + 1)/2), .., 2**(MOST/2)."""
MOST_TERMS = 96


class SpanTables(NamedTuple):
    """The coefficients of some functions, and the numbers of terms to use.

    Attributes
    ----------
    tables : tuple of float64 arrays of shape (n_tables, MOST_TERMS, MOST_TERMS)
        One per function: [t, p, q] belongs to T_p(u_i) T_q(u_j) in k(radius_t (u_i - u_j)).
    degrees : int64 array of shape (n_tables,)
    """

    tables: tuple[FloatArray, ...]
    degrees: NDArray[np.int64]


@functools.lru_cache(maxsize=32)
def span_tables(profiles: tuple[Profile, ...], eps: float) -> SpanTables:
    r"""Return the tables of all radii for which MOST_TERMS terms suffice for eps.

    With u, u' in [-1, 1], k(r (u - u')) is the sum of c_pq T_p(u) T_q(u'). Since \|T_p\| <= 1, the
    error of leaving out all terms with p >= n or q >= n is at most the sum of their \|c_pq\|. The
    coefficients come from a cosine transform of k at twice as many Chebyshev nodes as terms.
    Aliasing adds only later terms, which are smaller by orders than those left out.

    Parameters
    ----------
    profiles : tuple of Profile
    eps : float
        The largest error of each function.
    """
    tables: list[list[FloatArray]] = [[] for _ in profiles]
    degrees = []
    for step in range(LEAST, MOST + 1):
        found = [_coefficients(profile, step) for profile in profiles]
        degree = max(_terms(coefficients, eps) for coefficients in found)
        if degree > MOST_TERMS:
            break
        degrees.append(max(degree, 2))
        for table, coefficients in zip(tables, found, strict=True):
            n_known = min(coefficients.shape[0], MOST_TERMS)
            table.append(np.zeros((MOST_TERMS, MOST_TERMS)))
            table[-1][:n_known, :n_known] = coefficients[:n_known, :n_known]
    return SpanTables(tuple(np.array(table) for table in tables), np.array(degrees))


@functools.lru_cache(maxsize=256)
def _coefficients(profile: Profile, step: int) -> FloatArray:
    n_nodes = 48 if step <= 0 else 96 if step <= 4 else 2 * MOST_TERMS
    u = np.cos(np.pi * (np.arange(n_nodes) + 0.5) / n_nodes)
    values = profile.function(2.0 ** (0.5 * step) * (u[:, np.newaxis] - u))
    result = fft.dctn(values) / n_nodes**2
    result[0] /= 2.0
    result[:, 0] /= 2.0
    return np.asarray(result)


def _terms(coefficients: FloatArray, eps: float) -> int:
    """Return the least n such that the terms with p >= n or q >= n sum to at most eps."""
    size = np.abs(coefficients)
    size = np.where(size < 1e-17 * size.max(), 0.0, size)
    inside = np.cumsum(np.cumsum(size, axis=0), axis=1).diagonal()
    left = np.append(inside[-1], inside[-1] - inside)
    return int(np.argmax(left <= eps))
