"""PairSteps against their definition, step by step, on dense and sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.compiled.pair_steps import CURVATURES
from pairrank.losses import Hinge, Logistic, Probit, SquaredHinge
from pairrank.objective import PairSteps
from pairrank.preferences import Levels, PairIndex

pytestmark = pytest.mark.numeric

LOSSES = [Hinge(), SquaredHinge(margin=0.3), Logistic(), Probit()]
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
    kind = [type(each) for each in LOSSES].index(type(loss))
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
    loss=st.sampled_from(LOSSES),
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
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_features_of_any_size_give_finite_weights(loss, schedule, scale):
    X = scale * np.random.default_rng(0).normal(size=(30, 3))
    pairs = PairIndex(Levels.build(np.arange(30.0)))
    for ratio in (1e-300, 1.0, 1e300):
        generator = np.random.default_rng(0)
        steps = PairSteps(loss, np.zeros(3), generator, learning_rate=schedule)
        steps.take(X, pairs, 300, ratio)
        assert np.isfinite(steps.coef).all()
