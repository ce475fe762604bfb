"""Validation rows and comparisons through Pipelines and cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import Pairs, QueryKFold, RankSVM
from pairrank.exceptions import PairrankWarning


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = 5 + 3 * rng.normal(size=(400, 4))
    y = np.digitize(X @ [2, -1, 0.5, 0] + 5 * rng.normal(size=400), [4, 10]).astype(float)
    return X, y, np.sort(rng.integers(0, 20, 400))


def test_validation_rows_are_transformed_with_the_training_rows(rows):
    X, y, qid = rows
    with config_context(enable_metadata_routing=True):
        ranker = RankSVM(solver="tron").set_fit_request(X_val=True, y_val=True, qid_val=True)
        model = Pipeline([("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"])
        model.fit(X[:300], y[:300], qid=qid[:300], X_val=X[300:], y_val=y[300:], qid_val=qid[300:])
        held_out = model.score(X[300:], y[300:], qid=qid[300:])
    assert model["rank"].validation_scores_[-1] == pytest.approx(held_out)
    assert model["rank"].validation_scores_[0] == 0.5


def test_comparisons_are_split_by_rows_and_by_queries(rows):
    X, y, qid = rows
    same = qid[:, None] == qid[None, :]
    i, j = np.nonzero((y[:, None] > y[None, :]) & same)
    pairs = Pairs(i, j, n_rows=400)
    with pytest.warns(PairrankWarning, match="split comparisons instead"):
        scores = cross_val_score(RankSVM(), X, pairs, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.min() > 0.7
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankSVM(), {"C": [0.01, 1.0]}, cv=QueryKFold(4))
        search.fit(X, pairs, qid=qid)
    train, test = next(QueryKFold(4).split(X, pairs, qid=qid))
    by_hand = RankSVM(C=search.best_params_["C"]).fit(X[train], pairs[train], qid=qid[train])
    best = search.cv_results_["split0_test_score"][search.best_index_]
    assert best == pytest.approx(by_hand.score(X[test], pairs[test], qid=qid[test]))
