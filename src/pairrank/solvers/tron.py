"""TRON: trust region Newton with preconditioned conjugate gradients, and a path of penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, Status, StepLength
from pairrank.solvers.descent import Descent, DescentSolver

_CG_TOL, _LOOSE, _MOST_CG = 0.1, 0.2, 1000
"""Inner iterations end at this part of the gradient, or at the second one where a line search
follows, or after so many."""
_NEAR = 16.0
"""A step may meet the target from a gradient of at most so many times its norm."""
_ETA_0, _ETA_1, _ETA_2 = 1e-4, 0.25, 0.75
_SIGMA_1, _SIGMA_2, _SIGMA_3 = 0.25, 0.5, 4.0
"""The constants of Lee & Lin's Eqs. 36 and 37."""


@dataclass(frozen=True)
class Tron(DescentSolver):
    r"""Trust region Newton (Lin & More 1999; Lin, Weng & Keerthi 2008; Lee & Lin 2014, Sec. 4.1).

    Minimises f(w) = loss(w) + penalty/2 \|w\|^2 by steps s that lower the model q(s) = g's + s'Hs/2
    over \|s\|_M <= Delta (Eq. 35). Conjugate gradients preconditioned with M find s; they end at
    \|r\| <= \|g\|/10 in the norm of M^-1 (\|g\|/5 where a line search follows; half of the target
    where a step may meet it) or at the region's border (Steihaug 1983). A step is taken if it
    lowers f by 1e-4 of the predicted decrease (Eq. 36), and Delta follows Eq. 37. The run stops
    when \|g\| <= tol \|g(0)\| (Eq. 38) and the model's minimum is less than sqrt(tol) of f below
    it. Eq. 38 alone stops up to 20 % above the optimum where rows are nearly separable and the
    gradient at zero is large.

    The Hessian may be approximate and a step may be multiplied (`step_length`), but the exact f
    decides on each step. Where the gradient falls too slowly or a step fails, the objective
    refines its Hessian; once that is exact, steps are no longer multiplied. Where errors of the
    sums may be the reason, they are reduced first.

    A step costs one evaluation of loss and gradient and one Hessian product per inner iteration.
    """

    step_length: StepLength | None = None


class CGStep(NamedTuple):
    """A step, the decrease it should bring, its norm, and whether it ends on the border."""

    step: FloatArray
    decrease: float
    norm: float
    on_border: bool


class TronRun(Descent):
    """One run: the current point and the radius of the trust region."""

    rule: Tron
    radius = float("inf")

    def advance(self) -> Status | None:
        """Shrink the region until a step is taken; return a status if none is.

        The Hessian is freed before a trial is evaluated, because both hold arrays per row.
        """
        if self.n_iter == 0:
            self.radius = self._inverse_norm()
        longest = np.inf
        while True:
            found = self.inner(self.radius)
            if not np.isfinite(found.norm + found.decrease):
                return Status.OVERFLOW
            multiple, scores = self.first_length(found.step)
            if multiple * found.norm > longest:
                multiple, scores = max(1.0, longest / found.norm), None
            found = found._replace(step=multiple * found.step, norm=multiple * found.norm)
            slope = float(self.gradient @ found.step)
            trial = self.evaluate(self.w + found.step, scores)
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
            longest = self.radius
            if at_noise and self.sharpen():
                longest = np.inf
            elif not self.refine() and (at_noise or self.radius == 0.0):
                return self.stuck

    def _ended(self, target: float) -> Status | None:
        """Return the status if the gradient is small and a step would hardly lower the value.

        The least curvature is that of the penalty, so no step lowers it by more than
        |g|^2 / (2 penalty).
        """
        if self.norm <= target:
            little = np.sqrt(self.tol) * abs(self.value)
            may_fall = self.norm**2 > 2.0 * self.objective.penalty * little
            if may_fall and self.inner(np.inf).decrease > little:
                return None
        return super()._ended(target)

    def sharpen(self) -> bool:
        """Reduce the errors of the sums and widen the region again; False if impossible."""
        if not super().sharpen():
            return False
        self.radius = max(self.radius, self._inverse_norm())
        return True

    def inner(self, radius: float, extra: float = 0.0) -> CGStep:
        """Steihaug's conjugate gradients: lower g's + s'Hs/2 within the region.

        `extra` is added to the penalty.
        """
        hessian, inverse = self.point.hessian(), self.point.preconditioner()
        gradient = self.gradient + extra * self.w
        step = np.zeros_like(gradient)
        residual = -gradient
        scaled = residual if inverse is None else inverse.matvec(residual)
        direction = scaled.copy()
        rho = float(residual @ scaled)
        stop = self._cg_tol(extra) ** 2 * rho
        step_step = step_direction = 0.0
        direction_direction = rho
        on_border = False
        for _ in range(_MOST_CG):
            if rho <= stop:
                break
            product = hessian.matvec(direction) + extra * direction
            self.n_products += 1
            curvature = float(direction @ product)
            if curvature == 0.0:  # what is left of the gradient is rounding
                break
            alpha = rho / curvature
            new_square = step_step + 2 * alpha * step_direction + alpha**2 * direction_direction
            if new_square > radius**2 * (1 + 1e-10):
                gap = radius**2 - step_step
                across = np.sqrt(direction_direction) * np.sqrt(max(gap, 0.0))
                root = np.hypot(step_direction, across)
                alpha = gap / (step_direction + root)
                on_border = True
            step += alpha * direction
            residual -= alpha * product
            if on_border:
                step_step = radius**2
                break
            step_step = new_square
            scaled = residual if inverse is None else inverse.matvec(residual)
            new_rho = float(residual @ scaled)
            beta = new_rho / rho
            step_direction = beta * (step_direction + alpha * direction_direction)
            direction_direction = new_rho + beta**2 * direction_direction
            direction = scaled + beta * direction
            rho = new_rho
        decrease = -0.5 * float(gradient @ step - step @ residual)
        return CGStep(step, decrease, float(np.sqrt(step_step)), on_border)

    def _cg_tol(self, extra: float) -> float:
        """Return the part of the gradient that inner iterations leave; less near the target."""
        tol = _CG_TOL if self.step_length is None else _LOOSE
        target = self.tol * self.reference_norm
        if extra or not target < self.norm <= _NEAR * target:
            return tol
        return min(tol, 0.5 * target / self.norm)

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


