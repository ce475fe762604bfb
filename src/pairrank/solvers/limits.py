"""Rows with shared limits: the interior point method and Newton's equations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from pairrank._protocols import FloatArray, Status, Step

_PART_TO_BOUNDARY = 0.995
_PATIENCE = 8
"""A run ends after so many iterations without progress."""

Watch = Callable[[Step, FloatArray], object]
"""Called with a step and its limits after every iteration; a true result stops the run."""


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


class LimitSolution(NamedTuple):
    """The result for rows with shared limits."""

    coef: FloatArray
    limits: FloatArray
    """Lower and upper limits, (2, n_groups); arbitrary where a group lacks one."""
    status: Status
    n_iter: int
    history: list[Step]
    lower_bound: float


def minimize_with_limits(
    rows: Any, *, tol: float, max_iter: int, callback: Watch | None = None
) -> LimitSolution:
    r"""Minimise the cost of rows beyond limits by Mehrotra's predictor-corrector method.

    .. math:: \min \sum_i c_i \max(0, s_i - L_{g(i)}, U_{g(i)} - s_i)^2 + \tfrac12 \|w\|^2,
              \quad U_Q - L_P \ge 1

    The objective has a kink where a row lies as far above one limit as below the other. Where
    classes overlap, many rows end on it, and plain Newton steps would cycle. A row's slack y
    follows from its two multipliers, y = (alpha + beta)/(2 c), so Newton's system has only the
    weights and limits as unknowns, whatever the number of rows.

    `rows` are the `pairrank.objective.limit_rows.LimitRows` of a problem.

    The stop is a proof: the value less the dual's lower bound, a step's `gap`, is at most `tol`
    times the value. The callback sees the start too. Numerical failures are statuses. Ten to thirty
    iterations, each of a `LimitSystem` and seven products with X (S. Mehrotra, "On the
    implementation of a primal-dual interior point method", SIAM Journal on Optimization 2, 1992).
    """
    return _Run(rows, tol, callback).run(max_iter)


class _Residual(NamedTuple):
    """The residuals of the optimality conditions at a point, and the bounds there."""

    weights: FloatArray
    limits: FloatArray
    products: float
    value: float
    lower_bound: float


class _Run:
    """One run: the current point, the best so far and the history.

    An edge has a force, its multiplier, and a gap, its margin; `rows` have those of rows. The start
    has w = 0, limits at 1 and -1, slacks of 2 and margins of 1. The products of multipliers and
    margins keep the ratio that they have there, so a row of weight 2 equals two rows.
    """

    def __init__(self, rows: Any, tol: float, callback: Watch | None) -> None:
        problem = rows.problem
        self._rows, self._tol, self._callback = rows, tol, callback
        self._begin = time.perf_counter()
        self._n_groups, (self._low, self._high) = problem.n_groups, problem.edges.T
        self._weights = np.zeros(problem.n_features)
        self._limits = np.repeat([[1.0], [-1.0]], problem.n_groups, axis=1)
        self._best = self._weights, self._limits
        self._least, self._bound, self._since = np.inf, -np.inf, 0
        self._history: list[Step] = []

    def run(self, max_iter: int) -> LimitSolution:
        """Iterate until a stop; failures of the arithmetic and interrupts are statuses."""
        status, n_iter = Status.MAX_ITER, 0
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._start()
                ended = self._record(0)
                while ended is None and n_iter < max_iter:
                    self._advance()
                    n_iter += 1
                    ended = self._record(n_iter)
            status = ended or status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except OverflowError:
            status = Status.OVERFLOW
        except linalg.LinAlgError:
            status = Status.NO_PROGRESS
        return LimitSolution(*self._best, status, n_iter, self._history, self._bound)

    def _start(self) -> None:
        """Evaluate the start; the edges' forces are as strong as the rows' multipliers."""
        self._sums = sums = self._rows.move(0.0, self._weights, self._limits)
        self._force = np.zeros(self._low.size)
        for side, groups in ((0, self._high), (1, self._low)):
            self._force += 0.5 * sums.totals[side, groups] / np.bincount(groups)[groups]
        self._gap = np.ones(self._force.size)
        self._ratio = self._force
        self._total = sums.products + float(self._force.sum())

    def _record(self, n_iter: int) -> Status | None:
        """Keep a better value and a better lower bound; return a status if the run ends."""
        self._residual = residual = self._measure(self._sums)
        value, bound = residual.value, residual.lower_bound
        if not np.isfinite(value) or not np.isfinite(residual.products):
            return Status.OVERFLOW
        self._since += 1
        if value < self._least * (1.0 - 1e-3 * self._tol):
            self._since = 0
        if value < self._least:
            self._least, self._best = value, (self._weights, self._limits)
        if bound > self._bound:
            self._bound, self._since = bound, 0
        seconds, gap = time.perf_counter() - self._begin, self._least - self._bound
        step = Step(n_iter, self._least, np.nan, None, seconds, n_iter + 1, 0, gap)
        self._history.append(step)
        coef, limits = self._best
        if self._callback and self._callback(step._replace(coef=coef.copy()), limits):
            return Status.STOPPED
        if gap <= self._tol * self._least:
            return Status.CONVERGED
        return Status.NO_PROGRESS if self._since > _PATIENCE else None

    def _measure(self, sums: RowSums) -> _Residual:
        forces = self._forces(self._force)
        off = forces - sums.totals
        return _Residual(
            weights=self._weights + sums.gradient,
            limits=np.stack((-off[0], off[1])),
            products=sums.products + float(self._force @ self._gap),
            value=sums.cost + 0.5 * float(self._weights @ self._weights),
            lower_bound=self._dual(forces / np.where(sums.totals > 0, sums.totals, 1.0)),
        )

    def _dual(self, shares: FloatArray) -> float:
        """Return the dual's value for multipliers scaled to balance the edges of their group."""
        gradient, squares = self._rows.scaled(shares)
        return float(self._force.sum() - 0.5 * (gradient @ gradient) - squares)

    def _advance(self) -> None:
        """Take a predictor-corrector step that keeps multipliers and margins positive."""
        self._stiffness = self._force / self._gap
        system = self._rows.system(self._stiffness)
        weights, limits, force, gap = self._direction(system, -self._force, None)
        steepest, products = self._rows.step(weights, limits)
        length, now = self._length(steepest, force, gap), self._residual.products
        after = (1.0 - length) * now + length**2 * (products + float(force @ gap))
        target = (now / self._total) * (after / now) ** 3
        asked = (target * self._ratio - force * gap) / self._gap - self._force
        weights, limits, force, gap = self._direction(system, asked, target)
        length = self._length(self._rows.step(weights, limits)[0], force, gap)
        length = min(1.0, _PART_TO_BOUNDARY * length)
        self._weights = self._weights + length * weights
        self._limits = self._limits + length * limits
        self._force = self._force + length * force
        self._gap = self._gap + length * gap
        self._sums = self._rows.move(length, self._weights, self._limits)

    def _direction(
        self, system: Any, asked: FloatArray, target: float | None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return Newton's step of weights, limits, forces and gaps.

        `asked` is the change of the edges' forces where nothing else changes.
        """
        gradient, totals = self._rows.known(target)
        balance = self._forces(asked) - totals
        weights, limits = system.solve(
            -self._residual.weights - gradient,
            np.stack((balance[0], -balance[1])) - self._residual.limits,
        )
        gap = limits[0, self._high] - limits[1, self._low]
        return weights, limits, asked - self._stiffness * gap, gap

    def _forces(self, force: FloatArray) -> FloatArray:
        """Return the sum of the edges' forces on the lower and the upper limit of each group."""
        ends = (self._high, self._low)
        return np.stack([np.bincount(groups, force, self._n_groups) for groups in ends])

    def _length(self, steepest: float, force: FloatArray, gap: FloatArray) -> float:
        """Return the step length, at most 1, at which a multiplier or a margin becomes 0."""
        steepest = min(steepest, float((force / self._force).min()), float((gap / self._gap).min()))
        return 1.0 / max(1.0, -steepest) if np.isfinite(steepest) else 0.0


class LimitSystem:
    r"""The symmetric positive definite system of one Newton step.

    .. math:: \begin{pmatrix} I + X^T D X & B^T \\ B & H \end{pmatrix}
              \begin{pmatrix} \Delta w \\ \Delta l \end{pmatrix} = r

    with the limits l = (U_1, L_1, U_2, L_2, ...) of the groups of a `problem`, a
    `pairrank.objective.HullObjective`. H couples the two limits of a group and the two ends of an
    edge: it is banded, and tridiagonal for a chain. `stiffness` has each edge's multiplier over its
    margin.

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
        problem: Any,
        gram: FloatArray,
        sums: FloatArray,
        totals: FloatArray,
        stiffness: FloatArray,
    ) -> None:
        self._factor = factored(problem, totals, stiffness)
        self._sides = -sums.swapaxes(0, 1).reshape(-1, problem.n_features)
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


def _limit_matrix(problem: Any, totals: FloatArray, stiffness: FloatArray) -> FloatArray:
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


def factored(problem: Any, totals: FloatArray, stiffness: FloatArray) -> FloatArray:
    """Return the factor of H for `solve_banded`; see `LimitSystem`."""
    bands = _limit_matrix(problem, totals, stiffness)
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
