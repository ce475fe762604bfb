"""LeastSquares: X and a sum of squares over pairs as the quadratic objective a solver sees."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pairrank._protocols import Curvature, FloatArray, LinearMap, PairSum


class RowMap(Protocol):
    """Coefficients to scores, and a gradient by the scores to one by the coefficients."""

    n_rows: int
    n_features: int

    @property
    def precision(self) -> float:
        """The relative rounding to expect of a sum of many products."""
        ...

    def scores(self, w: FloatArray) -> FloatArray:
        """Return the scores of coefficients, (n_rows,)."""
        ...

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return the gradient by the coefficients, (n_features,)."""
        ...


class LeastSquares:
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
    both value and gradient are kept.
    """

    value_error = gradient_error = 0.0

    def __init__(
        self,
        design: RowMap,
        pair_sum: PairSum,
        *,
        penalty: float,
        metric: LinearMap | None = None,
    ) -> None:
        self.design, self.pair_sum, self.penalty = design, pair_sum, penalty
        self.n_features, self.precision = design.n_features, design.precision
        at_zero = np.zeros(design.n_rows)
        value, pull = pair_sum.value_and_gradient(at_zero)
        self._value_at_zero, self._gradient_at_zero = value, design.transposed(pull)
        self._hessian = ConstantHessian(design, pair_sum.curvature(at_zero), penalty)
        gradient = self._gradient_at_zero
        image = gradient if metric is None else metric.matvec(gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            self.reference_norm = float(np.sqrt(max(float(gradient @ image), 0.0)))

    def loss_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the pair sum and its gradient; no penalty."""
        if not w.any():
            return self._value_at_zero, self._gradient_at_zero.copy()
        value, pull = self.pair_sum.value_and_gradient(self.design.scores(w))
        return value, self.design.transposed(pull)

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the Hessian, the same everywhere, penalty included."""
        return self._hessian

    def preconditioner(self, w: FloatArray) -> LinearMap | None:
        """Return None: the iterates are to be those of the paper."""
        return None

    def reach(self, w: FloatArray, step: FloatArray, slope: float) -> float:
        """Return 1.0: a step is taken as it is."""
        return 1.0

    def refine(self) -> bool:
        """Return False: nothing is sampled."""
        return False

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False


class ConstantHessian:
    """penalty I + X' H X for the curvature H of a sum of squares."""

    def __init__(self, design: RowMap, curvature: Curvature, penalty: float) -> None:
        self.design, self.curvature, self.penalty = design, curvature, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; two products with X and one with the curvature."""
        result = self.design.transposed(self.curvature.matvec(self.design.scores(v)))
        result += self.penalty * v
        return result
