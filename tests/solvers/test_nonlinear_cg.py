"""Nonlinear conjugate gradients and their line searches, on objectives that know no ranking."""

from __future__ import annotations

import numpy as np
import pytest

from lbfgs import lbfgs
from objectives import Noisy, Smooth
from pairrank._protocols import Status
from pairrank.solvers.line_search import Trial, search_slope
from pairrank.solvers.nonlinear_cg import NonlinearCG

pytestmark = pytest.mark.numeric


class Counted(Smooth):
    """The smooth sum, its evaluations limited."""

    calls = 0

    def loss_and_gradient(self, w):
        self.calls += 1
        assert self.calls < 5_000, "the descent never ends"
        return super().loss_and_gradient(w)


@pytest.mark.parametrize("inverse", ["none", "diagonal", "exact"])
def test_it_finds_the_minimum_of_a_smooth_convex_function(inverse):
    objective = Smooth(inverse=inverse)
    found = NonlinearCG()(objective, np.zeros(7), tol=1e-9, max_iter=1000)
    reference = lbfgs(objective, np.zeros(7), tol=1e-6, max_iter=5000)
    assert found.status is Status.CONVERGED
    assert found.history[-1].value <= reference.history[-1].value + 1e-9
    assert found.history[-1].n_evaluations <= 3.5 * found.n_iter


def test_values_fall_from_step_to_step():
    found = NonlinearCG()(Smooth(), np.zeros(7), tol=1e-9, max_iter=1000)
    assert all(np.diff([step.value for step in found.history]) <= 1e-9)


def test_a_quadratic_takes_as_many_steps_as_it_has_dimensions():
    class Quadratic(Smooth):
        def loss_and_gradient(self, w):
            residual = self.A @ w - self.b
            return 0.5 * float(residual @ residual), self.A.T @ residual

        def exact(self, w):
            return self.A.T @ self.A + self.penalty * np.eye(self.n_features)

    quadratic = Quadratic()
    quadratic.A /= np.linalg.norm(quadratic.A, axis=0)
    exact = NonlinearCG()(quadratic, np.zeros(7), tol=1e-9, max_iter=100)
    wanted = np.linalg.solve(quadratic.exact(None), quadratic.A.T @ quadratic.b)
    np.testing.assert_allclose(exact.coef, wanted, rtol=1e-6)
    assert exact.n_iter <= 14


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


def test_a_preconditioner_saves_steps_where_features_differ_in_size():
    plain, scaled = (
        NonlinearCG()(Smooth(inverse=inverse), np.zeros(7), tol=1e-6, max_iter=1000)
        for inverse in ("none", "diagonal")
    )
    assert scaled.n_iter < plain.n_iter / 3


@pytest.mark.parametrize("error", [1e-1, 1e-2, 1e-6])
def test_a_loose_error_is_made_smaller_until_the_optimum_is_reached(error):
    objective = Noisy(error, inverse="diagonal")
    found = NonlinearCG()(objective, np.zeros(7), tol=1e-8, max_iter=2000)
    exact = NonlinearCG()(Smooth(inverse="diagonal"), np.zeros(7), tol=1e-10, max_iter=2000)
    assert found.status is Status.CONVERGED
    assert objective.sharpened
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-5, atol=1e-8)


def test_errors_are_made_smaller_as_soon_as_they_may_be_all_of_the_gradient():
    objective = Noisy(1e-1, inverse="diagonal")
    seen = []

    def watch(step):
        seen.append((step.gradient_norm, objective.gradient_error))

    NonlinearCG()(objective, np.zeros(7), tol=1e-9, max_iter=2000, callback=watch)
    assert all(norm > error for norm, error in seen[1:])


def test_an_error_that_cannot_be_made_smaller_ends_the_descent():
    found = NonlinearCG()(
        Noisy(1e-3, least=1.0, inverse="diagonal"), np.zeros(7), tol=1e-8, max_iter=2000
    )
    assert found.status is Status.NO_PROGRESS


def test_a_tolerance_that_needs_no_precision_leaves_the_error_alone():
    objective = Noisy(1e-8, inverse="diagonal")
    assert NonlinearCG()(objective, np.zeros(7), tol=1e-2, max_iter=2000).status.ok
    assert not objective.sharpened


