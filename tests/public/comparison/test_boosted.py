"""LightGBM's LambdaMART in a comparison: queries in any order, weights of rows."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import compare
from pairrank.datasets import make_queries

pytestmark = pytest.mark.extras
pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_compared_on_shuffled_rows(weighted):
    data, rng = make_queries(12, 25, 4, random_state=0), np.random.default_rng(0)
    order = rng.permutation(data.y.size)
    weight = {"sample_weight": rng.uniform(1, 2, data.y.size)} if weighted else {}
    found = compare(
        data.X[order], data.y[order], qid=data.qid[order], models="lambdarank", cv=2, inner_cv=0,
        metrics="ndcg@5", **weight,
    )  # fmt: skip
    assert found.summary["reason"].tolist() == [""]
    assert found.summary["ndcg@5"][0] > 0.5
