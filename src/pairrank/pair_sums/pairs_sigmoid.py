"""The pair sums of logistic and probit over explicit comparisons."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.edges import laplacian_over_pairs
from pairrank.compiled.sigmoid_pairs import (
    bends_of_pairs,
    gradient_over_pairs,
    influence_over_pairs,
)
from pairrank.pair_sums._scores import BoundSum, OneByOne, as_scores
from pairrank.preferences import Pairs

_NO_WEIGHT = np.empty(0)


class PairsSigmoidSum(BoundSum):
    """The sum of a sigmoidal loss over `Pairs`: a loop over the comparisons, O(n_pairs), exact.

    Rounding: a row's gradient is off by about 2e-15 of the weight of its pairs, and the value by as
    much of the weight of all and of itself. A gradient costs two looks at the scores and two at the
    gradient a pair.
    """

    def __init__(self, pairs: Pairs, kind: int) -> None:
        self.pairs, self.kind = pairs, kind
        self.error = 0.0
        self._weight = _NO_WEIGHT if pairs.weight is None else pairs.weight

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all comparisons and its gradient by the scores, (n_rows,)."""
        pairs, scores = self.pairs, as_scores(scores, self.pairs.n_rows)
        if not np.isfinite(scores).all():
            return np.inf, np.full(scores.size, np.nan)
        gradient = np.zeros(scores.size)
        value = gradient_over_pairs(self.kind, pairs.i, pairs.j, self._weight, scores, gradient)
        gradient *= pairs.pair_scale
        return float(pairs.pair_scale * value), gradient

    def curvature(self, scores: FloatArray) -> PairsBend:
        """Return the Hessian at these scores; it holds 8 bytes a pair."""
        pairs, scores = self.pairs, as_scores(scores, self.pairs.n_rows)
        bend = np.empty(pairs.n_pairs)
        bends_of_pairs(self.kind, pairs.i, pairs.j, self._weight, scores, bend)
        return PairsBend(self, bend)

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, a row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows).
        """
        pairs, scores = self.pairs, as_scores(scores, self.pairs.n_rows)
        result = np.zeros(np.shape(vectors))
        for vector, row in zip(vectors, result, strict=True):
            v = as_scores(vector, self.pairs.n_rows)
            influence_over_pairs(self.kind, pairs.i, pairs.j, self._weight, scores, v, row)
        result *= pairs.pair_scale
        return result


class PairsBend(OneByOne):
    """The Hessian of a sigmoidal loss over comparisons, at fixed scores."""

    def __init__(self, owner: PairsSigmoidSum, bend: FloatArray) -> None:
        self.owner, self.bend = owner, bend

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        pairs = self.owner.pairs
        v, result = as_scores(v, pairs.n_rows), np.zeros(pairs.n_rows)
        laplacian_over_pairs(pairs.i, pairs.j, self.bend, v, result)
        result *= pairs.pair_scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        pairs = self.owner.pairs
        ends = np.bincount(pairs.i, self.bend, pairs.n_rows)
        ends = ends + np.bincount(pairs.j, self.bend, pairs.n_rows)
        return np.asarray(pairs.pair_scale * ends, dtype=np.float64)
