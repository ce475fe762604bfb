"""LinearCG: conjugate gradients for a quadratic objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, Status
from pairrank.solvers.descent import Descent, DescentSolver


@dataclass(frozen=True)
class LinearCG(DescentSolver):
    r"""Conjugate gradients (Hestenes & Stiefel 1952) on H s = -g, for a constant Hessian H.

    The Hessian is symmetric and positive semidefinite; only products with it are used. The iterate
    w_t minimises the objective over w0 plus the Krylov space of t products. With a singular H it
    converges to the minimiser nearest to w0 (regularisation by iteration stops earlier: Airola et
    al. 2010, Section 3.4). The run stops when \|g\| <= tol \|g at 0\|. A gradient evaluated anew
    must confirm this, because the recursion's residual drifts; the last step of `history` then has
    the confirmed value and norm. The callback gets each iterate as an array that is never written
    to again.

    `metric` is the inner product u'Mv of coefficients in which H is symmetric and norms are taken,
    such as a kernel matrix for dual coefficients; None: u'v. An iteration costs one product with
    the Hessian and one with the metric. Memory is seven vectors of coefficients.
    """

    metric: LinearMap | None = None


class _Run(Descent):
    """One run: the iterate, the residual -g, the direction, and their images by the metric."""

    residual: FloatArray
    square: float
    direction: FloatArray
    direction_image: FloatArray
    hessian: LinearMap

    rule: LinearCG
    confirmed = float("inf")

    def advance(self) -> Status | None:
        """Take one step along the direction; return a status if that is impossible."""
        product = self.hessian.matvec(self.direction)
        self.n_products += 1
        curvature = float(self.direction_image @ product)
        if not np.isfinite(curvature):
            return Status.OVERFLOW
        if curvature <= 0.0:
            return self.stuck
        length = self.square / curvature
        w = self.w + length * self.direction
        residual = self.residual
        residual -= length * product
        image, square = self._image(residual)
        if not np.isfinite(square):
            return Status.OVERFLOW
        self.w = w
        self.value -= 0.5 * length * self.square
        turn = square / self.square
        self._measure(square)
        self.direction *= turn
        self.direction += residual
        if self.metric is not None:
            self.direction_image *= turn
            self.direction_image += image
        return None

    def _begin(self) -> None:
        self._restart()
        self.reference_norm = self.norm
        if self.w.any():
            zero = self.objective.at(np.zeros_like(self.w))
            self.reference_norm = float(np.sqrt(self.squared(zero.gradient)))

    def _ended(self, target: float) -> Status | None:
        """Return the status if a gradient evaluated anew is below the target, or cannot fall."""
        if not self.square <= target**2:
            return None
        if self.n_iter:
            self._restart()
            self.history[-1] = self.history[-1]._replace(value=self.value, gradient_norm=self.norm)
        if self.square <= target**2:
            return Status.CONVERGED
        if not self.square < 0.25 * self.confirmed:
            return self.stuck
        self.confirmed = self.square
        return None

    def _restart(self) -> None:
        """Evaluate value and gradient at w, and restart along the gradient."""
        self.n_evaluations += 1
        point, penalty = self.objective.at(self.w), self.objective.penalty
        self.value = point.value + 0.5 * penalty * self.squared(self.w)
        self.hessian = point.hessian()
        self.residual = -(point.gradient + penalty * self.w)
        image, square = self._image(self.residual)
        self._measure(square)
        self.direction = self.residual.copy()
        self.direction_image = self.direction if self.metric is None else image.copy()

    def _image(self, residual: FloatArray) -> tuple[FloatArray, float]:
        image = residual if self.metric is None else self.metric.matvec(residual)
        return image, float(residual @ image)

    def _measure(self, square: float) -> None:
        self.square, self.norm = square, float(np.sqrt(max(square, 0.0)))


LinearCG.run_class = _Run
