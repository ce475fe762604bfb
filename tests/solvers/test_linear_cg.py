"""Conjugate gradients and direct solutions of quadratic objectives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from objectives import Plain
from pairrank import Pairs
from pairrank._protocols import Status
from pairrank.losses import Square
from pairrank.objective import PairObjective, Problem
from pairrank.preferences import Differences
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
    for K in (X @ X.T, sparse.csr_array(X @ X.T)):
        dual, of_rows = replace(problem, X=K, is_kernel=True), []
        solution = LinearCG(metric=dual.design)(
            PairObjective(dual), np.zeros(30), tol=0, max_iter=8, callback=of_rows.append
        )
        assert solution.n_iter == found.n_iter == 8
        for primal, step in zip(of_features, of_rows, strict=True):
            np.testing.assert_allclose(X.T @ step.coef, primal.coef, atol=1e-8)
            assert step.value == pytest.approx(primal.value)
            assert step.gradient_norm == pytest.approx(primal.gradient_norm, rel=1e-4, abs=1e-6)
