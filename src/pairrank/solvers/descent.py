"""Descent: the point, stop rules and history of iterative solvers; a search along a line."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pairrank._protocols import (
    Callback,
    FloatArray,
    LinearMap,
    Objective,
    Point,
    Solution,
    Status,
    Step,
    StepLength,
)

_DOUBLE = 1e-9
"""An objective less precise than this computes sums in float32."""
_SMALL = 0.1
"""A gradient as large as its target may have an error of this part of it; a smaller one, more."""
_MAX_TRIALS = 20
_EDGE = 0.05
"""A trial keeps at least this part of an interval away from its ends."""
_LEAST, _MOST = 1.2, 10.0
"""The smallest and the largest factor by which a length that is too short grows."""


class Place(NamedTuple):
    """Coefficients, and the objective there including the penalty."""

    w: FloatArray
    value: float
    gradient: FloatArray
    norm: float
    """The gradient's norm."""
    point: Point

    @property
    def is_finite(self) -> bool:
        """Whether value and gradient are finite."""
        return bool(np.isfinite(self.value + self.norm))


class Descent(ABC):
    """One run from a start to a stop; a subclass defines one step.

    `rule` has the solver's parameters. The penalty is added here. The start is replaced by zero
    where zero is better. A true result of the callback stops the run. w, value, gradient, norm and
    point are the current `Place`.
    """

    closed = Status.CONVERGED
    """The status of a run that meets `tol`: |gradient| <= tol * |gradient at 0|."""
    gap = float("nan")
    """How far the value may be above the minimum; NaN where the method gives no bound."""
    value: float
    gradient: FloatArray
    norm: float
    point: Point
    reference_norm: float
    """|gradient at 0|."""
    step_length: StepLength | None
    """Returns the multiple of a step to try first; None: 1."""
    metric: LinearMap | None
    """The inner product u'Mv of coefficients that defines norms; None: u'v."""

    def __init__(
        self,
        rule: Any,
        objective: Objective,
        w0: FloatArray,
        tol: float,
        callback: Callback | None,
    ) -> None:
        self.rule, self.objective, self.callback, self.tol = rule, objective, callback, tol
        self.step_length = getattr(rule, "step_length", None)
        self.metric = getattr(rule, "metric", None)
        self.w = np.array(w0, dtype=np.float64)
        self.history: list[Step] = []
        self.n_iter = self.n_evaluations = self.n_products = 0
        self.start = time.perf_counter()

    def run(self, max_iter: int) -> Solution:
        """Iterate until a stop; after Ctrl-C the weights so far are returned, at least `w0`."""
        start = self.w
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                status = self._descend(max_iter)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            self.w = self.w if self.history else start
        return Solution(self.w, status, self.n_iter, self.history)

    @abstractmethod
    def advance(self) -> Status | None:
        """Take one step; return a status if that is impossible."""

    def evaluate(self, w: FloatArray, scores: FloatArray | None = None) -> Place:
        """Evaluate the objective and its gradient, penalty included."""
        self.n_evaluations += 1
        point, penalty = self.objective.at(w, scores), self.objective.penalty
        value = point.value + 0.5 * penalty * self.squared(w)
        gradient = point.gradient + penalty * w
        return Place(w, value, gradient, float(np.sqrt(self.squared(gradient))), point)

    def squared(self, v: FloatArray) -> float:
        """Return v'v, or v'Mv where there is a metric."""
        if self.metric is None or not v.any():
            return float(v @ v)
        return max(float(v @ self.metric.matvec(v)), 0.0)

    def move(self, place: Place) -> None:
        """Make a place the current one."""
        self.w, self.value, self.gradient, self.norm, self.point = place

    def first_length(
        self, step: FloatArray, slope: float, penalty: float
    ) -> tuple[float, FloatArray | None]:
        """Return the multiple of a step to try first, and the scores there if they are known."""
        if self.step_length is None:
            return 1.0, None
        return self.step_length(self.point, step, slope, penalty)

    def search(self, step: FloatArray, share: float = 0.1) -> Trial | None:
        """Return a multiple of a step where the slope is at most this share of that at the start.

        None if there is none of a smaller slope.
        """
        w, slope = self.w, float(self.gradient @ step)
        if not slope < 0.0:
            return None
        first, scores = self.first_length(step, slope, self.objective.penalty)

        def probe(length: float) -> Trial:
            place = self.evaluate(w + length * step, scores if length == first else None)
            return Trial(length, float(place.gradient @ step), place)

        return search_slope(probe, Trial(0.0, slope), first, share)

    def sharpen(self) -> bool:
        """Reduce the errors of the sums and evaluate the point again; False if impossible."""
        if not self.objective.sharpen():
            return False
        self.move(self.evaluate(self.w, self.point.scores))
        return True

    def refine(self) -> bool:
        """Use a better Hessian, else unmultiplied steps; False if nothing is approximate."""
        if self.objective.refine():
            return True
        changes, self.step_length = self.step_length is not None, None
        return changes

    @property
    def noise(self) -> float:
        """The largest change of the value that rounding or errors of the sums can cause."""
        return self.objective.precision * abs(self.value) + self.point.value_error

    @property
    def stuck(self) -> Status:
        """The status where no step lowers the objective any more."""
        single = self.objective.precision > _DOUBLE
        return Status.PRECISION if single else Status.NO_PROGRESS

    def _descend(self, max_iter: int) -> Status:
        self._begin()
        if not np.isfinite(self.value) or not np.isfinite(self.reference_norm):
            return Status.OVERFLOW
        while True:
            if self._report():
                return Status.STOPPED
            status = self._ended(self.tol * self.reference_norm)
            if status is not None:
                return status
            if self.n_iter >= max_iter:
                return Status.MAX_ITER
            status = self.advance()
            if status is not None:
                return status
            self.n_iter += 1

    def _begin(self) -> None:
        """Evaluate zero and the start; if zero is better, begin there and refine the model."""
        start = self.evaluate(self.w)
        zero = self.evaluate(np.zeros_like(self.w)) if self.w.any() else start
        self.reference_norm = zero.norm
        self.move(start)
        if not start.value <= zero.value and zero is not start:
            self.move(zero)
            self.refine()

    def _ended(self, target: float) -> Status | None:
        """Return the status if the gradient is below its target and accurate enough."""
        while self.norm <= target:
            error = self.point.gradient_error
            if min(error - _SMALL * target, error + self.norm - target) <= 0.0:
                return self.closed
            if not self.sharpen():
                return self.closed
        return None

    def _report(self) -> bool:
        seconds = time.perf_counter() - self.start
        counts = (self.n_evaluations, self.n_products)
        step = Step(self.n_iter, self.value, self.norm, self.w, seconds, *counts, self.gap)
        self.history.append(step._replace(coef=None))
        return self.callback is not None and bool(self.callback(step))


