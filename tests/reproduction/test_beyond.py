"""Beyond the papers: votes, halves, censored times, all pairs beside pointwise fits."""

import numpy as np
import pytest

from reproduction.papers.beyond import (
    all_pairs,
    comparisons,
    conditions,
    probabilities,
    survival,
)
from reproduction.papers.beyond.comparisons import GENERATED


def some_votes():
    return comparisons.votes_of(GENERATED, 0)


def test_folds_and_halves_keep_voters_whole():
    votes = some_votes()
    tested = np.zeros(votes.i.size, dtype=int)
    for train, test in comparisons._folds(votes, 0):
        assert not set(votes.voter[train].tolist()) & set(votes.voter[test].tolist())
        tested += test
    assert (tested == 1).all()
    one, two = comparisons._halves(votes, 0)
    assert not set(one.voter.tolist()) & set(two.voter.tolist())
    assert one.i.size + two.i.size == votes.i.size


def test_shares_of_votes_won_count_a_tie_as_half():
    votes = comparisons.Votes(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 1.0, 0.0]), np.arange(3), 4
    )
    np.testing.assert_allclose(comparisons._win_share(votes), [2.5 / 3, 1 / 3, 1 / 3, 0.5])


def test_order_counts_equal_scores_half():
    score = np.array([0.0, 1.0, 1.0])
    assert comparisons._order(score, np.array([1, 0, 1]), np.array([0, 1, 2])) == 0.5


def test_intervals_of_independent_votes_hold():
    found = comparisons.judge(dataset=GENERATED, covariance="laplace")
    # 30 items, .95 each: below .8 with a chance of less than 2e-3 if they were independent.
    assert found["agree"] >= 0.8
    assert 0.0 < found["half width"] < 1.0


@pytest.mark.parametrize("model", [survival.SVM, survival.NCG, survival.TIMES])
def test_risks_of_generated_patients_beat_chance(model):
    found = survival.judge(dataset=survival.GENERATED, model=model, n_rows=400)
    assert len(found["concordance"]) == survival.N_FOLDS
    assert np.mean(found["concordance"]) > 0.6


def test_all_pairs_win_if_queries_differ_in_severity():
    found = all_pairs.judge(dataset=all_pairs.JUDGES, n_queries=60, cv=3)
    assert found["low"] <= found["difference"] <= found["high"]
    assert found["difference"] > 0.0
    best = max(found["ranksvm"], found["rankncg"])
    # The difference is a mean over queries, the others are means over folds.
    assert found["difference"] == pytest.approx(best - found["rival"], abs=0.05)


def test_shifts_of_queries_change_no_order_within_them():
    given = all_pairs._judges(10, 0)
    plain = all_pairs.make_queries(10, 20, 10, 5, random_state=0)
    np.testing.assert_array_equal(given.qid, plain.qid)
    shift = given.y - plain.y
    for query in np.unique(given.qid):
        assert np.ptp(shift[given.qid == query]) == 0.0


def test_scales_change_labels_but_not_their_order_without_noise():
    plain = conditions.rows_of(conditions.Condition(n_levels=None), 200, 0)
    scaled = conditions.rows_of(conditions.Condition(n_levels=None, scale="exponential"), 200, 0)
    np.testing.assert_array_equal(np.argsort(plain.y), np.argsort(scaled.y))
    np.testing.assert_array_equal(plain.X, scaled.X)
    assert plain.utility.std() == pytest.approx(1.0)


def test_wrong_labels_are_those_of_other_rows():
    right = conditions.rows_of(conditions.Condition(n_levels=None), 2000, 0)
    wrong = conditions.rows_of(conditions.Condition(n_levels=None, wrong=0.3), 2000, 0)
    changed = right.y != wrong.y
    # A binomial count of 2000 draws of 0.3: six deviations are 0.061.
    assert changed.mean() == pytest.approx(0.3, abs=0.07)
    assert set(wrong.y) <= set(right.y)
    np.testing.assert_array_equal(right.utility, wrong.utility)


def test_sparse_and_curved_conditions_are_what_they_say():
    for name, made in conditions.CONDITIONS.items():
        rows = conditions.rows_of(made, 60, 0)
        assert rows.X.shape == (60, made.n_features), name
        assert hasattr(rows.X, "nnz") == (made.nnz_per_row is not None), name
        if made.n_levels is not None:
            assert len(set(rows.y)) == min(made.n_levels, 60), name


def test_classifiers_give_scores_and_no_labels():
    found = conditions.judge(
        condition="2 levels", method=conditions.LOGISTIC, n_rows=200, n_repeats=2
    )
    # Two labels as scores tie half of the pairs at least, which count half: 0.75 at most.
    assert min(found["accuracy"]) > 0.75


def test_ranks_survive_a_scale_that_misleads_a_fit_of_the_labels():
    own, other = (
        conditions.judge(
            condition="labels on an exponential scale", method=method, n_rows=300, n_repeats=2
        )["accuracy"]
        for method in (conditions.SVM, conditions.RIDGE)
    )
    assert np.mean(own) > np.mean(other)


def test_the_true_probabilities_are_calibrated_and_others_are_not():
    p = np.array([0.05, 0.15, 0.15, 0.95])
    assert probabilities.calibration_error(p, p) == 0.0
    # Bins hold 1, 2 and 1 pairs; the middle bin is right on average.
    true = np.array([0.25, 0.10, 0.20, 0.75])
    assert probabilities.calibration_error(p, true) == pytest.approx((0.2 + 0.0 + 0.2) / 4)


def test_votes_and_labels_have_the_stated_probabilities():
    coef = np.full(probabilities.N_FEATURES, 0.3)
    for kind in (probabilities.VOTES, probabilities.LABELS):
        rows = probabilities.draw(kind, coef, 300, 0)
        gaps = (rows.X[rows.i] - rows.X[rows.j]) @ coef
        # P(the winner has the higher utility) = E S(|gap|).
        expected = (1.0 / (1.0 + np.exp(-np.abs(gaps)))).mean()
        # 300 rows: deviation of a U-statistic, at most (1 / (4 * 300 / 2)) ** 0.5 = 0.041.
        assert (gaps > 0.0).mean() == pytest.approx(expected, abs=4 * 0.041)
    assert (rows.y[rows.i] > rows.y[rows.j]).all()


@pytest.mark.parametrize("method", probabilities.METHODS)
def test_probabilities_are_near_the_true_ones(method):
    found = probabilities.judge(kind=probabilities.LABELS, method=method, n_rows=300, n_repeats=1)
    assert 0.0 <= found["calibration"][0] < 0.15
    assert 0.0 < found["excess"][0] < 0.15
