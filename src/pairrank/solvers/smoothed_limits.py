"""Limits without state per row: Newton's method on a smoothed cost, along a path to the cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pairrank._protocols import FloatArray, Status
from pairrank.solvers.limits import BoundStep, LimitGraph, LimitRun, LimitSolution, LimitSystem

_CENTRED = 1e-4
"""The width shrinks where a Newton step lowers the smoothed cost by less than this part of the
smoothing."""
_NARROWER = 0.1
_LAST = 0.3
"""The smoothing of the last width, as a part of the gap that is asked for."""
_PART_TO_BOUNDARY = 0.99
_SHORTER = 0.3
_SHORTEST = 1e-8
_DESCENT = 1e-4
_ROUNDING = 1e-12
_FAR = 1e3
_EXACT = 1e-8


class SmoothedSums(NamedTuple):
    """Sums over rows for some weights, limits and width; sides are lower, then upper limits."""

    cost: float
    """The cost without smoothing."""
    value: float
    gram: FloatArray
    """X' D X for the rows' curvature D by their scores, (n_features, n_features)."""
    sides: FloatArray
    """Sums by group of rows times their curvature by score and limit, (2, n_groups, n_features)."""
    curvature: FloatArray
    """Totals by group of the curvature of each side, and across sides, (3, n_groups)."""
    multipliers: FloatArray
    """Totals by group of the derivatives by the limits, (2, n_groups)."""
    pushed: FloatArray
    """Sums by group of rows times these derivatives, (2, n_groups, n_features)."""
    squares: FloatArray
    """Totals of b^2, 2 a b, a^2 over 4 c, for b and a a row's two multipliers, (3, n_groups)."""
    drift: FloatArray
    """The derivative by the width of the gradient by the weights, (n_features,)."""
    drifts: FloatArray
    """The derivatives by the width of `multipliers`, (2, n_groups)."""


