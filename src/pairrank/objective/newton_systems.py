"""Newton's equations of the interior point method, by matrices or by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from pairrank._protocols import FloatArray
from pairrank.solvers.limit_system import LimitSystem, NewtonSystem, factored, solve_banded

if TYPE_CHECKING:
    from pairrank.objective.hull_objective import HullObjective, Piece

_CG_TOL = 1e-6
_CG_STEPS = 500
_MOST_HEAVY_ROWS = 2000

Couple = Callable[["Piece", FloatArray], FloatArray]
"""Adds the couplings of a piece's rows to totals by group, (3, n_groups), and returns lower +
2 cross and upper + 2 cross, (2, n); see `LimitSystem`."""


def newton_system(problem: HullObjective, couple: Couple, stiffness: FloatArray) -> NewtonSystem:
    """Return the equations of one Newton step; `stiffness` is that of the edges.

    Costs O(n_rows n_features^2) with matrices; else a solution takes two products with X and one
    with the factor of H per step of conjugate gradients.
    """
    totals = np.zeros((3, problem.n_groups))
    if not problem.takes_matrices:
        sides = np.empty((2, problem.n_rows))
        for piece in problem.pieces:
            sides[:, piece.rows] = couple(piece, totals)
        return IteratedSystem(problem, sides, factored(problem, totals, stiffness))
    gram = np.zeros((problem.n_features, problem.n_features))
    sums = np.zeros((2, problem.n_groups, problem.n_features))
    for piece in problem.pieces:
        problem.add_grams(piece, couple(piece, totals), gram, sums)
    return LimitSystem(problem, gram, sums, totals, stiffness)


class IteratedSystem:
    """The system of `LimitSystem` for many features, solved by conjugate gradients."""

    def __init__(self, problem: HullObjective, sides: FloatArray, factor: FloatArray) -> None:
        self._problem, self._sides, self._factor = problem, sides, factor
        self._inner = sides[0] + sides[1]
        self._precondition = preconditioner(problem, self._inner)

    def solve(self, weights: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the step of the weights and of the limits, (2, n_groups), for a right side."""
        flat = limits.T.ravel()
        spread = self._problem.transposed(self._by_row(self._limits(flat)))
        step = self._iterate(weights + spread)
        sides = self._gather(self._problem.scores(step))
        return step, self._limits(flat - sides).reshape(-1, 2).T

    def _limits(self, values: FloatArray) -> FloatArray:
        """Return H^-1 times a vector."""
        return solve_banded(self._factor, values)

    def _gather(self, scores: FloatArray) -> FloatArray:
        """Return B w of the scores X w."""
        return -self._problem.by_group(self._sides * scores).T.ravel()

    def _by_row(self, limits: FloatArray) -> FloatArray:
        """Return the sum of each row's two limits, weighted by its sides."""
        weighed = self._problem.by_row(limits.reshape(-1, 2).T) * self._sides
        return weighed[0] + weighed[1]

    def _iterate(self, right: FloatArray) -> FloatArray:
        def multiply(step: FloatArray) -> FloatArray:
            scores = self._problem.scores(step)
            taken = self._by_row(self._limits(self._gather(scores)))
            return step + self._problem.transposed(self._inner * scores + taken)

        shape = (right.size, right.size)
        operator = LinearOperator(shape, matvec=multiply, dtype=np.float64)
        inverse = LinearOperator(shape, matvec=self._precondition, dtype=np.float64)
        return cg(operator, right, rtol=_CG_TOL, maxiter=_CG_STEPS, M=inverse)[0]


def preconditioner(
    problem: HullObjective, values: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return an approximate inverse of I + X' diag(values) X.

    The values of rows on a kink grow as the method converges. The rows of the largest values enter
    by Woodbury's identity, the others by their diagonal.
    """
    heavy = np.flatnonzero(values > 8.0 * problem.cost)
    if heavy.size > _MOST_HEAVY_ROWS:
        heavy = np.argpartition(values, -_MOST_HEAVY_ROWS)[-_MOST_HEAVY_ROWS:]
    light = values.copy()
    light[heavy] = 0.0
    inverse = 1.0 / (1.0 + problem.diagonal(light))
    if not heavy.size:
        return lambda vector: inverse * vector
    rows = problem.rows_at(heavy)
    if sparse.issparse(rows):
        inner = (rows @ sparse.diags_array(inverse) @ rows.T).toarray()
    else:
        inner = (rows * inverse) @ rows.T
    inner[np.diag_indices_from(inner)] += 1.0 / values[heavy]
    factor = linalg.cho_factor(inner, lower=True, check_finite=False)

    def precondition(vector: FloatArray) -> FloatArray:
        scaled = inverse * vector
        by_row = linalg.cho_solve(factor, rows @ scaled, check_finite=False)
        return scaled - inverse * (rows.T @ by_row)

    return precondition
