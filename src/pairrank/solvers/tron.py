"""TRON: trust region Newton with preconditioned conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import Status
from pairrank.solvers.descent import DescentSolver
from pairrank.solvers.newton import CGStep, TruncatedRun

_ETA_0, _ETA_1, _ETA_2 = 1e-4, 0.25, 0.75
_SIGMA_1, _SIGMA_2, _SIGMA_3 = 0.25, 0.5, 4.0
"""The constants of Lee & Lin's Eqs. 36 and 37."""


@dataclass(frozen=True)
class Tron(DescentSolver):
    r"""Trust region Newton (Lin & More 1999; Lin, Weng & Keerthi 2008; Lee & Lin 2014, Sec. 4.1).

    Minimises f(w) = loss(w) + penalty/2 \|w\|^2 by steps s that lower the model q(s) = g's + s'Hs/2
    within a region of radius Delta: preconditioned conjugate gradients stop at a tenth of the
    gradient (less where a step may meet the target) or at the region's border (Steihaug 1983). A
    step is taken if it lowers f by 1e-4 of the predicted decrease (Eq. 36), and Delta follows
    Eq. 37. The run stops when \|g\| <= tol \|g(0)\| (Eq. 38) and the model's minimum is less than
    sqrt(tol) of f below it, see `pairrank.solvers.newton.Newton`.

    Where the gradient falls too slowly or a step fails, an approximate Hessian is refined; where
    errors of the sums may be the reason, they are reduced first. A step costs one evaluation of
    loss and gradient and one Hessian product per inner iteration.
    """


class TronRun(TruncatedRun):
    """One run: the current point and the radius of the trust region."""

    rule: Tron
    radius = float("inf")

    def advance(self) -> Status | None:
        """Shrink the region until a step is taken; return a status if none is.

        The Hessian is freed before a trial is evaluated, because both hold arrays per row.
        """
        if self.n_iter == 0:
            self.radius = self._inverse_norm()
        while True:
            found = self.inner(self.radius)
            if not np.isfinite(found.norm + found.decrease):
                return Status.OVERFLOW
            slope = float(self.gradient @ found.step)
            trial = self.evaluate(self.w + found.step)
            decrease = self.value - trial.value
            self.radius = self._new_radius(self.radius, found, decrease, slope)
            at_noise = found.decrease <= self.noise and abs(decrease) <= self.noise
            if decrease > _ETA_0 * found.decrease or (at_noise and trial.norm < self.norm):
                slow = trial.norm > 0.5 * self.norm
                self.move(trial)
                noisy = (at_noise and slow) or self.norm <= self.point.gradient_error
                poor = slow or decrease < _ETA_1 * found.decrease
                if not (noisy and self.sharpen()) and poor:
                    self.refine()
                return None
            if at_noise and self.sharpen():
                continue
            if not self.refine() and (at_noise or self.radius == 0.0):
                return self.stuck

    def sharpen(self) -> bool:
        """Reduce the errors of the sums and widen the region again; False if impossible."""
        if not super().sharpen():
            return False
        self.radius = max(self.radius, self._inverse_norm())
        return True

    def _new_radius(self, radius: float, found: CGStep, decrease: float, slope: float) -> float:
        """Return the radius by Eq. 37, from the parabola through both values and the slope."""
        if not np.isfinite(decrease):
            return _SIGMA_1 * found.norm
        if self.n_iter == 0:
            radius = min(radius, found.norm)
        radius = max(radius, found.norm)
        curvature = -decrease - slope
        scale = _SIGMA_3 if curvature <= 0 else max(_SIGMA_1, -0.5 * slope / curvature)
        length = scale * found.norm
        if decrease < _ETA_0 * found.decrease:
            return min(length, _SIGMA_2 * radius)
        if decrease < _ETA_1 * found.decrease:
            return max(_SIGMA_1 * radius, min(length, _SIGMA_2 * radius))
        if decrease < _ETA_2 * found.decrease:
            return max(_SIGMA_1 * radius, min(length, _SIGMA_3 * radius))
        if found.on_border:
            return _SIGMA_3 * radius
        return max(radius, min(length, _SIGMA_3 * radius))

    def _inverse_norm(self) -> float:
        """Return sqrt(g' P g) for the gradient g and the preconditioner P, about H^-1."""
        inverse = self.point.preconditioner()
        scaled = self.gradient if inverse is None else inverse.matvec(self.gradient)
        return float(np.sqrt(self.gradient @ scaled))


Tron.run_class = TronRun
