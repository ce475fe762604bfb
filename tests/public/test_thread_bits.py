"""Any number of threads gives the same bits, and rows that are equal get equal scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from pairrank import (
    ConvexHullRanker,
    MPRank,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
)

RANKERS = {
    "squared hinge": RankSVM(),
    "hinge": RankSVM(loss="hinge"),
    "logistic": RankNCG(),
    "probit": RankNCG(loss="probit"),
    "exponential": PairwiseRanker(),
    "squares": RankRLS(),
    "MPRank": MPRank(1.0, n=1),
    "SVRank": SVRank(1.0, n=2),
    "hull": ConvexHullRanker(),
    "boosting": RankBoost(5),
}


@pytest.mark.parametrize("name", RANKERS)
def test_a_fit_has_the_same_bits_on_one_thread_and_two(name):
    is_sparse = list(RANKERS).index(name) % 2
    rng = np.random.default_rng(0)
    n_rows = 30_000
    X = rng.normal(size=(n_rows, 12))
    if is_sparse:
        X[np.abs(X) < 1] = 0.0
    y = np.digitize(X[:, :3].sum(axis=1) + rng.normal(size=n_rows), [-1.0, 1.0])
    qid = rng.integers(0, 3, n_rows)
    table = sparse.csr_array(X) if is_sparse else X
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            ranker = RANKERS[name].fit(table, y, qid=qid)
            found.append(ranker.predict(table))
    np.testing.assert_array_equal(*found)
