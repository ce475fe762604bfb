"""Exact sigmoidal sums pair by pair; what the parts of a sigmoidal sum have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import sigmoid_pairs as kernels
from pairrank.compiled.sigmoid import LOGISTIC
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


class Placed(NamedTuple):
    """The scores of some jobs by place; see `pairrank.compiled.sigmoid_pairs`."""

    scores: FloatArray
    exponentials: FloatArray
    near: NDArray[np.bool_]


class SigmoidPairs:
    """The pairs of some jobs, O(pairs) per evaluation.

    The pairs are cut into tiles of up to 64 winners and 450 losers. Threads share the jobs, unless
    one has very many pairs: then an interrupt is seen between batches of tiles.

    The rounding of a row's gradient is about 2e-15 of the weight of its pairs, or 1e-14 where
    logistic scores spread by hundreds. That of the value is the same part of the weight of all
    pairs and of itself.

    Where the logistic scores of a job spread by at most 170, S is a_j/(a_i + a_j) with a = exp(s):
    one exponential per row instead of per pair. Without weights the value is then the logarithm of
    products over many pairs. Otherwise the exponential and the normal tail are polynomials that
    vectorise (`pairrank.compiled.sigmoid`).
    """

    def __init__(self, levels: Levels, kind: int, jobs: Jobs) -> None:
        self._row_of, self._kind, self.jobs = levels.row_of, kind, jobs
        self._size = int(levels.group_start[-1]) + kernels.VECTOR
        win, lose = levels.sides
        self._win = self._padded(win)
        self._lose = self._win if lose is win else self._padded(lose)
        self._is_weighted = win is not None
        self._ranges = jobs.group_start[jobs.groups]
        self._cut_into_tiles()
        rows = np.diff(self._ranges, axis=1).ravel()
        self._job_batches = batches(jobs.pairs + rows, PAIRS_A_THREAD)

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        return float(np.sum(self.costs(scores, gradient) * self.jobs.scale))

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order."""
        return [PairDerivative(self, order, self._place(scores))]

    def costs(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the values of the jobs without their scale, (n_jobs,)."""
        s, a, near = self._place(scores)
        if self._is_weighted:
            near = np.zeros_like(near)
        costs, (own, others) = np.zeros(near.size), np.zeros((2, self._size))

        def add(jobs: slice, tile_start: IntArray) -> None:
            held, some = np.zeros(kernels.COLUMNS + kernels.VECTOR), near[jobs]
            pairs = tile_start, self.tiles, self._ends
            if some.any():
                kernels.near_gradients(some, *pairs, s, a, own, others, held, costs[jobs])
            if not some.all():
                kernels.gradients(
                    self._kind, some, *pairs, s, self._win, self._lose, own, others, held,
                    costs[jobs],
                )  # fmt: skip

        self._for_batches(add)
        self._settle(1.0, own, others, gradient)
        return costs

    def add_products(
        self, order: int, placed: Placed, v: FloatArray | None, result: FloatArray
    ) -> None:
        """Add to each row the sum of k (v_i - v_j), or of k alone; see `Derivative`."""
        s, a, near = placed
        laid, own, others = np.zeros((3, self._size))
        if v is not None:
            self._gather(v, laid)
        how = order, 0.0 if v is not None else 1.0

        def add(jobs: slice, tile_start: IntArray) -> None:
            held, some = np.zeros(kernels.COLUMNS + kernels.VECTOR), near[jobs]
            pairs = some, tile_start, self.tiles, self._ends
            sides = self._win, self._lose, laid, own, others, held
            if some.any():
                kernels.near_products(*how, *pairs, a, *sides)
            if not some.all():
                kernels.products(self._kind, *how, *pairs, s, *sides)

        self._for_batches(add)
        self._settle(-1.0 if order == 2 and v is not None else 1.0, own, others, result)

    def _place(self, scores: FloatArray) -> Placed:
        s, a = np.zeros((2, self._size))
        near = np.zeros(len(self._ranges), dtype=bool)
        self._gather(scores, s)
        if self._kind == LOGISTIC:
            threads.run(
                lambda jobs: kernels.exponentials(self._ranges[jobs], s, a, near[jobs]),
                self._job_batches,
            )
        return Placed(s, a, near)

    def _gather(self, values: FloatArray, out: FloatArray) -> None:
        threads.run(
            lambda jobs: kernels.gather(self._ranges[jobs], self._row_of, values, out),
            self._job_batches,
        )

    def _settle(self, sign: float, own: FloatArray, others: FloatArray, result: FloatArray) -> None:
        def settle(jobs: slice) -> None:
            kernels.settle(
                self._ranges[jobs], self.jobs.scale[jobs], sign, self._row_of, self._win,
                self._lose, own, others, result,
            )  # fmt: skip

        threads.run(settle, self._job_batches)

    def _for_batches(self, add: Callable[[slice, IntArray], None]) -> None:
        """Do this for all tiles, given some jobs and where the tiles of each begin and end."""

        def one(batch: tuple[slice, IntArray]) -> None:
            add(*batch)

        if self._is_cut:
            for batch in self.batches:
                one(batch)
        else:
            threads.run(one, self.batches)

    def _padded(self, weight: FloatArray | None) -> FloatArray:
        result = np.ones(self._size)
        if weight is not None:
            result[: weight.size] = weight
        return result

    def _cut_into_tiles(self) -> None:
        """Set the tiles, and their batches: some jobs, and where the tiles of each begin."""
        jobs = self.jobs
        winners, losers, of_job = _rectangles(jobs, self._ranges)
        self._ends = _ends(jobs, self._size)
        n_rows, n_columns = (
            -(-np.diff(side, axis=1).ravel() // size)
            for side, size in ((winners, kernels.ROWS), (losers, kernels.COLUMNS))
        )
        at, tile = concatenated(n_rows * n_columns)
        begin = winners[at, 0] + kernels.ROWS * (tile % n_rows[at])
        low = losers[at, 0] + kernels.COLUMNS * (tile // n_rows[at])
        end = np.minimum(begin + kernels.ROWS, winners[at, 1])
        high = np.minimum(low + kernels.COLUMNS, losers[at, 1])
        reached = np.minimum(self._ends[end - 1], high) - low
        some = reached > 0
        self.tiles = np.column_stack((begin, end, low, high))[some]
        tile_start = np.searchsorted(of_job[at[some]], np.arange(len(jobs.groups) + 1))
        self._is_cut = bool((jobs.pairs > PAIRS_AT_ONCE).any())
        if self._is_cut:
            cuts = batches(((end - begin) * reached)[some], PAIRS_AT_ONCE)
        else:
            cuts = [
                slice(tile_start[batch.start], tile_start[batch.stop])
                for batch in batches(jobs.pairs, PAIRS_A_THREAD)
            ]
        self.batches = [_batch(tile_start, cut) for cut in cuts]


class PairDerivative:
    """The derivatives of `SigmoidPairs` at fixed scores."""

    def __init__(self, owner: SigmoidPairs, order: int, placed: Placed) -> None:
        self._owner, self._order, self._placed = owner, order, placed

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._owner.add_products(self._order, self._placed, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        self._owner.add_products(self._order, self._placed, None, result)


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


def concatenated(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the owner of each of some things, and its place among those of its owner."""
    owner = np.repeat(np.arange(counts.size), counts)
    return owner, np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)


