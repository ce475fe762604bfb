"""NonlinearCG: Polak and Ribiere's conjugate gradients for smooth objectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, Status, StepLength
from pairrank.solvers.descent import Descent, DescentSolver, Place
from pairrank.solvers.line_search import SlopeSearch, Trial, WolfeSearch

SEARCHES: dict[str, WolfeSearch | SlopeSearch] = {"wolfe": WolfeSearch(), "gradient": SlopeSearch()}
"""The ways to search along a direction, by their names."""

_ALIKE = 0.2
"""Neighbouring gradients whose product exceeds this part of a square are far from orthogonal."""
_DOWNHILL = 1e-8
"""A direction must go down by this part of what the gradient's own does."""
_SHORTER = 0.99
"""What a gradient must be shortened by to count as shorter."""
_PATIENCE = 30
"""Steps within the noise that may fail to shorten the gradient before something is done."""


@dataclass(frozen=True)
class NonlinearCG(DescentSolver):
    r"""Nonlinear conjugate gradients (Polak & Ribiere 1969), as RankNCG uses them (Raykar 2007).

    From the gradient g and the inverse M of a fixed preconditioner (none: M = I) it goes along

    .. math:: d \leftarrow -M g + \max\Big(0,
              \frac{g' M (g - g_{old})}{g_{old}' M g_{old}}\Big) d

    and starts anew from -M g every n_features steps, where neighbouring gradients are far from
    orthogonal (Powell 1977), or where d does not go down. It stops when
    :math:`\|g\| \le tol \, \|g(0)\|`; the relative gradient is ours, the paper names a tolerance
    only.

    Sums that are not exact are sharpened as soon as their error matters: where the gradient is no
    longer than its error may be, and where a search, or thirty steps within the noise, fail to
    shorten it. So a loose eps costs steps, and never the optimum (the paper's Fig. 3).

    Parameters
    ----------
    search : "wolfe" or "gradient"
        Strong Wolfe conditions on values and slopes, or slopes alone: what the paper does, and all
        that can be done where values and gradients do not agree.
    preconditioned : bool
        Whether to ask the objective for M, once at the start.
    step_length : StepLength, optional
        The multiple of a step to try first in a search; None: 1.

    Notes
    -----
    A step costs one to three evaluations of loss and gradient. The first step's length comes from
    one Hessian product, later ones from the step before; `step_length` multiplies them.

    References
    ----------
    Nocedal & Wright, "Numerical optimization", 2006, Sections 3.5 and 5.2; V. C. Raykar, R.
    Duraiswami and B. Krishnapuram, "A fast algorithm for learning large scale preference
    relations", AISTATS 2007, Section 4.
    """

    search: str = "wolfe"
    preconditioned: bool = True
    step_length: StepLength | None = None

    def _descent(self, *start: Any) -> Descent:
        return _Run(self, *start)


class _Run(Descent):
    """One descent: the current point, and the direction that the last step took."""

    rule: NonlinearCG
    inverse: LinearMap | None = None
    direction: FloatArray | None = None
    last: tuple[float, float] | None = None
    since_restart = waited = 0
    least_norm = float("inf")

    def advance(self) -> Status | None:
        """Go along the direction until a step is taken; return why none was."""
        if self.n_iter == 0 and self.rule.preconditioned:
            self.inverse = self.point.preconditioner()
        while True:
            fresh = self.direction is None
            direction = self._downhill()
            trial, length = self._searched(direction)
            if trial is not None and self._waits_in_vain(trial):
                trial, fresh = None, True
            if trial is not None:
                self._take(trial, direction, length)
                return None
            self._restart()
            if fresh and not self.sharpen():
                return self._end()

    def _downhill(self) -> FloatArray:
        """Return the direction to go: the conjugate one, or the scaled gradient's."""
        if self.direction is not None:
            steepest = self.gradient @ self._scaled(self.gradient)
            if self.gradient @ self.direction < -_DOWNHILL * steepest:
                return self.direction
            self._restart()
        return -self._scaled(self.gradient)

    def _searched(self, direction: FloatArray) -> tuple[Trial | None, float]:
        """Search along the direction; return what was found and how far along it."""
        slope = float(self.gradient @ direction)
        unit = self._unit_length(direction, slope)
        if not (np.isfinite(unit) and slope < 0):
            return None, unit
        w, step = self.w, unit * direction
        first, scores = self.first_length(step)

        def probe(length: float) -> Trial:
            place = self.evaluate(w + length * step, scores if length == first else None)
            return Trial(length, place.value, float(place.gradient @ step), place)

        here = Place(w, self.value, self.gradient, self.norm, self.point)
        start = Trial(0.0, self.value, unit * slope, here)
        trial = SEARCHES[self.rule.search](probe, start, first, self.noise)
        return trial, unit * trial.length if trial is not None else unit

    def _unit_length(self, direction: FloatArray, slope: float) -> float:
        """Return a length: as much is won as by the last step; at first, by the curvature."""
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
        """Move to the trial, and turn the direction."""
        old, slope = self.gradient, float(self.gradient @ direction)
        self.move(trial.place)
        self.last = (length, slope)
        if self.norm <= self.point.gradient_error and self.sharpen():
            return
        scaled = self._scaled(self.gradient)
        square, across = float(self.gradient @ scaled), float(old @ scaled)
        self.since_restart += 1
        if abs(across) >= _ALIKE * square or self.since_restart >= self.w.size:
            self._restart()
            return
        beta = (square - across) / float(old @ self._scaled(old))
        self.direction = -scaled + max(0.0, beta) * direction

    def _waits_in_vain(self, trial: Trial) -> bool:
        """Whether steps within the noise have long failed to shorten the gradient."""
        norm = trial.place.norm
        if norm < _SHORTER * self.least_norm:
            self.least_norm, self.waited = norm, 0
        elif abs(trial.value - self.value) <= self.noise:
            self.waited += 1
        return self.waited > _PATIENCE

    def sharpen(self) -> bool:
        """Ask for smaller errors and begin anew; False where they cannot be."""
        if not super().sharpen():
            return False
        self._restart()
        self.least_norm, self.waited = self.norm, 0
        return True

    def _restart(self) -> None:
        self.direction, self.since_restart = None, 0

    def _end(self) -> Status:
        finite = np.isfinite(self.value) and np.isfinite(self.gradient).all()
        return self.stuck if finite else Status.OVERFLOW

    def _scaled(self, gradient: FloatArray) -> FloatArray:
        return gradient if self.inverse is None else self.inverse.matvec(gradient)
