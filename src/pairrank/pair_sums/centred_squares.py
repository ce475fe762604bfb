"""Squares of all differences of a query: the squared norm of its centred residual."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.pair_sums._scores import BoundSum, OneByOne, as_scores
from pairrank.preferences import Differences


class SquareSum(BoundSum):
    """The sum over all differences, by the query-centred residual (Airola et al. 2010, Eq. 5)."""

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient by the scores, (n_rows,); O(n_rows)."""
        differences = self.differences
        with np.errstate(over="ignore", invalid="ignore"):
            residual = differences.target - as_scores(scores, differences.n_rows)
            residual = differences.centred(residual)
            pull = residual if differences.weight is None else differences.weight * residual
            value = float(pull @ residual)
            return (np.inf if np.isnan(value) else value), -2.0 * pull

    def curvature(self, scores: FloatArray) -> SquareCurvature:
        """Return the Hessian, which is the same at all scores."""
        return SquareCurvature(self.differences)


class SquareCurvature(OneByOne):
    """Twice the centring L = W - W P P'W of Eq. 4, with row weights W; never formed."""

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,); O(n_rows)."""
        differences = self.differences
        with np.errstate(over="ignore", invalid="ignore"):
            result = differences.centred(as_scores(v, differences.n_rows))
            if differences.weight is not None:
                result *= differences.weight
            result *= 2.0
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, 2 w_i (1 - w_i/n_q), (n_rows,)."""
        differences = self.differences
        weight = np.ones(differences.n_rows) if differences.weight is None else differences.weight
        return np.asarray(2.0 * weight * (1.0 - differences.share()))
