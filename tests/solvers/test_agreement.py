"""Every solver on every loss that it can solve: one table, one optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank import Pairs
from pairrank.losses import Hinge, Logistic, Probit, Square, SquaredHinge, Tube
from pairrank.objective import LineSample, PairObjective, Problem, dual_matrix, primal_matrix
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.direct import Direct, dual_inverse, primal_inverse
from pairrank.solvers.linear_cg import LinearCG
from pairrank.solvers.newton import ContinuedNewton, Newton
from pairrank.solvers.nonlinear_cg import NonlinearCG
from pairrank.solvers.tron import Tron

pytestmark = pytest.mark.numeric

SMOOTH = {
    "newton": lambda problem: Newton(),
    "tron": lambda problem: Tron(),
    "ncg": lambda problem: NonlinearCG(),
}
ANY = {"bundle": lambda problem: Bundle(), "few planes": lambda problem: Bundle(max_planes=30)}
LINE = {
    "newton, line": lambda problem: Newton(
        step_length=LineSample(problem, np.random.default_rng(0))
    ),
    "continued": lambda problem: ContinuedNewton(
        step_length=LineSample(problem, np.random.default_rng(0))
    ),
    "ncg, line": lambda problem: NonlinearCG(
        step_length=LineSample(problem, np.random.default_rng(0))
    ),
}
SQUARES = {
    "linear cg": lambda problem: LinearCG(),
    "primal": lambda problem: Direct(primal(problem)),
    "dual": lambda problem: Direct(dual(problem)),
}
OVER_PREFERENCES = (SquaredHinge(), SquaredHinge(margin=0.3), Logistic(), Probit())
SOLVERS = {
    **{loss: {**SMOOTH, **ANY, **LINE} for loss in OVER_PREFERENCES},
    Tube(0.3, 2): {**SMOOTH, **ANY},
    Square(): {**SMOOTH, **ANY, **SQUARES},
    Hinge(): ANY,
    Tube(0.3, 1): ANY,
}


def primal(problem):
    return primal_inverse(primal_matrix(problem.design, problem.preferences), problem.penalty)


def dual(problem):
    """Return v -> (Hessian)^-1 v by the rows' system."""
    design, preferences, penalty = problem.design, problem.preferences, problem.penalty
    curvature = bind(Square(), preferences).at(np.zeros(design.n_rows)).curvature()
    of_rows = dual_inverse(curvature.matmat(dual_matrix(design, preferences).T).T, penalty)
    return lambda v: (v - design.transposed(of_rows(curvature.matvec(design.scores(v))))) / penalty


def levels(rng, n_rows):
    weight = rng.exponential(size=n_rows)
    labels = rng.integers(0, 4, n_rows).astype(float)
    return Levels.build(labels, rng.integers(0, 3, n_rows), sample_weight=weight).reduced("rows")


def differences(rng, n_rows):
    weight = rng.exponential(size=n_rows)
    labels, qid = rng.normal(size=n_rows), rng.integers(0, 5, n_rows)
    return Differences.build(labels, qid, sample_weight=weight)


def comparisons(rng, n_rows):
    i = rng.integers(0, n_rows, 80)
    j = (i + rng.integers(1, n_rows, 80)) % n_rows
    pairs = Pairs(i, j, rng.exponential(size=80), rng.normal(size=80), n_rows=n_rows)
    return pairs.bound(n_rows, reduction="rows", ties=False)


def wins(rng, n_rows):
    pairs = comparisons(rng, n_rows)
    return Pairs(pairs.i, pairs.j, pairs.weight, n_rows=n_rows).bound(n_rows)


def tables():
    for loss, solvers in SOLVERS.items():
        of_differences = Problem(None, None, loss).is_of_differences
        makes = (differences, comparisons) if of_differences else (levels, wins)
        for make in makes:
            for form in (np.asarray, sparse.csr_array):
                name = f"{loss}-{make.__name__}-{form.__name__}"
                yield pytest.param(loss, solvers, make, form, id=name)


@pytest.mark.parametrize(("loss", "solvers", "make", "form"), list(tables()))
def test_all_solvers_of_a_loss_find_its_optimum(loss, solvers, make, form):
    rng = np.random.default_rng(1)
    shape = (50, 6) if form is np.asarray else (20, 60)
    X = rng.normal(size=shape)
    problem = Problem(form(X), make(rng, shape[0]), loss, penalty=0.5, factor=1.0, eps=1e-9)
    start = np.zeros(shape[1])
    best = Bundle()(PairObjective(problem), start, tol=1e-10, max_iter=5000).history[-1]
    assert best.gap <= 1e-9 * best.value
    for name, make_solver in solvers.items():
        found = make_solver(problem)(PairObjective(problem), start, tol=1e-7, max_iter=5000)
        last = found.history[-1]
        assert found.status.ok, name
        strongly_convex = last.gradient_norm**2 / (2 * problem.penalty)
        slack = strongly_convex if np.isnan(last.gap) else last.gap
        assert best.value - best.gap <= last.value * (1 + 1e-12), name
        assert last.value <= best.value + slack + 1e-12 * best.value, name
