"""RankRLS by iteration: validation rows given and drawn, the ranking error, what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from pairrank import Pairs, QueryKFold, RankRLS
from pairrank.exceptions import PairrankError

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def noisy():
    """Rows with so many features that the minimum overfits: 40 queries to learn from, 20 to see."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 150)) * np.logspace(0, -1, 150)
    y = np.round(X[:, 0] - X[:, 1] + 1.5 * rng.normal(size=600), 1)
    qid = np.repeat(np.arange(60), 10)
    return (X[:400], y[:400], qid[:400]), (X[400:], y[400:], qid[400:])


def given(held):
    return dict(zip(("X_val", "y_val", "qid_val"), held, strict=True))


def test_iterates_are_those_of_conjugate_gradients_without_penalty(noisy):
    (X, y, qid), held = noisy
    early = RankRLS(alpha=1e3, regularization="iteration", patience=4)
    early.fit(X, y, qid=qid, **given(held))
    assert (early.status_, early.n_iter_) == ("validated", early.best_iteration_ + 4)
    assert early.validation_scores_[0] == 0.5
    plain = RankRLS(1e-12, solver="cg", tol=1e-12, max_iter=early.best_iteration_)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        plain.fit(X, y, qid=qid)
    np.testing.assert_allclose(early.coef_, plain.coef_, rtol=1e-6)


def test_several_targets_stop_each_in_its_own_time(noisy):
    (X, y, qid), (X_val, y_val, qid_val) = noisy
    several, several_val = np.column_stack((y, X[:, 3])), np.column_stack((y_val, X_val[:, 3]))
    ranker = RankRLS(regularization="iteration")
    alone = [
        RankRLS(regularization="iteration").fit(
            X, several[:, k], qid=qid, X_val=X_val, y_val=several_val[:, k], qid_val=qid_val
        )
        for k in range(2)
    ]
    ranker.fit(X, several, qid=qid, X_val=X_val, y_val=several_val, qid_val=qid_val)
    assert ranker.validation_scores_.shape == (2, max(one.n_iter_ for one in alone) + 1)
    for coef, curve, one in zip(ranker.coef_, ranker.validation_scores_, alone, strict=True):
        np.testing.assert_array_equal(coef, one.coef_)
        np.testing.assert_array_equal(curve[: one.n_iter_ + 1], one.validation_scores_)
        assert np.isnan(curve[one.n_iter_ + 1 :]).all()


def test_comparisons_may_count_fewer_rows_than_there_are(noisy):
    (X, y, qid), _ = noisy
    i = np.arange(0, 300, 2)
    pairs = Pairs(np.where(y[i] > y[i + 1], i, i + 1), np.where(y[i] > y[i + 1], i + 1, i))
    same = Pairs(pairs.i, pairs.j, n_rows=400)
    for queries in (None, qid):
        ranker = RankRLS(regularization="iteration")
        fewer, all_rows = (ranker.fit(X, some, qid=queries).coef_ for some in (pairs, same))
        np.testing.assert_array_equal(fewer, all_rows)
    with pytest.raises(PairrankError, match="different queries"):
        ranker.fit(X, pairs, X_val=X, y_val=Pairs([0], [399]), qid_val=qid)
    with pytest.raises(PairrankError, match="count 401 rows"):
        ranker.fit(X, pairs, X_val=X, y_val=Pairs([0], [400]))


def test_a_validation_query_of_one_level_is_left_out_and_rows_without_use_are_refused(noisy):
    (X, y, qid), (X_val, y_val, qid_val) = noisy
    flat = np.where(qid_val < 42, 1.0, y_val)
    ranker = RankRLS(regularization="iteration")
    ranker.fit(X, y, qid=qid, X_val=X_val, y_val=flat, qid_val=qid_val)
    kept = qid_val >= 42
    fewer = RankRLS(regularization="iteration").fit(
        X, y, qid=qid, X_val=X_val[kept], y_val=y_val[kept], qid_val=qid_val[kept]
    )
    np.testing.assert_array_equal(ranker.coef_, fewer.coef_)
    with pytest.raises(PairrankError, match="rows of at least two labels in a query"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=np.full(200, 2.0), qid_val=qid_val)
    with pytest.raises(PairrankError, match="rows of at least two labels in a query"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=np.full(200, 2.0))
    with pytest.raises(PairrankError, match="nothing that pairwise_accuracy can judge"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=Pairs([0], [1], magnitude=[0.0]))
    with pytest.raises(PairrankError, match="y_val has 3 targets, but y 2"):
        RankRLS().fit(X, np.column_stack((y, y)), X_val=X[:4], y_val=np.ones((4, 3)))


def test_an_interrupt_leaves_the_best_validated_iterate(noisy, interrupt_at):
    (X, y, qid), held = noisy
    whole = RankRLS(regularization="iteration").fit(X, y, qid=qid, **given(held))
    ranker, late = RankRLS(regularization="iteration"), interrupt_at(whole.best_iteration_ + 2)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker.fit(X, y, qid=qid, **given(held), callback=late)
    np.testing.assert_array_equal(ranker.coef_, whole.coef_)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_amiss_but_that_repeated_rows_are_drawn_apart():
    results = check_estimator(RankRLS(regularization="iteration"), on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    drawn = "check_sample_weight_equivalence_on_{}_data"
    assert failed <= {drawn.format("dense"), drawn.format("sparse")}


@pytest.mark.parametrize("regularization", ["iteration", "hybrid"])
def test_a_grid_search_over_queries_draws_in_every_fold(noisy, regularization):
    (X, y, qid), _ = noisy
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            RankRLS(regularization=regularization),
            {"alpha": [0.1, 10.0], "patience": [2, 5]},
            cv=QueryKFold(4),
            error_score="raise",
        ).fit(X, y, qid=qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.score(X, y, qid=qid) > 0.6


def test_single_queries_and_comparisons_are_drawn_by_rows(noisy):
    (X, y, _), _ = noisy
    assert cross_val_score(RankRLS(regularization="iteration"), X, y, cv=3).min() > 0.6
    order = np.argsort(y)
    pairs = Pairs(order[200:], order[:200], n_rows=400)
    ranker = RankRLS(regularization="iteration").fit(X, pairs)
    assert ranker.n_pairs_ == 180
    assert ranker.score(X, pairs) > 0.8
