"""Generators: shapes, levels, correlation as asked, and the same rows for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import spearmanr

from pairrank.datasets import make_queries, make_randnet, make_randpoly, make_utility
from pairrank.exceptions import PairrankError

MAKERS = {
    "randnet": lambda seed: make_randnet(60, random_state=seed),
    "randpoly": lambda seed: make_randpoly(60, random_state=seed),
    "queries": lambda seed: make_queries(5, (2, 9), 6, latent=3, random_state=seed),
    "utility": lambda seed: make_utility(60, 8, random_state=seed),
    "sparse": lambda seed: make_utility(60, 80, nnz_per_row=4, random_state=seed),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_seed_fixes_the_rows(name):
    make = MAKERS[name]
    one, same, other = make(0), make(0), make(1)
    assert np.array_equal(one.y, same.y)
    assert (one.X != same.X).sum() == 0
    assert not np.array_equal(one.utility[:5], other.utility[:5])
    assert np.array_equal(make(np.random.default_rng(7)).y, make(np.random.default_rng(7)).y)
    assert np.array_equal(make(np.random.RandomState(7)).y, make(np.random.RandomState(7)).y)


@pytest.mark.parametrize("make", [make_randnet, make_randpoly])
def test_burges_functions_have_fifty_attributes_and_six_bins(make):
    data = make(random_state=3)
    assert data.X.shape == (1000, 50)
    assert np.abs(data.X).max() <= 1
    assert sorted(set(data.y.tolist())) == [0, 1, 2, 3, 4, 5]
    assert (np.diff(data.utility[np.argsort(data.y, kind="stable")]).min()) < 0
    assert spearmanr(data.y, data.utility).statistic > 0.9
    even = make(600, by="count", random_state=3)
    assert np.bincount(even.y.astype(int)).tolist() == [100] * 6


def test_randpoly_is_no_linear_function_of_its_features():
    data = make_randpoly(2000, random_state=0)
    design = np.column_stack([data.X, np.ones(2000)])
    residual = data.utility - design @ np.linalg.lstsq(design, data.utility, rcond=None)[0]
    share = residual.var() / data.utility.var()
    assert 0.55 < share < 0.75


def test_queries_have_the_sizes_asked_for():
    assert np.bincount(make_queries(4, 3, random_state=0).qid).tolist() == [3] * 4
    assert np.bincount(make_queries(3, np.array([1, 5, 2]), random_state=0).qid).tolist() == [
        1,
        5,
        2,
    ]
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
    noisy = make_utility(5000, 20, noise=0.5, dtype=dtype, random_state=0)
    assert noisy.X.dtype == dtype
    assert (noisy.utility - noisy.X @ noisy.coef).std() == pytest.approx(0.5, rel=0.05)
    assert (noisy.X @ noisy.coef).std() == pytest.approx(1, rel=1e-3)
    assert noisy.y is noisy.utility


def test_sparse_rows_are_of_length_one_with_as_many_entries():
    data = make_utility(500, 97, nnz_per_row=10, n_levels=2, random_state=0)
    assert sparse.issparse(data.X)
    assert data.X.format == "csr"
    assert np.diff(data.X.indptr).tolist() == [10] * 500
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1)
    assert (np.diff(data.X.indices.reshape(500, 10), axis=1) > 0).all()
    assert set(data.X.indices.tolist()) == set(range(97))
    assert np.bincount(data.y.astype(int)).tolist() == [250, 250]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_utility(2.5), "n_rows must be a whole number"),
        (lambda: make_randnet(0), "n_rows must be at least 1"),
        (lambda: make_randpoly(1), "n_rows must be at least 2"),
        (lambda: make_queries(0), "n_queries must be at least 1"),
        (lambda: make_queries(3, (5, 2)), r"rows_per_query is \(5, 2\)"),
        (lambda: make_queries(3, np.array([1, 0, 2])), "rows_per_query must be at least 1"),
        (lambda: make_queries(3, np.array([1, 2])), "rows_per_query has 2 sizes for 3 queries"),
        (lambda: make_queries(3, 4, 5, latent=6), "latent must be from 1"),
        (
            lambda: make_queries(3, 4, 5, latent=2, condition=1.0),
            "condition must be greater than 1",
        ),
        (lambda: make_utility(5, 3, nnz_per_row=4), "nnz_per_row must be from 1"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(call, message):
    with pytest.raises(PairrankError, match=message):
        call()
