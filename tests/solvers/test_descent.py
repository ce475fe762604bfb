"""TRON and nonlinear conjugate gradients on objectives that have nothing to do with ranking."""

from __future__ import annotations

import numpy as np
import pytest

from lbfgs import lbfgs
from objectives import Noisy, Quadratic, Smooth
from pairrank._protocols import Status
from pairrank.solvers.line_search import Trial, search_slope
from pairrank.solvers.nonlinear_cg import NonlinearCG
from pairrank.solvers.tron import Tron

pytestmark = pytest.mark.numeric

SOLVERS = {"tron": Tron, "ncg": NonlinearCG}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


def descend(solver, objective, tol=1e-9, max_iter=1000, start=0.0, **options):
    return solver()(
        objective, np.full(objective.n_features, start), tol=tol, max_iter=max_iter, **options
    )


@pytest.mark.parametrize("hessian", ["exact", "wrong"])
@pytest.mark.parametrize("inverse", ["none", "diagonal", "exact"])
@pytest.mark.parametrize("start", [0.0, 1e6])
def test_the_minimum_of_a_smooth_convex_function_is_found(solver, hessian, inverse, start):
    objective = Smooth(hessian, inverse)
    found = descend(solver, objective, start=start)
    reference = lbfgs(objective, np.zeros(7), tol=1e-6, max_iter=5000)
    assert found.status is Status.CONVERGED
    values = [step.value for step in found.history]
    # A start worse than zero is left for zero.
    assert values[0] == objective.loss_and_gradient(np.zeros(7))[0]
    assert values[-1] <= reference.history[-1].value + 1e-9
    assert all(np.diff(values) <= 1e-9)
    assert found.history[-1].n_evaluations <= 3.5 * found.n_iter + 1
    if solver is Tron and (hessian, inverse) == ("wrong", "exact"):
        assert objective.refined


@pytest.mark.parametrize("error", [1e-1, 1e-2, 1e-6])
def test_a_loose_error_is_made_smaller_until_the_optimum_is_reached(solver, error):
    objective = Noisy(error, inverse="diagonal")
    found = descend(solver, objective, tol=1e-8)
    exact = descend(solver, Smooth(inverse="diagonal"), tol=1e-10)
    assert found.status is Status.CONVERGED
    assert objective.sharpened
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-5, atol=1e-8)
    stuck = descend(solver, Noisy(1e-3, least=1.0, inverse="diagonal"), tol=1e-8)
    assert stuck.status is Status.NO_PROGRESS


