"""Standard errors of RankNCG: against definitions pair by pair, and against the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank import Pairs, RankNCG
from pairrank.estimators import covariance
from pairrank.losses import Logistic

pytestmark = pytest.mark.numeric

KINDS = ["laplace", "rows", "queries"]


def drawn(seed, n_rows=150, n_features=3, n_queries=9, n_levels=4):
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.normal(size=(n_rows, n_features))
    noisy = X @ rng.normal(size=n_features) + rng.logistic(size=n_rows)
    y = np.digitize(noisy, np.quantile(noisy, np.arange(1, n_levels) / n_levels)).astype(float)
    return X, y, rng.integers(0, n_queries, n_rows)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_columns_sparse_rows_and_float32_change_nothing(kind, monkeypatch):
    X, y, qid = drawn(1, n_features=7)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.5, 0.0, X)
    whole = RankNCG(covariance=kind, tol=1e-8).fit(X, y, qid=qid).standard_errors_
    monkeypatch.setattr(covariance, "_BLOCK_ENTRIES", 2 * y.size)
    for form in (np.asarray, sparse.csr_array, np.asfortranarray):
        other = RankNCG(covariance=kind, tol=1e-8).fit(form(X), y, qid=qid).standard_errors_
        np.testing.assert_allclose(other, whole, rtol=1e-8)
    single = RankNCG(covariance=kind).fit(X.astype(np.float32), y, qid=qid)
    assert single.coef_cov_.dtype == np.float64
    np.testing.assert_allclose(single.standard_errors_, whole, rtol=1e-2)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_by_clusters_it_is_what_comparisons_define(grouped, sparse_rows, monkeypatch):
    monkeypatch.setattr(covariance, "_BLOCK_ENTRIES", 70)
    rng = np.random.default_rng(0)
    X = 1e3 + rng.normal(size=(30, 3))
    i, j = rng.integers(0, 30, (2, 200))
    i, j = i[i != j], j[i != j]
    weight, tie = rng.exponential(size=i.size), rng.random(i.size) < 0.3
    voter = rng.integers(0, 8, i.size)
    pairs = Pairs(i, j, weight, np.where(tie, 0.0, 1.0), groups=voter if grouped else None,
                  n_rows=30)  # fmt: skip
    ranker = RankNCG(0.3, covariance="clusters", tol=1e-9)
    ranker.fit(sparse.csr_array(X) if sparse_rows else X, pairs)
    assert ranker.n_pairs_ == i.size
    x = X[i] - X[j]
    d = x @ ranker.coef_
    phi = Logistic().phi
    slope = np.where(tie, 0.5 * (phi(d, order=1) - phi(-d, order=1)), phi(d, order=1))
    gradients = (weight * slope)[:, None] * x
    if grouped:
        gradients = np.array([gradients[voter == v].sum(axis=0) for v in np.unique(voter)])
    centred = gradients - gradients.mean(axis=0)
    spread = centred.T @ centred * len(centred) / (len(centred) - 1)
    bread = np.linalg.inv(0.3 * np.eye(3) + x.T @ (x * (weight * phi(d, order=2))[:, None]))
    wanted = bread @ spread @ bread
    np.testing.assert_allclose(ranker.coef_cov_, wanted, rtol=1e-7, atol=1e-9 * wanted.max())
