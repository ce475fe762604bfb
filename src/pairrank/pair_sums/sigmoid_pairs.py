"""Exact sigmoidal sums pair by pair; what the parts of a sigmoidal sum have in common."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid_pairs import VECTOR, add_pairs
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PAIRS_AT_ONCE = 1 << 27
"""The approximate number of pairs between checks for an interrupt, 0.1 to 0.5 s."""
PAIRS_A_THREAD = 1 << 20
"""The approximate number of pairs that a thread sums at once."""
NONE = np.empty(0)
"""No weights, or no vector."""
NO_PLACES = np.empty(0, dtype=np.int64)
NO_RUNS = np.empty((0, 2), dtype=np.int64)


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


class Jobs(NamedTuple):
    """Ranges of groups whose pairs are summed, one job each."""

    groups: IntArray
    """The first group of each job and the last + 1, (n_jobs, 2)."""
    scale: FloatArray
    """The factor on each job's pairs, (n_jobs,)."""
    pairs: FloatArray
    """The number of pairs of each job, (n_jobs,)."""
    group_start: IntArray
    """Where the rows of each group begin in the layout; those of the last one end there too."""
    run_start: IntArray = NO_PLACES
    """Where the runs of each group begin, (n_groups + 1,)."""
    runs: IntArray = NO_RUNS
    """The places that a group is preferred to, (n_runs, 2). Without any it is preferred to all
    places of its job before it."""
    query: IntArray = NO_PLACES
    """The query of each job, ascending, where they are those of `Bands`."""

    def of_queries(self, chosen: NDArray[np.bool_]) -> Jobs:
        """Return the jobs of the chosen queries of `Bands`."""
        if chosen.all():
            return self
        at = np.flatnonzero(chosen[self.query])
        return self._replace(
            groups=self.groups[at], scale=self.scale[at], pairs=self.pairs[at], query=self.query[at]
        )


