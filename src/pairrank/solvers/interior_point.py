"""The interior point method for rows with a cost for crossing shared limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, Status
from pairrank.solvers.limits import BoundStep, LimitRun, LimitSolution, NewtonSystem, Rows, RowSums

_PART_TO_BOUNDARY = 0.995


class _Residual(NamedTuple):
    """The residuals of the optimality conditions at a point, and the bounds there."""

    weights: FloatArray
    limits: FloatArray
    products: float
    value: float
    lower_bound: float


def minimize_with_limits(
    rows: Rows,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[BoundStep], object] | None = None,
) -> LimitSolution:
    r"""Minimise the cost of rows beyond limits by Mehrotra's predictor-corrector method.

    .. math:: \min \sum_i c_i \max(0, s_i - L_{g(i)}, U_{g(i)} - s_i)^2 + \tfrac12 \|w\|^2,
              \quad U_Q - L_P \ge 1

    The objective has a kink where a row lies as far above one limit as below the other. Where
    classes overlap, many rows end on it, and plain Newton steps would cycle. A row's slack y
    follows from its two multipliers, y = (alpha + beta)/(2 c), so Newton's system has only the
    weights and limits as unknowns, whatever the number of rows.

    The stop is a proof: `value` less the dual's `lower_bound` is at most `tol` times the value. A
    true result of the callback, which sees the start too, ends the run. Numerical failures are
    statuses. Ten to thirty iterations, each of a `LimitSystem` and seven products with X (S.
    Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on
    Optimization 2, 1992).
    """
    return _Run(rows, tol, callback).run(max_iter)


class _Run(LimitRun):
    """One run: the current point, the best so far and the history.

    An edge has a force, its multiplier, and a gap, its margin; `rows` have those of rows. The start
    has w = 0, limits at 1 and -1, slacks of 2 and margins of 1. The products of multipliers and
    margins keep the ratio that they have there, so a row of weight 2 equals two rows.
    """

    patience = 8

    def __init__(
        self, rows: Rows, tol: float, callback: Callable[[BoundStep], object] | None
    ) -> None:
        super().__init__(rows.problem, tol, callback)
        self._rows = rows
        self._weights, self._limits = self._best

    def _start(self) -> None:
        self._sums = sums = self._rows.move(0.0, self._weights, self._limits)
        self._force = self._first_forces(sums.totals)
        self._gap = np.ones(self._force.size)
        self._ratio = self._force
        self._total = sums.products + float(self._force.sum())

    def _record(self, n_iter: int) -> Status | None:
        self._residual = residual = self._measure(self._sums)
        if not np.isfinite(residual.value) or not np.isfinite(residual.products):
            return Status.OVERFLOW
        bound = residual.lower_bound
        return self._keep(n_iter, residual.value, bound, self._weights, self._limits)

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
        self, system: NewtonSystem, asked: FloatArray, target: float | None
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
        gap = self._widening(limits)
        return weights, limits, asked - self._stiffness * gap, gap

    def _length(self, steepest: float, force: FloatArray, gap: FloatArray) -> float:
        """Return the step length, at most 1, at which a multiplier or a margin becomes 0."""
        steepest = min(steepest, float((force / self._force).min()), float((gap / self._gap).min()))
        return 1.0 / max(1.0, -steepest) if np.isfinite(steepest) else 0.0
