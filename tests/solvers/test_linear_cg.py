"""Conjugate gradients and direct solutions of quadratic objectives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from objectives import Plain
from pairrank import Pairs
from pairrank._protocols import Status
from pairrank.exceptions import PairrankError
from pairrank.losses import Square
from pairrank.objective import KernelDesign, PairObjective, Problem
from pairrank.preferences import Differences
from pairrank.solvers.direct import Direct, dual_inverse, primal_inverse
from pairrank.solvers.linear_cg import LinearCG

pytestmark = pytest.mark.numeric


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


@pytest.fixture
def system():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 12)) * np.logspace(0, 1, 12), rng.normal(size=40)


def test_it_solves_the_normal_equations(system):
    A, b = system
    found = LinearCG()(Quadratic(A, b, 0.3), np.zeros(12), tol=1e-12, max_iter=200)
    expected = np.linalg.solve(A.T @ A + 0.3 * np.eye(12), A.T @ b)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.coef, expected, rtol=1e-10)
    value = 0.5 * np.sum((A @ expected - b) ** 2) + 0.15 * expected @ expected
    assert found.history[-1].value == pytest.approx(value)


def test_it_needs_as_many_steps_as_there_are_distinct_eigenvalues():
    A = np.diag(np.repeat([1.0, 2.0, 5.0], 4))
    found = LinearCG()(Quadratic(A, np.arange(1.0, 13.0)), np.zeros(12), tol=1e-10, max_iter=50)
    assert found.status is Status.CONVERGED
    assert found.n_iter == 3


def test_every_iterate_is_shown_with_its_value_and_its_gradient(system):
    A, b = system
    objective, seen = Quadratic(A, b, 0.3), []
    found = LinearCG()(objective, np.zeros(12), tol=1e-9, max_iter=200, callback=seen.append)
    assert [step.n_iter for step in seen] == list(range(found.n_iter + 1))
    for step in seen:
        loss, gradient = objective.loss_and_gradient(step.coef)
        assert step.value == pytest.approx(loss + 0.15 * step.coef @ step.coef)
        norm = np.linalg.norm(gradient + 0.3 * step.coef)
        assert step.gradient_norm == pytest.approx(norm, rel=1e-6, abs=1e-8)
    assert all(np.diff([step.value for step in seen]) < 0)
    assert all(step.coef is None for step in found.history)
    np.testing.assert_array_equal(seen[-1].coef, found.coef)


def test_an_interrupt_between_a_step_and_its_report_leaves_as_many_steps_as_were_told(system):
    class Weights(np.ndarray):
        """A vector whose multiple is the step: the third is interrupted as it turns."""

        turns = 0

        def __imul__(self, other):
            Weights.turns += 1
            if Weights.turns == 3:
                raise KeyboardInterrupt
            return super().__imul__(other)

    run = Quadratic(*system)
    plain = run.loss_and_gradient

    def with_weights(w):
        loss, gradient = plain(w)
        return loss, gradient.view(Weights)

    run.loss_and_gradient = with_weights
    found = LinearCG()(run, np.zeros(12), tol=1e-12, max_iter=9)
    assert found.status is Status.INTERRUPTED
    assert (found.n_iter, len(found.history)) == (2, 3)


def test_it_stops_at_max_iter_and_where_the_callback_says(system):
    found = LinearCG()(Quadratic(*system), np.zeros(12), tol=1e-12, max_iter=3)
    assert (found.status, found.n_iter, len(found.history)) == (Status.MAX_ITER, 3, 4)
    found = LinearCG()(
        Quadratic(*system), np.zeros(12), tol=0, max_iter=9, callback=lambda step: step.n_iter == 2
    )
    assert (found.status, found.n_iter) == (Status.STOPPED, 2)


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


def test_an_overflow_is_a_status(system):
    A, b = system
    found = LinearCG()(Quadratic(1e160 * A, b), np.zeros(12), tol=1e-3, max_iter=9)
    assert found.status is Status.OVERFLOW
    found = Direct(lambda v: v)(Quadratic(1e150 * A, 1e150 * b), np.zeros(12), tol=0, max_iter=9)
    assert found.status is Status.OVERFLOW


def differences_of(n_rows, rng):
    weight = rng.exponential(size=n_rows)
    return Differences.build(
        rng.normal(size=n_rows), rng.integers(0, 5, n_rows), sample_weight=weight
    )


def pairs_of(n_rows, rng):
    i = rng.integers(0, n_rows, 80)
    j = (i + rng.integers(1, n_rows, 80)) % n_rows
    return Pairs(i, j, rng.exponential(size=80), rng.normal(size=80), n_rows=n_rows)


@pytest.mark.parametrize("make", [differences_of, pairs_of])
def test_a_kernel_takes_the_steps_of_its_features(make):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 15))
    problem = Problem(X, make(30, rng), Square(), penalty=0.5)
    of_features = []
    found = LinearCG()(
        PairObjective(problem), np.zeros(15), tol=0, max_iter=8, callback=of_features.append
    )
    for K in (X @ X.T, sparse.csr_array(X @ X.T), aslinearoperator(X @ X.T)):
        dual, of_rows = replace(problem, X=K, is_kernel=True), []
        solution = LinearCG(metric=dual.design)(
            PairObjective(dual), np.zeros(30), tol=0, max_iter=8, callback=of_rows.append
        )
        assert solution.n_iter == found.n_iter == 8
        for primal, step in zip(of_features, of_rows, strict=True):
            np.testing.assert_allclose(X.T @ step.coef, primal.coef, atol=1e-8)
            assert step.value == pytest.approx(primal.value)
            assert step.gradient_norm == pytest.approx(primal.gradient_norm, rel=1e-4, abs=1e-6)


def test_a_kernel_that_is_none_is_found_out():
    design = KernelDesign(aslinearoperator(-np.eye(3)))
    with pytest.raises(PairrankError, match="not positive semidefinite"):
        design.scores(np.ones(3))

    class Wrong:
        shape, dtype = (3, 3), np.float64

        def __matmul__(self, v):
            return np.zeros(2)

    with pytest.raises(PairrankError, match="returned shape"):
        KernelDesign(Wrong()).scores(np.ones(3))


def test_a_singular_factorisation_is_none():
    assert primal_inverse(np.zeros((2, 2)), 0.0) is None
    assert primal_inverse(np.full((2, 2), np.inf), 0.0) is None
    assert dual_inverse(np.zeros((2, 2)), 0.0) is None
    assert dual_inverse(np.full((2, 2), np.nan), 0.0) is None
    rng = np.random.default_rng(0)
    objective = Quadratic(rng.normal(size=(5, 2)), np.ones(5))
    assert Direct(None)(objective, np.zeros(2), tol=0, max_iter=1).status is Status.NO_PROGRESS
