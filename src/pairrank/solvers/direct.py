"""Direct: a quadratic objective solved by one factorisation, then once refined."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pairrank._protocols import Callback, FloatArray, LinearMap, Objective, Solution, Status, Step

Inverse = Callable[[FloatArray], FloatArray]
_ENOUGH = 1e-6
"""The part of the gradient at zero below which a factorisation has solved its system."""


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
    """One solution of the linear system, and one step that refines it by the objective's gradient.

    Parameters
    ----------
    inverse : callable or None
        From a vector v to H^-1 v; None: there is none, which ends in Status.NO_PROGRESS.
    metric : LinearMap, optional
        The inner product in which norms are taken, as in `LinearCG`.

    Notes
    -----
    Costs a factorisation, made before, and two gradients of the objective.
    """

    inverse: Inverse | None
    metric: LinearMap | None = None

    def __call__(
        self,
        objective: Objective,
        w0: FloatArray,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise the objective; the start, `tol` and `max_iter` play no part."""
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
        return Solution(best[0], status, max(0, len(history) - 1), history)

    def _solve(self, objective: Objective, zero: FloatArray, report: Callable[..., bool]) -> Status:
        value, gradient, norm = self._evaluate(objective, zero)
        if not np.isfinite(value + norm):
            return Status.OVERFLOW
        if report(zero, value, norm):
            return Status.STOPPED
        if norm == 0.0:
            return Status.CONVERGED
        if self.inverse is None:
            return Status.NO_PROGRESS
        w = -self.inverse(gradient)
        value, gradient, norm = self._evaluate(objective, w)
        refined = w - self.inverse(gradient)
        again = self._evaluate(objective, refined)
        if again[2] < norm:
            w, value, norm = refined, again[0], again[2]
        if not np.isfinite(value + norm):
            return Status.OVERFLOW
        stopped = report(w, value, norm)
        solved = norm <= max(_ENOUGH, 10 * objective.precision) * objective.reference_norm
        if stopped and solved:
            return Status.STOPPED
        return Status.CONVERGED if solved else Status.NO_PROGRESS

    def _evaluate(self, objective: Objective, w: FloatArray) -> tuple[float, FloatArray, float]:
        loss, gradient = objective.loss_and_gradient(w)
        gradient += objective.penalty * w
        image = w if self.metric is None or not w.any() else self.metric.matvec(w)
        value = loss + 0.5 * objective.penalty * float(w @ image)
        pulled = gradient if self.metric is None else self.metric.matvec(gradient)
        return value, gradient, float(np.sqrt(max(float(gradient @ pulled), 0.0)))
