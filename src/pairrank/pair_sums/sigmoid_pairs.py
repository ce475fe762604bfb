"""Exact sigmoidal sums pair by pair, for jobs of pairs; what the parts of a sum have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid import LOGISTIC
from pairrank.compiled.sigmoid_pairs import VECTOR, add_pairs
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PAIRS_AT_ONCE = 1 << 27
"""The approximate number of pairs between checks for an interrupt, 0.1 to 0.5 s."""
PAIRS_A_THREAD = 1 << 20
"""The approximate number of pairs that a thread sums at once."""
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

    Where the logistic scores of a job spread by at most 170, S is a_j/(a_i + a_j) with a = exp(s):
    one exponential per row instead of per pair. Without weights the value is then the logarithm of
    a product over all pairs, and in the gradient four pairs share a division. Otherwise the
    exponential and the normal tail are polynomials that vectorise (`pairrank.compiled.sigmoid`).
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
        levels, weight = self._levels, self._weight
        near = self._kind == LOGISTIC and not (order == 1 and not v.size and weight.size)

        def add_batch(batch: slice) -> float:
            work = np.zeros((6, self._sizes[batch].max() + VECTOR))

            def add_jobs(kind: int | None, jobs: IntArray, scale: FloatArray) -> float:
                return float(
                    add_pairs(
                        kind, order, jobs, scale, self._edges, levels.group_start, levels.row_of,
                        scores, weight, v, work, far, result,
                    )
                )  # fmt: skip

            jobs, scale = self.jobs[batch], self._scale[batch]
            far = np.full(len(jobs), not near)
            value = add_jobs(None, jobs, scale) if near else 0.0
            return value + add_jobs(self._kind, jobs[far], scale[far]) if far.any() else value

        if self._share_rows:
            return sum(map(add_batch, self.batches))
        return sum(threads.run(add_batch, self.batches))


def batches(work: FloatArray | IntArray, size: float) -> list[slice]:
    """Cut parts into slices of about `size` of `work` (n_parts,) each, or one larger part."""
    if not work.size:
        return []
    done = np.cumsum(work)
    ends = np.searchsorted(done, np.arange(0.0, done[-1], size) + size) + 1
    ends = np.unique(np.minimum(ends, work.size))
    return list(map(slice, [0, *ends[:-1].tolist()], ends.tolist()))
