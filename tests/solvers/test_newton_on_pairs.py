"""Newton on pair sums: line samples, Hessians of samples, the path of falling penalties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, optimize, sparse

from pairrank._protocols import Status
from pairrank.losses import Logistic, SquaredHinge
from pairrank.objective import LineSample, PairObjective, Problem
from pairrank.preferences import Levels
from pairrank.solvers.newton import ContinuedNewton, Newton

pytestmark = pytest.mark.numeric


def test_a_line_sample_finds_the_minimum_along_a_step():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3000, 4)), rng.integers(0, 3, 3000).astype(float)
    levels = Levels.build(y).reduced("rows")
    problem = Problem(X, levels, SquaredHinge(), factor=0.5)
    line, objective = LineSample(problem, rng), PairObjective(problem)
    w, step = rng.normal(size=4), rng.normal(size=4)
    point = objective.at(w)
    gradient = point.gradient + w
    step *= -np.sign(gradient @ step)
    multiple, scores = line(point, step, float(gradient @ step), 1.0)

    def value(t):
        v = w + t * step
        return objective.at(v).value + 0.5 * v @ v

    best = optimize.minimize_scalar(value).x
    assert multiple == pytest.approx(best, rel=0.05)
    there = w + multiple * step
    np.testing.assert_allclose(scores, X @ there)
    known, found = objective.at(there, scores), objective.at(there)
    assert known.scores is scores
    assert known.value == pytest.approx(found.value)
    np.testing.assert_allclose(known.gradient, found.gradient)
    assert line(point, -step, -float(gradient @ step), 1.0)[0] == 1.0


def separable(loss=None, C=10.0):
    """Return 300 sparse rows of two levels in 900 features, which some weights separate."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((300, 900), density=0.03, random_state=rng, format="csr")
    X.data = rng.normal(size=X.nnz)
    y = (X @ rng.normal(size=900) > 0).astype(float)
    return Problem(X, Levels.build(y).reduced("sum"), loss or SquaredHinge(), factor=C)


def run(solver, problem, tol=1e-3, max_iter=200):
    steps = []
    objective = PairObjective(problem)
    options = {"tol": tol, "max_iter": max_iter, "callback": steps.append}
    return solver(objective, np.zeros(objective.n_features), **options), steps


@pytest.mark.parametrize(("loss", "C"), [(SquaredHinge(), 0.1), (Logistic(), 1e3)])
def test_weights_grow_from_zero_and_are_never_much_longer_than_the_optimum(loss, C):
    problem = separable(loss, C)
    line = LineSample(problem, np.random.default_rng(0))
    found, steps = run(ContinuedNewton(step_length=line), problem)
    optimum, _ = run(Newton(), problem, tol=1e-9, max_iter=1000)
    longest = max(np.linalg.norm(step.coef) for step in steps)
    assert found.status is Status.CONVERGED
    assert longest <= 1.1 * np.linalg.norm(optimum.coef)
    assert found.history[-1].value <= 1.1 * optimum.history[-1].value


def test_newton_goes_on_while_the_next_step_promises_much():
    problem = separable(C=1e4)
    _, steps = run(Newton(), problem, tol=1e-2)
    decrease = steps[-2].value - steps[-1].value
    fall = (steps[-1].gradient_norm / steps[-2].gradient_norm) ** 2
    assert decrease * fall <= 0.1 * steps[-1].value
    small = [step.gradient_norm <= 1e-2 * steps[0].gradient_norm for step in steps]
    assert sum(small) > 1, "the gradient alone would have ended the run"


@pytest.mark.parametrize("solver", [Newton, ContinuedNewton])
def test_the_optimum_of_separable_rows_is_reached_in_few_steps(solver):
    """At a C so large that nearly no pair violates its margin; the dual's optimum by scipy."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 60))
    levels, C = Levels.build(X @ rng.normal(size=60)).reduced("sum"), 1e4
    high, low = np.nonzero(np.subtract.outer(levels.labels, levels.labels) > 0)
    order = levels.row_of  # one row per level, the lowest first
    D = X[order[high]] - X[order[low]]
    factor = np.linalg.cholesky(D @ D.T + np.eye(len(D)) / (2.0 * C))
    multipliers = optimize.nnls(
        factor.T, linalg.solve_triangular(factor, np.ones(len(D)), lower=True)
    )[0]
    least = multipliers.sum() - 0.5 * np.square(factor.T @ multipliers).sum()
    found, _ = run(solver(), Problem(X, levels, SquaredHinge(), factor=C), tol=1e-7)
    assert found.status is Status.CONVERGED
    assert found.n_iter <= 60
    assert found.history[-1].value == pytest.approx(least, rel=1e-6)
