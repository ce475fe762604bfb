"""Sigmoidal pair sums by halving the levels: box sums between two runs of rows at a time.

They are for scores so far apart that there are too many boxes for all levels, or that sums over
levels would cancel. Each pair of runs has boxes for its own rows only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid_pairs import ALL_LOWER
from pairrank.pair_sums.box_sum import Moments, evaluate, product_of, summarise
from pairrank.pair_sums.exact_pairs import sum_of_edges
from pairrank.pair_sums.profiles import COST, DERIVATIVE, Profile, box_rule
from pairrank.pair_sums.sigmoid_pairs import JobSum, StatelessSum
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

FEW_PAIRS = 4_000
"""Edges and ranges of levels of at most this many pairs are summed pair by pair."""


class HalvedQuery(StatelessSum):
    """The pairs of one query: its lower half with its upper half, then recursively within both.

    For graphs other than the full one, it goes edge by edge. Costs O(rows log levels), or O(rows)
    per edge. The arguments are those of `pairrank.pair_sums.boxes.BoxedQuery`.
    """

    def __init__(self, levels: Levels, query: int, kind: int, eps: float, scale: float) -> None:
        self.levels, self.kind, self.scale = levels, kind, scale
        self.rule = box_rule((DERIVATIVE[1][kind], COST[kind], DERIVATIVE[2][kind]), eps)
        first, last = levels.query_group[query : query + 2]
        starts = levels.group_start
        self.single: StatelessSum
        if levels.edges is None:
            self.single, runs = _halves(levels, kind, scale, int(first), int(last))
        else:
            bounds = np.searchsorted(levels.edges[:, 0], [first, last])
            edges = levels.edges[bounds[0] : bounds[1]]
            sizes = np.diff(starts)[edges]
            small = sizes[:, 0] * sizes[:, 1] <= FEW_PAIRS
            self.single = sum_of_edges(levels, query, kind, scale, edges[small])
            runs = np.stack((starts[edges[~small]], starts[edges[~small] + 1]), axis=-1).tolist()
        self.large = [(slice(*low), slice(*high)) for low, high in runs]

    def add(self, order: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the sums of `Derivative`; see `StatelessSum.add`."""
        value = self.single.add(order, scores, v, result)
        profile = DERIVATIVE[order][self.kind]
        for runs in self.large:
            low, high = (_End(self, here, scores) for here in runs)
            self._add_sums(profile, low, high, 0.0, v, result)
            self._add_sums(profile, high, low, float(order == 1), v, result)
            if order == 1 and not v.size:
                value += self.scale * product_of(COST[self.kind], high.moments, low.moments)
        return value

    def _add_sums(
        self,
        profile: Profile,
        own: _End,
        other: _End,
        constant: float,
        v: FloatArray,
        result: FloatArray,
    ) -> None:
        """Add to the rows of one end the sums of k - constant over the other end's rows."""
        sums = own.sums(profile, other.moments) - constant * other.total
        if v.size:
            here, there = v[own.rows], v[other.rows]
            mean = there.mean()
            weighted = other.times(there - mean)
            moved = own.sums(profile, summarise(self.rule, other.scores, weighted))
            sums = (here - mean) * sums - (moved - constant * float(weighted.sum()))
        result[own.rows] += self.scale * own.times(sums)


class _End:
    """The rows of one run, their scores and moments."""

    def __init__(self, owner: HalvedQuery, here: slice, scores: FloatArray) -> None:
        levels = owner.levels
        self.rows = levels.row_of[here]
        self.scores = scores[self.rows]
        self.weight = None if levels.weight is None else levels.weight[here]
        self.moments = summarise(owner.rule, self.scores, self.weight)
        self.total = float(self.rows.size if self.weight is None else self.weight.sum())

    def times(self, values: FloatArray) -> FloatArray:
        """Return values times the rows' weights."""
        return values if self.weight is None else values * self.weight

    def sums(self, profile: Profile, moments: Moments) -> FloatArray:
        """Return the sums over the sources of the moments at each row."""
        return evaluate(profile, self.scores, moments)


def _halves(
    levels: Levels, kind: int, scale: float, first: int, last: int
) -> tuple[StatelessSum, list[list[tuple[int, int]]]]:
    """Return the sum of ranges of few pairs, and the lower and upper run of each division."""
    starts = levels.group_start
    squares = np.append(0.0, np.cumsum(np.diff(starts).astype(np.float64) ** 2))
    jobs, pairs, runs, waiting = [], [], [], [(first, last)]
    while waiting:
        low, high = waiting.pop()
        n_rows = int(starts[high] - starts[low])
        n_pairs = 0.5 * (float(n_rows) ** 2 - (squares[high] - squares[low]))
        if high - low < 2:
            continue
        if n_pairs <= FEW_PAIRS:
            jobs.append((low, high, ALL_LOWER, ALL_LOWER, 0, n_rows))
            pairs.append(n_pairs)
            continue
        middle = int(np.searchsorted(starts[low:high], (starts[low] + starts[high]) / 2)) + low
        middle = min(max(middle, low + 1), high - 1)
        runs.append([(starts[low], starts[middle]), (starts[middle], starts[high])])
        waiting += [(low, middle), (middle, high)]
    rows = np.array(jobs, dtype=np.int64).reshape(-1, 6)
    return JobSum(levels, kind, rows, np.full(len(jobs), scale), np.array(pairs)), runs
