"""GreedyRankRLS: the same choices and errors as refitting every candidate without every unit."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import GreedyRankRLS
from pairrank.model_selection import rls_greedy

pytestmark = pytest.mark.numeric


def made(n_rows, n_features, n_queries, *, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    y = X[:, :targets] + 0.5 * X[:, -targets:] + rng.normal(size=(n_rows, targets))
    qid = rng.integers(0, n_queries, n_rows)
    return X, y, qid, rng.integers(0, 3, n_rows) * 0.5


def test_few_features_at_a_time_give_the_same_numbers(monkeypatch):
    X, y, _, weight = made(40, 12, 6)
    whole = GreedyRankRLS(6, cv=5).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(rls_greedy, "_ENTRIES", 60)
    parts = GreedyRankRLS(6, cv=5).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(parts.errors_, whole.errors_, rtol=1e-12)
    assert (parts.selected_ == whole.selected_).all()
