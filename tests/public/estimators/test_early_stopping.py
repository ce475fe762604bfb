"""Every ranker that iterates stops early by any metric and keeps its best iterate."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from pairrank import (
    ConvexHullRanker,
    MPRank,
    OrderGraph,
    PairwiseRanker,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
)
from pairrank.exceptions import PairrankError
from pairrank.metrics import kendall_tau, msd, ndcg_score, tube_cost

RANKERS = [
    ConvexHullRanker(1.0),
    MPRank(1e4, solver="cg"),
    MPRank(1e4, n=1),
    PairwiseRanker(C=10.0, solver="ncg"),
    RankNCG(1e-3, solver="tron"),
    RankNCG(1e-3, solver="ncg"),
    RankRLS(1e-3, regularization="hybrid", solver="cg"),
    RankRLS(regularization="iteration"),
    RankSVM(10.0),
    RankSVM(10.0, solver="tron"),
    RankSVM(10.0, loss="hinge"),
    RankSVM(10.0, solver="sgd"),
    SVRank(1e4, n=2),
    SVRank(1e4),
]


@pytest.fixture(scope="module")
def noisy():
    """Rows with so many features that the optimum overfits, and rows to validate on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 60)) * np.logspace(0, -1, 60)
    y = np.digitize(X[:, 0] - X[:, 1] + 1.5 * rng.normal(size=360), [-1.0, 0.5, 2.0]).astype(float)
    qid = np.repeat(np.arange(36), 10)
    train = {"X": X[:200], "y": y[:200], "qid": qid[:200]}
    return train, {"X_val": X[200:], "y_val": y[200:], "qid_val": qid[200:]}


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
@pytest.mark.parametrize(
    ("name", "metric", "sign"),
    [("ndcg@3", ndcg_score, 1), ("kendall_tau", kendall_tau, 1), ("msd", msd, -1)],
)
def test_the_best_iterate_by_the_metric_is_kept(noisy, ranker, name, metric, sign):
    train, held = noisy
    options = {"k": 3} if name == "ndcg@3" else {}
    iterates = []
    fitted = clone(ranker).set_params(validation_metric=name, patience=2, max_iter=60)
    fitted.fit(**train, **held, callback=lambda step: iterates.append(step.coef.copy()) and False)
    scores = np.array(
        [
            sign * metric(held["y_val"], held["X_val"] @ coef, qid=held["qid_val"], **options)
            if coef.any() or name != "kendall_tau"
            else np.nan
            for coef in iterates
        ]
    )
    np.testing.assert_allclose(fitted.validation_scores_, scores, rtol=1e-9)
    allowed = np.where([coef.any() for coef in iterates], scores, -np.inf)
    best = int(np.argmax(allowed))
    assert fitted.best_iteration_ == best
    np.testing.assert_array_equal(fitted.coef_, iterates[best])
    assert fitted.objective_ == pytest.approx(fitted.history_[best].value, rel=1e-12)
    changes = [not np.array_equal(*two) for two in pairwise(iterates[best:])]
    assert sum(changes) <= 2
    assert fitted.status_ in ("validated", "converged", "gap_closed", "no_progress", "max_iter")


def test_options_of_a_metric_are_those_of_the_ranker(noisy):
    train, held = noisy
    fitted = SVRank(n=2, validation_metric="tube_cost").fit(**train, **held)
    cost = tube_cost(
        held["y_val"],
        fitted.predict(held["X_val"]),
        qid=held["qid_val"],
        epsilon=fitted.epsilon_,
        n=2,
    )
    assert fitted.validation_scores_[-1] == pytest.approx(-cost)


def test_limits_of_a_hull_that_stopped_early_are_those_of_its_weights(noisy):
    train, held = noisy
    X, y = train["X"], train["y"]
    early = ConvexHullRanker(10.0, patience=1).fit(X, y, **held)
    assert early.best_iteration_ < early.n_iter_
    scores = early.predict(X)
    lower, upper = early.limits_[np.searchsorted(early.limit_labels_, y)].T
    outside = np.maximum(0.0, np.maximum(lower - scores, scores - upper))
    np.testing.assert_allclose(early.slacks_, outside, atol=1e-9)
    value = 10.0 * float(outside @ outside) + 0.5 * float(early.coef_ @ early.coef_)
    assert value == pytest.approx(early.objective_, rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "rows", "complaint"),
    [
        ({"patience": 3}, {}, "patience=3 stops the fit by validation rows.*pass X_val and y_val"),
        ({"patience": 0}, {}, "patience must be at least 1"),
        ({"validation_metric": "accuracy"}, {}, "there is no metric 'accuracy'"),
        ({"validation_metric": "mean_ndcg"}, {"y": -1.0}, "negative|at least 0"),
        (
            {"validation_metric": "kendall_tau"},
            {"y": 0.0},
            "the validation rows have nothing that kendall_tau",
        ),
        (
            {"validation_metric": "msd"},
            {"winner_weight": 1.0},
            "winner_weight_val is given, but msd knows no winner_weight",
        ),
    ],
)
def test_what_cannot_judge_is_refused_before_any_work(noisy, parameters, rows, complaint):
    train, held = noisy
    given = {} if not rows else {**held}
    for name, value in rows.items():
        given[f"{name}_val"] = np.full(len(held["y_val"]), value)
    seen = []
    with pytest.raises(PairrankError, match=complaint):
        RankSVM(**parameters).fit(**train, **given, callback=seen.append)
    assert not seen


def test_text_labels_are_judged_over_the_graph(noisy):
    train, held = noisy
    names = np.array(["bad", "fair", "good", "best"])
    graph = OrderGraph([("bad", "fair"), ("fair", "good"), ("good", "best")])
    text = {**train, "y": names[train["y"].astype(int)]}
    held = {**held, "y_val": names[held["y_val"].astype(int)]}
    fitted = RankSVM(graph=graph, patience=1, validation_metric="wmw").fit(**text, **held)
    assert fitted.validation_scores_.max() > 0.6
    with pytest.raises(PairrankError, match="text"):
        fitted.set_params(validation_metric="kendall_tau").fit(**text, **held)
