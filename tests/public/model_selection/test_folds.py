"""Folds of comparisons by groups, queries and repetitions, and QueryKFold: queries stay whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from pairrank import (
    Pairs,
    QueryKFold,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVMCV,
    regularization_path,
)
from pairrank.exceptions import PairrankError
from pairrank.metrics import pairwise_log_loss
from pairrank.model_selection import pair_folds

pytestmark = pytest.mark.numeric


def league(n_players=12, n_games=400, seed=0, spread=1.0):
    """Return games of players with normal strengths, one feature per player, and voters."""
    rng = np.random.default_rng(seed)
    strength = spread * rng.normal(size=n_players)
    a = rng.integers(0, n_players, n_games)
    b = (a + rng.integers(1, n_players, n_games)) % n_players
    won = rng.random(n_games) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return np.where(won, a, b), np.where(won, b, a), rng.integers(0, 9, n_games), strength


def keys(pairs):
    """Return the comparisons of `by_number` as their numbers, kept as weights below 1."""
    return np.rint(pairs.weight * 1e6).astype(int).tolist()


def by_number(n, groups=None):
    i, j, *_ = league(n_games=n)
    return Pairs(i, j, weight=(1 + np.arange(n)) / 1e6, groups=groups, n_rows=12)


@pytest.mark.parametrize("grouped", [False, True])
@given(n=st.integers(5, 60), n_splits=st.integers(2, 5), seed=st.integers(0, 5))
def test_every_comparison_is_in_one_test_part_and_all_other_training_parts(
    grouped, n, n_splits, seed
):
    groups = np.arange(n) % 7 if grouped else None
    pairs = by_number(n, groups)
    folds = list(pair_folds(pairs, n_splits, random_state=seed))
    assert len(folds) == n_splits
    held = [key for _, test in folds for key in keys(test)]
    assert sorted(held) == list(range(1, n + 1))
    for train, test in folds:
        assert train.n_rows == test.n_rows == 12
        assert sorted(keys(train) + keys(test)) == list(range(1, n + 1))
        assert test.n_pairs > 0
        if grouped:
            assert not set(train.groups) & set(test.groups)
    sizes = [test.n_pairs for _, test in folds]
    if not grouped:
        assert max(sizes) - min(sizes) <= 1


@given(seed=st.integers(0, 20))
def test_whole_weights_are_repetitions_that_fall_into_folds_one_by_one(seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 30, 12)
    weight[0] = 20
    pairs = Pairs(np.arange(12), np.arange(1, 13), weight=weight)
    held = np.zeros(13)
    for train, test in pair_folds(pairs, 3, random_state=seed):
        parts = [np.bincount(part.i, part.weight, 13) for part in (train, test)]
        np.testing.assert_array_equal(sum(parts)[:12], weight)
        assert (test.weight > 0).all()
        held += parts[1]
    np.testing.assert_array_equal(held[:12], weight)


def test_repetitions_fall_into_folds_at_random_not_in_equal_shares():
    pairs = Pairs([0, 1], [1, 0], weight=[10_000, 10_000])
    shares = [test.weight[0] for _, test in pair_folds(pairs, 4, random_state=1)]
    assert np.ptp(shares) > 0
    # four binomial shares of mean 2500 and variance 1875: 6 standard deviations
    assert np.abs(np.array(shares) - 2500).max() < 6 * np.sqrt(1875)


def test_too_few_groups_or_comparisons_are_refused():
    with pytest.raises(PairrankError, match=r"pairs must be Pairs \(got a list\)"):
        pair_folds([0, 1], 2)
    with pytest.raises(PairrankError, match="1 groups cannot make 2 folds: more groups are needed"):
        pair_folds(Pairs([0, 1], [1, 2], groups=["a", "a"]), 2)
    pairs = Pairs([0, 1, 2], [1, 2, 0], groups=["a", "b", "a"])
    with pytest.raises(PairrankError, match="2 groups cannot make 3 folds"):
        pair_folds(pairs, 3)
    with pytest.raises(PairrankError, match="3 comparisons cannot make 4 folds"):
        RankNCGCV(cv=4).fit(np.eye(3), Pairs([0, 1, 2], [1, 2, 0]))
    with pytest.raises(PairrankError, match="not a seed"):
        pair_folds(pairs, 2, random_state="x")
    with pytest.raises(PairrankError, match="the comparisons have none: pass qid"):
        RankNCGCV(cv=QueryKFold(2)).fit(np.eye(3), Pairs([0, 1, 2], [1, 2, 0]))


def test_the_search_has_the_errors_of_its_ranker():
    i, j, voters, _ = league()
    X, pairs = np.eye(12), Pairs(i, j, groups=voters)
    search = RankNCGCV([0.1, 1.0], covariance="clusters").fit(X, pairs)
    alone = RankNCG(search.alpha_, covariance="clusters").fit(X, pairs)
    np.testing.assert_array_equal(search.standard_errors_, alone.standard_errors_)
    found = search.pair_standard_errors(X[:5], X[5:10])
    np.testing.assert_array_equal(found, alone.pair_standard_errors(X[:5], X[5:10]))


def test_scores_of_folds_are_minus_the_log_loss_of_refits():
    i, j, voters, _ = league()
    pairs = Pairs(i, j, groups=voters)
    search = RankNCGCV([0.1, 10.0], cv=3, tol=1e-8).fit(np.eye(12), pairs)
    for row, (train, test) in zip(search.validation_scores_, pair_folds(pairs, 3), strict=True):
        for alpha, score in zip([0.1, 10.0], row, strict=True):
            ranker = RankNCG(alpha, tol=1e-8).fit(np.eye(12), train)
            wanted = -pairwise_log_loss(test, ranker.predict(np.eye(12)))
            assert score == pytest.approx(wanted, abs=1e-6)


def test_the_default_of_rankncgcv_is_the_log_loss_on_pairs_only():
    i, j, _, strength = league()
    X, pairs = np.eye(12), Pairs(i, j)
    default, asked = (RankNCGCV([1.0], scoring=how).fit(X, pairs) for how in (None, "log_loss"))
    np.testing.assert_array_equal(default.validation_scores_, asked.validation_scores_)
    accuracy = RankNCGCV([1.0], scoring="pairwise_accuracy").fit(X, pairs)
    assert accuracy.best_score_ > 0.5
    labels = RankNCGCV([1.0], cv=2).fit(strength[:, None], np.arange(12) % 3)
    assert (labels.validation_scores_ >= 0).all()


@pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(3), KFold(3), QueryKFold(3)])
def test_splitters_split_comparisons_and_see_their_groups(cv):
    i, j, voters, _ = league()
    pairs = Pairs(i, j, groups=voters)
    search = RankNCGCV([1.0], cv=cv).fit(np.eye(12), pairs)
    if isinstance(cv, QueryKFold):
        splits = list(cv.split(i, qid=voters))
    else:
        splits = list(cv.split(i[:, None], i, None if isinstance(cv, KFold) else voters))
    for row, (train, test) in zip(search.validation_scores_, splits, strict=True):
        ranker = RankNCG(1.0, tol=1e-4).fit(np.eye(12), pairs.select(train))
        wanted = -pairwise_log_loss(pairs.select(test), ranker.predict(np.eye(12)))
        assert row[0] == pytest.approx(wanted, abs=1e-4)
    again = RankNCGCV([1.0], cv=splits).fit(np.eye(12), pairs)
    np.testing.assert_allclose(again.validation_scores_, search.validation_scores_)
    with pytest.raises(PairrankError, match="of 400 comparisons"):
        RankNCGCV([1.0], cv=[(np.arange(5), [400])]).fit(np.eye(12), pairs)


def test_comparisons_of_queries_are_folded_by_queries_unless_they_have_groups():
    i, j, voters, _ = league()
    X, qid = np.vstack((np.eye(12), np.eye(12))), np.repeat([0, 1], 12)
    half = np.arange(400) % 2 * 12
    plain = Pairs(i + half, j + half)
    by_query = RankNCGCV([1.0], cv=2).fit(X, plain, qid=qid)
    wanted = [
        -pairwise_log_loss(plain.select(half == held),
                           RankNCG(tol=1e-4).fit(X, plain.select(half != held)).predict(X))
        for held in (0, 12)
    ]  # fmt: skip
    np.testing.assert_allclose(by_query.validation_scores_[:, 0], wanted, atol=1e-4)
    grouped = Pairs(i + half, j + half, groups=voters)
    assert len(RankNCGCV([1.0], cv=4).fit(X, grouped, qid=qid).validation_scores_) == 4


def test_the_other_searches_fold_comparisons_too():
    i, j, voters, _ = league()
    X = np.eye(12)
    assert RankSVMCV([0.01, 1.0]).fit(X, Pairs(i, j)).best_score_ > 0.6
    assert RankRLSCV(cv=4).fit(X, Pairs(i, j, groups=voters)).best_score_ > 0.6


def test_rankrls_leaves_groups_out_in_closed_form():
    rng = np.random.default_rng(0)
    i, j, voters, _ = league(n_games=60)
    X, pairs = rng.normal(size=(12, 3)), Pairs(i, j, groups=voters)
    search = RankRLSCV([0.5]).fit(X, pairs)
    assert search.cv_ == "leave-query-out"
    right = 0.0
    for voter in np.unique(voters):
        kept = pairs.select(voters != voter)
        scores = RankRLS(0.5, solver="direct").fit(X, kept).predict(X)
        out = pairs.select(voters == voter)
        right += np.count_nonzero(scores[out.i] > scores[out.j])
    assert search.best_score_ == pytest.approx(right / 60, rel=1e-12)


def test_a_path_is_judged_by_comparisons_of_its_own_rows():
    i, j, voters, _ = league()
    train, test = next(iter(pair_folds(Pairs(i, j, groups=voters), 4)))
    options = {"param": "alpha", "values": [0.1, 1.0, 1000.0], "scoring": "log_loss"}
    path = regularization_path(RankNCG(), np.eye(12), train, y_val=test, **options)
    same = regularization_path(
        RankNCG(), np.eye(12), train, X_val=np.eye(12), y_val=test, **options
    )
    np.testing.assert_array_equal(path.scores, same.scores)
    assert path.best_value < 1000.0
    with pytest.raises(PairrankError, match="both X_val and y_val"):
        regularization_path(RankNCG(), np.eye(12), np.arange(12), y_val=np.arange(12), **options)


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()], ids=["GroupKFold", "LeaveOne"])
def test_a_splitter_of_groups_without_groups_is_refused_with_the_remedy(cv):
    votes = by_number(30)
    with pytest.raises(PairrankError, match=r"keeps groups whole.*Pairs\(\.\.\., groups"):
        RankNCGCV(cv=cv).fit(np.eye(12), votes)
    with pytest.raises(PairrankError, match="the rows have none: pass qid, or take a number"):
        RankSVMCV(cv=cv).fit(np.eye(12), np.arange(12))
    with pytest.raises(PairrankError, match="KFold cannot split 12 rows: Cannot have"):
        RankSVMCV(cv=KFold(20)).fit(np.eye(12), np.arange(12))


IDENTIFIERS = st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=60)


@given(qid=IDENTIFIERS, n_splits=st.integers(2, 4), shuffle=st.booleans())
def test_every_query_is_tested_once_and_never_split(qid, n_splits, shuffle):
    cv = QueryKFold(n_splits, shuffle=shuffle, random_state=0)
    if len(set(qid)) < n_splits:
        with pytest.raises(PairrankError, match="take fewer folds"):
            cv.split(qid, qid=qid)
        return
    tested = []
    for train, test in cv.split(np.zeros((len(qid), 1)), qid=qid):
        assert not {qid[row] for row in train} & {qid[row] for row in test}
        assert sorted([*train, *test]) == list(range(len(qid)))
        assert test.size
        tested.extend(test)
    assert sorted(tested) == list(range(len(qid)))


def test_queries_stay_in_their_order_unless_shuffled():
    qid = ["z", "z", "a", "m", "m", "b"]
    tests = [test.tolist() for _, test in QueryKFold(2).split(qid, qid=qid)]
    assert tests == [[0, 1, 2], [3, 4, 5]]
    shuffled = QueryKFold(4, shuffle=True, random_state=3)
    first, second = ([test.tolist() for _, test in shuffled.split(qid, qid=qid)] for _ in "12")
    assert first == second
    assert first != [test.tolist() for _, test in QueryKFold(4).split(qid, qid=qid)]


def test_a_split_without_qid_names_the_remedy():
    X = np.zeros((6, 1))
    for groups in (None, [1, 1, 2, 2, 3, 3]):
        with pytest.raises(PairrankError, match="enable_metadata_routing=True"):
            QueryKFold(2).split(X, None, groups)
    with pytest.raises(PairrankError, match="5 entries for 6 rows"):
        QueryKFold(2).split(X, qid=[1, 1, 2, 2, 3])
    with pytest.raises(PairrankError, match="n_splits must be"):
        QueryKFold(1).split(X, qid=[1, 1, 2, 2, 3, 3])
