"""Weights by role in paths, searches, scorers and scikit-learn's metadata routing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import (
    GreedyRankRLS,
    QueryKFold,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    regularization_path,
)
from pairrank import model_selection as selection
from pairrank.exceptions import PairrankError
from pairrank.metrics import pairwise_accuracy

CS = [0.01, 1.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X @ [2, -1, 0.5] + 2 * rng.normal(size=120), [-1, 0.5, 2]).astype(float)
    rows = {
        "qid": rng.permutation(np.repeat(np.arange(6), 20)),
        "sample_weight": rng.exponential(size=120),
        "winner_weight": np.where(rng.random(120) < 0.5, 0.0, rng.exponential(size=120)),
        "loser_weight": rng.exponential(size=120),
    }
    return X, y, rows


def part(rows, places, suffix=""):
    return {name + suffix: values[places] for name, values in rows.items()}


def scores_by_hand(make, X, y, rows):
    """Return the scores of a ranker fitted in every fold of three, on the test rows."""
    found = []
    for train, test in QueryKFold(3).split(X, qid=rows["qid"]):
        ranker = make().fit(X[train], y[train], **part(rows, train))
        found.append(pairwise_accuracy(y[test], ranker.predict(X[test]), **part(rows, test)))
    return found


def test_a_path_fits_and_judges_by_them(data):
    X, y, rows = data
    train, test = np.arange(80), np.arange(80, 120)
    path = regularization_path(
        RankSVM(), X[train], y[train], values=CS, X_val=X[test], y_val=y[test],
        **part(rows, train), **part(rows, test, "_val"),
    )  # fmt: skip
    for at, C in enumerate(CS):
        ranker = RankSVM(C).fit(X[train], y[train], **part(rows, train))
        np.testing.assert_array_equal(path.coefs[at], ranker.coef_)
        assert path.scores[at] == ranker.score(X[test], y[test], **part(rows, test))


@pytest.mark.parametrize(("search", "ranker"), [(RankSVMCV, RankSVM), (RankNCGCV, RankNCG)])
def test_a_search_learns_and_judges_by_them(search, ranker, data):
    X, y, rows = data
    found = search(CS, cv=3, tol=1e-6).fit(X, y, **rows)
    for at, strength in enumerate(CS):
        wanted = scores_by_hand(lambda value=strength: ranker(value, tol=1e-7), X, y, rows)
        np.testing.assert_allclose(found.validation_scores_[:, at], wanted, rtol=1e-6)
    strength = found.C_ if search is RankSVMCV else found.alpha_
    alone = ranker(strength, tol=1e-6).fit(X, y, **rows)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    assert found.score(X, y, **rows) == alone.score(X, y, **rows)


def test_searches_over_differences_refuse_them(data):
    X, y, rows = data
    for estimator in (RankRLSCV(CS), GreedyRankRLS(1)):
        with pytest.raises(PairrankError, match="winner_weight is not supported here"):
            estimator.fit(X, y, **rows)
        with pytest.raises(PairrankError, match="loser_weight is not supported here"):
            estimator.fit(X, y, loser_weight=rows["loser_weight"])


def test_grid_search_routes_them_through_a_pipeline(data):
    X, y, rows = data

    def make(C):
        return make_pipeline(StandardScaler().set_fit_request(sample_weight=False), RankSVM(C))

    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(make(1.0), {"ranksvm__C": CS}, cv=QueryKFold(3)).fit(X, y, **rows)
        means = [np.mean(scores_by_hand(lambda C=C: make(C), X, y, rows)) for C in CS]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)


def test_a_scorer_requests_what_its_metric_takes(data):
    X, y, rows = data
    ranker = RankRLS().fit(X, y, qid=rows["qid"])
    found = selection.get_query_scorer("pairwise_accuracy")(ranker, X, y, **rows)
    assert found == pairwise_accuracy(y, ranker.predict(X), **rows)
    roles = {"winner_weight", "loser_weight"}
    assert roles < set(selection.get_query_scorer("wmw").get_metadata_routing().score.requests)
    for scorer in (
        selection.get_query_scorer("mean_ndcg"),
        selection.get_query_scorer("kendall_tau"),
    ):
        assert set(scorer.get_metadata_routing().score.requests) == {"qid", "sample_weight"}
        with pytest.raises(PairrankError, match="winner_weight is not supported here"):
            scorer(ranker, X, y, winner_weight=rows["winner_weight"])

    def own(y_true, scores, *, winner_weight=None):
        return float(winner_weight.sum())

    scorer = selection.make_query_scorer(own)
    assert list(scorer.requests) == ["winner_weight"]
    search = RankSVMCV([1.0], cv=2, scoring=scorer).fit(X, y, **rows)
    assert search.validation_scores_.sum() == pytest.approx(rows["winner_weight"].sum())