def _rectangles(jobs: Jobs, ranges: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return ranges of winners and of losers, both (n, 2), and the job of each, ascending."""
    if not len(jobs.runs):
        losers = np.column_stack((ranges[:, 0], jobs.group_start[jobs.groups[:, 1] - 1]))
        return ranges, losers, np.arange(len(ranges))
    job, group = concatenated(np.diff(jobs.groups, axis=1).ravel())
    group += jobs.groups[job, 0]
    at, run = concatenated(np.diff(jobs.run_start)[group])
    winners = np.column_stack((jobs.group_start[group], jobs.group_start[group + 1]))
    return winners[at], jobs.runs[run + jobs.run_start[group[at]]], job[at]


def _ends(jobs: Jobs, size: int) -> IntArray:
    """Return where the losers of each row end, where rows are preferred to all groups before."""
    result = np.full(size, size)
    if not len(jobs.runs) and jobs.group_start.size:
        start = jobs.group_start
        result[start[0] : start[-1]] = np.repeat(start[:-1], np.diff(start))
    return result


def _batch(tile_start: IntArray, tiles: slice) -> tuple[slice, IntArray]:
    """Return the jobs of some tiles, and where the tiles of each begin, and the end."""
    first = int(np.searchsorted(tile_start, tiles.start, side="right")) - 1
    stop = int(np.searchsorted(tile_start, tiles.stop, side="left"))
    return slice(first, stop), np.clip(tile_start[first : stop + 1], tiles.start, tiles.stop)
