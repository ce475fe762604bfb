"""The sum of squares over all differences of a query: its centred residual's squared norm."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.preferences import Differences


class SquareSum(BoundSum):
    """The sum over all differences, by the query-centred residual (Airola et al. 2010, Eq. 5).

    O(n_rows) per evaluation; the Hessian is the same at all scores.
    """

    def __init__(self, differences: Differences) -> None:
        self.differences, self.n_rows = differences, differences.n_rows

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        differences = self.differences
        with np.errstate(over="ignore", invalid="ignore"):
            residual = differences.centred(differences.target - scores)
            weighted = differences.weight * residual
            return float(weighted @ residual), -2.0 * weighted

    def _curvature(self, scores: FloatArray) -> SquareCurvature:
        return SquareCurvature(self.differences)


class SquareCurvature(OneByOne):
    """Twice the centring matrix L = W - W P P'W of Eq. 4, with row weights W, as products."""

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,); O(n_rows)."""
        differences = self.differences
        with np.errstate(over="ignore", invalid="ignore"):
            centred = differences.centred(as_scores(v, differences.n_rows))
            return 2.0 * differences.weight * centred

    def diagonal(self) -> FloatArray:
        """Return the diagonal, 2 w_i (1 - w_i/n_q), (n_rows,)."""
        return np.asarray(2.0 * self.differences.weight * (1.0 - self.differences.share()))
