"""Problems as objectives: gradients, Hessians, rounding, and the diagonal preconditioner."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import sparse

from pairrank import Pairs
from pairrank.losses import Hinge, Square, SquaredHinge, Tube
from pairrank.objective import BandedModel, PairObjective, Problem, SampledModel, sampled
from pairrank.objective.normal_equations import dense
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

pytestmark = pytest.mark.numeric

LOSSES = [Square(), Tube(0.3, 2), Tube(0.0, 2)]


def differences(rng, n_rows):
    weight = rng.exponential(size=n_rows)
    return Differences.build(rng.normal(size=n_rows), np.arange(n_rows) % 3, sample_weight=weight)


def comparisons(rng, n_rows):
    i, j = rng.integers(0, n_rows, (2, 90))
    i, j = i[i != j], j[i != j]
    return Pairs(i, j, None, rng.normal(size=i.size), n_rows=n_rows)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("build", [differences, comparisons])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_and_hessian_are_differences_of_values_and_gradients(loss, build, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    objective = PairObjective(Problem(form(X), build(rng, 40), loss, penalty=2.0))
    w, step = rng.normal(size=3), 1e-6
    point = objective.at(w)
    for at, unit in enumerate(np.eye(3)):
        up, down = (objective.at(w + sign * step * unit) for sign in (1, -1))
        slope = (up.value - down.value) / (2 * step)
        assert point.gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-7)
        column = (up.gradient - down.gradient) / (2 * step) + 2.0 * unit
        np.testing.assert_allclose(point.hessian().matvec(unit), column, rtol=1e-5, atol=1e-6)
    zero = objective.at(np.zeros(3))
    assert zero.value == pytest.approx(objective.at(np.full(3, 1e-12)).value)
    with pytest.raises(ValueError, match="read-only"):
        zero.gradient[0] = 1.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_a_gradient_is_off_by_no_more_than_its_rounding(kind, dtype, form):
    rng = np.random.default_rng(0)
    X = rng.normal((0.0, 100.0, 1e4), 1.0, (400, 3)).astype(dtype)
    if kind == "hinge":
        levels = Levels.build(np.round(rng.normal(size=400)))
        problem = Problem(form(X), levels, Hinge(), factor=0.1)
    else:
        problem = Problem(form(X), differences(rng, 400), Tube(0.1, 1))
    objective, pair_sum = PairObjective(problem), bind(problem.loss, problem.preferences)
    double = dense(problem.design.X)
    for w in (np.array([0.3, -0.2, 1e-4]), np.zeros(3)):
        point = objective.at(w)
        score_gradient = problem.factor * pair_sum.at(problem.design.scores(w)).gradient
        assert point.score_norm == pytest.approx(np.linalg.norm(score_gradient))
        off = np.abs(point.gradient - double.T @ score_gradient)
        assert (off <= point.score_norm * point.rounding()).all()
        np.testing.assert_allclose(
            point.rounding(), 2 * np.finfo(float).eps * np.linalg.norm(double, axis=0)
        )


def many_levels(rng, n_rows=300, n_features=40):
    X = sparse.random_array((n_rows, n_features), density=0.3, format="csr", random_state=rng)
    y = X @ rng.normal(size=n_features) + 0.1 * rng.normal(size=n_rows)
    return Problem(X, Levels.build(y).reduced("rows"), SquaredHinge())


def test_bands_are_refined_until_every_level_counts(monkeypatch):
    rng = np.random.default_rng(0)
    problem = many_levels(rng)
    w, v = 0.1 * rng.normal(size=(2, 40))
    exact = PairObjective(problem).at(w).hessian().matvec(v)
    objective = PairObjective(problem, BandedModel(problem, 8))
    errors = []
    for _ in range(3):
        errors.append(np.linalg.norm(objective.at(w).hessian().matvec(v) - exact))
        assert objective.refine()
    assert errors[0] > errors[1] > errors[2] > 0
    np.testing.assert_array_equal(objective.at(w).hessian().matvec(v), exact)
    assert not objective.refine()


def test_a_sample_is_refined_until_every_pair_counts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 4)), rng.integers(0, 3, 800).astype(float)
    problem = Problem(X, Levels.build(y).reduced("rows"), SquaredHinge(), factor=2.0)
    w, v = 0.1 * rng.normal(size=(2, 4))
    exact = PairObjective(problem).at(w).hessian().matvec(v)
    larger = functools.partial(sampled, problem, generator=rng)
    objective = PairObjective(
        problem, SampledModel(problem, larger(50), is_whole=False, larger=larger)
    )
    errors = []
    for _ in range(2):
        point = objective.at(w)
        modelled = point.hessian().matvec(v)
        np.testing.assert_allclose(point.preconditioner().matvec(modelled), v)
        errors.append(np.linalg.norm(modelled - exact) / np.linalg.norm(exact))
        assert objective.refine()
    assert 0.5 > errors[0] > errors[1] > 0
    np.testing.assert_array_equal(objective.at(w).hessian().matvec(v), exact)
    assert not objective.refine()


@pytest.mark.parametrize("by_matrix", [True, False])
def test_the_hessian_of_a_sample_of_all_rows_is_exact(by_matrix):
    rng = np.random.default_rng(1)
    levels = Levels.build(rng.integers(0, 3, 60).astype(float)).reduced("rows")
    problem = Problem(rng.normal(size=(60, 4)), levels, SquaredHinge(), factor=2.0)
    w, v = 0.1 * rng.normal(size=(2, 4))
    exact = PairObjective(problem).at(w).hessian().matvec(v)
    model = SampledModel(problem, problem, is_whole=True, by_matrix=by_matrix)
    np.testing.assert_allclose(model.hessian(w, np.empty(0)).matvec(v), exact, rtol=1e-10)
    assert not model.refine()
