"""TRON on objectives that have nothing to do with ranking, then against scipy on pair sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from lbfgs import lbfgs
from objectives import Noisy, Quadratic, Smooth
from pairrank import Pairs
from pairrank._protocols import Status
from pairrank.losses import SquaredHinge
from pairrank.objective import BandedModel, LineSample, PairObjective, Problem, SampledModel
from pairrank.preferences import Levels
from pairrank.solvers.tron import Tron

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("hessian", ["exact", "wrong"])
@pytest.mark.parametrize("inverse", ["none", "diagonal", "exact"])
def test_it_finds_the_minimum_of_a_smooth_convex_function(hessian, inverse):
    objective = Smooth(hessian, inverse)
    found = Tron()(objective, np.zeros(7), tol=1e-9, max_iter=200)
    reference = lbfgs(objective, np.zeros(7), tol=1e-6, max_iter=5000)
    assert found.status is Status.CONVERGED
    assert found.history[-1].value <= reference.history[-1].value + 1e-9
    values = [step.value for step in found.history]
    assert all(np.diff(values) <= 1e-9)


def test_a_start_worse_than_zero_is_left_for_zero():
    objective = Smooth()
    found = Tron()(objective, np.full(7, 1e6), tol=1e-9, max_iter=200)
    assert found.history[0].value == objective.loss_and_gradient(np.zeros(7))[0]
    assert found.status is Status.CONVERGED


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_a_step_that_may_meet_the_target_meets_it(tol):
    found = Tron(cg_tol=0.5)(Quadratic(), np.zeros(30), tol=tol, max_iter=200)
    norms = [step.gradient_norm for step in found.history]
    begun_within_reach = [norm for norm in norms[:-1] if norm <= 16.0 * tol * norms[0]]
    assert len(begun_within_reach) == 1
    assert norms[-1] <= 0.5 * tol * norms[0] * (1.0 + 1e-9)


def test_a_model_that_predicts_badly_is_refined():
    objective = Smooth("wrong", "exact")
    Tron()(objective, np.zeros(7), tol=1e-9, max_iter=200)
    assert objective.refined


def test_a_multiple_that_is_too_large_is_cut_until_the_step_descends():
    class Counted(Smooth):
        calls = 0

        def loss_and_gradient(self, w):
            self.calls += 1
            assert self.calls < 2000, "the same step is tried again and again"
            return super().loss_and_gradient(w)

    eager = Tron(step_length=lambda point, step, slope, penalty: (1000.0, None))
    solution = eager(Counted(), np.zeros(7), tol=1e-3, max_iter=200)
    assert solution.status is Status.CONVERGED


def test_a_step_length_is_followed_with_its_scores_until_it_serves_badly():
    class Told(Smooth):
        calls = ()

        def at(self, w, scores=None):
            self.calls = (*self.calls, (w, scores))
            return super().at(w, scores)

    def half(point, step, slope, penalty):
        assert slope < 0
        return 0.5, point.scores + 0.5 * step

    objective = Told()
    found = Tron(step_length=half)(objective, np.zeros(7), tol=1e-6, max_iter=200)
    assert found.status is Status.CONVERGED
    known = [pair for pair in objective.calls if pair[1] is not None]
    assert 0 < len(known) < len(objective.calls) - 1
    for w, scores in known:
        np.testing.assert_array_equal(w, scores)


def test_the_last_iterate_is_kept_at_max_iter_and_at_a_callback_that_stops():
    found = Tron()(Smooth(), np.zeros(7), tol=1e-12, max_iter=2)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 2
    assert len(found.history) == 3
    seen = []
    stopped = Tron()(
        Smooth(),
        np.zeros(7),
        tol=1e-12,
        max_iter=50,
        callback=lambda step: seen.append(step.coef) or step.n_iter == 1,
    )
    assert stopped.status is Status.STOPPED
    np.testing.assert_array_equal(stopped.coef, seen[-1])


def test_an_interrupt_returns_the_best_weights_so_far():
    def interrupt(step):
        if step.n_iter == 2:
            raise KeyboardInterrupt

    found = Tron()(Smooth(), np.zeros(7), tol=1e-12, max_iter=50, callback=interrupt)
    assert found.status is Status.INTERRUPTED
    assert found.history[-1].value < found.history[0].value


@pytest.mark.parametrize("hessian", ["exact", "wrong"])
@pytest.mark.parametrize("error", [1e-1, 1e-2, 1e-6])
def test_a_loose_error_is_made_smaller_until_the_optimum_is_reached(error, hessian):
    objective = Noisy(error, hessian=hessian)
    found = Tron()(objective, np.zeros(7), tol=1e-8, max_iter=200)
    exact = Tron()(Smooth(hessian), np.zeros(7), tol=1e-10, max_iter=200)
    assert found.status is Status.CONVERGED
    assert objective.sharpened
    assert found.n_iter <= exact.n_iter + 10
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("error", [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_at_the_end_gradient_and_error_together_meet_the_target(tol, error):
    """An error of a tenth of the target counts as none."""
    objective = Noisy(error)
    found = Tron()(objective, np.zeros(7), tol=tol, max_iter=200)
    assert found.status is Status.CONVERGED
    target = tol * found.history[0].gradient_norm
    norm, left = found.history[-1].gradient_norm, objective.gradient_error
    assert norm <= target
    assert left <= 0.1 * target or norm + left <= target


def test_an_error_that_cannot_be_made_smaller_ends_the_descent():
    found = Tron()(Noisy(1e-3, least=1.0), np.zeros(7), tol=1e-8, max_iter=2000)
    assert found.status is Status.NO_PROGRESS


def test_an_overflow_is_said_and_not_raised():
    class Endless(Smooth):
        def loss_and_gradient(self, w):
            return np.inf, np.full(7, np.inf)

    assert Tron()(Endless(), np.ones(7), tol=1e-3, max_iter=5).status is Status.OVERFLOW


def test_tolerance_beyond_the_precision_ends_without_progress():
    objective = Smooth()
    found = Tron()(objective, np.zeros(7), tol=1e-300, max_iter=500)
    assert found.status is Status.NO_PROGRESS
    assert found.n_iter < 100


def problems():
    rng = np.random.default_rng(7)
    for number in range(10):
        m, d = int(rng.integers(40, 400)), int(rng.integers(2, 30))
        X = rng.normal(size=(m, d)) * rng.lognormal(sigma=0.7, size=d)
        if number % 3 == 1:
            X = sparse.random_array((m, d), density=0.3, random_state=rng, format="csr")
        noisy = X @ rng.normal(size=d) + rng.normal(size=m)
        y = noisy if number % 2 else np.digitize(noisy, np.quantile(noisy, [0.3, 0.6, 0.9]))
        qid = rng.integers(0, 5, m) if number % 4 else None
        weight = rng.random(m) if number % 5 == 0 else None
        graph = "chain" if number in (4, 7) else "full"
        C = 10.0 ** rng.integers(-3, 3)
        levels = Levels.build(np.asarray(y, float), qid, graph=graph, sample_weight=weight)
        yield pytest.param(X, levels.reduced("rows"), C, id=f"problem{number}")
    i, j = rng.integers(0, 200, (2, 600))
    pairs = Pairs(i[i != j], j[i != j], n_rows=200).bound(200, reduction="rows")
    yield pytest.param(rng.normal(size=(200, 6)), pairs, 3.0, id="pairs")


def models(problem):
    generator = np.random.default_rng(0)
    yield "every pair", None, None
    yield "line", None, LineSample(problem, generator)
    yield "sampled", SampledModel(problem, 50, generator), None
    preferences = problem.preferences
    if isinstance(preferences, Levels) and preferences.edges is None:
        yield "banded", BandedModel(problem, 3), None


@pytest.mark.parametrize(("X", "preferences", "C"), list(problems()))
def test_the_optimum_equals_that_of_lbfgs_whatever_the_model(X, preferences, C):
    problem = Problem(X, preferences, SquaredHinge(), factor=C)
    start = np.zeros(X.shape[1])
    reference = lbfgs(PairObjective(problem), start, tol=1e-7, max_iter=20_000)
    for name, model, line in models(problem):
        solver = Tron(step_length=line)
        found = solver(PairObjective(problem, model), start, tol=1e-9, max_iter=1000)
        assert found.history[-1].value == pytest.approx(reference.history[-1].value, rel=1e-8)
        np.testing.assert_allclose(found.coef, reference.coef, rtol=1e-3, atol=1e-4, err_msg=name)


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


@pytest.mark.parametrize(("X", "preferences", "C"), list(problems()))
def test_value_and_gradient_at_zero_are_known_in_closed_form(X, preferences, C):
    objective = PairObjective(Problem(X, preferences, SquaredHinge(), factor=C))
    zero, near = (objective.at(np.full(X.shape[1], size)) for size in (0.0, 1e-200))
    assert zero.value == pytest.approx(near.value, rel=1e-10)
    assert zero.score_norm == pytest.approx(near.score_norm, rel=1e-10)
    atol = 1e-8 * abs(near.gradient).max()
    np.testing.assert_allclose(zero.gradient, near.gradient, rtol=1e-8, atol=atol)
    np.testing.assert_array_equal(zero.scores, np.zeros(X.shape[0]))


def test_features_of_very_different_size_cost_few_products():
    rng = np.random.default_rng(5)
    X = sparse.random_array((2000, 300), density=0.1, random_state=rng, format="csr")
    y = X @ rng.normal(size=300) + rng.normal(size=2000)
    products = []
    for sizes in (np.ones(300), rng.lognormal(sigma=3, size=300)):
        scaled = (X @ sparse.diags_array(sizes)).tocsr()
        levels = Levels.build(y).reduced("rows")
        problem = Problem(scaled, levels, SquaredHinge(), penalty=1e-6, factor=100.0)
        found = Tron()(PairObjective(problem), np.zeros(300), tol=1e-4, max_iter=100)
        assert found.status is Status.CONVERGED
        products.append(found.history[-1].n_products)
    assert products[1] <= 10 * products[0]


def test_a_sample_s_hessian_serves_until_scores_have_moved():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(3000, 4)), rng.integers(0, 3, 3000).astype(float)
    levels = Levels.build(y).reduced("rows")
    problem = Problem(X, levels, SquaredHinge())
    sampled = SampledModel(problem, 300, rng)
    w = rng.normal(size=4)
    first = sampled.matrix(w)
    assert sampled.matrix(w + 0.01) is first
    moved = sampled.matrix(w + 0.5)
    assert moved is not first
    assert sampled.matrix(w) is not first
    whole = SampledModel(problem, 3000, rng)
    assert whole.is_whole
    assert whole.matrix(w) is whole.matrix(w)
    assert whole.matrix(w + 1e-9) is not whole.matrix(w)
