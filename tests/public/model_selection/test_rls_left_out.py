"""What RankRLS predicts for queries, pairs and comparisons left out equals refits."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import GreedyRankRLS, RankRLSCV
from pairrank.exceptions import PairrankError

pytestmark = pytest.mark.numeric


def made(n_rows, n_features, n_queries, seed=0, *, kind="dense", weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    if kind == "sparse":
        X[rng.random(X.shape) < 0.6] = 0.0
    y = rng.integers(0, 3, (n_rows, 2)).astype(float)
    qid = rng.integers(0, n_queries, n_rows)
    weight = rng.integers(0, 3, n_rows) * 0.7 if weighted else np.ones(n_rows)
    return X, y, qid, weight


@pytest.mark.parametrize("n_features", [3, 30])
@pytest.mark.parametrize("search", [RankRLSCV(), GreedyRankRLS(), GreedyRankRLS(cv=2)])
def test_overflow_is_an_error_without_a_warning(search, n_features):
    X, y, qid, _ = made(20, n_features, 4)
    with pytest.raises(PairrankError, match="overflow: scale"):
        search.fit(1e160 * X, y, qid=qid)
