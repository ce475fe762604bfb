"""The pair sums of hinge and squared hinge over explicit comparisons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs
from pairrank.sums.edges import gradient_over_pairs, hessian_over_pairs

_NO_WEIGHT = np.empty(0)


class PairsHingeSum:
    """The sum of a hinge loss over `Pairs`: a loop over the comparisons, O(n_pairs) each time."""

    error = 0.0

    def __init__(self, pairs: Pairs, margin: float, squared: bool) -> None:
        self.pairs, self.margin, self.squared = pairs, margin, squared

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all comparisons and its gradient by the scores, (n_rows,)."""
        pairs = self.pairs
        scores = self._as_scores(scores)
        if not np.isfinite(scores).all():
            return np.inf, np.full(scores.size, np.nan)
        gradient = np.zeros(scores.size)
        weight = _NO_WEIGHT if pairs.weight is None else pairs.weight
        value = pairs.pair_scale * gradient_over_pairs(
            pairs.i, pairs.j, weight, scores, self.margin, self.squared, gradient
        )
        gradient *= pairs.pair_scale
        return (np.inf if np.isnan(value) else float(value)), gradient

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False

    def curvature(self, scores: FloatArray) -> PairsCurvature:
        """Return the generalised Hessian at these scores; for the hinge a PairrankError."""
        if not self.squared:
            raise PairrankError("the hinge has no curvature to solve with; use SquaredHinge")
        return PairsCurvature(self, self._violating(scores))

    def counts(self, scores: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return l+ and l- of each row, as `HingeSum.counts`."""
        pairs = self.pairs
        violating = self._violating(scores)
        plus = np.bincount(pairs.j[violating], minlength=pairs.n_rows)
        return plus, np.bincount(pairs.i[violating], minlength=pairs.n_rows)

    def _violating(self, scores: FloatArray) -> NDArray[np.bool_]:
        scores = self._as_scores(scores)
        return self.margin - (scores[self.pairs.i] - scores[self.pairs.j]) > 0.0

    def _as_scores(self, scores: FloatArray) -> FloatArray:
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if scores.shape != (self.pairs.n_rows,):
            raise PairrankError(
                f"scores have shape {scores.shape}, but the pairs count {self.pairs.n_rows} rows"
            )
        return scores


class PairsCurvature:
    """The generalised Hessian of the squared hinge over the comparisons that violate."""

    def __init__(self, owner: PairsHingeSum, violating: NDArray[np.bool_]) -> None:
        pairs = owner.pairs
        self.owner = owner
        self.i, self.j = pairs.i[violating], pairs.j[violating]
        self.scale = pairs.pair_scale
        self.weight = _NO_WEIGHT if pairs.weight is None else 2.0 * pairs.weight[violating]

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        result = np.zeros(self.owner.pairs.n_rows)
        hessian_over_pairs(self.i, self.j, self.weight, self.owner._as_scores(v), result)
        result *= self.scale
        return result

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows) in C order."""
        result = np.empty_like(vectors, dtype=np.float64)
        for at, vector in enumerate(vectors):
            result[at] = self.matvec(vector)
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        weight = self.weight if self.weight.size else np.full(self.i.size, 2.0)
        n_rows = self.owner.pairs.n_rows
        ends = np.bincount(self.i, weight, n_rows) + np.bincount(self.j, weight, n_rows)
        return np.asarray(self.scale * ends, dtype=np.float64)

    def gamma(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gamma+ and gamma- of Eq. 17, weights aside."""
        v = self.owner._as_scores(v)
        n_rows = self.owner.pairs.n_rows
        plus = np.bincount(self.j, v[self.i], n_rows).astype(np.float64)
        return plus, np.bincount(self.i, v[self.j], n_rows).astype(np.float64)
