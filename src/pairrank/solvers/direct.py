"""Direct: a quadratic objective solved by one factorisation, then refined."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pairrank._protocols import (
    Callback,
    FloatArray,
    LinearMap,
    Objective,
    Solution,
    Solver,
    Status,
    Step,
)

Inverse = Callable[[FloatArray], FloatArray]
_ENOUGH = 1e-6
"""The part of the gradient at zero below which a factorisation has solved its system."""
_REFINEMENTS = 10


def primal_inverse(matrix: FloatArray, penalty: float) -> Inverse | None:
    """Return v -> (matrix + penalty I)^-1 v by Cholesky (Airola et al. 2010, Eq. 6).

    None where the sum is singular at this precision. The matrix is overwritten; O(n_features^3).
    """
    matrix[np.diag_indices_from(matrix)] += penalty
    if not np.isfinite(matrix).all():
        return None
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    return lambda v: np.asarray(linalg.cho_solve(factor, v, check_finite=False))


def dual_inverse(bent: FloatArray, penalty: float) -> Inverse | None:
    """Return v -> (bent + penalty I)^-1 v by LU, bent = H K for the dual (Eq. 7).

    None where the sum is singular or overflows. The matrix is overwritten; O(n_rows^3).
    """
    bent[np.diag_indices_from(bent)] += penalty
    if not np.isfinite(bent).all():
        return None
    factor, pivots, failed = linalg.lapack.dgetrf(bent, overwrite_a=True)
    if failed:
        return None
    return lambda v: np.asarray(linalg.lapack.dgetrs(factor, pivots, v)[0])


@dataclass(frozen=True)
class Direct:
    """One solution of the linear system, refined by the objective's gradient while that helps.

    Parameters
    ----------
    inverse : callable or None
        From a vector v to H^-1 v; None: there is none, which ends in Status.NO_PROGRESS.
    metric : LinearMap, optional
        The inner product in which norms are taken, as in `LinearCG`.
    otherwise : Solver, optional
        Takes over from the start, as if alone, where the factorisation does not solve the system.

    Notes
    -----
    Costs a factorisation, made before, and three gradients of the objective, at most twelve.
    """

    inverse: Inverse | None
    metric: LinearMap | None = None
    otherwise: Solver | None = None

    def __call__(
        self,
        objective: Objective,
        w0: FloatArray,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise the objective; the start, `tol` and `max_iter` play no part of its own."""
        start = time.perf_counter()
        history: list[Step] = []
        best: list[FloatArray] = [np.zeros(objective.n_features)]

        def report(w: FloatArray, value: float, norm: float) -> bool:
            n_iter = len(history)
            seconds = time.perf_counter() - start
            step = Step(n_iter, value, norm, w, seconds, 1 + 2 * n_iter, 0)
            history.append(step._replace(coef=None))
            best[0] = w
            return callback is not None and bool(callback(step))

        try:
            with np.errstate(over="ignore", invalid="ignore"):
                status = self._solve(objective, best[0], report)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if status is None and self.otherwise is not None:
            return self.otherwise(objective, w0, tol=tol, max_iter=max_iter, callback=callback)
        status = Status.NO_PROGRESS if status is None else status
        return Solution(best[0], status, max(0, len(history) - 1), history)

    def _solve(
        self, objective: Objective, zero: FloatArray, report: Callable[..., bool]
    ) -> Status | None:
        """Report zero and the solution; None: it is none, and unreported if another takes over."""
        at_zero = self._evaluate(objective, zero)
        value, gradient, norm = at_zero
        if not np.isfinite(value + norm):
            return Status.OVERFLOW
        w, overflows = zero, False
        enough = max(_ENOUGH, 10 * objective.precision) * objective.reference_norm
        if norm > 0.0 and self.inverse is not None:
            w, value, norm = self._refined(objective, -self.inverse(gradient))
            overflows = not np.isfinite(value + norm)
        solved = norm <= enough and not overflows
        if not solved and self.otherwise is not None:
            return None
        if report(zero, at_zero[0], at_zero[2]):
            return Status.STOPPED
        if w is zero:
            return Status.CONVERGED if solved else None
        if overflows:
            return Status.OVERFLOW
        stopped = report(w, value, norm)
        if not solved:
            return None
        return Status.STOPPED if stopped else Status.CONVERGED

    def _refined(self, objective: Objective, w: FloatArray) -> tuple[FloatArray, float, float]:
        """Return weights with their value and gradient norm, refined while the norm halves."""
        assert self.inverse is not None
        value, gradient, norm = self._evaluate(objective, w)
        for _ in range(_REFINEMENTS):
            refined = w - self.inverse(gradient)
            again = self._evaluate(objective, refined)
            before = norm
            if again[2] < before:
                w, (value, gradient, norm) = refined, again
            if not norm < 0.5 * before:
                break
        return w, value, norm

    def _evaluate(self, objective: Objective, w: FloatArray) -> tuple[float, FloatArray, float]:
        loss, gradient = objective.loss_and_gradient(w)
        gradient += objective.penalty * w
        image = w if self.metric is None or not w.any() else self.metric.matvec(w)
        value = loss + 0.5 * objective.penalty * float(w @ image)
        pulled = gradient if self.metric is None else self.metric.matvec(gradient)
        return value, gradient, float(np.sqrt(max(float(gradient @ pulled), 0.0)))
