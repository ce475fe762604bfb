"""The pair sum of a tube over explicit comparisons: a loop over them."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.tube import tube_over_pairs
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._scores import BoundSum, as_scores
from pairrank.pair_sums.pairs_hinge import PairsCurvature
from pairrank.preferences import Pairs

_NONE = np.empty(0)


class PairsTubeSum(BoundSum):
    """The sum of weight max(0, |magnitude - d| - epsilon)^n over `Pairs`.

    A loop over the comparisons, O(n_pairs) each time, without any array of their size. Made by
    `Tube.sum_over`.
    """

    def __init__(self, pairs: Pairs, epsilon: float, squared: bool) -> None:
        self.pairs, self.epsilon, self.squared = pairs, epsilon, squared
        self.weight = _NONE if pairs.weight is None else pairs.weight
        self.magnitude = _NONE if pairs.magnitude is None else pairs.magnitude

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all comparisons and its gradient by the scores, (n_rows,)."""
        pairs = self.pairs
        scores = as_scores(scores, pairs.n_rows)
        if not np.isfinite(scores).all():
            return np.inf, np.full(scores.size, np.nan)
        gradient = np.zeros(pairs.n_rows)
        value = pairs.pair_scale * tube_over_pairs(
            pairs.i, pairs.j, self.weight, self.magnitude, scores, self.epsilon, self.squared,
            gradient,
        )  # fmt: skip
        gradient *= pairs.pair_scale
        return (np.inf if np.isnan(value) else float(value)), gradient

    def curvature(self, scores: FloatArray) -> PairsCurvature:
        """Return the generalised Hessian at these scores; for n = 1 a PairrankError."""
        if not self.squared:
            raise PairrankError("a tube with n = 1 has no curvature to solve with; use n = 2")
        pairs = self.pairs
        scores = as_scores(scores, pairs.n_rows)
        wanted = self.magnitude if self.magnitude.size else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            miss = wanted - (scores[pairs.i] - scores[pairs.j])
        return PairsCurvature(pairs, np.abs(miss) > self.epsilon)
