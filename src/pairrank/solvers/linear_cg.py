"""Conjugate gradients for a quadratic objective; every iterate is shown."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pairrank._protocols import (
    Callback,
    FloatArray,
    LinearMap,
    Objective,
    Solution,
    Status,
    Step,
)

_DOUBLE = 1e-9
"""An objective less precise than this sums in float32."""


@dataclass(frozen=True)
class LinearCG:
    r"""Conjugate gradients (Hestenes & Stiefel 1952) on H s = -g, for a constant Hessian H.

    The objective is quadratic and its Hessian H symmetric and positive semidefinite, known by
    products alone. From w0 the iterate w_t minimises the objective over the Krylov space of t
    products; on a singular H, consistent as a gradient is, it tends to the minimiser nearest to w0
    (regularisation by iteration stops on the way: Airola et al. 2010, Section 3.4). It stops when
    \|g\| <= tol \|g at 0\|, which the gradient itself must confirm: the residual that the
    recursion carries may fall below it alone; the last step of `history` then has the confirmed
    value and norm. The callback sees each iterate as an array that is never written to again.

    Parameters
    ----------
    metric : LinearMap, optional
        The inner product u'Mv of the coefficients by which H is symmetric and norms are taken,
        such as a kernel matrix for dual coefficients; None: u'v.

    Notes
    -----
    An iteration costs one Hessian product (one with the metric too) and the memory of seven
    vectors of coefficients in all.
    """

    metric: LinearMap | None = None

    def __call__(
        self,
        objective: Objective,
        w0: FloatArray,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise the objective from `w0`; see `Solver`."""
        run = _Run(self, objective, w0, callback)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                status = run.descend(tol * objective.reference_norm, max_iter)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(run.w, status, max(0, len(run.history) - 1), run.history)


class _Run:
    """One descent: the iterate, the residual -g with its image by the metric, the direction."""

    residual: FloatArray
    square: float
    direction: FloatArray
    direction_image: FloatArray

    def __init__(
        self, rule: LinearCG, objective: Objective, w0: FloatArray, callback: Callback | None
    ) -> None:
        self.objective, self.metric, self.callback = objective, rule.metric, callback
        self.w = np.array(w0, dtype=np.float64)
        self.history: list[Step] = []
        self.n_iter = self.n_evaluations = self.n_products = 0
        self.confirmed = np.inf
        self.start = time.perf_counter()

    def descend(self, target: float, max_iter: int) -> Status:
        self._evaluate()
        if not np.isfinite(self.value + self.square):
            return Status.OVERFLOW
        hessian = self.objective.hessian(self.w)
        while not self._report():
            status = self._confirm(target) if self.square <= target**2 else None
            if status is None and self.n_iter >= max_iter:
                status = Status.MAX_ITER
            if status is None:
                status = self._advance(hessian)
            if status is not None:
                return status
        return Status.STOPPED

    def _confirm(self, target: float) -> Status | None:
        """Look at the gradient itself where the recursion is below the target; None: go on."""
        if self.n_iter:
            self._evaluate()
            self.history[-1] = self.history[-1]._replace(value=self.value, gradient_norm=self.norm)
        if self.square <= target**2:
            return Status.CONVERGED
        if not self.square < 0.25 * self.confirmed:
            return self._at_noise()
        self.confirmed = self.square
        return None

    def _advance(self, hessian: LinearMap) -> Status | None:
        """Take one step along the direction; return why none can be."""
        product = hessian.matvec(self.direction)
        self.n_products += 1
        bend = float(self.direction_image @ product)
        if not np.isfinite(bend):
            return Status.OVERFLOW
        if bend <= 0.0:
            return self._at_noise()
        length = self.square / bend
        w = self.w + length * self.direction
        residual = self.residual
        residual -= length * product
        image, square = self._image(residual)
        if not np.isfinite(square):
            return Status.OVERFLOW
        self.w, self.n_iter = w, self.n_iter + 1
        self.value -= 0.5 * length * self.square
        turn = square / self.square
        self.square = square
        self.direction *= turn
        self.direction += residual
        if self.metric is not None:
            self.direction_image *= turn
            self.direction_image += image
        return None

    def _evaluate(self) -> None:
        """Take value and gradient as they are at w, and begin anew along the gradient."""
        self.n_evaluations += 1
        loss, gradient = self.objective.loss_and_gradient(self.w)
        penalty = self.objective.penalty
        if self.metric is None:
            square_norm = float(self.w @ self.w)
        else:
            square_norm = float(self.w @ self.metric.matvec(self.w)) if self.w.any() else 0.0
        self.value = loss + 0.5 * penalty * square_norm
        self.residual = -(gradient + penalty * self.w)
        image, self.square = self._image(self.residual)
        self.direction = self.residual.copy()
        self.direction_image = self.direction if self.metric is None else image.copy()

    def _image(self, residual: FloatArray) -> tuple[FloatArray, float]:
        image = residual if self.metric is None else self.metric.matvec(residual)
        return image, float(residual @ image)

    def _at_noise(self) -> Status:
        single = self.objective.precision > _DOUBLE
        return Status.PRECISION if single else Status.NO_PROGRESS

    @property
    def norm(self) -> float:
        return float(np.sqrt(max(self.square, 0.0)))

    def _report(self) -> bool:
        seconds = time.perf_counter() - self.start
        counts = (self.n_evaluations, self.n_products)
        step = Step(self.n_iter, self.value, self.norm, self.w, seconds, *counts)
        self.history.append(step._replace(coef=None))
        return self.callback is not None and bool(self.callback(step))
