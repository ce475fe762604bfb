"""Beyond the papers: votes, halves, censored times, all pairs beside pointwise fits."""

import numpy as np
import pytest

from reproduction.papers.beyond import (
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


@pytest.mark.parametrize("model", [survival.SVM, survival.NCG, survival.TIMES])
def test_risks_of_generated_patients_beat_chance(model):
    found = survival.judge(dataset=survival.GENERATED, model=model, n_rows=400)
    assert len(found["concordance"]) == survival.N_FOLDS
    assert np.mean(found["concordance"]) > 0.6


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
