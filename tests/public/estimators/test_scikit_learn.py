"""scikit-learn's scorers, pipelines and cross-validation take rankers, queries and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import average_precision_score, get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import (
    ConvexHullRanker,
    GreedyRankRLS,
    Pairs,
    QueryKFold,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    SVRank,
)
from pairrank.exceptions import PairrankWarning

RANKERS = [
    ConvexHullRanker(),
    GreedyRankRLS(2),
    RankNCG(kernel="rbf"),
    RankNCGCV([0.1, 1.0], cv=2),
    RankRLSCV([0.1, 1.0]),
    SVRank(n=2),
]
FOLDS = StratifiedKFold(3)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, (X[:, 0] + rng.normal(size=90) > 0.5).astype(int)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: str(ranker)[:30])
def test_areas_under_curves_are_those_of_the_scores(rows, ranker):
    X, y = rows
    model = make_pipeline(StandardScaler(), ranker)
    for scoring, area in (
        ("roc_auc", roc_auc_score),
        ("average_precision", average_precision_score),
    ):
        found = cross_val_score(model, X, y, cv=FOLDS, scoring=scoring, error_score="raise")
        for value, (train, test) in zip(found, FOLDS.split(X, y), strict=True):
            scores = clone(model).fit(X[train], y[train]).predict(X[test])
            assert value == pytest.approx(area(y[test], scores))


def test_the_area_under_the_roc_curve_is_the_pairwise_accuracy(rows):
    X, y = rows
    ranker = RankSVM().fit(X, y)
    assert get_scorer("roc_auc")(ranker, X, y) == pytest.approx(ranker.score(X, y))
    names = np.array(["bad", "good"])[y]
    assert get_scorer("roc_auc")(ranker, X, names) == pytest.approx(ranker.score(X, y))


def test_queries_reach_the_fit_beside_a_scorer_that_ignores_them(rows):
    X, y = rows
    qid = np.arange(90) // 9
    with config_context(enable_metadata_routing=True):
        found = cross_val_score(
            RankSVM(), X, y, cv=QueryKFold(3), scoring="roc_auc", params={"qid": qid}
        )
    for value, (train, test) in zip(found, QueryKFold(3).split(X, qid=qid), strict=True):
        ranker = RankSVM().fit(X[train], y[train], qid=qid[train])
        assert value == pytest.approx(roc_auc_score(y[test], ranker.predict(X[test])))


def test_several_targets_have_a_column_of_decisions_each(rows):
    X, y = rows
    Y = np.column_stack((y, X[:, 1] > 0))
    ranker = RankRLS().fit(X, Y)
    assert ranker.decision_function(X).shape == (90, 2)
    found = cross_val_score(RankRLS(), X, Y, cv=KFold(3), scoring="roc_auc", error_score="raise")
    assert (found > 0.6).all()


@pytest.fixture(scope="module")
def far_rows():
    rng = np.random.default_rng(0)
    X = 5 + 3 * rng.normal(size=(400, 4))
    y = np.digitize(X @ [2, -1, 0.5, 0] + 5 * rng.normal(size=400), [4, 10]).astype(float)
    return X, y, np.sort(rng.integers(0, 20, 400))


def test_validation_rows_are_transformed_with_the_training_rows(far_rows):
    X, y, qid = far_rows
    with config_context(enable_metadata_routing=True):
        ranker = RankSVM(solver="tron").set_fit_request(X_val=True, y_val=True, qid_val=True)
        model = Pipeline([("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"])
        model.fit(X[:300], y[:300], qid=qid[:300], X_val=X[300:], y_val=y[300:], qid_val=qid[300:])
        held_out = model.score(X[300:], y[300:], qid=qid[300:])
    assert model["rank"].validation_scores_[-1] == pytest.approx(held_out)
    assert model["rank"].validation_scores_[0] == 0.5


def test_comparisons_are_split_by_rows_and_by_queries(far_rows):
    X, y, qid = far_rows
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
