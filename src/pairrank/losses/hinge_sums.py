"""The pair sums of hinge and squared hinge, bound to preferences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels, Pairs, Preferences
from pairrank.sums.blocks import gamma_in_blocks, gradient_in_blocks


class HingeSum:
    """The sum of a hinge loss over all preferences."""

    def __init__(self, levels: Levels, margin: float, squared: bool, route: str) -> None:
        self.levels = levels
        self.margin, self.squared, self.route = margin, squared, route
        self.blocks, self.block_scale = _blocks(levels)
        starts = levels.query_start
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        self.row_scale = np.repeat(scale, np.diff(starts))
        self.weight = np.empty(0) if levels.weight is None else levels.weight
        if levels.weight is not None:
            self.row_scale = self.row_scale * levels.weight
        self.ones = np.ones(levels.row_of.size)

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        laid = np.ascontiguousarray(self.levels.to_layout(np.asarray(scores, dtype=np.float64)))
        gradient = np.zeros(laid.size)
        values = gradient_in_blocks(
            self.blocks, laid, self.weight, self.ones, self.margin, self.squared, gradient
        )
        gradient *= self.row_scale * (2.0 if self.squared else 1.0)
        return float(values @ self.block_scale), self._back(gradient)

    def curvature(self, scores: FloatArray) -> HingeCurvature:
        if not self.squared:
            raise PairrankError("the hinge has no curvature; use SquaredHinge")
        return HingeCurvature(self, scores)

    def counts(self, scores: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        laid = np.array(self.levels.to_layout(np.asarray(scores, dtype=np.float64)))
        sides = []
        for plus, minus in ((1.0, 0.0), (0.0, 1.0)):
            gamma = np.zeros(laid.size)
            gamma_in_blocks(self.blocks, laid, self.ones, self.margin, plus, minus, gamma)
            sides.append(self._back(gamma).astype(np.int64))
        return sides[0], sides[1]

    def _back(self, values: FloatArray) -> FloatArray:
        return self.levels.from_layout(values)


class HingeCurvature:
    def __init__(self, owner: HingeSum, scores: FloatArray) -> None:
        self.owner = owner
        self.laid = np.array(owner.levels.to_layout(np.asarray(scores, dtype=np.float64)))
        weight = owner.weight if owner.weight.size else owner.ones
        self.weight = weight
        self.total = self._gamma(np.asarray(weight), 1.0, 1.0)

    def _gamma(self, x: FloatArray, plus: float, minus: float) -> FloatArray:
        gamma = np.zeros(x.size)
        gamma_in_blocks(self.owner.blocks, self.laid, x, self.owner.margin, plus, minus, gamma)
        return gamma

    def matvec(self, v: FloatArray) -> FloatArray:
        owner = self.owner
        laid = np.asarray(owner.levels.to_layout(np.asarray(v, dtype=np.float64)))
        result = self.total * laid - self._gamma(laid * self.weight, 1.0, 1.0)
        return owner._back(2.0 * owner.row_scale * result)

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Shape (k, n_rows) C order."""
        return np.stack([self.matvec(v) for v in vectors])

    def diagonal(self) -> FloatArray:
        return self.owner._back(2.0 * self.owner.row_scale * self.total)

    def gamma(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        owner = self.owner
        laid = np.array(owner.levels.to_layout(np.asarray(v, dtype=np.float64)))
        plus, minus = self._gamma(laid, 1.0, 0.0), self._gamma(laid, 0.0, 1.0)
        return owner._back(plus), owner._back(minus)


def _blocks(levels: Levels) -> tuple[NDArray[np.int64], FloatArray]:
    start = levels.group_start
    sizes = np.diff(levels.query_group)
    query_of_group = np.repeat(np.arange(sizes.size), sizes)
    if levels.edges is None:
        high = np.arange(start.size - 1)
        first = levels.query_start[query_of_group]
        blocks = np.column_stack((first, start[high], start[high], start[high + 1]))
    else:
        low, high = levels.edges[:, 0], levels.edges[:, 1]
        blocks = np.column_stack((start[low], start[low + 1], start[high], start[high + 1]))
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    return np.ascontiguousarray(blocks.astype(np.int64)), scale[query_of_group[high]]


class PairsHingeSum(HingeSum):
    """The same over explicit comparisons."""

    def __init__(self, pairs: Pairs, margin: float, squared: bool, route: str) -> None:
        self.pairs = pairs
        self.margin, self.squared, self.route = margin, squared, route
        self.pair_weight = np.ones(pairs.n_pairs) if pairs.weight is None else pairs.weight

    def _over(self, scores: FloatArray) -> FloatArray:
        scores = np.asarray(scores, dtype=np.float64)
        return self.margin - (scores[self.pairs.i] - scores[self.pairs.j])

    def _scatter(self, values: FloatArray) -> FloatArray:
        n = self.pairs.n_rows
        return np.bincount(self.pairs.i, values, n) - np.bincount(self.pairs.j, values, n)

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        over = np.maximum(self._over(scores), 0.0)
        weight = self.pair_weight * self.pairs.pair_scale
        if self.squared:
            return float(weight @ over**2), self._scatter(-2.0 * weight * over)
        return float(weight @ over), self._scatter(-weight * (over > 0))

    def curvature(self, scores: FloatArray) -> PairsCurvature:  # type: ignore[override]
        return PairsCurvature(self, self._over(scores) > 0)

    def counts(self, scores: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        violates = self._over(scores) > 0
        n = self.pairs.n_rows
        plus = np.bincount(self.pairs.j[violates], minlength=n)
        return plus, np.bincount(self.pairs.i[violates], minlength=n)


class PairsCurvature:
    def __init__(self, owner: PairsHingeSum, violates: NDArray[np.bool_]) -> None:
        self.owner = owner
        self.weight = 2.0 * owner.pairs.pair_scale * owner.pair_weight * violates

    def matvec(self, v: FloatArray) -> FloatArray:
        pairs = self.owner.pairs
        v = np.asarray(v, dtype=np.float64)
        return self.owner._scatter(self.weight * (v[pairs.i] - v[pairs.j]))

    def matmat(self, vectors: FloatArray) -> FloatArray:
        return np.stack([self.matvec(v) for v in vectors])

    def diagonal(self) -> FloatArray:
        pairs = self.owner.pairs
        n = pairs.n_rows
        return np.bincount(pairs.i, self.weight, n) + np.bincount(pairs.j, self.weight, n)


def hinge_sum(preferences: Preferences, margin: float, squared: bool, route: str) -> HingeSum:
    """Return the pair sum for the kind of preferences."""
    if isinstance(preferences, Pairs):
        return PairsHingeSum(preferences, margin, squared, route)
    return HingeSum(preferences, margin, squared, route)
