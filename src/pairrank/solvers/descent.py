"""Descent: what every method of descent shares: its point, its stops, its history."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

import numpy as np

from pairrank._protocols import Callback, FloatArray, Objective, Solution, Status, Step

_DOUBLE = 1e-9
"""An objective less precise than this sums in float32."""
_SMALL = 0.1
"""The part of its target that a gradient's error may take."""


class Descent(ABC):
    """One run from a start to a stop; a method says how it advances by one step.

    Parameters
    ----------
    objective : Objective
        What is minimised, with the penalty added here.
    w0 : ndarray of shape (n_features,)
        Where it starts, unless zero is better.
    tol : float
        It stops at |gradient| <= tol times the objective's reference norm.
    callback : callable or None
        Called with every `Step`; what is true stops the run.

    Attributes
    ----------
    w, value, gradient : the current point, and the objective there, penalty included
    n_iter, n_evaluations, n_products : int
        Steps taken, evaluations of loss and gradient, products with the Hessian.
    history : list of Step
    gap : float
        How far the value may be above the minimum, where the method knows.
    """

    closed = Status.CONVERGED
    """How a run ends that has reached `tol`."""
    gap = float("nan")

    def __init__(
        self, objective: Objective, w0: FloatArray, tol: float, callback: Callback | None
    ) -> None:
        self.objective, self.callback, self.tol = objective, callback, tol
        self.w = np.array(w0, dtype=np.float64)
        self.history: list[Step] = []
        self.n_iter = self.n_evaluations = self.n_products = 0
        self.start = time.perf_counter()

    def run(self, max_iter: int) -> Solution:
        """Descend until a stop; Ctrl-C leaves the weights so far."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                status = self._descend(max_iter)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Solution(self.w, status, self.n_iter, self.history)

    @abstractmethod
    def advance(self) -> Status | None:
        """Take one step; return why none could be taken."""

    def evaluate(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient, penalty included."""
        self.n_evaluations += 1
        loss, gradient = self.objective.loss_and_gradient(w)
        penalty = self.objective.penalty
        return loss + 0.5 * penalty * float(w @ w), gradient + penalty * w

    def sharpen(self) -> bool:
        """Ask for smaller errors, and evaluate the point again; False where they cannot be."""
        if not self.objective.sharpen():
            return False
        self.value, self.gradient = self.evaluate(self.w)
        return True

    @property
    def noise(self) -> float:
        """The change of the value that tells nothing: rounding, and what sums may be off by."""
        return self.objective.precision * abs(self.value) + self.objective.value_error

    @property
    def stuck(self) -> Status:
        """Why no step helps any more, where it is not a failure."""
        single = self.objective.precision > _DOUBLE
        return Status.PRECISION if single else Status.NO_PROGRESS

    def _descend(self, max_iter: int) -> Status:
        self._begin()
        if not np.isfinite(self.value) or not np.isfinite(self.objective.reference_norm):
            return Status.OVERFLOW
        target = self.tol * self.objective.reference_norm
        while True:
            if self._report():
                return Status.STOPPED
            if self._is_below(target):
                return self.closed
            if self.n_iter >= max_iter:
                return Status.MAX_ITER
            status = self.advance()
            if status is not None:
                return status
            self.n_iter += 1

    def _begin(self) -> None:
        """Evaluate the start; one that is worse than zero is none, nor is the model behind it."""
        self.value, self.gradient = self.evaluate(self.w)
        if not self.w.any():
            return
        at_zero = np.zeros_like(self.w)
        value, gradient = self.evaluate(at_zero)
        if not self.value <= value:
            self.w, self.value, self.gradient = at_zero, value, gradient
            self.objective.refine()

    def _is_below(self, target: float) -> bool:
        """Whether the gradient is, beyond doubt: an error that matters is made smaller first."""
        while np.linalg.norm(self.gradient) <= target:
            if self.objective.gradient_error <= _SMALL * target or not self.sharpen():
                return True
        return False

    def _report(self) -> bool:
        norm = float(np.linalg.norm(self.gradient))
        seconds = time.perf_counter() - self.start
        counts = (self.n_evaluations, self.n_products)
        step = Step(self.n_iter, self.value, norm, self.w, seconds, *counts, self.gap)
        self.history.append(step._replace(coef=None))
        return self.callback is not None and bool(self.callback(step))
