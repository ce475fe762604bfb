"""What the solvers for rows with shared limits share: the loop, the stop and the record."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from pairrank._protocols import FloatArray, Status


class BoundStep(NamedTuple):
    """One iteration, as callbacks and histories see it; `coef` is None in a history."""

    n_iter: int
    value: float
    """The objective of the best weights and limits so far."""
    lower_bound: float
    """The best lower bound of the objective so far, from the dual."""
    coef: FloatArray | None
    seconds: float
    limits: FloatArray | None = None
    """The limits of the best point, as in `LimitSolution`; None in a history."""


class LimitSolution(NamedTuple):
    """The result of a solver for rows with shared limits."""

    coef: FloatArray
    limits: FloatArray
    """Lower and upper limits, (2, n_groups); arbitrary where a group lacks one."""
    status: Status
    n_iter: int
    history: list[BoundStep]
    lower_bound: float


class Limits(Protocol):
    """The weights, the limits and the edges, each a pair of groups, that keep limits apart."""

    n_features: int
    n_groups: int
    edges: NDArray[np.int64]


class LimitRun(ABC):
    """One run: the best weights and limits, the best lower bound, and the history.

    The start is w = 0 with limits at 1 and -1. The stop is a proof: the objective less the lower
    bound is at most `tol` times the objective. A run without progress in so many iterations as its
    class has `patience` ends too.
    """

    patience: int

    def __init__(
        self, problem: Limits, tol: float, callback: Callable[[BoundStep], object] | None
    ) -> None:
        self._n_groups, self._tol, self._callback = problem.n_groups, tol, callback
        self._begin = time.perf_counter()
        self._low, self._high = problem.edges.T
        limits = np.repeat([[1.0], [-1.0]], problem.n_groups, axis=1)
        self._best = (np.zeros(problem.n_features), limits)
        self._least, self._bound, self._since = np.inf, -np.inf, 0
        self._history: list[BoundStep] = []

    def run(self, max_iter: int) -> LimitSolution:
        """Iterate until a stop; failures of the arithmetic and interrupts are statuses."""
        status, n_iter = Status.MAX_ITER, 0
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._start()
                ended = self._record(0)
                while ended is None and n_iter < max_iter:
                    ended = self._advance()
                    n_iter += 1
                    ended = ended or self._record(n_iter)
            status = ended or status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except OverflowError:
            status = Status.OVERFLOW
        except LinAlgError:
            status = Status.NO_PROGRESS
        return LimitSolution(*self._best, status, n_iter, self._history, self._bound)

    @abstractmethod
    def _start(self) -> None:
        """Evaluate the start."""

    @abstractmethod
    def _record(self, n_iter: int) -> Status | None:
        """Keep what the current point is better in; return a status if the run ends."""

    @abstractmethod
    def _advance(self) -> Status | None:
        """Take a step; return a status if there is none."""

    def _keep(
        self, n_iter: int, value: float, bound: float, weights: FloatArray, limits: FloatArray
    ) -> Status | None:
        """Keep a finite objective and a lower bound if better; return a status if the run ends."""
        self._since += 1
        if value < self._least * (1.0 - 1e-3 * self._tol):
            self._since = 0
        if value < self._least:
            self._least, self._best = value, (weights, limits)
        if bound > self._bound:
            self._bound, self._since = bound, 0
        seconds = time.perf_counter() - self._begin
        step = BoundStep(n_iter, self._least, self._bound, None, seconds)
        self._history.append(step)
        coef, kept = self._best
        if self._callback and self._callback(step._replace(coef=coef.copy(), limits=kept.copy())):
            return Status.STOPPED
        if self._least - self._bound <= self._tol * self._least:
            return Status.CONVERGED
        return Status.NO_PROGRESS if self._since > self.patience else None

    def _first_forces(self, totals: FloatArray) -> FloatArray:
        """Return forces of the edges as strong as the rows' multipliers, (2, n_groups) totals."""
        force = np.zeros(self._low.size)
        for side, groups in ((0, self._high), (1, self._low)):
            force += 0.5 * totals[side, groups] / np.bincount(groups)[groups]
        return force

    def _forces(self, force: FloatArray) -> FloatArray:
        """Return the sum of the edges' forces on the lower and the upper limit of each group."""
        ends = (self._high, self._low)
        return np.stack([np.bincount(groups, force, self._n_groups) for groups in ends])

    def _widening(self, limits: FloatArray) -> FloatArray:
        """Return by how much a change of the limits moves the ends of each edge apart."""
        return np.asarray(limits[0, self._high] - limits[1, self._low])
