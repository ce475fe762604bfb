"""Direct: solve a quadratic objective by one factorisation and iterative refinement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from pairrank._protocols import (
    FloatArray,
    LinearMap,
    Objective,
    Solution,
    Solver,
    Status,
)
from pairrank.solvers.descent import Descent, DescentSolver, Place

Inverse = Callable[[FloatArray], FloatArray]
_ENOUGH = 1e-6
"""The system is solved where the gradient falls below this part of the gradient at zero."""
_REFINEMENTS = 10
_UNIT = float(np.finfo(np.float64).eps)
_SAFETY = 4.0
"""Pivots up to this many times their rounding are taken for rounding."""


def primal_inverse(matrix: FloatArray, penalty: float, n_terms: int = 1) -> Inverse | None:
    """Return v -> (matrix + penalty I)^-1 v by Cholesky (Airola et al. 2010, Eq. 6).

    None where the sum is singular at this precision. Entries of n_terms products err by about
    sqrt(n_terms) roundings (Higham & Mary 2019), and a pivot by n_features more. A pivot that is
    not larger than this, relative to its diagonal entry, is rounding: its sign, and a solution by
    it, would hang on the last bit. The matrix is overwritten; O(n_features^3).
    """
    matrix[np.diag_indices_from(matrix)] += penalty
    if not np.isfinite(matrix).all():
        return None
    diagonal = np.diagonal(matrix).copy()
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    n_roundings = np.sqrt(n_terms) + diagonal.size
    if (np.diagonal(factor[0]) ** 2 <= _SAFETY * _UNIT * n_roundings * diagonal).any():
        return None
    return lambda v: np.asarray(linalg.cho_solve(factor, v, check_finite=False))


def dual_inverse(matrix: FloatArray, penalty: float) -> Inverse | None:
    """Return v -> (matrix + penalty I)^-1 v by LU, matrix = H K for the dual (Eq. 7).

    None where the sum is singular or overflows, or the penalty is lost in the rounding of the
    entries: H is singular, so the solution would be rounding. The matrix is overwritten;
    O(n_rows^3).
    """
    if penalty <= _UNIT * float(np.abs(matrix).max(initial=0.0)):
        return None
    matrix[np.diag_indices_from(matrix)] += penalty
    if not np.isfinite(matrix).all():
        return None
    factor, pivots, failed = linalg.lapack.dgetrf(matrix, overwrite_a=True)
    if failed:
        return None
    return lambda v: np.asarray(linalg.lapack.dgetrs(factor, pivots, v)[0])


@dataclass(frozen=True)
class Direct(DescentSolver):
    """One solution of the linear system, refined by the objective's gradient.

    `inverse` takes a vector v to H^-1 v; None means that H is singular. Where the factorisation
    does not solve the problem, `otherwise` does from the start; without it, the run ends in
    Status.NO_PROGRESS. Costs three to twelve gradients; the caller makes the factorisation.
    """

    inverse: Inverse | None
    metric: LinearMap | None = None
    otherwise: Solver | None = None

    def __call__(self, objective: Objective, w0: FloatArray, **options: Any) -> Solution:
        """Minimise the objective; only `otherwise` uses the start, `tol` and `max_iter`."""
        found = super().__call__(objective, np.zeros(objective.n_features), **options)
        if found.status is not Status.NO_PROGRESS or self.otherwise is None:
            return found
        return self.otherwise(objective, w0, **options)


class _Run(Descent):
    """One run: report zero, then the solution."""

    rule: Direct
    found: Place

    def advance(self) -> Status | None:
        """Move to the solution; return a status if it is not finite or a callback stops."""
        if not self.found.is_finite:
            return Status.OVERFLOW
        self.move(self.found)
        self.n_iter += 1
        return Status.STOPPED if self._report() else None

    def _descend(self, max_iter: int) -> Status:
        """Report zero and the solution, unless another solver takes over."""
        zero = self.evaluate(self.w)
        self.move(zero)
        if not zero.is_finite:
            return Status.OVERFLOW
        self.found = self._solution(zero)
        enough = max(_ENOUGH, 10 * self.objective.precision) * zero.norm
        is_solved = self.found.is_finite and self.found.norm <= enough
        if not is_solved and self.rule.otherwise is not None:
            return Status.NO_PROGRESS
        if self._report():
            return Status.STOPPED
        status = None if self.found is zero else self.advance()
        if status is Status.OVERFLOW or (status is not None and is_solved):
            return status
        return Status.CONVERGED if is_solved else Status.NO_PROGRESS

    def _solution(self, zero: Place) -> Place:
        """Return the solution, refined while the gradient halves; zero without an inverse."""
        inverse = self.rule.inverse
        if not zero.norm > 0.0 or inverse is None:
            return zero
        place = self.evaluate(-inverse(zero.gradient))
        for _ in range(_REFINEMENTS):
            before = place.norm
            again = self.evaluate(place.w - inverse(place.gradient))
            if again.norm < before:
                place = again
            if not place.norm < 0.5 * before:
                break
        return place


Direct.run_class = _Run
