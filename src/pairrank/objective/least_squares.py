"""LeastSquares: X and a sum of squares over pairs as the quadratic objective a solver sees."""

from __future__ import annotations

import functools

import numpy as np

from pairrank._protocols import FloatArray, LinearMap
from pairrank.objective.sum_objective import RowHessian, SumObjective


class LeastSquares(SumObjective):
    r"""pair sum of squares + penalty/2 \|w\|^2 (Airola et al. 2010, Eqs. 5 and 8; penalty 2 alpha).

    Parameters
    ----------
    design : Design or KernelDesign
        From coefficients to scores.
    pair_sum : SquareSum or PairsSquareSum
        Its Hessian is the same at all scores.
    penalty : float
        What half the squared norm is multiplied by.
    metric : LinearMap, optional
        The inner product of the coefficients, as in `LinearCG`; None: u'v.

    Notes
    -----
    A gradient, as a Hessian product, costs two products with X and one with the pair sum. At w = 0
    both value and gradient are kept. There is no preconditioner: the iterates are those of the
    paper.
    """

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the Hessian, the same everywhere, penalty included."""
        return self._hessian

    def _scores(self, w: FloatArray) -> FloatArray:
        return self.design.scores(w)

    @functools.cached_property
    def _hessian(self) -> RowHessian:
        curvature = self.pair_sum.at(np.zeros(self.design.n_rows)).curvature()
        return RowHessian(self.design, curvature, self.penalty)
