"""Newton, TRON and conjugate gradients on objectives that have nothing to do with ranking."""

from __future__ import annotations

import numpy as np
import pytest

from objectives import Noisy, Plain, Smooth
from pairrank._protocols import Status
from pairrank.solvers.descent import Trial, search_slope
from pairrank.solvers.linear_cg import LinearCG
from pairrank.solvers.newton import Newton
from pairrank.solvers.nonlinear_cg import NonlinearCG
from pairrank.solvers.tron import Tron

pytestmark = pytest.mark.numeric

SOLVERS = {"newton": Newton, "tron": Tron, "ncg": NonlinearCG}


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
    assert found.status is Status.CONVERGED
    values = [step.value for step in found.history]
    # A start worse than zero is left for zero.
    assert values[0] == objective.loss_and_gradient(np.zeros(7))[0]
    # Of a strongly convex sum: the value is at most |gradient|^2/(2 penalty) above the least.
    slopes = [objective.loss_and_gradient(w)[1] + 0.1 * w for w in (np.zeros(7), found.coef)]
    assert np.linalg.norm(slopes[1]) <= 1e-9 * np.linalg.norm(slopes[0])
    assert all(np.diff(values) <= 1e-9)
    assert found.history[-1].n_evaluations <= 3.5 * found.n_iter + 1
    if solver is not NonlinearCG and (hessian, inverse) == ("wrong", "exact"):
        assert objective.refined


@pytest.mark.parametrize("error", [1e-1, 1e-2, 1e-6])
def test_a_loose_error_is_made_smaller_until_the_optimum_is_reached(solver, error):
    objective = Noisy(error, inverse="diagonal")
    found = descend(solver, objective, tol=1e-8)
    exact = descend(solver, Smooth(inverse="diagonal"), tol=1e-10)
    assert found.status is Status.CONVERGED
    assert objective.sharpened
    np.testing.assert_allclose(found.coef, exact.coef, rtol=1e-5, atol=1e-8)
    if solver is Newton:  # steps that only follow the error would take 60 evaluations
        assert found.history[-1].n_evaluations <= 45
    stuck = descend(solver, Noisy(1e-3, least=1.0, inverse="diagonal"), tol=1e-8)
    assert stuck.status is Status.NO_PROGRESS


@pytest.mark.parametrize("error", [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_at_the_end_gradient_and_error_together_meet_the_target(solver, tol, error):
    """An error of a tenth of the target counts as none."""
    objective = Noisy(error)
    found = descend(solver, objective, tol=tol)
    assert found.status is Status.CONVERGED
    target = tol * found.history[0].gradient_norm
    norm, left = found.history[-1].gradient_norm, objective.gradient_error
    assert norm <= target
    assert left <= 0.1 * target or norm + left <= target


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


def test_a_gradient_that_only_creeps_within_the_noise_ends_the_descent():
    class Rounded(Smooth):
        precision, calls = 1e-7, 0

        def loss_and_gradient(self, w):
            self.calls += 1
            assert self.calls < 5_000, "the descent never ends"
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


class Quadratic(Plain):
    """|A w - b|^2/2 + penalty/2 |w|^2, its products optionally rounded to float32."""

    def __init__(self, A, b, penalty=0.0, single=False):
        self.A, self.b, self.penalty, self.single = A, b, penalty, single
        self.n_features = A.shape[1]
        self.precision = 1e-7 if single else 1e-12

    def rounded(self, v):
        return v.astype(np.float32).astype(float) if self.single else v

    def loss_and_gradient(self, w):
        residual = self.rounded(self.A @ w - self.b)
        return 0.5 * float(residual @ residual), self.rounded(self.A.T @ residual)

    def hessian(self, w):
        return self

    def matvec(self, v):
        return self.rounded(self.A.T @ self.rounded(self.A @ v)) + self.penalty * v


def test_what_the_recursion_believes_is_confirmed_by_the_gradient():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(60, 20)) * np.logspace(0, 3, 20), rng.normal(size=60)
    found = LinearCG()(Quadratic(A, b, 1e-3, single=True), np.zeros(20), tol=1e-11, max_iter=5000)
    assert found.status is Status.PRECISION
    loose = Quadratic(A, b, 1e-3, single=True)
    found = LinearCG()(loose, np.zeros(20), tol=1e-4, max_iter=5000)
    gradient = loose.loss_and_gradient(found.coef)[1] + 1e-3 * found.coef
    assert found.status is Status.CONVERGED
    assert np.linalg.norm(gradient) <= 1e-4 * np.linalg.norm(A.T @ b)