class SmoothedProblem(LimitGraph, Protocol):
    """Rows with a cost for crossing limits, and limits at least 1 apart along edges."""

    smoothing: float
    """How far the smoothed cost of width 1 may be from the cost: c summed over rows and limits."""

    def at(self, weights: FloatArray, limits: FloatArray, width: float) -> SmoothedSums:
        """Return the sums over all rows, (2, n_groups) limits."""


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights, limits, width, the edges' forces, and what follows from the rows' sums."""

    weights: FloatArray
    limits: FloatArray
    width: float
    force: FloatArray
    gap: FloatArray
    sums: SmoothedSums
    value: float
    """The smoothed objective, with a barrier for the edges."""
    gradient: FloatArray
    slopes: FloatArray
    """The gradient by the limits, (2, n_groups)."""


class _Step(NamedTuple):
    weights: FloatArray
    limits: FloatArray
    gap: FloatArray
    fall: float
    """What a quadratic model falls by, twice."""


def minimize_smoothed(
    problem: SmoothedProblem,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[BoundStep], object] | None = None,
) -> LimitSolution:
    r"""Minimise what `minimize_with_limits` minimises, with one pass over the rows per evaluation.

    .. math:: \min \sum_i c_i \max(0, s_i - L_{g(i)}, U_{g(i)} - s_i)^2 + \tfrac12 \|w\|^2,
              \quad U_Q - L_P \ge 1

    A row's slack y and its two multipliers are eliminated: for a width mu the cost of a row is the
    least of c (y^2 - mu log(y - (s - L)) - mu log(y - (U - s))) over y. It is smooth and depends on
    the row's score and limits only, so that nothing is kept per row. Newton's steps in weights and
    limits follow the minima as the width falls to a width that `tol` allows; the derivative by the
    width predicts the next minimum. The multipliers give a dual lower bound, as there: the stop is
    a proof. Twenty to sixty evaluations are usual.
    """
    return _Run(problem, tol, callback).run(max_iter)


class _Run(LimitRun):
    """One run: the current point beside the best one."""

    patience = 30

    def __init__(
        self, problem: SmoothedProblem, tol: float, callback: Callable[[BoundStep], object] | None
    ) -> None:
        super().__init__(problem, tol, callback)
        self._problem, self._longest = problem, 1.0

    def _start(self) -> None:
        """Evaluate zero weights; the edges' barriers are as strong as the rows' multipliers."""
        weights, limits = self._best
        self._strength = self._first_forces(self._problem.at(weights, limits, 1.0).multipliers)
        self._smoothing = self._problem.smoothing + float(self._strength.sum())
        self._point = self._at(weights, limits, 1.0, self._strength)

    def _at(
        self, weights: FloatArray, limits: FloatArray, width: float, force: FloatArray
    ) -> _Point:
        sums, barrier = self._problem.at(weights, limits, width), width * self._strength
        gap = self._widening(limits) - 1.0
        central = barrier / gap
        value = sums.value + 0.5 * float(weights @ weights) - float(barrier @ np.log(gap))
        off = sums.multipliers - self._forces(central)
        return _Point(
            weights,
            limits,
            width,
            np.clip(force, central / _FAR, central * _FAR),
            gap,
            sums,
            value if np.isfinite(value) else np.inf,
            weights + (sums.pushed[1] - sums.pushed[0]).sum(axis=0),
            np.where(self._problem.bounded, np.stack((off[0], -off[1])), 0.0),
        )

    def _record(self, n_iter: int) -> Status | None:
        point = self._point
        value = point.sums.cost + 0.5 * float(point.weights @ point.weights)
        if not np.isfinite(value):
            return Status.OVERFLOW
        return self._keep(n_iter, value, self._dual(point), point.weights, point.limits)

    def _dual(self, point: _Point) -> float:
        """Return the dual's value for multipliers scaled to balance the edges of their group."""
        sums = point.sums
        shares = self._forces(point.force) / np.where(sums.multipliers > 0, sums.multipliers, 1.0)
        lower, upper = shares
        gradient = upper @ sums.pushed[1] - lower @ sums.pushed[0]
        squares = lower**2 @ sums.squares[0] + (lower * upper) @ sums.squares[1]
        squares += upper**2 @ sums.squares[2]
        bound = float(point.force.sum() - 0.5 * (gradient @ gradient) - squares)
        return bound if np.isfinite(bound) else -np.inf

    def _advance(self) -> Status | None:
        """Take a step to a smaller width, or one at this width that lowers the smoothed value."""
        point = self._point
        system = LimitSystem(
            self._problem, point.sums.gram, point.sums.sides, point.sums.curvature,
            point.force / point.gap,
        )  # fmt: skip
        step = self._direction(system, point.width)
        scale = point.width * self._smoothing
        last = _LAST * self._tol * self._least / self._smoothing
        if step.fall < _CENTRED * scale and point.width > last:
            width = max(_NARROWER * point.width, last)
        elif point.width <= last and step.fall < _EXACT * scale:
            width = _LAST * point.width
        else:
            return self._search(step)
        step = self._direction(system, width)
        length = self._length(step)
        width = point.width + length * (width - point.width)
        self._point = self._moved(step, length, width)
        return None

    def _direction(self, system: LimitSystem, width: float) -> _Step:
        """Return Newton's step towards the minimum of a width."""
        point = self._point
        change = width - point.width
        strength = change * self._strength / point.gap
        drifts = change * point.sums.drifts - self._forces(strength)
        slopes = point.slopes + np.where(
            self._problem.bounded, np.stack((drifts[0], -drifts[1])), 0.0
        )
        gradient = point.gradient + change * point.sums.drift
        weights, limits = system.solve(-gradient, -slopes)
        limits = np.where(self._problem.bounded, limits, 0.0)
        gap = self._widening(limits)
        fall = -float(point.gradient @ weights) - float(np.vdot(point.slopes, limits))
        if not np.isfinite(fall):
            raise OverflowError("Newton's step overflows")
        return _Step(weights, limits, gap, fall)

    def _search(self, step: _Step) -> Status | None:
        """Take the longest part of a step that lowers the smoothed value enough."""
        point, length = self._point, min(self._length(step), self._longest)
        noise = _ROUNDING * abs(point.value)
        while length > _SHORTEST:
            trial = self._moved(step, length, point.width)
            if trial.value <= point.value - _DESCENT * length * step.fall + noise:
                self._point = trial
                self._longest = length / _SHORTER
                return None
            length *= _SHORTER
        return Status.NO_PROGRESS

    def _moved(self, step: _Step, length: float, width: float) -> _Point:
        point = self._point
        force, gap = point.force, point.gap
        change = width * self._strength / gap - force - force / gap * step.gap
        fall = float((change / force).min())
        part = min(1.0, _PART_TO_BOUNDARY / max(-fall, 1e-300)) if fall < 0 else 1.0
        weights = point.weights + length * step.weights
        limits = point.limits + length * step.limits
        return self._at(weights, limits, width, force + part * change)

    def _length(self, step: _Step) -> float:
        """Return the part of a step, at most 1, that keeps the limits apart."""
        fall = float((step.gap / self._point.gap).min())
        return min(1.0, _PART_TO_BOUNDARY / -fall) if fall < 0 else 1.0
