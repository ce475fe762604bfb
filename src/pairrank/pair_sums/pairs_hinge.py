"""The pair sums of hinge and squared hinge over explicit comparisons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.edges import gradient_over_pairs, laplacian_over_pairs
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._scores import BoundSum, OneByOne, as_scores
from pairrank.preferences import Pairs

_NO_WEIGHT = np.empty(0)


class PairsHingeSum(BoundSum):
    """The sum of a hinge loss over `Pairs`: a loop over the comparisons, O(n_pairs) each time."""

    def __init__(self, pairs: Pairs, margin: float, squared: bool) -> None:
        self.pairs, self.margin, self.squared = pairs, margin, squared

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all comparisons and its gradient by the scores, (n_rows,)."""
        pairs = self.pairs
        scores = as_scores(scores, self.pairs.n_rows)
        if not np.isfinite(scores).all():
            return np.inf, np.full(scores.size, np.nan)
        gradient = np.zeros(scores.size)
        weight = _NO_WEIGHT if pairs.weight is None else pairs.weight
        value = pairs.pair_scale * gradient_over_pairs(
            pairs.i, pairs.j, weight, scores, self.margin, self.squared, gradient
        )
        gradient *= pairs.pair_scale
        return (np.inf if np.isnan(value) else float(value)), gradient

    def curvature(self, scores: FloatArray) -> PairsCurvature:
        """Return the generalised Hessian at these scores; for the hinge a PairrankError."""
        if not self.squared:
            raise PairrankError("the hinge has no curvature to solve with; use SquaredHinge")
        return PairsCurvature(self.pairs, self._violating(scores))

    def counts(self, scores: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return l+ and l- of each row, as `HingeSum.counts`."""
        pairs = self.pairs
        violating = self._violating(scores)
        plus = np.bincount(pairs.j[violating], minlength=pairs.n_rows)
        return plus, np.bincount(pairs.i[violating], minlength=pairs.n_rows)

    def _violating(self, scores: FloatArray) -> NDArray[np.bool_]:
        scores = as_scores(scores, self.pairs.n_rows)
        return self.margin - (scores[self.pairs.i] - scores[self.pairs.j]) > 0.0


class PairsCurvature(OneByOne):
    """The generalised Hessian of a loss that is square beyond its kink, where it is."""

    def __init__(self, pairs: Pairs, violating: NDArray[np.bool_]) -> None:
        self.pairs = pairs
        self.i, self.j = pairs.i[violating], pairs.j[violating]
        self.scale = 2.0 * pairs.pair_scale
        self.weight = _NO_WEIGHT if pairs.weight is None else pairs.weight[violating]

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self.pairs.n_rows)
        result = np.zeros(v.size)
        laplacian_over_pairs(self.i, self.j, self.weight, v, result)
        result *= self.scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        weight = self.weight if self.weight.size else np.ones(self.i.size)
        n_rows = self.pairs.n_rows
        ends = np.bincount(self.i, weight, n_rows) + np.bincount(self.j, weight, n_rows)
        return np.asarray(self.scale * ends, dtype=np.float64)

    def gamma(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gamma+ and gamma- of Eq. 17, weights aside."""
        v = as_scores(v, self.pairs.n_rows)
        n_rows = self.pairs.n_rows
        plus = np.bincount(self.j, v[self.i], n_rows).astype(np.float64)
        return plus, np.bincount(self.i, v[self.j], n_rows).astype(np.float64)
