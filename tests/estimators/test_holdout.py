"""RankRLS by iteration: validation rows given and drawn, the ranking error, what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from pairrank import Pairs, QueryKFold, RankRLS
from pairrank._protocols import Step
from pairrank.estimators._rows import (
    RankingAccuracy,
    Rows,
    Watch,
    draw_held_rows,
    row_scores,
)
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.metrics import pairwise_accuracy

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


def ranking_error(y, scores, qid):
    """Eq. 1 of the paper, pair by pair."""
    errors = []
    for query in sorted(set(qid)):
        inside = np.flatnonzero(qid == query)
        pairs = [(j, k) for j in inside for k in inside if y[j] < y[k]]
        if pairs:
            gaps = np.array([scores[j] - scores[k] for j, k in pairs])
            errors.append(np.mean((gaps > 0) + 0.5 * (gaps == 0)))
    return np.mean(errors)


def test_the_best_validated_iterate_is_kept_and_patience_ends_the_rest(noisy):
    (X, y, qid), held = noisy
    ranker = RankRLS(regularization="iteration", patience=4)
    iterates = []
    ranker.fit(X, y, qid=qid, **given(held), callback=lambda step: iterates.append(step.coef))
    errors = [ranking_error(held[1], held[0] @ coef, held[2]) for coef in iterates]
    np.testing.assert_allclose(1 - ranker.validation_scores_, errors)
    best = int(np.argmin(errors))
    assert ranker.best_iteration_ == best
    assert ranker.n_iter_ == best + 4
    assert ranker.status_ == "validated"
    np.testing.assert_array_equal(ranker.coef_, iterates[best])
    assert ranker.objective_ == ranker.history_[best].value
    assert errors[0] == 0.5


def test_stopping_early_is_better_than_the_minimum(noisy):
    (X, y, qid), held = noisy
    early = RankRLS(regularization="iteration").fit(X, y, qid=qid, **given(held))
    late = RankRLS(1e-9).fit(X, y, qid=qid)
    assert early.score(held[0], held[1], qid=held[2]) > late.score(held[0], held[1], qid=held[2])


def test_iterates_are_those_of_conjugate_gradients_without_penalty(noisy):
    (X, y, qid), held = noisy
    early = RankRLS(alpha=1e3, regularization="iteration").fit(X, y, qid=qid, **given(held))
    plain = RankRLS(1e-12, solver="cg", tol=1e-12, max_iter=early.best_iteration_)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        plain.fit(X, y, qid=qid)
    np.testing.assert_allclose(early.coef_, plain.coef_, rtol=1e-6)


def test_the_hybrid_has_a_penalty_and_stops_early(noisy):
    (X, y, qid), held = noisy
    hybrid = RankRLS(10.0, regularization="hybrid").fit(X, y, qid=qid, **given(held))
    iterates = []
    RankRLS(10.0, solver="cg", tol=1e-12).fit(
        X, y, qid=qid, callback=lambda step: iterates.append(step.coef)
    )
    np.testing.assert_allclose(hybrid.coef_, iterates[hybrid.best_iteration_], rtol=1e-9)
    assert hybrid.n_iter_ <= hybrid.best_iteration_ + 10


@pytest.mark.parametrize("solver", ["cg", "direct"])
def test_tikhonov_shows_its_validation_error_and_keeps_the_minimum(noisy, solver):
    (X, y, qid), held = noisy
    alone = RankRLS(0.01, solver=solver).fit(X, y, qid=qid)
    seen = RankRLS(0.01, solver=solver).fit(X, y, qid=qid, **given(held))
    np.testing.assert_array_equal(alone.coef_, seen.coef_)
    assert seen.validation_scores_.size == seen.n_iter_ + 1
    assert seen.validation_scores_[-1] == pytest.approx(
        1 - ranking_error(held[1], seen.predict(held[0]), held[2])
    )
    assert not hasattr(seen.fit(X, y, qid=qid), "validation_scores_")


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


def kept_back(y, qid=None, weight=None, fraction=0.2, seed=0):
    """Return the rows to learn from, and those held out."""
    return draw_held_rows(Rows(None, y, qid, weight), fraction, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
def test_whole_queries_are_drawn_of_those_that_hold_a_preference(seed):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.array(list("abcdefghijkl")), 5))
    y = np.where(np.isin(qid, ["a", "b"]), 3.0, rng.normal(size=60))
    learnt, held = kept_back(y, qid, seed=seed)
    drawn = set(qid[held.places])
    assert len(drawn) == 2
    assert not drawn & {"a", "b"}
    np.testing.assert_array_equal(held.places, np.flatnonzero(np.isin(qid, list(drawn))))
    np.testing.assert_array_equal(learnt.sample_weight, ~np.isin(qid, list(drawn)))
    np.testing.assert_array_equal(held.y, y[held.places])
    np.testing.assert_array_equal(held.qid, qid[held.places])


@pytest.mark.parametrize("seed", range(5))
def test_of_one_query_rows_are_drawn_along_their_labels(seed):
    y = np.zeros(200)
    y[[7, 90, 101]] = 1.0
    weight = np.where(np.arange(200) % 2, 2.0, 0.0)
    weight[90] = 1.0
    for qid in (None, np.full(200, "q")):
        learnt, held = kept_back(y, qid, weight, seed=seed)
        assert held.places.size == 20
        assert (weight[held.places] > 0).all()
        assert set(held.y) == {0.0, 1.0}
        assert set(y[learnt.sample_weight > 0]) == {0.0, 1.0}
        assert not learnt.sample_weight[held.places].any()


def test_of_comparisons_those_of_whole_queries_or_some_are_drawn():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(10), 4)
    i = np.arange(40)
    j = 4 * (i // 4) + (i + 1) % 4
    pairs = Pairs(i, j, rng.exponential(size=40), np.where(qid >= 2, 1.0, 0.0))
    held = kept_back(pairs, qid)[1]
    assert len(set(held.qid)) == 2
    assert set(held.qid) <= set(range(2, 10))
    assert held.y.n_pairs == 8
    left, tested = (part.y for part in kept_back(pairs))
    assert tested.n_pairs == round(0.2 * 32)
    assert left.n_pairs + tested.n_pairs == 40
    assert tested.magnitude.all()
    both = {(a, b) for one in (left, tested) for a, b in zip(one.i, one.j, strict=True)}
    assert both == set(zip(pairs.i, pairs.j, strict=True))


def test_of_comparisons_with_groups_whole_groups_are_drawn():
    i, voter = np.arange(40), np.arange(40) % 10
    magnitude = np.where(voter >= 5, 1.0, 0.0)
    pairs = Pairs(i, (i + 1) % 40, magnitude=magnitude, groups=voter)
    for qid in (None, np.zeros(40)):
        left, tested = (part.y for part in kept_back(pairs, qid))
        assert len(set(tested.groups)) == 1
        assert set(tested.groups) <= set(range(5, 10))
        assert not set(tested.groups) & set(left.groups)
        assert left.n_pairs + tested.n_pairs == 40
    alone = Pairs([0, 1], [1, 2], groups=["a", "a"])
    with pytest.raises(PairrankError, match="validation groups cannot be drawn from 1"):
        kept_back(alone)


@pytest.mark.parametrize(
    ("y", "qid", "weight", "message"),
    [
        (np.zeros(10), None, None, "samples of one class"),
        (np.zeros(1), None, None, "1 sample"),
        (np.arange(3.0), None, None, "from 3 samples"),
        (np.arange(10.0), None, np.arange(10.0) < 3, "from 3 samples"),
        (np.append(np.zeros(9), 1.0), None, None, "nearly all labels are equal"),
        (np.arange(10.0), np.arange(10), None, "0 of 10 queries"),
        (np.arange(10.0) % 5, np.arange(10) // 2 * (np.arange(10) < 4), None, "pass X_val"),
        (Pairs([0], [1]), None, None, "from 1 of them"),
        (Pairs([0, 1], [1, 2], magnitude=[0.0, 1.0]), None, None, "from 1 of them"),
        (Pairs([0], [1], n_rows=4), np.array([0, 0, 1, 1]), None, "1 of 2 queries"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(y, qid, weight, message):
    if message == "pass X_val":
        y = np.where(qid > 0, 1.0, y)
    weight = None if weight is None else weight.astype(float)
    with pytest.raises(PairrankError, match=message):
        kept_back(y, qid, weight)
    X = np.ones((len(y), 2))
    with pytest.raises(PairrankError, match=message):
        RankRLS(regularization="iteration").fit(X, y, qid=qid, sample_weight=weight)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block", [1, 1 << 21])
def test_rows_are_scored_where_they_lie(form, block, monkeypatch):
    monkeypatch.setattr("pairrank.estimators._rows._BLOCK_ENTRIES", block)
    rng = np.random.default_rng(0)
    X, w, rows = rng.normal(size=(30, 4)), rng.normal(size=4), np.array([3, 5, 6, 29])
    np.testing.assert_allclose(row_scores(form(X), rows)(w), X[rows] @ w)
    np.testing.assert_allclose(row_scores(form(X))(w), X @ w)


def test_the_ranking_accuracy_is_that_of_the_metric_averaged_over_queries():
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 60).astype(float), np.repeat(np.arange(6), 10)
    scores, weight = rng.integers(0, 5, 60) / 2, rng.integers(0, 3, 60).astype(float)
    for weights in (None, weight):
        accuracy = pairwise_accuracy(y, scores, qid=qid, sample_weight=weights, average="queries")
        assert RankingAccuracy(y, qid, sample_weight=weights)(scores) == pytest.approx(accuracy)
    assert RankingAccuracy(y, qid)(scores) == pytest.approx(1 - ranking_error(y, scores, qid))
    pairs = Pairs([0, 1, 2, 3], [1, 2, 3, 0], magnitude=[1.0, 2.0, 0.0, 1.0])
    assert RankingAccuracy(pairs)(np.array([1.0, 0.0, 0.0, 0.0])) == 1.5 / 3
    assert np.isnan(RankingAccuracy(y, qid)(np.full(60, np.inf)))
    i = rng.integers(0, 30, 50)
    pairs = Pairs(i, i + 30, rng.exponential(size=50), rng.integers(-1, 2, 50) * 0.5, n_rows=60)
    for weights in (None, weight):
        accuracy = pairwise_accuracy(pairs, scores, sample_weight=weights)
        assert RankingAccuracy(pairs, sample_weight=weights)(scores) == pytest.approx(accuracy)


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


def test_a_validation_query_of_one_level_is_left_out_or_refused(noisy):
    (X, y, qid), (X_val, y_val, qid_val) = noisy
    flat = np.where(qid_val < 42, 1.0, y_val)
    ranker = RankRLS(regularization="iteration")
    with pytest.warns(PairrankWarning, match=r"query 40 .* one level .*2 of 20 queries"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=flat, qid_val=qid_val)
    kept = qid_val >= 42
    fewer = RankRLS(regularization="iteration").fit(
        X, y, qid=qid, X_val=X_val[kept], y_val=y_val[kept], qid_val=qid_val[kept]
    )
    np.testing.assert_array_equal(ranker.coef_, fewer.coef_)
    with pytest.raises(PairrankError, match=r"query 40 .* one level \(2\), and no other query has"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=np.full(200, 2.0), qid_val=qid_val)
    with pytest.raises(PairrankError, match=r"the one query .* one level"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=np.full(200, 2.0))
    with pytest.raises(PairrankError, match="no comparison that prefers"):
        ranker.fit(X, y, qid=qid, X_val=X_val, y_val=Pairs([0], [1], magnitude=[0.0]))


def test_of_equal_scores_the_first_iterate_is_kept_and_zero_weights_never():
    watch = Watch(RankingAccuracy(np.arange(3.0)), lambda w: w, patience=2)
    zero, wrong, tied = np.zeros(3), np.array([3.0, 2.0, 1.0]), np.ones(3)
    told = [
        watch(Step(at, 0.0, 0.0, w, 0.0, 0, 0)) for at, w in enumerate((zero, wrong, tied, tied))
    ]
    assert told == [False] * 4
    assert watch.curve == [0.5, 0.0, 0.5, 0.5]
    assert watch.best_iteration == 2
    assert not watch(Step(4, 0.0, 0.0, 2 * tied, 0.0, 0, 0))
    assert watch(Step(5, 0.0, 0.0, 3 * tied, 0.0, 0, 0))


def test_iterations_that_leave_the_weights_unchanged_do_not_wear_patience_out():
    calls = []
    watch = Watch(lambda scores: calls.append(scores) or -float(scores[0]), lambda w: w, patience=1)
    moves = [np.array([value]) for value in (0.0, 0.0, 1.0, 1.0, 1.0)]
    assert not any(watch(Step(at, 0.0, 0.0, w, 0.0, 0, 0)) for at, w in enumerate(moves))
    assert watch.curve == [0.0, 0.0, -1.0, -1.0, -1.0]
    assert len(calls) == 2
    assert watch(Step(5, 0.0, 0.0, np.array([2.0]), 0.0, 0, 0))
    assert watch.best_iteration == 2


def test_half_given_validation_rows_are_refused(noisy):
    (X, y, _), (X_val, y_val, _) = noisy
    with pytest.raises(PairrankError, match="y_val is given without X_val"):
        RankRLS().fit(X, y, y_val=y_val)
    with pytest.raises(PairrankError, match="X_val is given without y_val"):
        RankRLS().fit(X, y, X_val=X_val)
    with pytest.raises(PairrankError, match="qid_val is given without X_val"):
        RankRLS().fit(X, y, qid_val=np.zeros(4))
    with pytest.raises(PairrankError, match="sample_weight_val is given without X_val"):
        RankRLS(regularization="iteration").fit(X, y, sample_weight_val=np.ones(4))
    with pytest.raises(PairrankError, match="y_val has 3 targets, but y 2"):
        RankRLS().fit(X, np.column_stack((y, y)), X_val=X_val, y_val=y_val[:, None] * np.ones(3))
    with pytest.raises(ValueError, match="features"):
        RankRLS().fit(X, y, X_val=X_val[:, :3], y_val=y_val)


def test_a_drawn_fit_is_the_fit_on_the_rest_with_what_was_drawn_given(noisy):
    (X, y, qid), _ = noisy
    weight = np.random.default_rng(0).exponential(size=400)
    rest, held = np.ones(400, bool), kept_back(y, qid, weight, fraction=0.25)[1]
    rest[held.places] = False
    for form in (np.asarray, sparse.csr_array):
        ranker = RankRLS(regularization="iteration", validation_fraction=0.25)
        drawn = ranker.fit(form(X), y, qid=qid, sample_weight=weight)
        curve, coef = drawn.validation_scores_, drawn.coef_
        parts = {"X_val": X[~rest], "y_val": y[~rest], "qid_val": qid[~rest]}
        by_hand = ranker.fit(
            X[rest],
            y[rest],
            qid=qid[rest],
            sample_weight=weight[rest],
            sample_weight_val=weight[~rest],
            **parts,
        )
        np.testing.assert_allclose(curve, by_hand.validation_scores_)
        np.testing.assert_allclose(coef, by_hand.coef_, rtol=1e-8)


def test_an_interrupt_leaves_the_best_validated_iterate(noisy):
    (X, y, qid), held = noisy
    whole = RankRLS(regularization="iteration").fit(X, y, qid=qid, **given(held))

    def interrupt(step):
        if step.n_iter == whole.best_iteration_ + 2:
            raise KeyboardInterrupt

    ranker = RankRLS(regularization="iteration")
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker.fit(X, y, qid=qid, **given(held), callback=interrupt)
    np.testing.assert_array_equal(ranker.coef_, whole.coef_)


@pytest.mark.parametrize("regularization", ["iteration", "hybrid"])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_amiss_but_that_repeated_rows_are_drawn_apart(regularization):
    results = check_estimator(RankRLS(regularization=regularization), on_fail=None)
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


def test_comparisons_and_single_queries_are_cross_validated(noisy):
    (X, y, _), _ = noisy
    assert cross_val_score(RankRLS(regularization="iteration"), X, y, cv=3).min() > 0.6
    order = np.argsort(y)
    pairs = Pairs(order[200:], order[:200], n_rows=400)
    ranker = RankRLS(regularization="iteration").fit(X, pairs)
    assert ranker.n_pairs_ == 180
    assert ranker.score(X, pairs) > 0.8
    K = X @ X.T
    scores = cross_val_score(RankRLS(10.0, kernel="precomputed"), K, y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(RankRLS(10.0), X, y, cv=3))


def test_validation_rows_are_transformed_with_the_training_rows(noisy):
    (X, y, qid), (X_val, y_val, qid_val) = noisy
    with config_context(enable_metadata_routing=True):
        ranker = RankRLS(regularization="iteration")
        ranker.set_fit_request(X_val=True, y_val=True, qid_val=True)
        model = Pipeline([("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"])
        model.fit(7 * X + 3, y, qid=qid, X_val=7 * X_val + 3, y_val=y_val, qid_val=qid_val)
    scaled = StandardScaler().fit(7 * X + 3)
    by_hand = RankRLS(regularization="iteration").fit(
        scaled.transform(7 * X + 3), y, qid=qid,
        X_val=scaled.transform(7 * X_val + 3), y_val=y_val, qid_val=qid_val,
    )  # fmt: skip
    np.testing.assert_array_equal(model["rank"].coef_, by_hand.coef_)


def test_a_kernel_s_features_are_made_of_validation_rows_too(noisy):
    (X, y, qid), (X_val, y_val, qid_val) = noisy
    ranker = RankRLS(regularization="iteration", kernel="rbf", gamma=0.05)
    ranker.fit(X, y, qid=qid, X_val=X_val, y_val=y_val, qid_val=qid_val)
    least = ranking_error(y_val, ranker.predict(X_val), qid_val)
    assert ranker.validation_scores_.max() == pytest.approx(1 - least)
