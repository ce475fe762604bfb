"""Rows with shared limits: Newton's equations, and what the solvers' runs have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from pairrank._protocols import FloatArray, Status


class LimitGraph(Protocol):
    """Groups with a lower and an upper limit, and edges from low to high groups."""

    n_groups: int
    n_features: int
    bounded: NDArray[np.bool_]
    edges: NDArray[np.int64]


class NewtonSystem(Protocol):
    """Newton's equations for the weights and the limits."""

    def solve(self, weights: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the step of the weights and of the limits, (2, n_groups), for a right side."""


class RowSums(NamedTuple):
    """Sums over the rows at a point."""

    cost: float
    """The sum of c times the squared slack of the scores."""
    gradient: FloatArray
    """X' (alpha - beta), (n_features,)."""
    totals: FloatArray
    """The sums of beta (lower limits) and alpha (upper limits) by group, (2, n_groups)."""
    products: float
    """The sum of multipliers times margins."""


class Rows(Protocol):
    """Each row's two multipliers and margins; see `pairrank.objective.limit_rows.LimitRows`."""

    @property
    def problem(self) -> LimitGraph:
        """The groups and edges of the limits."""

    def move(self, length: float, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Take a part of the step; return the sums there, for the weights and limits there."""

    def scaled(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return X' (alpha - beta) and the sum of (alpha + beta)^2/(4 c), both times `shares`."""

    def system(self, stiffness: FloatArray) -> NewtonSystem:
        """Return Newton's equations here, for the edges' multipliers over their margins."""

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' times the multipliers' change at fixed scores, and its sums by group."""

    def step(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Compute a step; return its steepest fall and the sum of its products."""


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


class LimitRun(ABC):
    """One run: the best weights and limits, the best lower bound, and the history.

    The start is w = 0 with limits at 1 and -1. The stop is a proof: the objective less the lower
    bound is at most `tol` times the objective. A run without progress in so many iterations as its
    class has `patience` ends too.
    """

    patience: int

    def __init__(
        self, problem: LimitGraph, tol: float, callback: Callable[[BoundStep], object] | None
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
        except linalg.LinAlgError:
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


class LimitSystem:
    r"""The symmetric positive definite system of one Newton step.

    .. math:: \begin{pmatrix} I + X^T D X & B^T \\ B & H \end{pmatrix}
              \begin{pmatrix} \Delta w \\ \Delta l \end{pmatrix} = r

    with the limits l = (U_1, L_1, U_2, L_2, ...). H couples the two limits of a group and the two
    ends of an edge: it is banded, and tridiagonal for a chain. `stiffness` has each edge's
    multiplier over its margin.

    Rows are coupled to their limits by the derivatives of their multipliers, alpha for the upper
    limit L and beta for the lower limit U: d alpha = (upper + cross) d(s - L) - cross d(U - s) and
    d beta = (lower + cross) d(U - s) - cross d(s - L). `totals`, (3, n_groups), are the sums by
    group of lower, upper and cross; `sums`, (2, n_groups, n_features), those of rows times lower +
    2 cross, and times upper + 2 cross; `gram` is X' D X, and is overwritten.

    Raises an OverflowError if a matrix is not finite, and a LinAlgError if rounding leaves the
    limits' matrix not positive definite. O(n_groups (b^2 + b n_features)), b the bandwidth (at most
    twice the groups of a query).
    """

    def __init__(
        self,
        graph: LimitGraph,
        gram: FloatArray,
        sums: FloatArray,
        totals: FloatArray,
        stiffness: FloatArray,
    ) -> None:
        self._factor = factored(graph, totals, stiffness)
        self._sides = -sums.swapaxes(0, 1).reshape(-1, graph.n_features)
        self._solved_sides = solve_banded(self._factor, self._sides)
        gram -= self._sides.T @ self._solved_sides
        gram[np.diag_indices_from(gram)] += 1.0
        self._inverse = _inverse(gram)

    def solve(self, weights: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the step of the weights and of the limits, (2, n_groups), for a right side."""
        flat = limits.T.ravel()
        step = self._inverse(weights - self._solved_sides.T @ flat)
        limits = solve_banded(self._factor, flat - self._sides @ step)
        return step, limits.reshape(-1, 2).T


def _limit_matrix(
    problem: LimitGraph, totals: FloatArray, stiffness: FloatArray
) -> NDArray[np.float64]:
    """Return H in LAPACK's lower banded form; an unused limit has 1 on the diagonal."""
    low, high = 2 * problem.edges[:, 0] + 1, 2 * problem.edges[:, 1]
    width = int(np.abs(low - high).max(initial=1))
    bands = np.zeros((width + 1, 2 * problem.n_groups))
    cross = totals[2]
    bands[0] = (totals[:2] + cross).T.ravel()
    bands[0] += np.bincount(low, stiffness, bands.shape[1])
    bands[0] += np.bincount(high, stiffness, bands.shape[1])
    bands[0, ~problem.bounded.T.ravel()] = 1.0
    bands[1, 0::2] = cross
    places = np.abs(low - high) * bands.shape[1] + np.minimum(low, high)
    bands -= np.bincount(places, stiffness, bands.size).reshape(bands.shape)
    return bands


def factored(graph: LimitGraph, totals: FloatArray, stiffness: FloatArray) -> FloatArray:
    """Return the factor of H for `solve_banded`; see `LimitSystem`."""
    bands = _limit_matrix(graph, totals, stiffness)
    _require_finite(bands)
    diagonal = bands[0].copy()
    for nudge in (0.0, 1e-14, 1e-12, 1e-10):
        bands[0] = diagonal * (1 + nudge)
        factor, failed = lapack.dpbtrf(bands, lower=1)
        if not failed:
            return np.asarray(factor)
    raise linalg.LinAlgError("the limits' matrix is not positive definite at this precision")


def solve_banded(factor: FloatArray, values: FloatArray) -> FloatArray:
    """Return H^-1 times a vector or matrix. scipy's own checks would take longer than the work."""
    return np.asarray(lapack.dpbtrs(factor, values, lower=1)[0]).reshape(values.shape)


def _inverse(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the inverse of a matrix whose eigenvalues are at least 1, but for rounding."""
    _require_finite(matrix)
    factor, failed = lapack.dpotrf(matrix, lower=1)
    if not failed:
        return lambda right: np.asarray(lapack.dpotrs(factor, right, lower=1)[0]).reshape(-1)
    values, vectors = linalg.eigh(matrix, check_finite=False)
    values = np.maximum(values, 1.0)
    return lambda right: vectors @ ((vectors.T @ right) / values)


def _require_finite(matrix: FloatArray) -> None:
    if not np.isfinite(matrix).all():
        raise OverflowError("Newton's system overflows")
