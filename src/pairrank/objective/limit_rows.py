"""Rows' multipliers and margins in the interior point method, and Newton's equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from pairrank._protocols import FloatArray
from pairrank.compiled import limit_rows as passes
from pairrank.objective.hull_objective import HullObjective, Piece
from pairrank.solvers.limits import LimitSystem, RowSums, factored, solve_banded

_CG_TOL = 1e-6
_CG_STEPS = 500
_MOST_HEAVY_ROWS = 2000

Place = tuple[FloatArray, int, NDArray[np.int64], int]
"""The state, the first row of a piece, the starts of its groups and the number of the first."""
Couple = Callable[[Piece, FloatArray], FloatArray]
"""Adds the couplings of a piece's rows to totals by group, (3, n_groups), and returns lower +
2 cross and upper + 2 cross, (2, n); see `LimitSystem`."""


def newton_system(
    problem: HullObjective, couple: Couple, stiffness: FloatArray
) -> LimitSystem | IteratedSystem:
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
        spread = self._problem.transposed(self._by_row(solve_banded(self._factor, flat)))
        step = self._iterate(weights + spread)
        sides = self._gather(self._problem.scores(step))
        return step, solve_banded(self._factor, flat - sides).reshape(-1, 2).T

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
            taken = self._by_row(solve_banded(self._factor, self._gather(scores)))
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


class LimitRows:
    r"""Each row's two multipliers and margins, and their Newton steps.

    With the multipliers beta of U - s <= y and alpha of s - L <= y, the slack is
    y = (alpha + beta)/(2 c), and the margins are y - (U - s) and y - (s - L). Where a row's group
    lacks a limit, its multiplier stays 0 and its margin 1.

    Newton's equations for one row, where p and q are the margins of L and U, u = alpha/p,
    v = beta/q, and a and b are the changes of the multipliers at fixed margins:

    .. math:: \Delta y = \frac{a + b + u \Delta(s - L) + v \Delta(U - s)}{2 c + u + v}, \quad
              \Delta p = \Delta y - \Delta(s - L), \quad \Delta\alpha = a - u \Delta p

    and likewise for q and beta. Twelve numbers per row are kept. Each method costs one compiled
    pass over the rows and at most two products with X.
    """

    def __init__(self, problem: HullObjective) -> None:
        self.problem = problem
        self._share = 4.0 * problem.bounded / np.maximum(1, problem.bounded.sum(axis=0))
        self._is_bounded = problem.bounded.astype(np.float64)
        self.state = np.zeros((passes.N_LINES, problem.n_rows))
        self.state[passes.COST] = problem.cost
        for side, share in enumerate(problem.by_row(self._share)):
            self.state[passes.MULTIPLIERS + side] = share * problem.cost
            self.state[passes.MARGINS + side] = 1.0

    def move(self, length: float, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Take a part of the step; return the sums there, for the weights and limits there."""
        problem, (gradient, totals) = self.problem, self._no_sums()
        cost, products, ones = 0.0, 0.0, np.ones(problem.bounded.shape)
        open_limits = np.where(problem.bounded, limits, [[-np.inf], [np.inf]])
        for piece, where, work in self._pieces():
            block = problem.features(piece)
            found = passes.move(*where, length, block @ weights, open_limits, ones, work, totals)
            cost, products = cost + found[0], products + found[1]
            gradient += block.T @ work
        return RowSums(cost, gradient, totals, products)

    def scaled(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return X' (alpha - beta) and the sum of (alpha + beta)^2/(4 c), both times `shares`."""
        (gradient, totals), squares = self._no_sums(), 0.0  # totals stand for limits, unused
        for piece, where, work in self._pieces():
            scores = np.zeros(work.size)
            found = passes.move(*where, 0.0, scores, totals, shares, work, totals)
            squares += found[2]
            gradient += self.problem.features(piece).T @ work
        return gradient, squares

    def system(self, stiffness: FloatArray) -> LimitSystem | IteratedSystem:
        """Return Newton's equations here, for the edges' multipliers over their margins."""
        return newton_system(self.problem, self._couple, stiffness)

    def _couple(self, piece: Piece, totals: FloatArray) -> FloatArray:
        """Update the factors of a piece; return its coupling, as `newton_system` needs it."""
        sides = np.empty((2, piece.rows.stop - piece.rows.start))
        passes.couple(*self._where(piece), sides, totals)
        return sides

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' times the multipliers' change at fixed scores, and its sums by group.

        The aim is products of `target` times those of the start, less the products of the last
        `step`; None aims at 0. The next `step` has this aim.
        """
        gradient, totals = self._no_sums()
        aims, second = (0.0, 0.0) if target is None else (target, 1.0)
        aims_of_groups = aims * self._share
        for piece, where, work in self._pieces():
            passes.ask(*where, aims_of_groups, second, work, totals)
            gradient += self.problem.features(piece).T @ work
        return gradient, totals

    def step(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Compute the step for a change of weights and limits, without taking it.

        Returns the steepest fall, and the sum of the multipliers' changes times the margins'
        changes. A fall is a relative change, at most 0: multipliers and margins stay positive along
        less than -1/fall of the step.
        """
        products, steepest = 0.0, []
        for piece, where, _ in self._pieces():
            falls = self.problem.features(piece) @ weights
            products += passes.step(*where, self._is_bounded, falls, limits)
            steepest.append(falls.min())
        return float(np.min(steepest)), products

    def _pieces(self) -> Iterator[tuple[Piece, Place, FloatArray]]:
        """Yield each piece, where its rows are, and an array with a number per row to write to."""
        for piece in self.problem.pieces:
            yield piece, self._where(piece), np.empty(piece.rows.stop - piece.rows.start)

    def _where(self, piece: Piece) -> Place:
        """Return the first arguments of a compiled pass over a piece."""
        return self.state, piece.rows.start, piece.start, piece.groups.start

    def _no_sums(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros(self.problem.n_features), np.zeros((2, self.problem.n_groups))