class DescentSolver:
    """A solver: a frozen record of parameters, the `rule` of its `Descent`."""

    run_class: ClassVar[type[Descent]]

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
        return self.run_class(self, objective, w0, tol, callback).run(max_iter)


class Trial(NamedTuple):
    """The objective at one length along a direction."""

    length: float
    slope: float
    """The derivative by the length."""
    place: Any = None
    """The objective there, for the caller."""


Probe = Callable[[float], Trial]


def search_slope(probe: Probe, start: Trial, first: float, share: float = 0.1) -> Trial | None:
    r"""Return a trial of small slope, :math:`|f'(t)| \le share |f'(0)|`, trying `first` first.

    `probe` evaluates the objective at a length; the start, at length 0, has a negative slope. Where
    no length has so small a slope within twenty trials, the smallest found is returned; None if
    none is smaller than at the start. Only slopes are used, so the reported value may belong to
    another function than the gradient, as in Raykar's algorithm. On convex objectives the slope
    increases: its zero is bracketed, then found by secants.
    """
    low, length = start, first
    high: Trial | None = None
    best, between = start, 0
    for _ in range(_MAX_TRIALS):
        trial = probe(length)
        if np.isfinite(trial.slope) and abs(trial.slope) < abs(best.slope):
            best = trial
            if abs(trial.slope) <= share * -start.slope:
                break
        if trial.slope < 0:
            previous, low = low, trial
        else:
            high = trial
        if high is None:
            length = _further(previous, low)
        else:
            length = _between(low, high, between)
            between += 1
    return best if best.length > 0 else None


def _further(previous: Trial, trial: Trial) -> float:
    """Return the zero of the slope by linear extrapolation, within limits."""
    rise = trial.slope - previous.slope
    if not rise > 0:
        return _MOST * trial.length
    zero = trial.length - trial.slope * (trial.length - previous.length) / rise
    return float(np.clip(zero, _LEAST * trial.length, _MOST * trial.length))


def _between(low: Trial, high: Trial, done: int) -> float:
    """Return an estimate of the slope's zero between two trials.

    Every third time it is the middle, so that both ends move.
    """
    width = high.length - low.length
    if not np.isfinite(high.slope):
        return low.length + 2 * _EDGE * width
    part = 0.5
    if done % 3 != 2 and low.slope * high.slope < 0:
        part = low.slope / (low.slope - high.slope)
    return low.length + float(np.clip(part, _EDGE, 1 - _EDGE)) * width
