"""The bundle: its small program, its planes, and its descents on losses that are no ranking's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objectives import Plain
from pairrank._protocols import Status
from pairrank.solvers.bundle import Bundle, CuttingPlanes, minimum_on_simplex
from programs import Comparisons, tube_by_clarabel

pytestmark = pytest.mark.numeric


def by_enumeration(matrix, vector):
    """Return the least value over the simplex: one of the minima over faces with no sign asked."""
    best = np.inf
    for size in range(1, vector.size + 1):
        for face in map(list, itertools.combinations(range(vector.size), size)):
            ones = np.ones((size, 1))
            system = np.block([[matrix[np.ix_(face, face)], ones], [ones.T, np.zeros((1, 1))]])
            x = np.linalg.lstsq(system, np.append(vector[face], 1.0), rcond=1e-12)[0][:size]
            if (x >= -1e-9).all() and abs(x.sum() - 1) < 1e-9:
                best = min(best, 0.5 * x @ matrix[np.ix_(face, face)] @ x - vector[face] @ x)
    return best


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 7),
    rank=st.integers(1, 7),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
    repeats=st.booleans(),
)
def test_the_program_s_weights_are_the_best_of_all_faces(seed, n, rank, scale, repeats):
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(n, rank))
    vector = rng.normal(size=n)
    if repeats:
        planes, vector = np.repeat(planes, 2, axis=0)[:n], np.repeat(vector, 2)[:n]
    best = scale * by_enumeration(planes @ planes.T, vector)
    matrix, vector = scale * planes @ planes.T, scale * vector
    start = rng.dirichlet(np.ones(n)) * (np.arange(n) >= n // 2)
    x = minimum_on_simplex(matrix, vector, start / start.sum(), 1e-10 * scale)
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(1.0, rel=1e-12)
    gradient = matrix @ x - vector
    assert x @ gradient - gradient.min() <= 2e-10 * scale
    value = 0.5 * x @ matrix @ x - vector @ x
    assert value == pytest.approx(best, abs=1e-8 * scale)


class Absolute(Plain):
    """factor * sum of |a_k'w - b_k|, which has kinks wherever there is anything to see."""

    def __init__(self, rows=80, features=6, penalty=0.5, factor=1.0, seed=0):
        rng = np.random.default_rng(seed)
        self.A = factor * rng.normal(size=(rows, features)) * np.logspace(0, 1, features)
        self.b = factor * 3 * rng.normal(size=rows)
        self.penalty, self.n_features, self.factor = penalty, features, factor
        self.unit = 4e-16 * np.linalg.norm(self.A, axis=0)

    def rounding(self):
        return self.unit

    def loss_and_gradient(self, w):
        residual = self.A @ w - self.b
        signs = np.sign(residual)
        self.score_norm = np.linalg.norm(signs)
        return float(np.abs(residual).sum()), self.A.T @ signs

    def value(self, w):
        return self.loss_and_gradient(w)[0] + 0.5 * self.penalty * w @ w

    def optimum(self):
        """Return the weights at the optimum, by a quadratic program with a slack a row."""
        n_rows = self.b.size
        rows = np.vstack((self.A / self.factor, np.zeros(self.n_features)))
        ends = np.arange(n_rows), np.full(n_rows, n_rows)
        cost = np.full(n_rows, 2.0 * self.factor / self.penalty)
        listed = Comparisons(*ends, self.b / self.factor, cost)
        return tube_by_clarabel(rows, listed, 0.0, 1)


def descend(objective, tol=1e-9, w0=None, rule=None, max_iter=2000, callback=None):
    start = np.zeros(objective.n_features) if w0 is None else w0
    return (rule or Bundle())(objective, start, tol=tol, max_iter=max_iter, callback=callback)


@pytest.mark.parametrize(("penalty", "factor"), [(0.5, 1.0), (1e3, 1.0), (1e-4, 1.0), (1.0, 1e6)])
def test_the_optimum_is_found_and_the_gap_is_true_at_every_step(penalty, factor):
    objective = Absolute(penalty=penalty, factor=factor)
    found = descend(objective)
    w = objective.optimum()
    optimum = objective.value(w)
    assert found.status is Status.GAP_CLOSED
    values, gaps = (np.array([getattr(s, n) for s in found.history]) for n in ("value", "gap"))
    assert values[-1] == pytest.approx(objective.value(found.coef), rel=1e-12)
    assert abs(values[-1] - optimum) <= 1e-8 * optimum
    assert (values - gaps <= optimum * (1 + 1e-8)).all()
    assert (np.diff(values) <= 0.0).all()
    assert (np.diff(values - gaps) >= -1e-12 * optimum).all()
    assert gaps[-2] > 1e-9 * values[-2]
    assert np.linalg.norm(found.coef - w) <= np.sqrt(2 * 1e-8 * optimum / penalty)
    assert found.history[-1].n_evaluations == found.n_iter + 1
    assert found.n_iter < 120


def test_merged_planes_bound_as_high_as_before_and_lie_below_the_loss():
    objective = Absolute(features=4)
    planes = CuttingPlanes(4, objective.penalty, 5)
    rng = np.random.default_rng(0)
    bound = -np.inf
    for _ in range(40):
        w = rng.normal(size=4)
        loss, slope = objective.loss_and_gradient(w)
        planes.add(slope, loss - slope @ w)
        assert planes.n_planes <= 5
        minimum = planes.minimum(0.0)
        assert minimum.lower_bound >= bound - 1e-10 * abs(bound)
        bound = minimum.lower_bound
    assert bound <= objective.value(objective.optimum())


@pytest.mark.parametrize("penalty", [0.5, 1e4])
@pytest.mark.parametrize("size", [1e-7, 1e-4])
def test_slopes_that_are_off_prove_less(penalty, size):
    class Off(Absolute):
        def loss_and_gradient(self, w):
            loss, slope = super().loss_and_gradient(w)
            return loss, slope - 0.5 * self.score_norm * self.unit * np.sign(slope)

    objective = Off(penalty=penalty)
    objective.unit = size * np.linalg.norm(objective.A, axis=0)
    best = Absolute(penalty=penalty).value(objective.optimum())
    found = descend(objective, tol=1e-9)
    last = found.history[-1]
    assert found.status is Status.NO_PROGRESS
    assert last.value - last.gap <= best
    assert last.gap <= 100 * size * last.value


def test_the_last_gap_is_that_of_the_sharpest_sum():
    class Sharpened(Absolute):
        value_error = 0.3

        def loss_and_gradient(self, w):
            loss, slope = super().loss_and_gradient(w)
            return loss - 0.9 * self.value_error, slope

        def sharpen(self):
            self.value_error *= 0.1 if self.value_error > 1e-4 else 0.0
            steps.append(self.value_error)
            return len(steps) < 7

    for tol in (1e-2, 1e-9):
        steps = []
        objective = Sharpened()
        found = descend(objective, tol=tol)
        assert found.status is Status.GAP_CLOSED
        assert objective.value_error == 0.0
        best = Absolute().value(objective.optimum())
        last = found.history[-1]
        assert last.value == pytest.approx(Absolute().value(found.coef), rel=1e-12)
        assert last.value - last.gap <= best * (1 + 1e-12)
        assert last.value <= best * (1 + tol)
