"""Many users in one call: shared kernels, processes, interrupts, evaluation, recommendations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from pairrank import ConvexHullRanker, OrderGraph, RankNCG, RankRLS, RankSVM
from pairrank.exceptions import NoPairsError, NoPairsWarning, PairrankError
from pairrank.recommend import Protocol, RatingsTable, evaluate_users, fit_users, recommend
from reproduction.data import load_ratings
from user_problems import KERNELS, PROBLEMS, RATINGS, Impatient, one_by_one, with_a_dull_user

pytestmark = pytest.mark.numeric


RANKERS = {
    "RankSVM": RankSVM(0.1),
    "RankNCG": RankNCG(1.0),
    "RankRLS": RankRLS(10.0),
    "Ridge": Ridge(10.0),
    "pipeline": make_pipeline(StandardScaler(), RankSVM(0.01)),
}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS.keys())
def test_users_are_judged_as_one_by_one(ranker):
    evaluation = evaluate_users(PROBLEMS, ranker)
    for name, values in one_by_one(PROBLEMS, ranker).items():
        np.testing.assert_allclose(evaluation.metrics[name], values, rtol=1e-9)
        assert evaluation.mean(name) == pytest.approx(np.mean(values))
        assert evaluation.spread(name) == pytest.approx(np.std(values, ddof=1))
    assert evaluation.users.tolist() == [problem.user for problem in PROBLEMS]
    assert evaluation.n_train.tolist() == [problem.y_train.size for problem in PROBLEMS]
    assert evaluation.n_test.tolist() == [problem.y_test.size for problem in PROBLEMS]
    assert (evaluation.n_skipped, evaluation.n_unconverged) == (0, 0)
    assert not evaluation.interrupted


def test_accuracy_is_better_than_chance():
    assert evaluate_users(PROBLEMS, RankRLS(10.0)).mean("accuracy") > 0.65


class ThreadCounter(BaseEstimator):
    """A ranker that notes how many threads BLAS has in its fits."""

    most = 0

    def fit(self, X, y):
        threads = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        ThreadCounter.most = max(threads)
        return self

    def predict(self, X):
        return np.asarray(X).sum(axis=1)


def test_blas_has_one_thread_for_a_users_small_matrices():
    with threadpool_limits(2, user_api="blas"):
        before = threadpool_info()
        evaluate_users(PROBLEMS, ThreadCounter())
        assert ThreadCounter.most == 1
        assert threadpool_info() == before


def test_a_callback_gets_the_number_of_finished_users():
    told = []
    evaluate_users(PROBLEMS, RANKERS["RankRLS"], callback=lambda *counts: told.append(counts))
    assert told[-1] == (10, 10)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_an_interrupt_before_any_user_is_an_error_of_an_evaluation():
    Impatient.fits = 0
    with pytest.raises(PairrankError, match="interrupted before any user was done"):
        evaluate_users(PROBLEMS, Impatient(at=1))


@pytest.mark.parametrize("call", [recommend, fit_users])
def test_one_odd_user_is_left_out_by_name_and_the_others_go_on(call):
    options = {"ranker": RankSVM(0.1), "n_references": 15, "baseline": None}
    with pytest.warns(NoPairsWarning, match="left out user 99: too few ratings"):
        found = call(with_a_dull_user(), [3, 99, 7], **options)
    assert found.skipped == [99]
    alone = call(with_a_dull_user(), [3, 7], **options)
    assert alone.skipped == []
    for name in (3, 7):
        served, wanted = (
            each.of(name) if call is recommend else each.predict(name) for each in (found, alone)
        )
        np.testing.assert_array_equal(served, wanted)


def test_nothing_is_recommended_to_a_user_who_rated_all_items_equally():
    ratings = with_a_dull_user()
    found = recommend(ratings, n_references=15, min_support=1, baseline=None)
    assert found.skipped == [99]
    assert 99 not in found.user
    with pytest.raises(NoPairsError, match=r"user 99: .*no preference"):
        recommend(ratings, [99], n_references=15, baseline=None)


def test_nothing_is_recommended_to_a_user_who_rated_what_no_reference_did():
    user, item, rating = RATINGS
    own = np.array([900, 901, 902])
    ratings = (
        np.append(user, np.full(3, 99)), np.append(item, own), np.append(rating, [1.0, 5.0, 3.0])
    )  # fmt: skip
    found = recommend(ratings, n_references=15, min_support=1, baseline=None)
    assert found.skipped == [99]
    assert 99 not in found.user
    for n_references in (15, 1000):
        with pytest.raises(NoPairsError, match=r"user 99: .*no item that others rated"):
            recommend(ratings, [99], n_references=n_references, baseline=None)


@pytest.mark.parametrize("ranker", [RankSVM(0.1), ConvexHullRanker(0.1)], ids=["svm", "hull"])
def test_rankers_get_the_labels_that_their_graph_names(ranker):
    user, item, rating = RATINGS
    ratings = user, item, (rating >= 3.0) * 2.0 - 7.0
    problems = Protocol((8, 60), 15, 3, (30, 70)).draw(ratings, random_state=0)
    found = [
        evaluate_users(problems, clone(ranker).set_params(graph=graph)).metrics["msd"]
        for graph in (OrderGraph([(-7.0, -5.0)]), "full")
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_one_warning_counts_the_fits_that_stopped_early():
    with pytest.warns(ConvergenceWarning, match="10 of 10 users' fits") as told:
        evaluation = evaluate_users(PROBLEMS, RankSVM(1e3, max_iter=1, tol=1e-12))
    assert len(told) == 1
    assert evaluation.n_unconverged == 10


class Talkative(Impatient):
    def fit(self, X, y):
        warnings.warn("a word", UserWarning, stacklevel=2)
        return self


def test_other_warnings_come_through():
    with pytest.warns(UserWarning, match="a word"):
        evaluate_users(PROBLEMS, Talkative())


def test_an_unknown_metric_is_refused_by_name():
    with pytest.raises(PairrankError, match="no metric 'auc'; there are accuracy"):
        evaluate_users(PROBLEMS, RankRLS(10.0)).mean("auc")


@pytest.mark.parametrize("ranker", [RankRLS(10.0), KERNELS["RankRLS rbf"], KERNELS["KernelRidge"]])
def test_recommended_items_are_the_best_of_those_not_rated(ranker):
    table = RatingsTable.build(RATINGS)
    names = table.user_ids[[4, 2]]
    options = {"ranker": ranker, "n_references": 15, "baseline": None}
    found = recommend(RATINGS, names, top=7, min_support=3, **options)
    fitted = fit_users(RATINGS, names, **options)
    assert list(fitted) == names.tolist()
    busiest = np.argsort(-table.counts, kind="stable")[:15]
    references = fitted.setting.shared.references
    assert sorted(busiest) == references.users.tolist()
    for name in names:
        scores = fitted.predict(name)
        rated = table.items_of(table.find_users([name])[0])
        rows = references.rows(rated, user=table.find_users([name])[0])
        own = clone(ranker).fit(rows, table.ratings_of(table.find_users([name])[0]) - 3.0)
        assert np.corrcoef(own.predict(rows), scores[rated])[0, 1] > 0.95
        new = np.setdiff1d(np.flatnonzero(references.support >= 3), rated)
        best = new[np.argsort(-scores[new], kind="stable")[:7]]
        assert found.of(name).tolist() == table.item_ids[best].tolist()
        mine = found.user == name
        assert found.position[mine].tolist() == list(range(1, 8))
        np.testing.assert_allclose(found.score[mine], scores[best])
    assert list(dict.fromkeys(found.user.tolist())) == names.tolist()


def test_scores_can_be_asked_for_by_item():
    fitted = fit_users(RATINGS, [4], n_references=15)
    everything = fitted.predict(4)
    some = fitted.table.item_ids[[5, 0]]
    np.testing.assert_allclose(fitted.predict(4, some), everything[[5, 0]])
    with pytest.raises(PairrankError, match="nobody has rated item 12345"):
        fitted.predict(4, [12345])
    with pytest.raises(PairrankError, match="no ranker of user 5"):
        fitted.predict(5)


def test_a_user_who_has_seen_everything_gets_nothing():
    user, item = (index.ravel() for index in np.indices((12, 6)))
    rating = np.random.default_rng(0).integers(1, 6, user.size)
    there = (user > 0) | (item > 2)
    found = recommend((user[there], item[there], rating[there]), n_references=5, min_support=1)
    assert set(found.user.tolist()) == {0}
    assert len(found.skipped) == 11
    assert sorted(found.item.tolist()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"users": ["nobody"]}, "no ratings of user 'nobody'"),
        ({"users": []}, "no user is named"),
        ({"top": 0}, "top must be at least 1"),
        ({"n_references": 1}, "n_references must be at least 2"),
        ({"min_support": -1}, "min_support must be"),
        ({"impute": "mean"}, "impute must be one of"),
        ({"ratings": ([], [], [])}, "there is no rating"),
        ({"ratings": ([1, 1], [1, 2], [3, 4])}, "user 1 is the only one"),
        (
            {"ratings": ([1, 2, 2], [1, 1, 2], [3, 4, 5]), "users": [1], "baseline": None},
            "user 1: too few ratings",
        ),
        ({"baseline": "popularity"}, "baseline must be one of"),
        ({"ranker": RankSVM(graph=OrderGraph([(1.0, 2.0)]))}, "an OrderGraph names ratings"),
        ({"ranker": RankRLS(1.0, kernel="rbf", gamma=-1.0)}, "gamma must be"),
    ],
)
def test_bad_arguments_of_recommend_are_refused(options, complaint):
    with pytest.raises(PairrankError, match=complaint):
        recommend(**{"ratings": RATINGS, "n_references": 15, **options})


def test_movielens_is_ranked_better_than_by_chance(data_home):
    ratings = load_ratings("ml-100k", data_home)
    problems = Protocol((20, 40), 200, 40).draw(ratings, random_state=0)
    assert evaluate_users(problems, RankRLS(200.0)).mean("accuracy") > 0.53
    found = recommend(ratings, [1, 2], top=3)
    assert found.item.size == 6