_LEAST_FALL = 1e3
"""Where the penalty would fall by less than this in all, TRON alone is as good."""
_FACTOR = 10.0
"""The ratio of successive penalties."""
_SHARE = 0.4
"""The share of the loss that a stage may leave, after the first."""


@dataclass(frozen=True)
class ContinuedTron(Tron):
    r"""TRON that starts on a path of penalties: from a large one down to the objective's own.

    Where some weights satisfy nearly every pair, the optimum is the shortest of them. Newton's
    steps from zero reach weights that satisfy the pairs, but are too long, and shorten them slowly
    afterwards: the loss is flat there, and the penalty is small beside its curvature. On the path
    the weights grow from zero instead and are never much longer than needed. Each stage is one
    truncated Newton step, multiplied by `step_length`, at a tenth of the penalty before. The first
    penalty is the curvature of the loss along its gradient at zero.

    The path ends at the objective's own penalty, or where a stage divides the loss by less than
    2.5: the rows are not separable then, and TRON goes on from there.

    A stage costs two to six products with the Hessian and one evaluation.
    """


class ContinuedRun(TronRun):
    """One run: a stage of the path per iteration, then TRON's iterations."""

    rule: ContinuedTron
    stage: float | None = None
    """The penalty of the next step; None: the path has ended."""

    def advance(self) -> Status | None:
        """Take one step of the path, or of TRON after it."""
        if self.n_iter == 0 and not self.w.any():
            self.stage = self._first_penalty()
        if self.stage is None or not self._take_stage(self.stage):
            return super().advance()
        return None

    def _first_penalty(self) -> float | None:
        """Return the curvature of the loss along the gradient; None if the path would be short."""
        gradient = self.gradient
        square = float(gradient @ gradient)
        curvature = float(gradient @ self.point.hessian().matvec(gradient)) / square
        self.n_products += 1
        return curvature if _LEAST_FALL * self.objective.penalty < curvature < np.inf else None

    def _take_stage(self, penalty: float) -> bool:
        """Take one step at a penalty and set that of the next; False ends the path."""
        self.stage = None
        own = self.objective.penalty
        extra = penalty - own
        found = self.inner(np.inf, extra)
        slope = float((self.gradient + extra * self.w) @ found.step)
        multiple, scores = 1.0, None
        if self.step_length is not None:
            multiple, scores = self.step_length(self.point, found.step, slope, penalty)
        trial = self.evaluate(self.w + multiple * found.step, scores)
        change = trial.value - self.value
        change += 0.5 * extra * (self.squared(trial.w) - self.squared(self.w))
        if not change < 0.0:
            return False
        is_first = self.n_iter == 0
        separates = trial.point.value <= _SHARE * self.point.value
        self.move(trial)
        self.radius = _SIGMA_3 * multiple * found.norm
        if penalty > own and (is_first or separates):
            self.stage = max(own, penalty / _FACTOR)
        return True


ContinuedTron.run_class = ContinuedRun
