"""make_queries: sizes, levels, correlation as asked, and the same rows for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.datasets import make_queries
from pairrank.exceptions import PairrankError


def test_a_seed_fixes_the_rows():
    def make(seed):
        return make_queries(5, (2, 9), 6, latent=3, random_state=seed)

    one, same, other = make(0), make(0), make(1)
    assert np.array_equal(one.y, same.y)
    assert np.array_equal(one.X, same.X)
    assert not np.array_equal(one.utility[:5], other.utility[:5])
    assert np.array_equal(make(np.random.default_rng(7)).y, make(np.random.default_rng(7)).y)
    assert np.array_equal(make(np.random.RandomState(7)).y, make(np.random.RandomState(7)).y)


def test_queries_have_the_sizes_asked_for():
    assert np.bincount(make_queries(4, 3, random_state=0).qid).tolist() == [3] * 4
    given = make_queries(3, np.array([1, 5, 2]), random_state=0)
    assert np.bincount(given.qid).tolist() == [1, 5, 2]
    sizes = np.bincount(make_queries(300, (2, 4), random_state=0).qid)
    assert set(sizes.tolist()) == {2, 3, 4}


def test_levels_of_queries_grow_rarer():
    data = make_queries(200, 50, 10, 5, random_state=0)
    counts = np.bincount(data.y.astype(int))
    assert len(counts) == 5
    assert (counts[:-1] > 1.9 * counts[1:]).all()
    assert set(make_queries(5, 5, n_levels=1, random_state=0).y.tolist()) == {0.0}


def test_latent_factors_give_the_condition_asked_for():
    data = make_queries(400, 50, 30, latent=8, condition=1e4, random_state=0)
    spectrum = np.linalg.eigvalsh(np.cov(data.X.T))
    assert spectrum[-1] / spectrum[0] == pytest.approx(1e4, rel=0.15)
    assert spectrum[-8] > 20 * spectrum[-9]
    assert data.X.var() == pytest.approx(1, rel=0.05)
    independent = np.linalg.eigvalsh(np.cov(make_queries(400, 50, 30, random_state=0).X.T))
    assert independent[-1] / independent[0] < 1.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_truth_is_told(dtype):
    data = make_queries(100, 20, 9, latent=3, noise=0.0, dtype=dtype, random_state=0)
    assert data.X.dtype == dtype
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    assert np.allclose(data.X @ data.coef, data.utility, atol=tolerance)
    noisy = make_queries(100, 50, noise=0.5, dtype=dtype, random_state=0)
    assert noisy.X.dtype == dtype
    assert (noisy.utility - noisy.X @ noisy.coef).std() == pytest.approx(0.5, rel=0.05)
    assert (noisy.X @ noisy.coef).std() == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_queries": 2.5}, "n_queries must be a whole number"),
        ({"n_queries": 0}, "n_queries must be at least 1"),
        ({"rows_per_query": (5, 2)}, r"rows_per_query is \(5, 2\)"),
        ({"rows_per_query": np.array([1, 0, 2])}, "rows_per_query must be at least 1"),
        ({"rows_per_query": np.array([1, 2])}, "rows_per_query has 2 sizes for 3 queries"),
        ({"latent": 6}, "latent must be from 1"),
        ({"latent": 2, "condition": 1.0}, "condition must be greater than 1"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(sizes, message):
    with pytest.raises(PairrankError, match=message):
        make_queries(**{"n_queries": 3, "n_features": 5, **sizes})
