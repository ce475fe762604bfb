"""LimitSystem: Newton's equations for weights and limits, solved by a Schur complement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from pairrank._protocols import FloatArray

_CG_TOL = 1e-6
_CG_STEPS = 500


class Piece(Protocol):
    """Consecutive rows."""

    rows: slice


class LimitProblem(Protocol):
    """Rows with a cost for crossing limits, and limits at least 1 apart along edges."""

    n_rows: int
    n_features: int
    n_groups: int
    cost: FloatArray
    bounded: NDArray[np.bool_]
    edges: NDArray[np.int64]
    takes_matrices: bool

    @property
    def pieces(self) -> Sequence[Piece]:
        """The rows in parts that fit into the processor's cache."""

    def start_rows(self) -> Rows:
        """Return the multipliers and margins of the rows at the start."""

    def add_grams(self, piece: Any, sides: FloatArray, gram: FloatArray, sums: FloatArray) -> None:
        """Add X' diag(a + b) X of a piece for `sides` a and b, and sums by group of its rows.

        Rows are multiplied by a and by b in the sums by group, (2, n_groups, n_features).
        """

    def scores(self, w: FloatArray) -> FloatArray:
        """Return X w."""

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return X' v."""

    def by_group(self, values: FloatArray) -> FloatArray:
        """Return the sums over the rows of each group, along the last axis."""

    def by_row(self, values: FloatArray) -> FloatArray:
        """Return each group's values at each of its rows, along the last axis."""

    def preconditioner(self, values: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return an approximate inverse of I + X' diag(values) X."""


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

    def move(self, length: float, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Take a part of the step; return the sums there, for the weights and limits there."""

    def scaled(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return X' (alpha - beta) and the sum of (alpha + beta)^2/(4 c), both times `shares`."""

    def couple(self, piece: Any, totals: FloatArray) -> FloatArray:
        """Return the coupling of a piece's rows to their limits; see `LimitSystem`."""

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' times the multipliers' change at fixed scores, and its sums by group."""

    def step(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Compute a step; return its steepest fall and the sum of its products."""


class LimitGraph(Protocol):
    """Groups with a lower and an upper limit, and edges from low to high groups."""

    n_groups: int
    n_features: int
    bounded: NDArray[np.bool_]
    edges: NDArray[np.int64]


class SummedSystem:
    r"""The system of `LimitSystem` from its sums over rows.

    `gram` is X' D X; `sums`, (2, n_groups, n_features), are rows times their coupling to each
    limit; `totals`, (3, n_groups), those of H. `gram` is overwritten.
    """

    def __init__(
        self,
        graph: LimitGraph,
        gram: FloatArray,
        sums: FloatArray,
        totals: FloatArray,
        stiffness: FloatArray,
    ) -> None:
        self._factor = _factor_banded(_limit_matrix(graph, totals, stiffness))
        self._sides = -sums.swapaxes(0, 1).reshape(-1, graph.n_features)
        self._solved_sides = self._limits(self._sides)
        gram -= self._sides.T @ self._solved_sides
        gram[np.diag_indices_from(gram)] += 1.0
        self._inverse = _inverse(gram)

    def solve(self, weights: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the step of the weights and of the limits, (2, n_groups), for a right side."""
        flat = limits.T.ravel()
        step = self._inverse(weights - self._solved_sides.T @ flat)
        return step, self._limits(flat - self._sides @ step).reshape(-1, 2).T

    def _limits(self, values: FloatArray) -> FloatArray:
        """Return H^-1 times a vector or matrix."""
        return _solve_banded(self._factor, values)


class LimitSystem:
    r"""The symmetric positive definite system of one Newton step.

    .. math:: \begin{pmatrix} I + X^T D X & B^T \\ B & H \end{pmatrix}
              \begin{pmatrix} \Delta w \\ \Delta l \end{pmatrix} = r

    with the limits l = (U_1, L_1, U_2, L_2, ...). H couples the two limits of a group and the two
    ends of an edge: it is banded, and tridiagonal for a chain. `stiffness` has each edge's
    multiplier over its margin.

    `couple` describes the rows of a piece by the derivatives of their multipliers, alpha for the
    upper limit L and beta for the lower limit U: d alpha = (upper + cross) d(s - L)
    - cross d(U - s) and d beta = (lower + cross) d(U - s) - cross d(s - L). It adds the sums by
    group of lower, upper and cross to totals, (3, n_groups), and returns lower + 2 cross and
    upper + 2 cross, (2, n).

    Raises an OverflowError if a matrix is not finite, and a LinAlgError if rounding leaves the
    limits' matrix not positive definite.

    With matrices O(n_rows n_features^2 + n_groups (b^2 + b n_features)), b the bandwidth (at most
    twice the groups of a query); else two products with X and one with the factor of H per step
    of conjugate gradients.
    """

    def __init__(
        self,
        problem: LimitProblem,
        couple: Callable[[Any, FloatArray], FloatArray],
        stiffness: FloatArray,
    ) -> None:
        self._problem = problem
        totals = np.zeros((3, problem.n_groups))
        if problem.takes_matrices:
            gram, sums = self._matrices(couple, totals)
        else:
            self._sides_of_rows = np.empty((2, problem.n_rows))
            for piece in problem.pieces:
                self._sides_of_rows[:, piece.rows] = couple(piece, totals)
        if problem.takes_matrices:
            self._summed = SummedSystem(problem, gram, sums, totals, stiffness)
        else:
            self._factor = _factor_banded(_limit_matrix(problem, totals, stiffness))
            self._inner = self._sides_of_rows[0] + self._sides_of_rows[1]
            self._precondition = problem.preconditioner(self._inner)

    def _matrices(
        self, couple: Callable[[Any, FloatArray], FloatArray], totals: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return X' D X and the sums by group of rows times their sides; add to `totals`."""
        problem = self._problem
        gram = np.zeros((problem.n_features, problem.n_features))
        sums = np.zeros((2, problem.n_groups, problem.n_features))
        for piece in problem.pieces:
            problem.add_grams(piece, couple(piece, totals), gram, sums)
        return gram, sums

    def solve(self, weights: FloatArray, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the step of the weights and of the limits, (2, n_groups), for a right side."""
        if self._problem.takes_matrices:
            return self._summed.solve(weights, limits)
        flat = limits.T.ravel()
        step = self._iterate(weights - self._spread(self._limits(flat)))
        sides = self._gather(self._problem.scores(step))
        return step, self._limits(flat - sides).reshape(-1, 2).T

    def _limits(self, values: FloatArray) -> FloatArray:
        """Return H^-1 times a vector or matrix."""
        return _solve_banded(self._factor, values)

    def _gather(self, scores: FloatArray) -> FloatArray:
        """Return B w of the scores X w."""
        return -self._problem.by_group(self._sides_of_rows * scores).T.ravel()

    def _spread(self, limits: FloatArray) -> FloatArray:
        """Return B' l."""
        return -self._problem.transposed(self._by_row(limits))

    def _by_row(self, limits: FloatArray) -> FloatArray:
        """Return the sum of each row's two limits, weighted by its sides."""
        weighed = self._problem.by_row(limits.reshape(-1, 2).T) * self._sides_of_rows
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


def _factor_banded(bands: FloatArray) -> FloatArray:
    _require_finite(bands)
    diagonal = bands[0].copy()
    for nudge in (0.0, 1e-14, 1e-12, 1e-10):
        bands[0] = diagonal * (1 + nudge)
        factor, failed = lapack.dpbtrf(bands, lower=1)
        if not failed:
            return np.asarray(factor)
    raise linalg.LinAlgError("the limits' matrix is not positive definite at this precision")


def _solve_banded(factor: FloatArray, values: FloatArray) -> FloatArray:
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
