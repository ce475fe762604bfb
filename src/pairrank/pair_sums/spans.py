"""Sigmoidal sums of queries of medium size, by one short series over an interval of scores."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import spans
from pairrank.pair_sums.boxes import PRODUCT_EPS, BoxedQueries
from pairrank.pair_sums.costs import boxed_cost, direct_cost, most_terms
from pairrank.pair_sums.exact_pairs import SigmoidPairs
from pairrank.pair_sums.profiles import COST, CURVATURE, SIGMOID, Profile
from pairrank.pair_sums.sigmoid_pairs import NONE, Derivative, QuerySum, batches
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
    6 this is a third of the cost of pairs or boxes.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        self.levels, self.queries, self.kind, self.eps = levels, queries, kind, eps
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self._scale = scale[queries]
        self._batches = batches(np.diff(levels.query_start)[queries], ROWS_A_BATCH)
        self._weight = NONE if levels.weight is None else levels.weight
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
        levels, known_terms = self.levels, self._tables[order]
        wide = np.zeros(self.queries.size, dtype=bool)

        def add_batch(batch: slice) -> float:
            return float(
                spans.sums_in_spans(
                    order, self.queries[batch], levels.query_group, levels.group_start,
                    levels.row_of, self._scale[batch], scores, self._weight, v, known, LEAST,
                    known_terms.tables[0], costs, known_terms.degrees, self._most[batch],
                    wide[batch], result,
                )
            )  # fmt: skip

        value = sum(threads.run(add_batch, self._batches))
        return value, self._otherwise(wide) if wide.any() else []

    def _otherwise(self, wide: NDArray[np.bool_]) -> list[QuerySum]:
        """Return other sums over these queries, and keep them."""
        if self._others is None or not np.array_equal(self._others[0], wide):
            small, large = self.queries[wide & ~self._large], self.queries[wide & self._large]
            parts: list[QuerySum] = []
            if small.size:
                parts.append(SigmoidPairs(self.levels, small, self.kind, self.eps))
            if large.size:
                parts.append(BoxedQueries(self.levels, large, self.kind, self.eps))
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


LEAST, MOST = -8, 10
"""Tables are for radii 2**(LEAST/2), 2**((LEAST + 1)/2), .., 2**(MOST/2)."""
MOST_TERMS = 96


class SpanTables(NamedTuple):
    """The coefficients of some functions, and the numbers of terms to use."""

    tables: tuple[FloatArray, ...]
    """(n_tables, MOST_TERMS, MOST_TERMS) per function: [t, p, q] is the coefficient of
    T_p(u_i) T_q(u_j) in k(radius_t (u_i - u_j))."""
    degrees: IntArray
    """The number of terms of each table, (n_tables,)."""


@functools.lru_cache(maxsize=32)
def span_tables(profiles: tuple[Profile, ...], eps: float) -> SpanTables:
    r"""Return the tables of all radii for which MOST_TERMS terms have an error of at most eps.

    With u, u' in [-1, 1], k(r (u - u')) is the sum of c_pq T_p(u) T_q(u'). Since \|T_p\| <= 1, the
    error of leaving out all terms with p >= n or q >= n is at most the sum of their \|c_pq\|. The
    coefficients come from a cosine transform of k at twice as many Chebyshev nodes as terms.
    Aliasing adds only later terms, which are smaller by orders than those left out.
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
