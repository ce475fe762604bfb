"""Scorers: queries and weights reach the metric, with scikit-learn's routing and without."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from pairrank import QueryKFold, RankSVM
from pairrank import model_selection as selection
from pairrank.exceptions import PairrankError
from pairrank.metrics import ndcg_score
from pairrank.metrics._names import METRICS, Metric


class FirstFeature(BaseEstimator):
    """Scores rows by their first feature."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(9), 12))
    X = rng.normal(size=(qid.size, 2))
    y = np.clip(np.rint(1.5 * X[:, 0] + X[:, 1] + 1), 0, 4)
    return X, y, qid, 1.0 + qid % 3


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_of_the_table_has_a_scorer(name, judged):
    X, y, qid, weight = judged
    metric = METRICS[name]
    options = {"k": 3} if metric.needs_k else {}
    scorer = selection.get_query_scorer(f"{name}@3" if options else name)
    sign = 1 if metric.greater_is_better else -1
    wanted = sign * metric.function(y, X[:, 0], qid=qid, sample_weight=weight, **options)
    assert scorer(FirstFeature(), X, y, qid=qid, sample_weight=weight) == wanted
    with config_context(enable_metadata_routing=True):
        params = {"qid": qid, "sample_weight": weight}
        found = cross_val_score(
            RankSVM(0.1), X, y, cv=QueryKFold(3), scoring=scorer, params=params, error_score="raise"
        )
    assert np.isfinite(found).all()


def test_every_metric_with_a_k_is_known_at_each_position(judged, monkeypatch):
    X, y, qid, _ = judged

    def top_share(y_true, scores, *, k=None, **rows):
        return float(k)

    monkeypatch.setitem(METRICS, "top_share", Metric(top_share))
    model = FirstFeature().fit(X, y)
    assert selection.get_query_scorer("top_share@7")(model, X, y, qid=qid) == 7.0
    assert selection.get_query_scorer("ndcg@3")(model, X, y) == ndcg_score(y, X[:, 0], k=3)
    with pytest.raises(PairrankError, match=r"rbp@k, top_share@k$"):
        selection.get_query_scorer("kendall_tau@3")
