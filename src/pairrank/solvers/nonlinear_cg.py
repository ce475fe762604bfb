"""NonlinearCG: Polak and Ribiere's conjugate gradients for smooth objectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, Status, StepLength
from pairrank.solvers.descent import Descent, DescentSolver, Trial

_FAR_FROM_ORTHOGONAL = 0.2
"""Successive gradients are far from orthogonal above this ratio of product and square."""
_DESCENT = 1e-8
"""A direction's slope must be at least this part of the slope along the scaled gradient."""
_SHORTER = 0.99
"""A gradient is shorter if its norm is below this part of the least norm so far."""
_MAX_STALLED = 30
"""The number of steps within the noise that may leave the gradient as long as it was."""


@dataclass(frozen=True)
class NonlinearCG(DescentSolver):
    r"""Nonlinear conjugate gradients (Polak & Ribiere 1969), as RankNCG uses them (Raykar 2007).

    With the gradient g and the inverse M of a fixed preconditioner (none: M = I), the direction is

    .. math:: d \leftarrow -M g + \max\Big(0,
              \frac{g' M (g - g_{old})}{g_{old}' M g_{old}}\Big) d

    and restarts from -M g every n_features steps, where successive gradients are far from
    orthogonal (Powell 1977), or where d is not a descent direction. The run stops when
    :math:`\|g\| \le tol \, \|g(0)\|`; the paper leaves the meaning of its tolerance open.

    The error of approximate sums is reduced as soon as it matters: where the gradient is at most as
    long as its error, and where a search, or thirty steps within the noise, fail to shorten it. So
    a loose eps costs steps but does not change the optimum (the paper's Fig. 3).

    The line search uses slopes alone, as in the paper: the only choice where the value is not that
    of the gradient's function. The objective's preconditioner is computed once at the start.

    A step costs one to three evaluations of loss and gradient. The first step's length comes from
    one Hessian product, later ones from the step before; `step_length` multiplies them (Nocedal &
    Wright, "Numerical optimization", 2006, Sections 3.5 and 5.2; Raykar et al. 2007, Section 4).
    """

    step_length: StepLength | None = None


class _Run(Descent):
    """One run: the current point and the direction of the last step."""

    rule: NonlinearCG
    inverse: LinearMap | None = None
    direction: FloatArray | None = None
    last: tuple[float, float] | None = None
    since_restart = n_stalled = 0
    least_norm = float("inf")

    def advance(self) -> Status | None:
        """Search along the direction until a step is taken; return a status if none is."""
        if self.n_iter == 0:
            self.inverse = self.point.preconditioner()
        while True:
            fresh = self.direction is None
            direction = self._descent_direction()
            trial, length = self._search(direction)
            if trial is not None and self._is_stalled(trial):
                trial, fresh = None, True
            if trial is not None:
                self._take(trial, direction, length)
                return None
            self._restart()
            if fresh and not self.sharpen():
                finite = np.isfinite(self.value) and np.isfinite(self.gradient).all()
                return self.stuck if finite else Status.OVERFLOW

    def _descent_direction(self) -> FloatArray:
        """Return the conjugate direction if it descends, else the scaled gradient's."""
        if self.direction is not None:
            steepest = self.gradient @ self._scaled(self.gradient)
            if self.gradient @ self.direction < -_DESCENT * steepest:
                return self.direction
            self._restart()
        return -self._scaled(self.gradient)

    def _search(self, direction: FloatArray) -> tuple[Trial | None, float]:
        """Search along the direction; return the trial found and its length."""
        slope = float(self.gradient @ direction)
        unit = self._unit_length(direction, slope)
        if not (np.isfinite(unit) and slope < 0):
            return None, unit
        trial = self.search(unit * direction)
        return trial, unit * trial.length if trial is not None else unit

    def _unit_length(self, direction: FloatArray, slope: float) -> float:
        """Return a first length: the last step's decrease again; at first, by the curvature."""
        norm = float(np.linalg.norm(direction))
        if not (slope < 0 and 0 < norm < np.inf):
            return np.inf
        if self.last is not None:
            length, last_slope = self.last
            return length * last_slope / slope
        unit = direction / norm
        curvature = float(unit @ self.point.hessian().matvec(unit))
        self.n_products += 1
        return -slope / norm / curvature / norm if curvature > 0 else 1.0 / norm

    def _take(self, trial: Trial, direction: FloatArray, length: float) -> None:
        """Move to the trial, and update the direction."""
        old, slope = self.gradient, float(self.gradient @ direction)
        self.move(trial.place)
        self.last = (length, slope)
        if self.norm <= self.point.gradient_error and self.sharpen():
            return
        scaled = self._scaled(self.gradient)
        square, across = float(self.gradient @ scaled), float(old @ scaled)
        self.since_restart += 1
        if abs(across) >= _FAR_FROM_ORTHOGONAL * square or self.since_restart >= self.w.size:
            self._restart()
            return
        beta = (square - across) / float(old @ self._scaled(old))
        self.direction = -scaled + max(0.0, beta) * direction

    def _is_stalled(self, trial: Trial) -> bool:
        """Whether too many steps within the noise have failed to shorten the gradient."""
        norm = trial.place.norm
        if norm < _SHORTER * self.least_norm:
            self.least_norm, self.n_stalled = norm, 0
        elif abs(trial.place.value - self.value) <= self.noise:
            self.n_stalled += 1
        return self.n_stalled > _MAX_STALLED

    def sharpen(self) -> bool:
        """Reduce the errors of the sums and restart; False if impossible."""
        if not super().sharpen():
            return False
        self._restart()
        self.least_norm, self.n_stalled = self.norm, 0
        return True

    def _restart(self) -> None:
        self.direction, self.since_restart = None, 0

    def _scaled(self, gradient: FloatArray) -> FloatArray:
        return gradient if self.inverse is None else self.inverse.matvec(gradient)


NonlinearCG.run_class = _Run
