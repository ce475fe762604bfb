"""Fits on blocks against the same fits in memory."""

from __future__ import annotations

import numpy as np
import pytest

from memory_passes import cut_rows
from pairrank import RankNCG, RankSVM
from pairrank.estimators._blocks import fit_on_passes


def rows_of(seed, n_rows=3000, *, n_queries=60, n_features=5, n_labels=3):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    qid = np.sort(generator.integers(0, n_queries, n_rows))
    signal = X @ generator.normal(size=n_features) + generator.normal(size=n_rows)
    edges = np.quantile(signal, np.arange(1, n_labels) / n_labels)
    return X, np.searchsorted(edges, signal).astype(np.float64), qid


@pytest.mark.parametrize("ranker", [RankSVM(tol=1e-8), RankNCG(tol=1e-8)], ids=["svm", "ncg"])
def test_whole_queries(ranker):
    X, y, qid = rows_of(1)
    borders = np.searchsorted(qid, [20, 21, 45])
    passes = cut_rows(X, y, borders, qid=qid)
    found = fit_on_passes(ranker, passes)
    coef = found.coef_
    wanted = ranker.fit(X, y, qid=qid).coef_
    assert np.abs(coef - wanted).max() <= 1e-6 * np.abs(wanted).max()
