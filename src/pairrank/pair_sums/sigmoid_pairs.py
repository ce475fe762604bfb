"""Exact sigmoidal sums of queries pair by pair, the fastest for small queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid_pairs import (
    DIAGONAL,
    HESSIAN,
    INFLUENCE,
    VECTOR,
    gradient_in_queries,
    products_in_queries,
)
from pairrank.pair_sums.costs import pairs_of_queries
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PAIRS_AT_ONCE = 1 << 27
"""The approximate number of pairs between checks for an interrupt, 0.1 to 0.5 s."""
_NO_WEIGHT = np.empty(0)
_NO_EDGES = np.empty((0, 2), dtype=np.int64)


class SigmoidPairs:
    """The part of a sigmoidal pair sum that is summed pair by pair, O(pairs) per evaluation.

    Parameters
    ----------
    levels : Levels
        Any order graph, weights and scales.
    queries : int64 array of shape (n_chosen,)
        The queries that it sums.
    kind : int
        LOGISTIC or PROBIT of `pairrank.compiled.sigmoid`.
    eps : float
        Ignored, because the sum is exact.

    Notes
    -----
    The rounding of a row's gradient is about 2e-15 of the weight of its pairs, or 1e-14 where
    logistic scores spread by hundreds. That of the value is the same part of the weight of all
    pairs and of itself.

    For logistic scores within 128 of the middle of their query, S is a_j/(a_i + a_j) with
    a = exp(s): one exponential per row instead of per pair. Without weights the value is then the
    logarithm of a product over hundreds of pairs. Otherwise the exponential and the normal tail are
    polynomials that vectorise (`pairrank.compiled.sigmoid`).
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        self.levels, self.kind, self.eps = levels, kind, eps
        self._weight = _NO_WEIGHT if levels.weight is None else levels.weight
        self._edges = _NO_EDGES if levels.edges is None else levels.edges
        self._jobs = _make_jobs(levels, queries)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        sizes = np.diff(levels.query_start)[self._jobs.query]
        self._scale = np.ascontiguousarray(scale[self._jobs.query])
        self._batches = _batches(self._jobs.pairs + sizes)
        self._n_work = int(sizes.max(initial=0)) + VECTOR

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient` (n_rows,), in the user's order; return the part of the value."""
        levels, work = self.levels, np.zeros((6, self._n_work))
        value = 0.0
        for jobs, scale in self._of_batches():
            value += gradient_in_queries(
                self.kind, jobs, scale, self._edges, levels.group_start, levels.row_of,
                scores, self._weight, work, gradient,
            )  # fmt: skip
        return value

    def curvature(self, scores: FloatArray) -> SigmoidPairsCurvature:
        """Return the Hessian at these scores; it keeps a copy of them."""
        return SigmoidPairsCurvature(self, scores.copy())

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add to each row the sum over its pairs (a over b) of weight * phi'(d) (v_a - v_b)."""
        self.add_products(INFLUENCE, scores, vector, result)

    def add_products(
        self, mode: int, scores: FloatArray, vector: FloatArray, result: FloatArray
    ) -> None:
        """Add the sums of `products_in_queries` in a `mode`, all (n_rows,) in the user's order."""
        levels, work = self.levels, np.zeros((6, self._n_work))
        for jobs, scale in self._of_batches():
            products_in_queries(
                self.kind, mode, jobs, scale, self._edges, levels.group_start, levels.row_of,
                scores, self._weight, vector, work, result,
            )  # fmt: skip

    def _of_batches(self) -> Iterator[tuple[IntArray, FloatArray]]:
        for begin, end in self._batches:
            yield self._jobs.rows[begin:end], self._scale[begin:end]


class SigmoidPairsCurvature:
    """The Hessian of `SigmoidPairs` at fixed scores."""

    def __init__(self, owner: SigmoidPairs, scores: FloatArray) -> None:
        self.owner, self.scores = owner, scores

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times `v` to `result`, both (n_rows,) in the user's order."""
        self.owner.add_products(HESSIAN, self.scores, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal to `result`, (n_rows,)."""
        self.owner.add_products(DIAGONAL, self.scores, self.scores, result)


class _Jobs(NamedTuple):
    """The jobs of `gradient_in_queries`, (n_jobs, 6), with the query and the pairs of each."""

    rows: IntArray
    query: IntArray
    pairs: FloatArray


def _make_jobs(levels: Levels, queries: IntArray) -> _Jobs:
    """Return one job per query with pairs, or several for a query with very many pairs."""
    group = levels.query_group
    bounds = np.full(levels.n_queries + 1, -1, dtype=np.int64)
    if levels.edges is not None:
        bounds = np.searchsorted(levels.edges[:, 0], group)
    several = (group[queries + 1] - group[queries] > 1) & (
        (bounds[queries + 1] > bounds[queries]) | (levels.edges is None)
    )
    queries = queries[several]
    sizes = np.diff(levels.query_start)[queries]
    pairs = pairs_of_queries(levels)[queries]
    parts = np.minimum(np.ceil(pairs / PAIRS_AT_ONCE), sizes).astype(np.int64)
    step = -(-sizes // np.maximum(parts, 1))
    of_query = np.repeat(np.arange(queries.size), parts)
    part = np.arange(of_query.size) - np.repeat(np.cumsum(parts) - parts, parts)
    query = queries[of_query]
    begin = part * step[of_query]
    end = np.minimum(begin + step[of_query], sizes[of_query])
    ends = (group[query], group[query + 1], bounds[query], bounds[query + 1], begin, end)
    return _Jobs(np.column_stack(ends).astype(np.int64), query, (pairs / parts)[of_query])


def _batches(work: FloatArray) -> list[tuple[int, int]]:
    """Return ranges of jobs with about PAIRS_AT_ONCE of `work` each, their pairs and rows."""
    if not work.size:
        return []
    done = np.cumsum(work)
    ends = np.searchsorted(done, np.arange(0.0, done[-1], PAIRS_AT_ONCE) + PAIRS_AT_ONCE) + 1
    ends = np.unique(np.minimum(ends, work.size))
    return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
