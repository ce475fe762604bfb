"""The rankers of LightGBM and XGBoost: queries in any order, and their place in a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import compare
from pairrank.datasets import make_queries

pytestmark = pytest.mark.extras
pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")
pytest.importorskip("xgboost", reason="needs xgboost: make test-extras")


@pytest.fixture(scope="module")
def data():
    return make_queries(12, 25, 4, random_state=0)


def test_all_are_compared(data):
    names = ["lambdarank", "rank:ndcg", "rank:pairwise"]
    found = compare(
        data.X, data.y, qid=data.qid, models=names, cv=2, inner_cv=0, metrics="ndcg@5"
    )  # fmt: skip
    assert found.summary["reason"].tolist() == [""] * 3
    assert (found.summary["ndcg@5"] > 0.5).all()


def test_weights_of_rows_are_refused_where_only_queries_have_weights(data):
    weight = np.linspace(1, 2, data.y.size)
    found = compare(
        data.X, data.y, qid=data.qid, sample_weight=weight, models="lambdarank,rank:ndcg", cv=2,
        inner_cv=0, metrics="ndcg@5",
    )  # fmt: skip
    assert found.summary["reason"].tolist() == ["", "it takes no sample_weight"]