class SigmoidPairs:
    """The pairs of some jobs, O(pairs) per evaluation.

    Threads share the jobs. A job of very many pairs is cut into parts, between which an interrupt
    is seen.

    The rounding of a row's gradient is about 2e-15 of the weight of its pairs, or 1e-14 where
    logistic scores spread by hundreds. That of the value is the same part of the weight of all
    pairs and of itself.

    Where the logistic scores of a job spread by at most 170, S is a_j/(a_i + a_j) with a = exp(s):
    one exponential per row instead of per pair. Without weights the value is then the logarithm of
    products over many pairs. Otherwise the exponential and the normal tail are polynomials that
    vectorise (`pairrank.compiled.sigmoid`).
    """

    def __init__(self, levels: Levels, kind: int, jobs: Jobs) -> None:
        self._levels, self._kind, self.jobs = levels, kind, jobs
        self._win, self._lose = (NONE if side is None else side for side in levels.sides)
        start, end = jobs.group_start[jobs.groups].T
        self.parts, self.job_of_part = _parts(jobs, start, end)
        self._start, self._end = start[self.job_of_part], end[self.job_of_part]
        self._is_cut = len(self.parts) > len(jobs.groups)
        work = (jobs.pairs + (end - start))[self.job_of_part]
        self.batches = batches(work, PAIRS_AT_ONCE if self._is_cut else PAIRS_A_THREAD)

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        scale = self.jobs.scale[self.job_of_part]
        return float(np.sum(self.add(1, scores, NONE, gradient) * scale))

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        return [PairDerivative(self, order, scores)]

    def add(self, order: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> FloatArray:
        """Do what `add_pairs` does; return the costs of the parts of jobs."""
        levels, jobs = self._levels, self.jobs
        costs = np.zeros(len(self.parts))

        def add_batch(batch: slice) -> None:
            lowest, end = self._start[batch].min(), self._end[batch].max()
            size = end - lowest + VECTOR
            work, ends = np.empty((8, size)), np.empty(size, dtype=np.int64)
            add_pairs(
                self._kind, order, self.parts[batch], jobs.scale[self.job_of_part[batch]],
                jobs.group_start, jobs.run_start, jobs.runs, levels.row_of, scores, self._win,
                self._lose, v, lowest, work, ends, costs[batch], result,
            )  # fmt: skip

        if self._is_cut:
            for batch in self.batches:
                add_batch(batch)
        else:
            threads.run(add_batch, self.batches)
        return costs


class PairDerivative:
    """The derivatives of `SigmoidPairs` at fixed scores."""

    def __init__(self, owner: SigmoidPairs, order: int, scores: FloatArray) -> None:
        self._owner, self._order, self._scores = owner, order, scores

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._owner.add(self._order, self._scores, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        self._owner.add(self._order, self._scores, NONE, result)


def jobs_of_queries(levels: Levels, queries: IntArray) -> Jobs:
    """Return one job per query, with all its pairs."""
    groups = np.column_stack((levels.query_group[queries], levels.query_group[queries + 1]))
    scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
    pairs = pairs_of_queries(levels)[queries]
    if levels.edges is None:
        return Jobs(groups, scale[queries], pairs, levels.group_start)
    return Jobs(groups, scale[queries], pairs, *runs_of_edges(levels, levels.edges))


def runs_of_edges(levels: Levels, edges: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return where groups begin, where their runs begin, and the runs, for some edges (n, 2).

    Successive groups that a group is preferred to are one run.
    """
    low, high = edges[np.lexsort(edges.T)].T
    joined = (np.diff(low, prepend=-2) == 1) & (np.diff(high, prepend=-2) == 0)
    first = np.flatnonzero(~joined)
    last = np.append(first[1:], low.size) - 1 if low.size else first
    runs = np.column_stack((levels.group_start[low[first]], levels.group_start[low[last] + 1]))
    run_start = np.searchsorted(high[first], np.arange(levels.group_level.size + 1))
    if not len(runs):  # Without runs, groups would be preferred to all before them.
        runs = np.zeros((1, 2), dtype=np.int64)
    return levels.group_start, run_start, runs


def pairs_of_queries(levels: Levels, edges: IntArray | None = None) -> FloatArray:
    """Return the number of preferences of each query, (n_queries,), as float64.

    They are those of `edges` (low group, high group) only, if given.
    """
    edges = levels.edges if edges is None else edges
    sizes = np.diff(levels.group_start).astype(np.float64)
    if edges is None:
        rows = np.diff(levels.query_start).astype(np.float64)
        return (rows * rows - by_query(levels, np.arange(sizes.size), sizes * sizes)) / 2.0
    low, high = edges.T
    return by_query(levels, low, sizes[low] * sizes[high])


def by_query(levels: Levels, groups: IntArray, values: FloatArray) -> FloatArray:
    """Sum values of the given groups by query, (n_queries,)."""
    query_of_group = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_group))
    summed = np.bincount(query_of_group[groups], values, levels.n_queries)
    return summed.astype(np.float64)


def batches(work: FloatArray | IntArray, size: float) -> list[slice]:
    """Cut parts into slices of about `size` of `work` (n_parts,) each, or one larger part."""
    if not work.size:
        return []
    done = np.cumsum(work)
    ends = np.searchsorted(done, np.arange(0.0, done[-1], size) + size) + 1
    ends = np.unique(np.minimum(ends, work.size))
    return list(map(slice, [0, *ends[:-1].tolist()], ends.tolist()))


def _parts(jobs: Jobs, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the parts of jobs as `add_pairs` takes them, (n_parts, 4), and the job of each."""
    sizes = end - start
    n_parts = np.clip(np.ceil(jobs.pairs / PAIRS_AT_ONCE), 1, np.maximum(sizes, 1)).astype(np.int64)
    of_job = np.repeat(np.arange(sizes.size), n_parts)
    part = np.arange(of_job.size) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    step = -(-sizes // n_parts)[of_job]
    begin = start[of_job] + part * step
    rows = np.column_stack((begin, np.minimum(begin + step, end[of_job])))
    return np.ascontiguousarray(np.hstack((jobs.groups[of_job], rows))), of_job
