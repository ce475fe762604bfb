"""Objectives and steps inside: gradients, Hessians, rounding, models, and steps on single pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank import Pairs
from pairrank.compiled.pair_steps import CURVATURES
from pairrank.losses import Exponential, Hinge, Logistic, Probit, Square, SquaredHinge, Tube
from pairrank.objective import (
    PairObjective,
    PairSteps,
    Problem,
    Sample,
    SampledModel,
    in_bands,
    samples,
)
from pairrank.objective.normal_equations import dense
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, PairIndex

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


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=repr)
def test_bands_are_refined_until_every_level_counts(loss):
    rng = np.random.default_rng(0)
    X = sparse.random_array((900, 40), density=0.3, format="csr", random_state=rng)
    y = X @ rng.normal(size=40) + 0.1 * rng.normal(size=900)
    problem = Problem(X, Levels.build(y).reduced("rows"), loss)
    w, v = 0.1 * rng.normal(size=(2, 40))
    exact = PairObjective(problem).at(w).hessian().matvec(v)
    objective = PairObjective(problem, SampledModel(in_bands(problem), by_matrix=False))
    errors = []
    for _ in range(2):
        errors.append(np.linalg.norm(objective.at(w).hessian().matvec(v) - exact))
        assert objective.refine()
    assert 0.1 * np.linalg.norm(exact) > errors[0] > errors[1] > 0
    np.testing.assert_array_equal(objective.at(w).hessian().matvec(v), exact)
    assert not objective.refine()


def test_a_sample_is_refined_until_every_pair_counts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 4)), rng.integers(0, 3, 800).astype(float)
    problem = Problem(X, Levels.build(y).reduced("rows"), SquaredHinge(), factor=2.0)
    w, v = 0.1 * rng.normal(size=(2, 4))
    exact = PairObjective(problem).at(w).hessian().matvec(v)
    objective = PairObjective(problem, SampledModel(samples(problem, 50, rng)))
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
    model = SampledModel([Sample(problem, is_whole=True)], by_matrix=by_matrix)
    hessian = model.hessian(problem.design.scores(w))
    np.testing.assert_allclose(hessian.matvec(v), exact, rtol=1e-10)
    assert not model.refine()


def test_a_whole_sample_keeps_its_levels_and_a_kept_hessian_serves_near_scores():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    problem = Problem(X, Levels.build(y).reduced("rows"), SquaredHinge())
    w, v = 0.1 * rng.normal(size=(2, 3))
    scores = problem.design.scores(w)
    exact = PairObjective(problem).at(w).hessian().matvec(v)
    whole, part = (SampledModel(samples(problem, n, rng)) for n in (150, 50))
    np.testing.assert_allclose(whole.hessian(scores).matvec(v), exact, rtol=1e-10)
    assert whole.hessian(1.001 * scores) is not whole.hessian(scores)
    assert part.hessian(1.001 * scores) is part.hessian(scores)
    assert part.hessian(100.0 * scores) is not part.hessian(scores)
    assert list(in_bands(problem.changed(loss=Exponential()))) == []


STEP_LOSSES = [Hinge(), SquaredHinge(margin=0.3), Logistic(), Probit()]
N_ROWS, N_FEATURES = 12, 5


class Listed:
    """Hands out given pairs in turn."""

    def __init__(self, winners, losers):
        self.pairs, self.at = np.array([winners, losers], dtype=np.int32), 0

    def draw(self, n_draws, generator):
        self.at += n_draws
        return self.pairs[:, self.at - n_draws : self.at]


def by_definition(X, loss, schedule, start, winners, losers, ratio):
    """Return the last weights, and the mean of the weights after step t counted t^2 times."""
    w, total, weight = np.array(start), np.zeros_like(start), 0.0
    kind = [type(each) for each in STEP_LOSSES].index(type(loss))
    for t, (i, j) in enumerate(zip(winners, losers, strict=True), start=1):
        length = 1 / (ratio * t) if schedule == "pegasos" else 0.3 / np.sqrt(1 + t / 1e3)
        x = X[i].astype(float) - X[j].astype(float)
        d, square, rate = w @ x, x @ x, length / (1 + ratio * length)
        change = -loss.phi(d, order=1) * rate / (1 + rate * CURVATURES[kind] * square)
        if isinstance(loss, Hinge):
            change = max(0.0, min(rate, (loss.margin - d) / square)) if square else 0.0
        w = w / (1 + ratio * length) + change * x
        total, weight = total + t**2 * w, weight + t**2
    return w, total / weight


def make_rows(seed, form, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < 0.6)
    X[1] = X[0]
    X = X.astype(dtype)
    if form == "columns":
        return X, np.asfortranarray(X)
    if form == "unsorted":
        csr = sparse.csr_array(X)
        half = sparse.csr_array(
            (np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), 2 * csr.indptr), csr.shape
        )
        half.data, half.indices = half.data[::-1].copy(), half.indices[::-1].copy()
        half.indptr = (half.indptr[-1] - half.indptr[::-1]).astype(half.indptr.dtype)
        return X[::-1], half
    return X, {"dense": np.array, "sparse": sparse.csr_matrix}[form](X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["dense", "columns", "sparse", "unsorted"])
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(STEP_LOSSES),
    schedule=st.sampled_from(["invscaling", "pegasos"]),
    ratio=st.sampled_from([1e-4, 0.1, 10.0, 1e60]),
)
def test_steps_and_their_mean_equal_the_definition(form, dtype, seed, loss, schedule, ratio):
    rng = np.random.default_rng(seed)
    X, given_rows = make_rows(seed, form, dtype)
    start = rng.normal(size=N_FEATURES)
    winners, losers = rng.integers(0, N_ROWS, (2, 40))
    last, mean = by_definition(X, loss, schedule, start, winners, losers, ratio)
    steps = PairSteps(loss, start, rng, learning_rate=schedule, eta0=0.3)
    pairs = Listed(winners, losers)
    for size in (1, 14, 25):
        steps.take(given_rows, pairs, size, ratio)
    np.testing.assert_allclose(steps.last, last, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(steps.mean, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(steps.coef, steps.mean)
    assert steps.n_steps == 40


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("schedule", ["invscaling", "pegasos"])
@pytest.mark.parametrize("loss", STEP_LOSSES, ids=str)
def test_features_of_any_size_give_finite_weights(loss, schedule, scale):
    X = scale * np.random.default_rng(0).normal(size=(30, 3))
    pairs = PairIndex(Levels.build(np.arange(30.0)))
    for ratio in (1e-300, 1.0, 1e300):
        generator = np.random.default_rng(0)
        steps = PairSteps(loss, np.zeros(3), generator, learning_rate=schedule)
        steps.take(X, pairs, 300, ratio)
        assert np.isfinite(steps.coef).all()