def test_slopes_alone_suffice_where_values_mislead():
    class Misleading(Smooth):
        def loss_and_gradient(self, w):
            value, gradient = super().loss_and_gradient(w)
            return value + float(w @ w), gradient

    misleading = Misleading(inverse="diagonal")
    found = NonlinearCG()(misleading, np.zeros(7), tol=1e-9, max_iter=1000)
    assert found.status is Status.CONVERGED
    exact = lbfgs(Smooth(), np.zeros(7), tol=1e-6, max_iter=5000)
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-5, atol=1e-8)


def test_the_step_length_sets_the_first_trial_and_its_scores():
    class Told(Smooth):
        told = 0

        def at(self, w, scores=None):
            self.told += scores is not None
            return super().at(w, scores)

    asked = []

    def half(point, step, slope, penalty):
        w = point.scores
        gradient = objective.loss_and_gradient(w)[1] + objective.penalty * w
        assert slope == pytest.approx(gradient @ step)
        asked.append(step)
        return 0.5, w + 0.5 * step

    objective = Told(inverse="diagonal")
    found = NonlinearCG(step_length=half)(objective, np.zeros(7), tol=1e-6, max_iter=1000)
    assert found.status is Status.CONVERGED
    assert len(asked) == objective.told == found.n_iter


def test_starts_stops_and_interrupts_leave_weights():
    solve = NonlinearCG()
    far = solve(Smooth(inverse="diagonal"), np.full(7, 1e6), tol=1e-9, max_iter=200)
    assert far.history[0].value == Smooth().loss_and_gradient(np.zeros(7))[0]
    assert far.status is Status.CONVERGED
    short = solve(Smooth(), np.zeros(7), tol=1e-12, max_iter=2)
    assert (short.status, short.n_iter, len(short.history)) == (Status.MAX_ITER, 2, 3)
    seen = []
    stopped = solve(
        Smooth(),
        np.zeros(7),
        tol=1e-12,
        max_iter=50,
        callback=lambda step: seen.append(step.coef) or step.n_iter == 1,
    )
    assert stopped.status is Status.STOPPED
    np.testing.assert_array_equal(stopped.coef, seen[-1])

    def interrupt(step):
        if step.n_iter == 2:
            raise KeyboardInterrupt

    broken = solve(Smooth(), np.zeros(7), tol=1e-12, max_iter=50, callback=interrupt)
    assert broken.status is Status.INTERRUPTED
    assert broken.history[-1].value < broken.history[0].value


def test_an_overflow_is_said_and_not_raised():
    class Endless(Smooth):
        def loss_and_gradient(self, w):
            return np.inf, np.full(7, np.inf)

    class Walled(Smooth):
        def loss_and_gradient(self, w):
            value, gradient = super().loss_and_gradient(w)
            return (value, gradient) if np.abs(w).max() < 0.3 else (np.nan, gradient * np.nan)

    solve = NonlinearCG()
    assert solve(Endless(), np.ones(7), tol=1e-3, max_iter=5).status is Status.OVERFLOW
    walled = solve(Walled(inverse="diagonal"), np.zeros(7), tol=1e-3, max_iter=500)
    assert np.isfinite(walled.coef).all()
    assert np.isfinite(walled.history[-1].value)


@pytest.mark.parametrize("inverse", ["none", "diagonal"])
def test_tolerance_beyond_the_precision_ends_without_progress(inverse):
    objective = Counted(inverse=inverse)
    found = NonlinearCG()(objective, np.zeros(7), tol=1e-300, max_iter=5000)
    assert found.status is Status.NO_PROGRESS
    at_zero = np.linalg.norm(objective.loss_and_gradient(np.zeros(7))[1])
    assert found.history[-1].gradient_norm < 1e-9 * at_zero


def along(slope):
    """Return a probe of a function of the length, and its start."""

    def probe(length):
        return Trial(length, slope(length), None)

    return probe, probe(0.0)


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
    probe, start = along(SLOPES[name])
    found = search_slope(probe, start, first)
    assert abs(found.slope) <= 0.1 * abs(start.slope)


def test_a_search_that_finds_nothing_says_so():
    probe, start = along(lambda t: -1.0 if t == 0 else 1.0)
    assert search_slope(probe, start, 1.0) is None


def test_a_gradient_that_only_creeps_within_the_noise_ends_the_descent():
    class Rounded(Counted):
        precision = 1e-7

        def loss_and_gradient(self, w):
            value, gradient = super().loss_and_gradient(w)
            return float(np.float32(value)), np.round(gradient, 4)

    found = NonlinearCG()(Rounded(inverse="diagonal"), np.zeros(7), tol=1e-12, max_iter=5000)
    assert found.status is Status.PRECISION
    assert found.n_iter < 200
