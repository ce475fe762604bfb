"""The pair sum of squares over explicit comparisons: the incidence matrix, never formed."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.edges import laplacian_over_pairs
from pairrank.compiled.squares import squares_over_pairs
from pairrank.pair_sums._scores import BoundSum, OneByOne, as_scores
from pairrank.preferences import Pairs

_NONE = np.empty(0)


class PairsSquareSum(BoundSum):
    """The sum of weight (magnitude - d)^2 over `Pairs` (Airola et al. 2010, Eq. 9).

    A loop over the comparisons, O(n_pairs) each time, without any array of their size.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.weight = _NONE if pairs.weight is None else pairs.weight
        self.magnitude = _NONE if pairs.magnitude is None else pairs.magnitude

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all comparisons and its gradient by the scores, (n_rows,)."""
        pairs = self.pairs
        scores = as_scores(scores, pairs.n_rows)
        gradient = np.zeros(pairs.n_rows)
        value = pairs.pair_scale * squares_over_pairs(
            pairs.i, pairs.j, self.weight, self.magnitude, scores, gradient
        )
        gradient *= pairs.pair_scale
        return (np.inf if np.isnan(value) else float(value)), gradient

    def curvature(self, scores: FloatArray) -> PairsSquareCurvature:
        """Return the Hessian, which is the same at all scores."""
        return PairsSquareCurvature(self)


class PairsSquareCurvature(OneByOne):
    """Twice the Laplacian M D M' of the comparisons: M their incidences, D their weights."""

    def __init__(self, owner: PairsSquareSum) -> None:
        self.pairs, self.weight = owner.pairs, owner.weight

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,); O(n_pairs)."""
        pairs = self.pairs
        result = np.zeros(pairs.n_rows)
        v = as_scores(v, pairs.n_rows)
        laplacian_over_pairs(pairs.i, pairs.j, self.weight, v, result)
        result *= 2.0 * pairs.pair_scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, twice the weight of each row's comparisons, (n_rows,)."""
        wins, losses = self.pairs.wins_and_losses()
        return np.asarray(2.0 * (wins + losses), dtype=np.float64)
