"""Newton: truncated steps with a line search, and a path of falling penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, Status, StepLength
from pairrank.solvers.descent import Descent, DescentSolver

_CG_TOL, _LOOSE, _MOST_CG = 0.1, 0.2, 1000
"""Inner iterations end at this part of the gradient, or at the second one where a step's first
length is estimated, or after so many."""
_NEAR = 16.0
"""A step may meet the target from a gradient of at most so many times its norm."""
_ESTIMATED = 0.9
"""A length that was estimated may leave this part of the slope: an evaluation costs more."""


class CGStep(NamedTuple):
    """A step, the decrease it should bring, its norm, and whether it ends on the border."""

    step: FloatArray
    decrease: float
    norm: float
    on_border: bool


class TruncatedRun(Descent):
    """A run whose steps come from conjugate gradients with the Hessian."""

    def inner(self, radius: float = np.inf, extra: float = 0.0) -> CGStep:
        """Steihaug's conjugate gradients: lower g's + s'Hs/2 within a region of this radius.

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

    def _ended(self, target: float) -> Status | None:
        """Return the status if the gradient is small and a step would hardly lower the value.

        The least curvature is that of the penalty, so no step lowers it by more than
        |g|^2 / (2 penalty).
        """
        if self.norm <= target:
            little = np.sqrt(self.tol) * abs(self.value)
            may_fall = self.norm**2 > 2.0 * self.objective.penalty * little
            if may_fall and self.inner().decrease > little:
                return None
        return super()._ended(target)


@dataclass(frozen=True)
class Newton(DescentSolver):
    r"""Truncated Newton with a line search (Keerthi & DeCoste 2005 for the squared hinge).

    Minimises f(w) = loss(w) + penalty/2 \|w\|^2. Preconditioned conjugate gradients lower the model
    g's + s'Hs/2 until its gradient is a tenth of g (a fifth with `step_length`, less where a step
    may meet the target). Along the step s the slope is brought to a tenth; `step_length` estimates
    the first length to try, which then serves unless it is far off. A Newton step of a hinge is too
    short while most pairs violate the margin, and too long where few do; so no region of trust fits
    it. The run stops when \|g\| <= tol \|g(0)\| and the model's minimum is less than sqrt(tol) of f
    below it. Where rows are nearly separable the gradient at zero is so large that the first alone
    may stop at several times the optimum.

    The Hessian may be approximate: where the gradient falls too slowly or a search fails, the
    objective refines it, and once it is exact, lengths are no longer estimated. Where errors of the
    sums may be the reason, they are reduced first.

    A step costs a Hessian product per inner iteration, and one to three evaluations of loss and
    gradient, more where nearly no pair violates its margin.
    """

    step_length: StepLength | None = None


class NewtonRun(TruncatedRun):
    """One run: a Newton step and a search along it per iteration."""

    rule: Newton

    def advance(self) -> Status | None:
        """Search along a step until one is taken; return a status if none is.

        The Hessian is freed before a trial is evaluated, because both hold arrays per row.
        """
        while True:
            found = self.inner()
            if not np.isfinite(found.norm + found.decrease):
                return Status.OVERFLOW
            share = 0.1 if self.step_length is None else _ESTIMATED
            trial = self.search(found.step, share)
            at_noise = found.decrease <= self.noise
            if trial is not None and not (at_noise and trial.place.norm >= self.norm):
                slow = trial.place.norm > 0.5 * self.norm
                self.move(trial.place)
                noisy = (at_noise and slow) or self.norm <= self.point.gradient_error
                if not (noisy and self.sharpen()) and slow:
                    self.refine()
                return None
            if not (at_noise and self.sharpen()) and not self.refine():
                return self.stuck


Newton.run_class = NewtonRun


_LEAST_FALL = 1e3
"""Where the penalty would fall by less than this in all, Newton alone is as good."""
_FACTOR = 10.0
"""The ratio of successive penalties."""
_SHARE = 0.4
"""The share of the loss that a stage may leave, after the first."""


@dataclass(frozen=True)
class ContinuedNewton(Newton):
    r"""Newton that starts on a path of penalties: from a large one down to the objective's own.

    Where some weights satisfy nearly every pair, the optimum is the shortest of them. Newton's
    steps from zero reach weights that satisfy the pairs, but are too long, and shorten them slowly
    afterwards: the loss is flat there, and the penalty is small beside its curvature. On the path
    the weights grow from zero instead and are never much longer than needed. Each stage is one
    truncated Newton step, multiplied by `step_length`, at a tenth of the penalty before. The first
    penalty is the curvature of the loss along its gradient at zero.

    The path ends at the objective's own penalty, or where a stage divides the loss by less than
    2.5: the rows are not separable then, and Newton goes on from there.

    A stage costs two to six products with the Hessian and one evaluation.
    """


class ContinuedRun(NewtonRun):
    """One run: a stage of the path per iteration, then Newton's iterations."""

    rule: ContinuedNewton
    stage: float | None = None
    """The penalty of the next step; None: the path has ended."""

    def advance(self) -> Status | None:
        """Take one step of the path, or of Newton after it."""
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
        found = self.inner(extra=extra)
        slope = float((self.gradient + extra * self.w) @ found.step)
        multiple, scores = self.first_length(found.step, slope, penalty)
        trial = self.evaluate(self.w + multiple * found.step, scores)
        change = trial.value - self.value
        change += 0.5 * extra * (self.squared(trial.w) - self.squared(self.w))
        if not change < 0.0:
            return False
        is_first = self.n_iter == 0
        separates = trial.point.value <= _SHARE * self.point.value
        self.move(trial)
        if penalty > own and (is_first or separates):
            self.stage = max(own, penalty / _FACTOR)
        return True


ContinuedNewton.run_class = ContinuedRun
