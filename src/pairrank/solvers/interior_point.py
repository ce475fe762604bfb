"""Interior points: a primal-dual Newton method for rows that pay for crossing shared limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from pairrank._protocols import FloatArray, Status
from pairrank.solvers.limit_system import LimitProblem, LimitSystem, RowCurvature

_TO_THE_WALL = 0.995
_PATIENCE = 8


class BoundStep(NamedTuple):
    """One iteration, as callbacks and histories see it; a history leaves `coef` out.

    Attributes
    ----------
    n_iter : int
    value : float
        The objective, every row's slack counted in full.
    lower_bound : float
        What no weights and limits can go below, by the dual.
    coef : ndarray or None
    seconds : float
    """

    n_iter: int
    value: float
    lower_bound: float
    coef: FloatArray | None
    seconds: float


class LimitSolution(NamedTuple):
    """What the interior points found.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
    limits : ndarray of shape (2, n_groups)
        Lower and upper limits; of a side without one, any number.
    status : Status
    n_iter : int
    history : list of BoundStep
    lower_bound : float
        The best of the history.
    """

    coef: FloatArray
    limits: FloatArray
    status: Status
    n_iter: int
    history: list[BoundStep]
    lower_bound: float


class _Point(NamedTuple):
    """Where the method is: multipliers, their margins, weights and limits.

    `pull` holds, for the lower and the upper limits in turn, each row's multiplier, `room` its
    margin slack - crossing; `force` and `gap` are the same of the edges.
    """

    weights: FloatArray
    limits: FloatArray
    pull: FloatArray
    room: FloatArray
    force: FloatArray
    gap: FloatArray

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(at + length * by for at, by in zip(self, step, strict=True)))


class _Residual(NamedTuple):
    """What is missing from a minimum at a point, and the bounds there."""

    weights: FloatArray
    limits: FloatArray
    room: FloatArray
    gap: FloatArray
    complementarity: float
    value: float
    lower_bound: float


class _Newton:
    """Newton's equations at one point, factored: the predictor and the corrector solve them."""

    def __init__(self, problem: LimitProblem, ease: FloatArray, point: _Point) -> None:
        self._room, self._gap, self._ease = point.room, point.gap, ease
        self._stiff = point.pull / point.room
        self.stiffness = point.force / point.gap
        self._both = 1.0 / (1.0 + ease * (self._stiff[0] + self._stiff[1]))
        single = self._stiff * self._both
        self.rows = RowCurvature(single, ease * single[0] * self._stiff[1])
        self.direct = single + self.rows.cross
        self.system = LimitSystem(problem, self.rows, self.stiffness)

    def known(
        self, products: tuple[FloatArray, FloatArray], residual: _Residual
    ) -> tuple[FloatArray, FloatArray]:
        """Return how the multipliers of rows and of edges change where nothing else moves."""
        asked = products[0] / self._room
        asked -= self._stiff * residual.room
        eased = self._ease * self._stiff
        known = asked * (1.0 + eased[::-1])
        known -= asked[::-1] * eased
        known *= self._both
        return known, products[1] / self._gap - self.stiffness * residual.gap


class InteriorPoint:
    r"""Minimise a `LimitProblem` by Mehrotra's predictor and corrector.

    .. math:: \min \sum_i c_i \max(0, s_i - L_{g(i)}, U_{g(i)} - s_i)^2 + \tfrac12 \|w\|^2,
              \quad U_Q - L_P \ge 1

    The objective has a kink where a row lies as far above one limit as below the other, and many
    rows end on it where classes overlap: plain Newton steps would circle there. A row's slack y
    follows from its two multipliers, y = (alpha + beta)/(2 c), so that Newton's system is one of
    weights and limits alone, however many rows. The start is feasible in every slack and margin,
    and all iterates are.

    The stop is a proof: `value` less `lower_bound`, which the dual gives, is at most `tol` times
    the value.

    References
    ----------
    S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on
    Optimization 2, 1992.
    """

    def __call__(
        self,
        problem: LimitProblem,
        *,
        tol: float,
        max_iter: int,
        callback: Callable[[BoundStep], object] | None = None,
    ) -> LimitSolution:
        """Return weights and limits.

        Parameters
        ----------
        problem : LimitProblem
        tol : float
            The part of the value that it may lie above the optimum.
        max_iter : int
        callback : callable, optional
            Called with a `BoundStep` before the first and after every iteration; what is true
            stops the descent.

        Returns
        -------
        LimitSolution
            Never raises for numerical trouble: the status says it.

        Notes
        -----
        Ten to thirty iterations, each of a `LimitSystem` and some five products with X.
        """
        return _Run(problem, tol, callback).to_the_end(max_iter)


