"""Sigmoidal pair sums by halving the levels: box sums between two runs of rows at a time.

They serve scores so far apart that there are too many boxes for all levels, or that sums over
levels would cancel. Each pair of runs has boxes for its own rows only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import box_pairs
from pairrank.pair_sums.box_sum import Moments, evaluate, product_of, summarise
from pairrank.pair_sums.profiles import COST, CURVATURE, SIGMOID, BoxRule, Profile, box_rule
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

FEW_PAIRS = 4_000
"""Runs of at most this many pairs are summed pair by pair."""
_NONE = np.empty(0)


class HalvedQuery:
    """The pairs of one query: its lower half with its upper half, then recursively within both.

    For graphs other than the full one, it goes edge by edge. Costs O(rows log levels), or O(rows)
    per edge. The arguments are those of `pairrank.pair_sums.boxes.BoxedQuery`.
    """

    def __init__(self, levels: Levels, query: int, kind: int, eps: float, scale: float) -> None:
        self.levels, self.kind, self.scale = levels, kind, scale
        self.rule = box_rule((SIGMOID[kind], COST[kind], CURVATURE[kind]), eps)
        edges = _edges(levels, query)
        pairs = (edges[:, 1] - edges[:, 0]) * (edges[:, 3] - edges[:, 2])
        self.small = edges[pairs <= FEW_PAIRS]
        self.large = [
            (slice(a, b), slice(c, d)) for a, b, c, d in edges[pairs > FEW_PAIRS].tolist()
        ]
        self.weight = _NONE if levels.weight is None else levels.weight

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`; return the value."""
        value = self._pairs(box_pairs.GRADIENT, scores, _NONE, gradient)
        for low, high in self.large:
            ends = [_End(self, here, scores) for here in (low, high)]
            for own, other, lower in ((ends[0], ends[1], 0.0), (ends[1], ends[0], 1.0)):
                gradients = own.sums(SIGMOID[self.kind], other.moments) - lower * other.total
                gradient[own.rows] += self.scale * own.times(gradients)
            value += self.scale * product_of(COST[self.kind], ends[1].moments, ends[0].moments)
        return value

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add phi'(d) (v_a - v_b) for both rows of every pair."""
        self._pairs(box_pairs.INFLUENCE, scores, vector, result)
        for low, high in self.large:
            ends = [_End(self, here, scores) for here in (low, high)]
            for own, other, lower in ((ends[0], ends[1], 0.0), (ends[1], ends[0], 1.0)):
                sums, moved, v = self._differences(SIGMOID[self.kind], own, other, vector)
                sums -= lower * other.total
                moved -= lower * float(other.times(v[other.rows]).sum())
                result[own.rows] += self.scale * own.times(v[own.rows] * sums - moved)

    def curvature(self, scores: FloatArray) -> HalvedCurvature:
        """Return the Hessian; `scores` must not be changed."""
        return HalvedCurvature(self, scores)

    def add_product(self, scores: FloatArray, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v."""
        self._pairs(box_pairs.PRODUCT, scores, v, result)
        for low, high in self.large:
            ends = [_End(self, here, scores) for here in (low, high)]
            for own, other in (ends, ends[::-1]):
                sums, moved, centred = self._differences(CURVATURE[self.kind], own, other, v)
                result[own.rows] += self.scale * own.times(centred[own.rows] * sums - moved)

    def add_diagonal(self, scores: FloatArray, result: FloatArray) -> None:
        """Add the diagonal of the Hessian."""
        self._pairs(box_pairs.DIAGONAL, scores, _NONE, result)
        for low, high in self.large:
            ends = [_End(self, here, scores) for here in (low, high)]
            for own, other in (ends, ends[::-1]):
                sums = own.sums(CURVATURE[self.kind], other.moments)
                result[own.rows] += self.scale * own.times(sums)

    def _pairs(self, asked: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        return box_pairs.pairs_of_runs(
            self.kind, asked, self.small, self.levels.row_of, scores, self.weight, v, self.scale,
            result,
        )  # fmt: skip

    @staticmethod
    def _differences(
        profile: Profile, own: _End, other: _End, vector: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sums of k, of k v, and v less its mean over the other rows."""
        v = vector - vector[other.rows].mean()
        moved = summarise(own.rule, other.scores, other.times(v[other.rows]))
        return own.sums(profile, other.moments), own.sums(profile, moved), v


class HalvedCurvature:
    """The Hessian of a `HalvedQuery` at fixed scores."""

    def __init__(self, owner: HalvedQuery, scores: FloatArray) -> None:
        self._owner, self._scores = owner, scores

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,)."""
        self._owner.add_product(self._scores, v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal."""
        self._owner.add_diagonal(self._scores, result)


class _End:
    """The rows of one run, their scores and moments."""

    def __init__(self, owner: HalvedQuery, here: slice, scores: FloatArray) -> None:
        self.rule: BoxRule = owner.rule
        self.rows = owner.levels.row_of[here]
        self.scores = scores[self.rows]
        self.weight = None if not owner.weight.size else owner.weight[here]
        self.moments = summarise(owner.rule, self.scores, self.weight)
        self.total = float(self.rows.size if self.weight is None else self.weight.sum())

    def times(self, values: FloatArray) -> FloatArray:
        """Return values times the rows' weights."""
        return values if self.weight is None else values * self.weight

    def sums(self, profile: Profile, moments: Moments) -> FloatArray:
        """Return the sums over the sources of the moments at each row."""
        return evaluate(profile, self.scores, moments)


def _edges(levels: Levels, query: int) -> IntArray:
    """Return the ends (low begin, low end, high begin, high end) of runs that make up all pairs."""
    first, last = int(levels.query_group[query]), int(levels.query_group[query + 1])
    starts = levels.group_start
    if levels.edges is not None:
        bounds = np.searchsorted(levels.edges[:, 0], [first, last])
        low, high = levels.edges[bounds[0] : bounds[1]].T
        return np.column_stack((starts[low], starts[low + 1], starts[high], starts[high + 1]))
    found, waiting = [], [(first, last)]
    while waiting:
        low, high = waiting.pop()
        if high - low < 2:
            continue
        middle = int(np.searchsorted(starts[low:high], (starts[low] + starts[high]) / 2)) + low
        middle = min(max(middle, low + 1), high - 1)
        found.append((starts[low], starts[middle], starts[middle], starts[high]))
        waiting += [(low, middle), (middle, high)]
    return np.array(found, dtype=np.int64).reshape(-1, 4)