@pytest.mark.parametrize("error", [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_at_the_end_gradient_and_error_together_meet_the_target(tol, error):
    """An error of a tenth of the target counts as none."""
    objective = Noisy(error)
    found = descend(Tron, objective, tol=tol)
    assert found.status is Status.CONVERGED
    target = tol * found.history[0].gradient_norm
    norm, left = found.history[-1].gradient_norm, objective.gradient_error
    assert norm <= target
    assert left <= 0.1 * target or norm + left <= target


def test_max_iter_a_callback_and_an_interrupt_leave_weights(solver):
    short = descend(solver, Smooth(), tol=1e-12, max_iter=2)
    assert (short.status, short.n_iter, len(short.history)) == (Status.MAX_ITER, 2, 3)
    seen = []
    stopped = descend(
        solver, Smooth(), tol=1e-12,
        callback=lambda step: seen.append(step.coef) or step.n_iter == 1,
    )  # fmt: skip
    assert stopped.status is Status.STOPPED
    np.testing.assert_array_equal(stopped.coef, seen[-1])

    def interrupt(step):
        if step.n_iter == 2:
            raise KeyboardInterrupt

    broken = descend(solver, Smooth(), tol=1e-12, callback=interrupt)
    assert broken.status is Status.INTERRUPTED
    assert broken.history[-1].value < broken.history[0].value


def test_an_overflow_is_said_and_not_raised(solver):
    class Endless(Smooth):
        def loss_and_gradient(self, w):
            return np.inf, np.full(7, np.inf)

    class Walled(Smooth):
        def loss_and_gradient(self, w):
            value, gradient = super().loss_and_gradient(w)
            return (value, gradient) if np.abs(w).max() < 0.3 else (np.nan, gradient * np.nan)

    assert descend(solver, Endless(), tol=1e-3, start=1.0).status is Status.OVERFLOW
    walled = descend(NonlinearCG, Walled(inverse="diagonal"), tol=1e-3, max_iter=500)
    assert np.isfinite(walled.coef).all()
    assert np.isfinite(walled.history[-1].value)


class Counted(Smooth):
    """The smooth sum, its evaluations limited."""

    calls = 0

    def loss_and_gradient(self, w):
        self.calls += 1
        assert self.calls < 5_000, "the descent never ends"
        return super().loss_and_gradient(w)


def test_tolerance_beyond_the_precision_ends_without_progress(solver):
    objective = Counted(inverse="diagonal")
    found = descend(solver, objective, tol=1e-300, max_iter=5000)
    assert found.status is Status.NO_PROGRESS
    assert found.history[-1].gradient_norm < 1e-9 * found.history[0].gradient_norm


def test_a_multiple_that_is_too_large_is_cut_until_the_step_descends():
    eager = Tron(step_length=lambda point, step, slope, penalty: (1000.0, None))
    solution = eager(Counted(), np.zeros(7), tol=1e-3, max_iter=200)
    assert solution.status is Status.CONVERGED


def test_a_step_length_sets_the_first_trial_and_its_scores(solver):
    class Told(Smooth):
        calls = ()

        def at(self, w, scores=None):
            self.calls = (*self.calls, (w, scores))
            return super().at(w, scores)

    def half(point, step, slope, penalty):
        w = point.scores
        gradient = objective.loss_and_gradient(w)[1] + objective.penalty * w
        assert slope == pytest.approx(gradient @ step)
        return 0.5, w + 0.5 * step

    objective = Told(inverse="diagonal")
    found = solver(step_length=half)(objective, np.zeros(7), tol=1e-6, max_iter=1000)
    assert found.status is Status.CONVERGED
    known = [pair for pair in objective.calls if pair[1] is not None]
    assert 0 < len(known) < len(objective.calls)
    for w, scores in known:
        np.testing.assert_array_equal(w, scores)
    if solver is NonlinearCG:
        assert len(known) == found.n_iter


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_a_step_of_tron_that_may_meet_the_target_meets_it(tol):
    found = Tron(cg_tol=0.5)(Quadratic(), np.zeros(30), tol=tol, max_iter=200)
    norms = [step.gradient_norm for step in found.history]
    assert len([norm for norm in norms[:-1] if norm <= 16.0 * tol * norms[0]]) == 1
    assert norms[-1] <= 0.5 * tol * norms[0] * (1.0 + 1e-9)


@pytest.mark.parametrize("inverse", ["none", "diagonal"])
def test_steps_go_along_conjugate_directions_that_start_anew(inverse):
    """Every n steps, and where neighbouring gradients are far from orthogonal."""
    objective, points = Smooth(inverse=inverse), []
    NonlinearCG()(
        objective, np.zeros(7), tol=1e-6, max_iter=40,
        callback=lambda step: points.append(step.coef.copy()),
    )  # fmt: skip
    given = objective.preconditioner(np.zeros(7))
    scaled = np.eye(7) if given is None else given.matrix
    gradients = [objective.loss_and_gradient(w)[1] + objective.penalty * w for w in points]
    direction, turns, since = -scaled @ gradients[0], 0, 0
    for step, old, new in zip(np.diff(points, axis=0), gradients, gradients[1:], strict=False):
        aligned = step @ direction / np.linalg.norm(step) / np.linalg.norm(direction)
        assert aligned == pytest.approx(1.0, abs=1e-9)
        across, square, since = old @ scaled @ new, new @ scaled @ new, since + 1
        direction = (square - across) / (old @ scaled @ old) * direction
        if abs(across) >= 0.2 * square or since == 7:
            direction, turns, since = 0.0, turns + 1, 0
        direction = direction - scaled @ new
    assert turns >= 3


def test_slopes_alone_suffice_where_values_mislead():
    class Misleading(Smooth):
        def loss_and_gradient(self, w):
            value, gradient = super().loss_and_gradient(w)
            return value + float(w @ w), gradient

    found = descend(NonlinearCG, Misleading(inverse="diagonal"))
    assert found.status is Status.CONVERGED
    exact = lbfgs(Smooth(), np.zeros(7), tol=1e-6, max_iter=5000)
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-5, atol=1e-8)


def test_a_gradient_that_only_creeps_within_the_noise_ends_the_descent():
    class Rounded(Counted):
        precision = 1e-7

        def loss_and_gradient(self, w):
            value, gradient = super().loss_and_gradient(w)
            return float(np.float32(value)), np.round(gradient, 4)

    found = descend(NonlinearCG, Rounded(inverse="diagonal"), tol=1e-12, max_iter=5000)
    assert found.status is Status.PRECISION
    assert found.n_iter < 200


SLOPES = {
    "parabola": lambda t: 2 * (t - 3),
    "softplus": lambda t: 0.01 - 1 / (1 + np.exp(t)),
    "steep": lambda t: np.sinh(t - 2),
    "kneed": lambda t: np.tanh(1e6 * t) ** 2 - 1,
    "cliff": lambda t: np.exp(5 * (t - 12)) - 1,
}


@pytest.mark.parametrize("first", [1e-6, 0.1, 1.0, 20.0, 100.0])
@pytest.mark.parametrize("name", SLOPES)
def test_a_search_finds_where_the_slope_has_gone(name, first):
    slope = SLOPES[name]
    start = Trial(0.0, slope(0.0), None)
    found = search_slope(lambda length: Trial(length, slope(length), None), start, first)
    assert abs(found.slope) <= 0.1 * abs(start.slope)
