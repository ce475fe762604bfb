"""Contributions sum to scores, for dense and sparse rows, rankers, searches and Pipelines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import ConvexHullRanker, GreedyRankRLS, MPRank, RankNCG, RankRLS, RankSVM, RankSVMCV
from pairrank.datasets import make_queries
from pairrank.exceptions import PairrankError
from pairrank.report import contributions

DATA = make_queries(8, 10, 5, random_state=0)
RANKERS = [
    RankSVM(), RankNCG(), RankRLS(), MPRank(), ConvexHullRanker(), GreedyRankRLS(2),
    RankSVMCV([0.1, 1.0], cv=2), make_pipeline(StandardScaler(), RankSVM()),
    RankSVM(kernel="linear"),
]  # fmt: skip


def close(found, scores, size):
    """Compare sums of products with scores: both are off by rounding of the products' sizes."""
    bound = 4 * DATA.X.shape[1] * np.finfo(float).eps * size
    assert (abs(found - scores) <= bound).all()


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda each: type(each).__name__)
def test_contributions_sum_to_scores(ranker):
    ranker.fit(DATA.X, DATA.y)
    found = contributions(ranker, DATA.X)
    assert found.shape == DATA.X.shape
    close(found.sum(axis=1), ranker.predict(DATA.X), abs(found).sum(axis=1))


def test_sparse_rows_have_sparse_contributions():
    X = sparse.random(50, 5, 0.3, format="csr", random_state=0)
    ranker = RankSVM().fit(X, np.arange(50) % 3)
    found = contributions(ranker, X)
    assert sparse.issparse(found)
    assert found.nnz <= X.nnz
    np.testing.assert_array_equal(found.toarray(), contributions(ranker, X.toarray()))


def test_rankers_without_weights_of_features_are_refused():
    with pytest.raises(PairrankError, match="not linear"):
        contributions(RankSVM(kernel="rbf").fit(DATA.X, DATA.y), DATA.X)
    with pytest.raises(PairrankError, match="2 targets"):
        contributions(RankRLS().fit(DATA.X, np.column_stack([DATA.y, DATA.y])), DATA.X)
