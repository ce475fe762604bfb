"""Exact sigmoidal sums pair by pair: the fastest for small queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid_pairs import ALL_LOWER, EARLIER, VECTOR, add_pairs
from pairrank.pair_sums.costs import pairs_of_queries
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PAIRS_AT_ONCE = 1 << 27
"""The approximate number of pairs between checks for an interrupt, 0.1 to 0.5 s."""
PAIRS_A_THREAD = 1 << 20
"""The approximate number of pairs that a thread sums at once."""
TIED_ROWS = 4096
"""The approximate number of rows of a job of ties."""
NONE = np.empty(0)
"""No weights, or no vector."""
_NO_EDGES = np.empty((0, 2), dtype=np.int64)


class Derivative(Protocol):
    """The first or second derivatives k of a part of a sum at fixed scores; all (n_rows,)."""

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add to each row the sum of k (v_i - v_j) over its pairs; of order 2: Hessian times v."""
        ...

    def diagonal(self, result: FloatArray) -> None:
        """Add to each row the sum of k, which is the Hessian's diagonal; for order 2 only."""
        ...


class QuerySum(Protocol):
    """A part of a sum: some queries by one algorithm; arrays are (n_rows,) in the user's order."""

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        ...

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return what adds up to the derivatives of this order; the scores must not change."""
        ...


class StatelessSum(ABC):
    """A part of a sum whose derivatives at fixed scores have nothing to keep."""

    @abstractmethod
    def add(self, order: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the sums of k (v_i - v_j), or of k with an empty v: the gradient or the diagonal.

        With the gradient, return the value.
        """

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        return self.add(1, scores, NONE, gradient)

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        return [_Stateless(self, order, scores)]


class _Stateless:
    """The derivatives of a `StatelessSum`."""

    def __init__(self, owner: StatelessSum, order: int, scores: FloatArray) -> None:
        self._owner, self._order, self._scores = owner, order, scores

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._owner.add(self._order, self._scores, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        self._owner.add(self._order, self._scores, NONE, result)


class JobSum(StatelessSum):
    """The pairs of jobs, O(pairs) per evaluation.

    A job compares a range of groups; `pairrank.compiled.sigmoid_pairs.add_pairs` describes its six
    numbers. `scale` and `pairs` (n_jobs,) are a factor on its pairs and about their number. Edges
    are those of `levels` unless given.

    Threads share the jobs, unless several belong to one query.

    The rounding of a row's gradient is about 2e-15 of the weight of its pairs, or 1e-14 where
    logistic scores spread by hundreds. That of the value is the same part of the weight of all
    pairs and of itself.

    For logistic scores within 128 of the middle of their job, S is a_j/(a_i + a_j) with a = exp(s):
    one exponential per row instead of per pair. Without weights the value is then the logarithm of
    a product over hundreds of pairs. Otherwise the exponential and the normal tail are polynomials
    that vectorise (`pairrank.compiled.sigmoid`).
    """

    def __init__(
        self,
        levels: Levels,
        kind: int,
        jobs: IntArray,
        scale: FloatArray,
        pairs: FloatArray,
        *,
        edges: IntArray | None = None,
    ) -> None:
        edges = levels.edges if edges is None else edges
        self.jobs, self._kind, self._scale, self._levels = jobs, kind, scale, levels
        self._edges = _NO_EDGES if edges is None else edges
        self._weight = NONE if levels.weight is None else levels.weight
        sizes = levels.group_start[jobs[:, 1]] - levels.group_start[jobs[:, 0]]
        self._sizes = sizes
        self._share_rows = np.unique(jobs[:, 0]).size < len(jobs)
        self.batches = batches(pairs + sizes, PAIRS_AT_ONCE if self._share_rows else PAIRS_A_THREAD)

    def add(self, order: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the sums of `Derivative`; see `StatelessSum.add`."""
        levels = self._levels

        def add_batch(batch: slice) -> float:
            work = np.zeros((6, self._sizes[batch].max() + VECTOR))
            return float(
                add_pairs(
                    self._kind, order, self.jobs[batch], self._scale[batch], self._edges,
                    levels.group_start, levels.row_of, scores, self._weight, v, work, result,
                )
            )  # fmt: skip

        if self._share_rows:
            return sum(map(add_batch, self.batches))
        return sum(threads.run(add_batch, self.batches))


def sum_of_edges(
    levels: Levels, query: int, kind: int, scale: float, edges: IntArray
) -> StatelessSum:
    """Return the pairs of some edges (low group, high group) of a query, pair by pair."""
    first, last = levels.query_group[query : query + 2]
    sizes = np.diff(levels.group_start)
    n_rows = levels.query_start[query + 1] - levels.query_start[query]
    pairs = sizes[edges[:, 0]] * sizes[edges[:, 1]]
    n_jobs = min(len(edges), 1)
    jobs = np.array(n_jobs * [(first, last, 0, len(edges), 0, n_rows)], dtype=np.int64)
    return JobSum(
        levels, kind, jobs.reshape(-1, 6), np.full(n_jobs, scale),
        np.full(n_jobs, float(pairs.sum())), edges=np.ascontiguousarray(edges),
    )  # fmt: skip


def sum_of_ties(levels: Levels, kind: int, scale: float, groups: IntArray) -> StatelessSum:
    """Return the pairs within some groups, as if later rows were preferred to earlier ones.

    Sums over all rows of a query, in a total order of its rows, have them in excess. `groups`
    ascend; runs of successive groups are jobs of some thousand rows.
    """
    sizes = np.diff(levels.group_start)[groups]
    piece = np.cumsum(sizes) // TIED_ROWS
    new = (np.diff(groups, prepend=-2) > 1) | (np.diff(piece, prepend=-1) > 0)
    begin, end = groups[new], groups[np.roll(new, -1)] + 1
    rule = np.full(begin.size, EARLIER)
    rows = levels.group_start[end] - levels.group_start[begin]
    jobs = np.column_stack((begin, end, rule, rule, 0 * rows, rows))
    pairs = np.bincount(np.cumsum(new) - 1, 0.5 * sizes * (sizes - 1.0)).astype(np.float64)
    return JobSum(levels, kind, jobs, np.full(begin.size, scale), pairs)


class SigmoidPairs(JobSum):
    """The pairs of some queries, under any order graph, weights and scales.

    `eps` is ignored, because the sum is exact.
    """

    def __init__(self, levels: Levels, queries: IntArray, kind: int, eps: float) -> None:
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        jobs, query, pairs = _jobs_of(levels, queries)
        super().__init__(levels, kind, jobs, scale[query], pairs)


def _jobs_of(levels: Levels, queries: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return one job per query with pairs, or several for a query with very many pairs.

    Also return the query and the number of pairs of each.
    """
    group = levels.query_group
    bounds = np.full(levels.n_queries + 1, ALL_LOWER, dtype=np.int64)
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
    return np.column_stack(ends).astype(np.int64), query, (pairs / parts)[of_query]


def batches(work: FloatArray | IntArray, size: float) -> list[slice]:
    """Cut parts into slices of about `size` of `work` (n_parts,) each, or one larger part."""
    if not work.size:
        return []
    done = np.cumsum(work)
    ends = np.searchsorted(done, np.arange(0.0, done[-1], size) + size) + 1
    ends = np.unique(np.minimum(ends, work.size))
    return list(map(slice, [0, *ends[:-1].tolist()], ends.tolist()))
