"""RankRLSCV: what is left out in closed form equals refits, for rows, comparisons and kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold

from pairrank import GreedyRankRLS, Kernel, Pairs, QueryKFold, RankRLS, RankRLSCV
from pairrank.exceptions import NoPairsError, PairrankError, PairrankWarning
from pairrank.metrics import kendall_tau, mean_ndcg, pairwise_accuracy
from rls_definitions import refit

pytestmark = pytest.mark.numeric

ALPHAS = np.array([2.0**-10, 0.5, 30.0])


@pytest.mark.parametrize(
    ("scoring", "metric"),
    [
        ("pairwise_accuracy", pairwise_accuracy),
        ("mean_ndcg", mean_ndcg),
        ("kendall_tau", kendall_tau),
    ],
)
def test_the_search_scores_what_refits_predict(judged, scoring, metric):
    X, y, qid = judged
    weight = 1.0 + qid % 3
    search = RankRLSCV(ALPHAS, scoring=scoring).fit(X, y, qid=qid, sample_weight=weight)
    assert search.cv_ == "leave-query-out"
    assert search.validation_scores_.shape == (1, 3)
    for at, alpha in enumerate(ALPHAS):
        predicted = np.empty(y.size)
        for query in np.unique(qid):
            rest = qid != query
            ranker = RankRLS(alpha, solver="direct")
            ranker.fit(X[rest], y[rest], qid=qid[rest], sample_weight=weight[rest])
            predicted[~rest] = ranker.predict(X[~rest])
        wanted = metric(y, predicted, qid=qid, sample_weight=weight)
        assert search.validation_scores_[0, at] == pytest.approx(wanted, abs=1e-12)
    final = RankRLS(search.alpha_, solver="direct").fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(search.coef_, final.coef_, rtol=1e-9)
    assert search.n_pairs_ == final.n_pairs_
    assert search.score(X, y, qid=qid) == pytest.approx(final.score(X, y, qid=qid))


def test_folds_are_refits_of_their_training_rows(judged):
    X, y, qid = judged
    search = RankRLSCV(ALPHAS, cv=3).fit(X, y, qid=qid)
    assert search.validation_scores_.shape == (3, 3)
    for fold, (train, test) in enumerate(QueryKFold(3).split(X, qid=qid)):
        for at, alpha in enumerate(ALPHAS):
            ranker = RankRLS(alpha, solver="direct").fit(X[train], y[train], qid=qid[train])
            wanted = ranker.score(X[test], y[test], qid=qid[test])
            assert search.validation_scores_[fold, at] == pytest.approx(wanted, abs=1e-9)
    assert search.best_score_ == pytest.approx(search.validation_scores_.mean(axis=0).max())
    listed = list(QueryKFold(3).split(X, qid=qid))
    again = RankRLSCV(ALPHAS, cv=listed).fit(X, y, qid=qid)
    assert (again.validation_scores_ == search.validation_scores_).all()
    assert RankRLSCV(ALPHAS, cv=GroupKFold(2)).fit(X, y, qid=qid).validation_scores_.shape == (2, 3)
    rows = RankRLSCV(ALPHAS, cv=4, random_state=3).fit(X, y)
    assert rows.validation_scores_.shape == (4, 3)


def test_a_search_of_one_query_leaves_pairs_out_while_that_is_cheap():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1001, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=1001)
    assert RankRLSCV(ALPHAS).fit(X[:60], y[:60]).cv_ == "leave-pair-out"
    assert RankRLSCV(ALPHAS).fit(X, y).cv_ == 5


def test_rows_without_differences_are_ties():
    X, y = np.full((6, 3), 0.1), np.arange(6.0)
    assert RankRLSCV([1.0], cv="leave-pair-out").fit(X, y).best_score_ == 0.5
    qid = [0, 0, 0, 1, 1, 1]
    assert RankRLSCV([1.0]).fit(X, y, qid=qid).best_score_ == 0.5
    doubled = np.repeat([[0.0], [1.0]], 3, axis=0)
    same = RankRLSCV([1.0], cv="leave-pair-out").fit(doubled, [0, 1, 2, 0, 1, 2]).best_score_
    assert same == pytest.approx(refit_share(doubled, np.array([0, 1, 2, 0, 1, 2.0])), abs=1e-12)


def refit_share(X, y, qid=None, weight=None, alpha=1.0):
    """Return the leave-pair-out accuracy, refit by refit."""
    qid, weight = (np.ones(y.size) if given is None else given for given in (qid, weight))
    credit, pairs = [], np.argwhere((y[:, None] > y) & (qid[:, None] == qid))
    for i, j in pairs:
        rest = ~np.isin(np.arange(y.size), (i, j))
        coef = refit(X[rest], y[rest, None], qid[rest], weight[rest], alpha)
        margin = float(((X[i] - X[j]) @ coef)[0])
        credit.append(0.5 if abs(margin) < 1e-12 else margin > 0)
    return np.average(credit, weights=weight[pairs].prod(axis=1))


@pytest.mark.parametrize("n_queries", [1, 2])
def test_a_small_alpha_loses_no_pair_of_wide_rows(n_queries):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = rng.normal(size=(12, 30)), rng.integers(0, 4, 12).astype(float)
        qid, weight = np.arange(12) % n_queries, rng.exponential(size=12)
        search = RankRLSCV([1e-9, 1e-6, 1e-4], cv="leave-pair-out")
        found = search.fit(X, y, qid=qid, sample_weight=weight).validation_scores_
        wanted = refit_share(X, y, qid, weight, 1e-6)
        np.testing.assert_allclose(found, np.full((1, 3), wanted), atol=1e-9)


def test_a_single_comparison_leaves_nothing_to_learn_from():
    for alpha in (1e-9, 1.0):
        assert RankRLSCV(alpha).fit([[0.0], [1e5]], Pairs([1], [0])).best_score_ == 0.5


def test_a_warning_says_that_two_rows_lose_digits():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(16, 3))
    X[:, 2] = np.where(np.arange(16) == 7, 3e4, 0.0)
    with pytest.warns(PairrankWarning, match="scale the features"):
        RankRLSCV(2.0**-10, cv="leave-pair-out").fit(X, np.arange(16) % 3)
    RankRLSCV(2.0**-10, cv="leave-pair-out").fit(X / 3e4, np.arange(16) % 3)
    wide = 50 * rng.normal(size=(100, 300))
    RankRLSCV(2.0**-10, cv="leave-pair-out").fit(wide, np.arange(100) % 3)


@pytest.mark.parametrize("n_features", [2, 30])
def test_pairs_of_equal_rows_are_ties(n_features):
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(8, n_features)), 2, axis=0)
    y = rng.integers(0, 3, 16).astype(float)
    y[::2] = y[1::2] + 1
    share = RankRLSCV([1.0], cv="leave-pair-out").fit(X, y).best_score_
    assert share == pytest.approx(refit_share(X, y), abs=1e-12)


def test_a_query_of_two_rows_goes_as_a_whole():
    for X in (np.zeros((2, 1)), np.array([[1.0], [4.0]])):
        search = RankRLSCV([1.0], cv="leave-pair-out").fit(X, [0, 1], sample_weight=[9.0, 16.0])
        assert search.best_score_ == 0.5


def test_several_targets_share_an_alpha(judged):
    X, y, qid = judged
    Y = np.column_stack((y, X[:, 1] - 5 * y, np.random.default_rng(1).normal(size=y.size)))
    shared = RankRLSCV().fit(X, Y, qid=qid)
    assert shared.validation_scores_.shape == (1, 21, 3)
    for target, column in enumerate(Y.T):
        alone = RankRLSCV().fit(X, column, qid=qid).validation_scores_
        np.testing.assert_allclose(shared.validation_scores_[:, :, target], alone)
    means = shared.validation_scores_[0].mean(axis=1)
    assert shared.best_score_ == pytest.approx(means.max())
    assert shared.alpha_ == shared.alphas_[np.flatnonzero(means == means.max())[-1]]
    assert shared.predict(X).shape == (y.size, 3)
    folds = RankRLSCV(cv=2).fit(X, Y, qid=qid)
    assert folds.validation_scores_.shape == (2, 21, 3)


def test_comparisons_are_left_out_one_by_one_by_queries_or_in_folds(judged):
    X, y, qid = judged
    i, j = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    pairs = Pairs(i, j, magnitude=y[i] - y[j], n_rows=y.size)
    one = RankRLSCV(ALPHAS).fit(X, pairs)
    assert one.cv_ == "leave-pair-out"
    by_query = RankRLSCV(ALPHAS).fit(X, pairs, qid=qid)
    assert by_query.cv_ == "leave-query-out"
    in_folds = RankRLSCV(ALPHAS, cv=QueryKFold(10)).fit(X, pairs, qid=qid)
    sizes = [test.size for _, test in QueryKFold(10).split(i, qid=qid[i])]
    shares = in_folds.validation_scores_.T @ sizes / i.size
    np.testing.assert_allclose(by_query.validation_scores_[0], shares, atol=1e-9)
    final = RankRLS(by_query.alpha_, solver="direct").fit(X, pairs)
    np.testing.assert_allclose(by_query.coef_, final.coef_, rtol=1e-8)
    assert by_query.n_pairs_ == i.size


def test_kernels_are_left_out_as_rows_are(judged):
    X, y, qid = judged
    X, y, qid = X[:60] / [1, 1, 1, 10, 0.1], y[:60], qid[:60]
    search = RankRLSCV(ALPHAS, kernel=Kernel("rbf", gamma=0.2)).fit(X, y, qid=qid)
    K = rbf_kernel(X, gamma=0.2)
    given = RankRLSCV(ALPHAS, kernel="precomputed").fit(K, y, qid=qid)
    np.testing.assert_allclose(search.validation_scores_, given.validation_scores_, atol=1e-12)
    np.testing.assert_allclose(search.predict(X), given.predict(K), atol=1e-7)
    for at, alpha in enumerate(ALPHAS):
        predicted = np.empty(y.size)
        for query in np.unique(qid):
            rest = qid != query
            ranker = RankRLS(alpha, kernel=Kernel("rbf", gamma=0.2), solver="direct")
            predicted[~rest] = ranker.fit(X[rest], y[rest], qid=qid[rest]).predict(X[~rest])
        wanted = pairwise_accuracy(y, predicted, qid=qid)
        assert search.validation_scores_[0, at] == pytest.approx(wanted, abs=1e-9)
    ranker = given.best_estimator_
    np.testing.assert_allclose(ranker.predict(K), given.predict(K))


def test_too_few_units_to_leave_out_are_refused(judged):
    X, y, _ = judged
    with pytest.raises(PairrankError, match="two queries"):
        RankRLSCV(cv="leave-query-out").fit(X, y)
    with pytest.raises(NoPairsError, match="one class"):
        RankRLSCV().fit(X, np.ones(y.size))
    with pytest.raises(PairrankError, match="text"):
        RankRLSCV().fit(X, np.array(["a", "b"])[(y > 1).astype(int)])
    rows = np.argsort(y, kind="stable")
    untaught, unjudged, whole = (rows[:3], rows[3:]), (rows[3:], rows[:3]), (rows[::2], rows[1::2])
    for cv in ([untaught], [unjudged]):
        with pytest.raises(NoPairsError, match="fewer folds"):
            RankRLSCV(cv=cv).fit(X, y)
    search = RankRLSCV(ALPHAS, cv=[untaught, unjudged, whole]).fit(X, y)
    assert np.isnan(search.validation_scores_).tolist() == [[True] * 3, [True] * 3, [False] * 3]
    assert search.best_score_ == search.validation_scores_[2].max()


@pytest.mark.parametrize("n_features", [3, 30])
@pytest.mark.parametrize("search", [RankRLSCV(), GreedyRankRLS(), GreedyRankRLS(cv=2)])
def test_overflow_is_an_error_without_a_warning(search, n_features):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, n_features)), rng.integers(0, 3, (20, 2))
    with pytest.raises(PairrankError, match="overflow: scale"):
        search.fit(1e160 * X, y, qid=rng.integers(0, 4, 20))
