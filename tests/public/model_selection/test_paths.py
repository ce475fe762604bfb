"""Regularisation paths, RankSVMCV and RankNCGCV against cold fits, one value at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairrank import (
    GreedyRankRLS,
    OrderGraph,
    Pairs,
    PairwiseClassifier,
    QueryKFold,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    load_model,
    regularization_path,
)
from pairrank.exceptions import NoPairsError, NoPairsWarning, PairrankError
from pairrank.metrics import mean_ndcg, pairwise_accuracy
from pairrank.model_selection import make_query_scorer

pytestmark = pytest.mark.numeric

GRID = [1e-3, 1e-1, 10.0]


def halves(judged):
    X, y, qid = judged
    train = qid < 6
    return (X[train], y[train], qid[train]), (X[~train], y[~train], qid[~train])


def test_a_path_is_one_cold_fit_per_value(judged):
    (X, y, qid), (X_val, y_val, qid_val) = halves(judged)
    ranker = RankSVM(tol=1e-8)
    path = regularization_path(
        ranker, X, y, values=GRID[::-1], qid=qid, X_val=X_val, y_val=y_val, qid_val=qid_val
    )
    assert path.values.tolist() == GRID
    assert path.n_iters.shape == (3,)
    for C, coef, score in zip(GRID, path.coefs, path.scores, strict=True):
        cold = RankSVM(C, tol=1e-8).fit(X, y, qid=qid)
        assert coef == pytest.approx(cold.coef_, rel=1e-4, abs=1e-6)
        assert score == pytest.approx(cold.score(X_val, y_val, qid=qid_val), abs=2e-3)
    assert path.best_index == int(np.argmax(path.scores))
    assert path.best_score == path.scores.max()
    assert path.best_params == {"C": GRID[path.best_index]}
    assert (path.best_estimator.coef_ == path.coefs[path.best_index]).all()
    assert (
        path.best_estimator.get_params()
        == clone(ranker).set_params(**path.best_params).get_params()
    )
    assert not hasattr(ranker, "coef_")


def test_a_path_starts_each_fit_from_the_last(judged):
    X, y, qid = judged
    values = [1.0, 1.0000001]
    cold = RankSVM(values[1], tol=1e-6).fit(X, y, qid=qid)
    warm = regularization_path(RankSVM(tol=1e-6), X, y, values=values, qid=qid, warm_start=True)
    assert warm.n_iters[1] < cold.n_iter_
    again = regularization_path(RankSVM(tol=1e-6), X, y, values=values, qid=qid)
    assert (again.coefs[1] == cold.coef_).all()


def test_warm_starts_reach_the_solution_of_cold_fits(judged):
    X, y, qid = judged
    X = np.column_stack((X, X[:, 0] + 0.05 * X[:, 2]))
    values = 2.0 ** np.arange(-12, 9)
    path = regularization_path(RankSVM(), X, y, values=values, qid=qid, warm_start=True)
    for C, coef in zip(path.values[::2], path.coefs[::2], strict=True):
        exact = RankSVM(C, tol=1e-9).fit(X, y, qid=qid)
        near = RankSVM(C, tol=1e9, warm_start=True)
        near.coef_ = coef
        assert near.fit(X, y, qid=qid).objective_ <= exact.objective_ * (1 + 1e-4)


def test_the_papers_search_is_one_call(judged):
    (X, y, qid), (X_val, y_val, qid_val) = halves(judged)
    validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
    path = regularization_path(RankSVM(), X, y, qid=qid, **validation, scoring="mean_ndcg")
    assert path.values.tolist() == [2.0**power for power in range(-15, 11)]
    assert path.scores == pytest.approx(
        [mean_ndcg(y_val, X_val @ coef, qid=qid_val) for coef in path.coefs]
    )


def test_a_path_without_validation_rows_picks_nothing(judged):
    X, y, qid = judged
    path = regularization_path(RankSVM(), X, y, values=GRID, qid=qid)
    assert path.scores is path.best_index is path.best_estimator is None
    for attribute in ("best_value", "best_score", "best_params"):
        with pytest.raises(NoPairsError, match="X_val and y_val"):
            getattr(path, attribute)
    with pytest.warns(NoPairsWarning):
        blind = regularization_path(
            RankSVM(), X, y, values=[1.0], qid=qid, X_val=X[:2], y_val=[1, 1]
        )
    assert blind.best_index is None
    assert math.isnan(blind.scores[0])


def test_a_path_through_a_pipeline_and_weights(judged):
    (X, y, qid), (X_val, y_val, qid_val) = halves(judged)
    weight = 1.0 + np.arange(y.size) % 3
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), RankSVM())
        path = regularization_path(
            model, X, y, param="ranksvm__C", values=GRID, qid=qid, sample_weight=weight,
            X_val=X_val, y_val=y_val, qid_val=qid_val,
        )  # fmt: skip
        assert path.best_params == {"ranksvm__C": path.best_value}
        assert path.best_estimator[-1].warm_start is False
    Xs = StandardScaler().fit_transform(X)
    cold = RankSVM(GRID[0]).fit(Xs, y, qid=qid, sample_weight=weight)
    assert path.coefs[0] == pytest.approx(cold.coef_)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"values": []}, "no values"),
        ({"param": "alpha"}, "no parameter 'alpha'"),
        ({"X_val": [[0.0]]}, "both X_val and y_val"),
        ({"y_val": [0.0]}, "both X_val and y_val"),
        ({"scoring": "accuracy"}, "no metric"),
        ({"values": [-1.0]}, "C must be"),
    ],
)
def test_a_path_refuses_bad_arguments(arguments, complaint, judged):
    X, y, qid = judged
    with pytest.raises(PairrankError, match=complaint):
        regularization_path(RankSVM(), X, y, qid=qid, **arguments)


def interrupt(monkeypatch, at: int, how: str) -> None:
    """Let Ctrl-C come at the fit of this number: inside it, or after it."""
    fit, fits = RankSVM.fit, []

    def fit_until(self, *arguments, **options):
        fits.append(fit(self, *arguments, **options))
        if len(fits) == at and how == "inside":
            self.status_, self.coef_ = "interrupted", -self.coef_
        elif len(fits) == at:
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(RankSVM, "fit", fit_until)


@pytest.mark.parametrize("how", ["inside", "after"])
@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_control_c_leaves_the_finished_values_of_a_path(judged, monkeypatch, how, at, sign):
    X, y, qid = judged
    scorer = make_query_scorer(pairwise_accuracy, greater_is_better=sign > 0)
    validation = {"X_val": X, "y_val": y, "qid_val": qid, "scoring": scorer}
    whole = regularization_path(RankSVM(), X, y, values=GRID, qid=qid, **validation)
    assert not whole.interrupted
    interrupt(monkeypatch, at, how)
    path = regularization_path(RankSVM(), X, y, values=GRID, qid=qid, **validation)
    assert path.interrupted
    assert path.values.tolist() == GRID[: at - 1]
    assert (path.coefs == whole.coefs[: at - 1]).all()
    assert (path.scores == whole.scores[: at - 1]).all()
    assert path.n_iters.tolist() == whole.n_iters[: at - 1].tolist()
    assert path.best_index == int(np.argmax(path.scores))
    assert (path.best_estimator.coef_ == path.coefs[path.best_index]).all()


def test_control_c_in_the_first_fit_leaves_its_weights_so_far(judged, monkeypatch):
    X, y, qid = judged
    validation = {"X_val": X, "y_val": y, "qid_val": qid}
    interrupt(monkeypatch, 1, "inside")
    path = regularization_path(RankSVM(), X, y, values=GRID, qid=qid, **validation)
    assert path.interrupted
    assert path.best_value == GRID[0]
    interrupt(monkeypatch, 1, "after")
    with pytest.raises(KeyboardInterrupt):
        regularization_path(RankSVM(), X, y, values=GRID, qid=qid, **validation)


@pytest.mark.parametrize("Cs", [[1.0], GRID])
def test_control_c_ends_the_search(judged, monkeypatch, Cs):
    X, y, qid = judged
    interrupt(monkeypatch, len(Cs), "inside")
    with pytest.raises(KeyboardInterrupt, match="before its folds could be compared"):
        RankSVMCV(Cs, cv=2).fit(X, y, qid=qid)


def test_a_plain_callable_gets_the_metadata_in_its_signature(judged):
    X, y, qid = judged
    weight = np.ones(y.size)
    handed = []

    def plain(estimator, X, y):
        handed.append(())
        return 1.0

    def with_queries(estimator, X, y, qid=None):
        handed.append(("qid",) if qid is not None else ())
        return 1.0

    def with_all(estimator, X, y, **rows):
        handed.append(tuple(rows))
        return 1.0

    for scorer in (plain, with_queries, with_all, make_scorer(pairwise_accuracy)):
        RankSVMCV([1.0], cv=2, scoring=scorer).fit(X, y, qid=qid, sample_weight=weight)
    assert handed[::2] == handed[1::2] == [(), ("qid",), ("qid", "sample_weight")]


def test_the_search_scores_every_fold_and_refits(judged):
    X, y, qid = judged
    search = RankSVMCV(GRID, cv=3, tol=1e-6).fit(X, y, qid=qid)
    assert search.validation_scores_.shape == (3, 3)
    for fold, (train, test) in enumerate(QueryKFold(3).split(X, qid=qid)):
        for place, C in enumerate(GRID):
            cold = RankSVM(C, tol=1e-6).fit(X[train], y[train], qid=qid[train])
            wanted = cold.score(X[test], y[test], qid=qid[test])
            assert search.validation_scores_[fold, place] == pytest.approx(wanted, abs=2e-3)
    assert GRID[int(np.argmax(search.validation_scores_.mean(axis=0)))] == search.C_
    assert search.best_score_ == pytest.approx(search.validation_scores_.mean(axis=0).max())
    best = RankSVM(search.C_, tol=1e-6).fit(X, y, qid=qid)
    assert (search.coef_ == best.coef_).all()
    assert (search.predict(X) == best.predict(X)).all()
    assert (search.rank(X, qid=qid) == best.rank(X, qid=qid)).all()
    assert search.score(X, y, qid=qid) == best.score(X, y, qid=qid)
    assert search.n_pairs_ == best.n_pairs_


def test_the_search_takes_any_folds_and_scorer(judged):
    X, y, qid = judged
    by_int = RankSVMCV(GRID, cv=np.int64(5), scoring="mean_ndcg").fit(X, y, qid=qid)
    scorer = make_query_scorer(mean_ndcg)
    stated = RankSVMCV(GRID, cv=QueryKFold(5), scoring=scorer).fit(X, y, qid=qid)
    listed = list(QueryKFold(5).split(X, qid=qid))
    given = RankSVMCV(GRID, cv=listed, scoring="mean_ndcg").fit(X, y, qid=qid)
    assert (by_int.validation_scores_ == stated.validation_scores_).all()
    assert (by_int.validation_scores_ == given.validation_scores_).all()
    grouped = RankSVMCV(GRID, cv=GroupKFold(2)).fit(X, y, qid=qid)
    assert grouped.validation_scores_.shape == (2, 3)


@pytest.mark.parametrize("kind", [KFold, RepeatedKFold, LeaveOneGroupOut])
def test_a_splitter_that_has_no_use_for_queries_is_not_warned_about(judged, kind):
    X, y, qid = judged
    cv = kind() if kind is LeaveOneGroupOut else kind(n_splits=2)
    search = RankSVMCV([1.0], cv=cv).fit(X, y, qid=qid)
    groups = qid if kind is LeaveOneGroupOut else None
    assert len(search.validation_scores_) == cv.get_n_splits(X, y, groups)


def test_the_search_without_queries_folds_the_rows(judged):
    X, y, _ = judged
    first, second = (RankSVMCV(GRID, cv=3).fit(X, y) for _ in "12")
    assert (first.validation_scores_ == second.validation_scores_).all()
    other = RankSVMCV(GRID, cv=3, random_state=7).fit(X, y)
    assert (first.validation_scores_ != other.validation_scores_).any()
    rare = np.zeros(y.size)
    rare[:3] = 1.0
    assert not np.isnan(RankSVMCV(GRID, cv=3).fit(X, rare).validation_scores_).any()
    i, j = np.nonzero(y[:, None] > y[None, :])
    of_pairs = RankSVMCV(GRID, cv=3).fit(X, Pairs(i, j, n_rows=y.size))
    assert of_pairs.best_score_ == pytest.approx(first.best_score_, abs=0.05)
    for cv in (1, y.size + 1):
        with pytest.raises(PairrankError, match="cv"):
            RankSVMCV(GRID, cv=cv).fit(X, y)
    with pytest.raises(PairrankError, match="take fewer folds"):
        RankSVMCV(GRID, cv=30).fit(X, y, qid=np.arange(y.size) // 20)


def test_the_search_judges_by_its_own_graph(judged):
    X, y, qid = judged
    names = np.array(["bad", "poor", "fair", "good", "best"])[y.astype(int)]
    graph = OrderGraph([("bad", "fair"), ("poor", "fair"), ("fair", "good"), ("good", "best")])
    search = RankSVMCV(GRID, cv=2, graph=graph).fit(X, names, qid=qid)
    assert 0.5 < search.best_score_ <= 1.0


def test_a_fold_without_a_pair_to_judge_by_is_left_out():
    X = np.arange(12.0)[:, None] % 4
    y, qid = X[:, 0].copy(), np.repeat([0, 1, 2], 4)
    y[8:] = 1.0
    search = RankSVMCV(GRID, cv=3).fit(X, y, qid=qid)
    assert np.isnan(search.validation_scores_[2]).all()
    assert search.best_score_ == 1.0
    taught_nothing = [(np.arange(8, 12), np.arange(8)), (np.arange(4), np.arange(4, 8))]
    search = RankSVMCV(GRID, cv=taught_nothing).fit(X, y, qid=qid)
    assert np.isnan(search.validation_scores_[0]).all()
    assert search.best_score_ == 1.0
    with pytest.raises(NoPairsError, match="fewer folds"):
        RankSVMCV(GRID, cv=[(np.arange(8), np.arange(8, 12))]).fit(X, y, qid=qid)


def test_the_search_carries_queries_within_a_search(judged):
    X, y, qid = judged
    with config_context(enable_metadata_routing=True):
        search = RankSVMCV(GRID, cv=2)
        scores = cross_val_score(search, X, y, cv=QueryKFold(2), params={"qid": qid})
    for score, (train, test) in zip(scores, QueryKFold(2).split(X, qid=qid), strict=True):
        inner = clone(search).fit(X[train], y[train], qid=qid[train])
        assert score == pytest.approx(inner.score(X[test], y[test], qid=qid[test]), rel=1e-12)


@pytest.mark.parametrize(
    ("search", "complaint"),
    [
        (RankSVMCV([1.0, 0.0]), "Cs must be finite and greater than 0"),
        (RankNCGCV([0.0, 1.0]), "alphas must be finite and greater than 0"),
        (RankSVMCV([]), "no values"),
        (RankSVMCV(scoring="accuracy"), "no metric"),
        (RankSVMCV(tol=-1.0), "tol must be"),
        (RankNCGCV(eps=2.0), "eps must be below 1"),
        (RankNCGCV(covariance="queries"), "pass qid"),
        (RankRLSCV([1.0, 0.0]), "alphas must be finite and greater than 0"),
        (RankRLSCV([]), "no values"),
        (RankRLSCV(scoring="accuracy"), "no metric"),
        (RankRLSCV(cv=300), "cannot make 300 folds"),
        (RankRLSCV(cv="loo"), "cv must be one of"),
        (RankRLSCV(cv="leave-pair-out", scoring="mean_ndcg"), "margins only"),
        (RankRLSCV(kernel="tanh"), "kernel"),
    ],
    ids=str,
)
def test_the_search_refuses_before_any_work(search, complaint, judged):
    X, y, _ = judged
    with pytest.raises(PairrankError, match=complaint):
        search.fit(X, y)


@parametrize_with_checks(
    [
        RankNCGCV([0.1, 1.0], cv=2),
        RankRLSCV([0.1, 1.0], cv=2),
        GreedyRankRLS(1, cv=2),
        PairwiseClassifier(RankRLS(), method="isotonic", cv=3),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("search", [RankNCGCV([0.1, 1.0], cv=2), RankRLSCV([0.1, 1.0])], ids=str)
def test_a_saved_search_is_its_best_ranker(judged, search, tmp_path):
    X, y, qid = judged
    search.fit(X, y, qid=qid).save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is type(search.best_estimator_)
    assert repr(loaded) == repr(search.best_estimator_)
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    np.testing.assert_array_equal(search.decision_function(X), search.predict(X))


def test_a_search_over_alpha_has_the_probabilities_of_its_ranker(judged):
    X, y, qid = judged
    search = RankNCGCV(GRID[::-1], cv=3, loss="raykar", scoring="wmw").fit(X, y, qid=qid)
    assert search.alphas_.tolist() == GRID
    best = RankNCG(search.alpha_, loss="raykar").fit(X, y, qid=qid)
    assert search.best_estimator_.get_params() == best.get_params()
    proba = best.predict_pair_proba(X[:9], X[9:18])
    assert (search.predict_pair_proba(X[:9], X[9:18]) == proba).all()


@pytest.mark.parametrize(
    ("search", "ranker", "param", "best"),
    [(RankSVMCV, RankSVM(), "C", 0.1), (RankNCGCV, RankNCG(), "alpha", 10.0)],
)
def test_of_equal_scores_the_strongest_regularisation_is_chosen(search, ranker, param, best):
    X, values = np.arange(16.0)[:, None] % 4, [0.1, 1.0, 10.0]
    y, qid = X[:, 0], np.repeat([0, 1, 2, 3], 4)
    found = search(values, cv=2).fit(X, y, qid=qid)
    path = regularization_path(ranker, X, y, param=param, values=values, X_val=X, y_val=y)
    assert path.scores.tolist() == [1.0, 1.0, 1.0]
    assert path.best_value == getattr(path.best_estimator, param) == best
    assert getattr(found, f"{param}_") == best
