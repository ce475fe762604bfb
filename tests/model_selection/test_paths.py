"""Regularisation paths, RankSVMCV and RankNCGCV against cold fits, one value at a time."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import RankSVMCV
from pairrank.exceptions import PairrankError
from pairrank.model_selection import get_query_scorer

pytestmark = pytest.mark.numeric

GRID = [1e-3, 1e-1, 10.0]


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(10), 20))
    X = rng.normal(size=(qid.size, 5)) * [1.0, 1.0, 1.0, 10.0, 0.1]
    y = np.clip(np.rint(1.5 * X[:, 0] + X[:, 1] + rng.normal(size=qid.size) + 1), 0, 4)
    return X, y, qid


def test_a_scorer_gets_the_metadata_that_it_requests(judged):
    X, y, qid = judged
    uneven = np.linspace(1.0, 2.0, y.size)
    unweighted = get_query_scorer("mean_ndcg").set_score_request(sample_weight=False)
    search = RankSVMCV(GRID, cv=2, scoring=unweighted).fit(X, y, qid=qid, sample_weight=uneven)
    assert 0.5 < search.best_score_ < 1.0
    with pytest.raises(PairrankError, match="one weight per query"):
        RankSVMCV(GRID, cv=2, scoring="mean_ndcg").fit(X, y, qid=qid, sample_weight=uneven)
