"""Fits on blocks against the same fits in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from memory_passes import cut_rows
from pairrank import RankNCG, RankSVM
from pairrank.blocks import catalog
from pairrank.estimators._blocks import fit_on_passes


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


@pytest.fixture(autouse=True)
def few_sampled_rows(monkeypatch):
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 500)


def test_a_default_fit_reads_the_rows_few_times(monkeypatch):
    """One pass for the catalog, one for zero and the start, one per Newton step.

    Where queries cross blocks, each evaluation takes a second one.
    """
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 50_000)
    X, y, qid = rows_of(9, n_rows=30_000, n_queries=300)
    for ranker in (RankSVM(), RankNCG()):
        passes = cut_rows(X, y, [9000, 17_000], qid=qid)
        found = fit_on_passes(ranker, passes)
        assert (passes.n_described, passes.n_reduced) == (1, 2 * (1 + found.n_iter_))
        assert found.n_iter_ <= 2


def test_exact_products_are_the_last_refinement(monkeypatch):
    """A sample of fewer rows than features has a poor Hessian; passes give the exact one."""
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 40)
    X, y, qid = rows_of(11, n_features=30)
    for layout in ({"qid": qid}, {}):
        found = assert_equal_fits(RankSVM(tol=1e-8), X, y, [500, 1100], **layout)
        assert found.history_[-1].n_products > found.n_iter_