class _Run:
    """One descent: the problem's constants, the best point so far and the history."""

    def __init__(
        self, problem: LimitProblem, tol: float, callback: Callable[[BoundStep], object] | None
    ) -> None:
        self._problem, self._tol, self._callback = problem, tol, callback
        self._begin = time.perf_counter()
        self._low_groups, self._high_groups = problem.edges.T
        self._has = problem.by_row(problem.bounded.astype(np.float64))
        self._ease = 0.5 / problem.cost
        self._best = (np.zeros(problem.n_features), np.zeros((2, problem.n_groups)))
        self._least, self._bound, self._since = np.inf, -np.inf, 0
        self._history: list[BoundStep] = []

    def to_the_end(self, max_iter: int) -> LimitSolution:
        status, n_iter = Status.MAX_ITER, 0
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                point = self._start()
                ended = self._look(point, 0)
                while ended is None and n_iter < max_iter:
                    point, n_iter = self._advance(point), n_iter + 1
                    ended = self._look(point, n_iter)
            status = ended or status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except OverflowError:
            status = Status.OVERFLOW
        except LinAlgError:
            status = Status.NO_PROGRESS
        return LimitSolution(*self._best, status, n_iter, self._history, self._bound)

    def _start(self) -> _Point:
        """Return a point with every margin 1: w = 0, limits at -1 and 1, slacks 2.

        The products of multipliers and margins are to stay in the ratio that they have here, which
        makes a row of weight 2 take the same path as two rows.
        """
        problem = self._problem
        limits = np.repeat([[1.0], [-1.0]], problem.n_groups, axis=1)
        pull = 4 * problem.cost * self._has / np.maximum(1, self._has.sum(axis=0))
        room = np.ones(self._has.shape)
        ends = ((0, self._high_groups), (1, self._low_groups))
        totals = problem.by_group(pull)
        force = np.zeros(self._low_groups.size)
        for side, groups in ends:
            force += 0.5 * totals[side, groups] / np.bincount(groups)[groups]
        self._ratio = (pull, force)
        self._total = float(pull.sum() + force.sum())
        return _Point(np.zeros(problem.n_features), limits, pull, room, force, np.ones(force.size))

    def _look(self, point: _Point, n_iter: int) -> Status | None:
        """Measure a point, remember the best, and say whether to end."""
        self._residual = residual = self._measure(point)
        if not np.isfinite(residual.value) or not np.isfinite(residual.complementarity):
            return Status.OVERFLOW
        self._since += 1
        if residual.value < self._least * (1 - 1e-3 * self._tol):
            self._least, self._since = residual.value, 0
            self._best = (point.weights, point.limits)
        if residual.lower_bound > self._bound:
            self._bound, self._since = residual.lower_bound, 0
        seconds = time.perf_counter() - self._begin
        step = BoundStep(n_iter, self._least, self._bound, None, seconds)
        self._history.append(step)
        if self._callback and self._callback(step._replace(coef=self._best[0].copy())):
            return Status.STOPPED
        if self._least - self._bound <= self._tol * self._least:
            return Status.CONVERGED
        return Status.NO_PROGRESS if self._since > _PATIENCE else None

    def _measure(self, point: _Point) -> _Residual:
        problem = self._problem
        crossing = self._crossing(problem.scores(point.weights), point.limits)
        slack = (point.pull[0] + point.pull[1]) * self._ease
        room = slack - crossing - point.room
        crossing *= self._has
        worst = np.maximum(np.maximum(crossing[0], crossing[1]), 0.0)
        drag = problem.transposed(point.pull[1] - point.pull[0])
        pulls = problem.by_group(point.pull)
        forces = self._forces(point.force)
        off = np.stack((pulls[0] - forces[0], forces[1] - pulls[1]))
        squared_norm = 0.5 * point.weights @ point.weights
        products = np.vdot(point.pull, point.room) + point.force @ point.gap
        distance = point.limits[0, self._high_groups] - point.limits[1, self._low_groups] - 1
        return _Residual(
            weights=point.weights + drag,
            limits=off,
            room=room,
            gap=distance - point.gap,
            complementarity=float(products / self._total),
            value=float(problem.cost @ np.square(worst) + squared_norm),
            lower_bound=self._dual(point, forces / np.where(pulls > 0, pulls, 1.0)),
        )

    def _dual(self, point: _Point, shares: FloatArray) -> float:
        """Return the dual's value once each group's multipliers are scaled to balance its edges."""
        pull = point.pull * self._problem.by_row(shares)
        drag = self._problem.transposed(pull[1] - pull[0])
        squares = self._ease @ np.square(pull[0] + pull[1])
        return float(point.force.sum() - 0.5 * (drag @ drag) - 0.5 * squares)

    def _advance(self, point: _Point) -> _Point:
        """Return the point after a predictor, a corrector and the longest safe step."""
        newton = _Newton(self._problem, self._ease, point)
        products = (-point.pull * point.room, -point.force * point.gap)
        guess = self._step(newton, products)
        after = point.moved(guess, _longest(point, guess))
        left = np.vdot(after.pull, after.room) + after.force @ after.gap
        now = self._residual.complementarity
        target = now * (left / (now * self._total)) ** 3
        for product, ratio, move, by in zip(
            products, self._ratio, (guess.pull, guess.force), (guess.room, guess.gap), strict=True
        ):
            product += target * ratio
            product -= move * by
        step = self._step(newton, products)
        return point.moved(step, min(1.0, _TO_THE_WALL * _longest(point, step)))

    def _step(self, newton: _Newton, products: tuple[FloatArray, FloatArray]) -> _Point:
        """Return Newton's step that changes each multiplier times its margin by `products`."""
        problem, residual = self._problem, self._residual
        known, force = newton.known(products, residual)
        known_by_group = problem.by_group(known)
        balance = self._forces(force) - known_by_group
        weights, limits = newton.system.solve(
            -residual.weights - problem.transposed(known[1] - known[0]),
            np.stack((balance[0], -balance[1])) - residual.limits,
        )
        crossing = self._crossing(problem.scores(weights), limits)
        pull = newton.direct * crossing
        pull -= newton.rows.cross * crossing[::-1]
        pull += known
        room = self._ease * (pull[0] + pull[1]) - crossing
        room += residual.room
        room *= self._has
        apart = limits[0, self._high_groups] - limits[1, self._low_groups]
        return _Point(
            weights, limits, pull, room, force - newton.stiffness * apart, apart + residual.gap
        )

    def _crossing(self, scores: FloatArray, limits: FloatArray) -> FloatArray:
        """Return how far each row lies below its lower limit and above its upper one."""
        crossing = self._problem.by_row(limits)
        crossing[0] -= scores
        np.subtract(scores, crossing[1], out=crossing[1])
        return crossing

    def _forces(self, force: FloatArray) -> FloatArray:
        """Return the edges' forces on each group's lower limit, and on its upper one."""
        ends, n_groups = (self._high_groups, self._low_groups), self._problem.n_groups
        return np.stack([np.bincount(groups, force, n_groups) for groups in ends])


def _longest(point: _Point, step: _Point) -> float:
    """Return the longest step, at most 1, that keeps multipliers and margins positive."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        steepest = min(
            float(np.fmin.reduce(by / at, axis=None))
            for at, by in zip(point[2:], step[2:], strict=True)
        )
    return 1.0 / max(1.0, -steepest) if np.isfinite(steepest) else 0.0
