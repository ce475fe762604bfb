"""Fits on blocks against the same fits in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from memory_passes import cut_rows
from pairrank import OrderGraph, PairwiseRanker, RankNCG, RankSVM
from pairrank.estimators._blocks import fit_on_passes

SMOOTH = {
    "squared_hinge": RankSVM(tol=1e-8),
    "logistic": RankNCG(tol=1e-8),
    "probit": RankNCG(loss="probit", tol=1e-8),
    "exponential": PairwiseRanker(tol=1e-8),
    "huberised": PairwiseRanker("huberised_hinge", tol=1e-8),
}
GRAPHS = {"chain": "chain", "edges": OrderGraph([(0, 2), (1, 2)])}


def rows_of(seed, n_rows=2000, *, n_queries=60, n_features=5, n_labels=3):
    """Return X, labels of a noisy linear order (as many as rows if 0), and identifiers."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    qid = np.sort(generator.integers(0, n_queries, n_rows))
    signal = X @ generator.normal(size=n_features) + generator.normal(size=n_rows)
    if not n_labels:
        return X, signal, qid
    edges = np.quantile(signal, np.arange(1, n_labels) / n_labels)
    return X, np.searchsorted(edges, signal).astype(np.float64), qid


def assert_equal_fits(ranker, X, y, borders, **aligned):
    """Fit on blocks and in memory; the coefficients must agree to 1e-6."""
    found = fit_on_passes(clone(ranker), cut_rows(X, y, borders, **aligned))
    wanted = clone(ranker).fit(X, y, **aligned)
    assert found.status_ == wanted.status_ == "converged"
    assert np.abs(found.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()
    assert found.n_pairs_ == wanted.n_pairs_
    assert found.n_queries_ == wanted.n_queries_
    assert found.n_rows_ == wanted.n_rows_
    assert found.n_ties_ == wanted.n_ties_
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-9)
    return found


@pytest.mark.parametrize("n_labels", [2, 5, 0], ids=["binary", "levels", "real"])
@pytest.mark.parametrize("layout", ["whole", "split", "one"])
@pytest.mark.parametrize("ranker", SMOOTH.values(), ids=SMOOTH)
def test_smooth_losses_have_the_coefficients_of_a_fit_in_memory(ranker, layout, n_labels):
    X, y, qid = rows_of(1, n_labels=n_labels)
    borders = np.searchsorted(qid, [20, 21, 45])
    aligned = {"qid": qid}
    if layout == "split":
        borders = [100, 101, 1500]
        aligned = {"qid": np.random.default_rng(2).permutation(qid)}
    if layout == "one":
        aligned = {}
    assert_equal_fits(ranker, X, y, borders, **aligned)
