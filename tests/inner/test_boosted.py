"""The rankers of LightGBM and XGBoost: queries in any order, and their place in a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.comparison.models import BoostedRanker
from pairrank.datasets import make_queries

pytestmark = pytest.mark.extras
pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")
pytest.importorskip("xgboost", reason="needs xgboost: make test-extras")

RANKERS = [
    BoostedRanker("lambdarank", n_estimators=5),
    BoostedRanker("rank:ndcg", n_estimators=5),
    BoostedRanker("rank:pairwise", n_estimators=5),
]


@pytest.fixture(scope="module")
def data():
    return make_queries(12, 25, 4, random_state=0)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda each: each.objective)
def test_queries_may_be_scattered(ranker, data):
    """Rows in another order, the order within queries kept, give the same scores."""
    order = np.argsort(np.arange(data.y.size) % 25, kind="stable")
    first = ranker.fit(data.X, data.y, qid=data.qid).predict(data.X)
    second = ranker.fit(data.X[order], data.y[order], qid=data.qid[order]).predict(data.X)
    np.testing.assert_array_equal(first, second)
    assert np.unique(first).size > 2
