"""Choose the solver of squares and tubes over differences: direct, CG, Newton or cutting planes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from pairrank._protocols import Callback, FloatArray, Objective, Solution, Solver, Squares, Status
from pairrank.design import Design, KernelDesign
from pairrank.estimators._descent import Method, descend
from pairrank.exceptions import PairrankError
from pairrank.losses import Square
from pairrank.objective import (
    PairObjective,
    Problem,
    Products,
    Quadratic,
    Sample,
    SampledModel,
    dual_matrix,
    primal_matrix,
)
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Pairs
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.direct import Direct, Inverse, dual_inverse, primal_inverse
from pairrank.solvers.linear_cg import LinearCG
from pairrank.solvers.newton import Newton
from pairrank.solvers.tron import Tron

if TYPE_CHECKING:
    from pairrank.blocks.problem import BlockProblem

LARGEST_SYSTEM = 30_000
_SMALL_SYSTEM = 1000
_FLOP, _ENTRY, _COMPARISON = 1e-10, 3e-9, 1e-8
"""Measured seconds: of a multiplication in a matrix product, of a non-zero in two products with X,
and of a comparison in one iteration of CG."""
_ITERATIONS = 30
"""The least number of iterations of a fit."""

Minimizer = Callable[..., Solution]


def minimizer(problem: Problem | BlockProblem, method: Method) -> Minimizer:
    """Return a function that solves for one column of targets; all columns share a factorisation.

    Squares: "direct" is one factorisation, primal or dual by shape, and "cg" conjugate gradients.
    "auto" is the factorisation where it is cheaper, else Newton preconditioned by the diagonal
    where features differ in size, else conjugate gradients.

    Tubes: Newton or TRON for power 2, cutting planes for power 1. Where a small factorisation
    solves least squares, its solution is the start. The preconditioner for power 2 is its inverse,
    else the diagonal.

    Rows in blocks have one column. They take one pass for the normal equations, on which "cg" runs
    too; or passes for each iteration where these equations cost more.

    The function returned is ``solve(target, start, callback=None) -> Solution`` for what
    `problem.with_target` takes, and a start or None for zero. A PairrankError says that
    solver="direct" is impossible because its matrix is singular, too large, or unknown; or that a
    kernel matrix is not positive semidefinite.
    """
    equations, name = _equations(problem, method.solver), method.solver
    of_squares = isinstance(problem.loss.family, Squares)

    def solve(target: Any, start: FloatArray | None, callback: Callback | None = None) -> Solution:
        if of_squares and equations is not None:
            solver: Solver = LinearCG(equations.metric)
            if name != "cg":
                otherwise: Any = _refuse if name == "direct" else solver
                solver = Direct(equations.inverse, equations.metric, otherwise=otherwise)
            return descend(equations.objective(target), solver, method, start, None, callback)
        found, products, model = None, None, None
        if equations is not None and equations.inverse is not None:
            squares = equations.objective(target)
            direct = Direct(equations.inverse)
            found = direct(squares, np.zeros(squares.n_features), tol=0.0, max_iter=1)
            if found.status is Status.CONVERGED:
                products = Products(equations.inverse)
            elif found.status is not Status.INTERRUPTED:
                found = None
        if isinstance(problem, Problem):
            aimed: Problem | BlockProblem = problem.with_target(target)
        else:
            aimed, sample = problem, problem.sample
            if not of_squares and sample is not None:
                whole = Sample(sample, is_whole=aimed.is_whole)
                model = SampledModel([whole], by_matrix=False)
        objective = PairObjective(aimed, model, products)
        return descend(objective, _by_steps(aimed, name), method, start, found, callback)

    return solve


class Equations(NamedTuple):
    """The normal equations of squares."""

    objective: Callable[[Any], Objective]
    """Returns the objective of squares for a target."""
    inverse: Inverse | None
    """The inverse of the Hessian; None where it is singular."""
    metric: KernelDesign | None = None


def _equations(problem: Problem | BlockProblem, name: str) -> Equations | None:
    """Return the normal equations where they are worth their cost; an error where impossible."""
    if not isinstance(problem, Problem):
        return _block_equations(problem, name)
    squares = problem.changed(loss=Square())
    if isinstance(problem.loss.family, Squares) and name != "auto":
        if name != "direct":
            return None
        order = _order(problem)
        if order > LARGEST_SYSTEM:
            raise PairrankError(
                f'solver="direct" would factorise a matrix of {order} x {order}, at most '
                f'{LARGEST_SYSTEM} is sensible: use solver="cg"'
            )
    elif not direct_is_cheaper(squares):
        return None

    def objective(target: FloatArray | None) -> Objective:
        return PairObjective(squares.with_target(target))

    return Equations(objective, _inverse(squares), _metric(problem))


def _block_equations(problem: BlockProblem, name: str) -> Equations | None:
    """Return the equations of all blocks, from one pass; None where iterations cost less."""
    from pairrank.blocks.squares import SquareSums, few_enough, square_sums

    prepared, d = problem.prepared, problem.n_features
    if not few_enough(prepared.catalog, name == "direct"):
        return None
    sums = problem.passes.reduce(square_sums, problem.origin, SquareSums.merged)
    gram, penalty, factor = sums.products[:d, :d], problem.penalty, problem.factor

    def objective(target: None) -> Objective:
        moment, square = sums.products[:d, d], float(sums.products[d, d])
        return Quadratic(gram, moment, square, penalty, factor)

    inverse = primal_inverse(2.0 * factor * gram, penalty, prepared.catalog.n_kept)
    return Equations(objective, inverse)


def _by_steps(problem: Problem | BlockProblem, name: str) -> Solver:
    """Return the solver that evaluates every pair in each step."""
    if not isinstance(problem.loss.family, Squares):
        if not problem.loss.smooth:
            return Bundle()
        return Tron() if name == "tron" else Newton()
    if name == "auto" and problem.uneven_diagonal is not None:
        return Newton()
    return LinearCG(_metric(problem))


def _metric(problem: Problem | BlockProblem) -> KernelDesign | None:
    """Return the metric of dual coefficients; None of weights."""
    design = getattr(problem, "design", None)
    return design if isinstance(design, KernelDesign) else None


def _refuse(objective: Objective, w0: FloatArray, **options: Any) -> Solution:
    """Raise the error of a singular system, whether its factorisation fails or is imprecise."""
    raise PairrankError(
        "the normal equations are singular at this precision, or overflow: regularise more (raise "
        'alpha, or lower C), scale the features to one size, or use solver="cg"'
    )


def direct_is_cheaper(problem: Problem) -> bool:
    """Whether a factorisation of at most a thousand unknowns costs less than iterations of CG."""
    X, design, preferences = problem.X, problem.design, problem.preferences
    order = _order(problem)
    if order > _SMALL_SYSTEM:
        return False
    iteration = _ENTRY * (X.nnz if sparse.issparse(X) else X.size)
    n_products = n_terms = _n_terms(problem)
    if isinstance(preferences, Pairs):
        iteration += _COMPARISON * n_terms
    if _is_dual(problem):
        n_products = order + (1 if problem.is_kernel else design.n_features)
    return _FLOP * n_products * order**2 <= _ITERATIONS * iteration + 1e-2


def _n_terms(problem: Problem) -> int:
    """Return the number of rows, or of comparisons, in the sum."""
    preferences = problem.preferences
    return preferences.n_pairs if isinstance(preferences, Pairs) else problem.design.n_rows


def _order(problem: Problem) -> int:
    return min(problem.design.n_rows, problem.design.n_features)


def _is_dual(problem: Problem) -> bool:
    return problem.is_kernel or problem.design.n_features > problem.design.n_rows


def _inverse(problem: Problem) -> Inverse | None:
    """Return v -> (Hessian)^-1 v by Eq. 6 or Eq. 7; None where the matrix is singular."""
    design, preferences, penalty = problem.design, problem.preferences, problem.penalty
    assert isinstance(preferences, Differences | Pairs)
    if not _is_dual(problem):
        assert isinstance(design, Design)
        return primal_inverse(primal_matrix(design, preferences), penalty, _n_terms(problem))
    kernel = _kernel_matrix(design, preferences)
    curvature = bind(Square(), preferences).at(np.zeros(design.n_rows)).curvature()
    of_rows = dual_inverse(curvature.matmat(kernel).T, penalty)
    if of_rows is None or problem.is_kernel:
        return of_rows

    def inverse(v: FloatArray) -> FloatArray:
        """Return the primal inverse times v by the dual one (Henderson & Searle 1981)."""
        by_row = of_rows(curvature.matvec(design.scores(v)))
        return (v - design.transposed(_without_mean(by_row, preferences))) / penalty

    return inverse


def _kernel_matrix(design: Design | KernelDesign, preferences: Differences | Pairs) -> FloatArray:
    if isinstance(design, Design):
        return dual_matrix(design, preferences)
    K: Any = design.K
    matrix = np.ascontiguousarray(K.toarray() if sparse.issparse(K) else K, dtype=np.float64)
    design.require_no_negative(matrix)
    return matrix


def _without_mean(values: FloatArray, preferences: Differences | Pairs) -> FloatArray:
    """Return values per row whose sum over a query is 0, without that sum's rounding.

    The rounding would be multiplied by the features' common offset, and divided by the penalty.
    """
    if isinstance(preferences, Pairs):
        return np.asarray(values - values.mean())
    weight = preferences.weight
    by_weight = np.divide(values, weight, out=np.zeros_like(values), where=weight > 0)
    return np.asarray(weight * preferences.centred(by_weight))
