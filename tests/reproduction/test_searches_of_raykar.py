"""Searches for Raykar's figures: rules for classes, kinds of folds, variants of RankBoost."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

from pairrank import RankBoost
from pairrank.metrics import wmw_score
from reproduction.papers.raykar2007 import searched, sets
from reproduction.papers.raykar2007.bins import RULES
from reproduction.papers.raykar2007.first_column import FAST, TINY, rows_of_first
from reproduction.papers.raykar2007.methods import METHODS, judge_rows
from reproduction.protocols import (
    CONTIGUOUS,
    STRIDED,
    Fold,
    count_preferences,
    folds_of,
    split_rows,
    with_ties,
)

TIED = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 10.0])
LABELS = {
    "linear quantiles, an edge in the lower bin": [0, 0, 0, 0, 1, 1, 1, 1],
    "linear quantiles, an edge in the upper bin": [0, 0, 0, 0, 1, 1, 1, 1],
    "lower quantiles, an edge in the lower bin": [0, 0, 0, 0, 1, 1, 1, 1],
    "lower quantiles, an edge in the upper bin": [0, 0, 0, 1, 1, 1, 1, 1],
    "higher quantiles, an edge in the lower bin": [0, 0, 0, 0, 0, 1, 1, 1],
    "higher quantiles, an edge in the upper bin": [0, 0, 0, 0, 1, 1, 1, 1],
    "hazen quantiles, an edge in the lower bin": [0, 0, 0, 0, 1, 1, 1, 1],
    "hazen quantiles, an edge in the upper bin": [0, 0, 0, 0, 1, 1, 1, 1],
    "ordinal ranks": [0, 0, 0, 0, 1, 1, 1, 1],
    "min ranks": [0, 0, 0, 0, 1, 1, 1, 1],
    "max ranks": [0, 0, 0, 0, 1, 1, 1, 1],
    "average ranks": [0, 0, 0, 0, 1, 1, 1, 1],
    "dense ranks": [0, 0, 0, 0, 0, 1, 1, 1],
    "filled in order": [0, 0, 0, 0, 1, 1, 1, 1],
    "equal width, an edge in the lower bin": [0, 0, 0, 0, 0, 0, 0, 1],
    "equal width, an edge in the upper bin": [0, 0, 0, 0, 0, 0, 0, 1],
    "quantiles of a normal distribution": [0, 0, 0, 0, 0, 1, 1, 1],
    "k-means": [0, 0, 0, 0, 0, 0, 0, 1],
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_cuts_a_column_with_ties(name):
    assert RULES[name](TIED, 2).tolist() == LABELS[name]


@pytest.mark.parametrize("name", RULES)
@given(values=st.lists(st.integers(-9, 9), min_size=2, max_size=30), n_bins=st.integers(2, 5))
def test_rules_keep_the_order_of_values(name, values, n_bins):
    column = np.array(values, dtype=np.float64)
    labels = RULES[name](column, n_bins)
    assert labels.shape == column.shape
    assert labels.min() >= 0
    assert labels.max() < n_bins
    order = np.argsort(column, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()
    if name != "ordinal ranks":
        for value in values:
            assert len(set(labels[column == value])) == 1


def test_folds_are_blocks_or_every_so_manieth_row():
    blocks = [test.tolist() for _, test in split_rows(7, 3, rows=CONTIGUOUS)]
    assert blocks == [[0, 1, 2], [3, 4], [5, 6]]
    strided = [test.tolist() for _, test in split_rows(7, 3, rows=STRIDED)]
    assert strided == [[0, 3, 6], [1, 4], [2, 5]]
    for rows in searched.FOLDS:
        for train, test in split_rows(7, 3, rows=rows):
            assert sorted([*train, *test]) == list(range(7))


def pairs_by_target(n_bins, n_folds):
    """Return the pairs of each target, from the folds that fits would have."""
    X, target = load_diabetes(return_X_y=True)
    columns = np.column_stack([X, target])
    found = {}
    for at, (name, rule), rows in itertools.product(
        range(columns.shape[1]), RULES.items(), searched.FOLDS
    ):
        folds = folds_of(columns[:, :1], rule(columns[:, at], n_bins), n_folds, rows=rows)
        pairs = float(np.mean([count_preferences(fold.y) for fold in folds]))
        found[f"column {at + 1}, {name}, {rows} folds"] = pairs
    return columns, found


def test_every_column_rule_and_kind_of_folds_is_tried_as_the_target():
    columns, pairs = pairs_by_target(3, 2)
    chosen = "column 4, equal width, an edge in the lower bin, strided folds"
    y = RULES["equal width, an edge in the lower bin"](columns[:, 3], 3)
    judged = judge_rows(METHODS[FAST], np.delete(columns, 3, axis=1), y, 2, 0, STRIDED)
    wmw = float(np.mean(judged["wmw"]))
    paper = {"M": (pairs[chosen], 1e-9), "wmw": (wmw, 0.01)}
    found = searched.nearest_target(data=TINY, n_bins=3, paper=paper, n_folds=2)
    assert found["tried"] == len(pairs) == 11 * 18 * 3
    assert found["M"] == pairs[chosen]
    assert found["wmw"] == pytest.approx(wmw)
    assert found["chosen"] == chosen
    assert found["near"] == 1
    assert found["distance"] <= 1.0


def test_a_target_with_other_pairs_is_far_whatever_its_wmw():
    paper = {"M": (1.0, 100.0), "wmw": (0.5, 1.0)}
    found = searched.nearest_target(data=TINY, n_bins=3, paper=paper, n_folds=2)
    least = min(pairs_by_target(3, 2)[1].values())
    assert found["near"] == 0
    assert found["M"] == least
    assert found["distance"] == (least - 1.0) / 100.0


@pytest.fixture
def two_rounds(monkeypatch):
    monkeypatch.setattr(searched, "ROUNDS", (1, 2))


SMALL = {"data": TINY, "n_bins": 3, "by": "count"}


def test_variants_of_boosting_are_fits_of_so_many_rounds(two_rounds):
    found = searched.by_variant(**SMALL, n_folds=2)
    assert len(found) == 3 * 2 * 3
    slow = []
    for fold in folds_of(*rows_of_first(**SMALL), 2):
        cut = np.median(fold.X, axis=0)
        above, above_in_test = ((X - cut > 0).astype(np.float64) for X in (fold.X, fold.X_test))
        scores = with_ties(RankBoost(2).fit(above, fold.y).predict(above_in_test))
        slow.append(wmw_score(fold.y_test, scores, ties="error"))
    assert found["the median, rounds 2, ties wrong"] == pytest.approx(np.mean(slow))


def test_the_mean_and_the_median_of_training_rows_are_thresholds():
    X = np.array([[0.0], [1.0], [8.0]])
    fold = Fold(X, np.arange(3), np.array([[2.0], [5.0]]), np.arange(2))
    assert searched.with_thresholds(fold, "any threshold") is fold
    mean, median = (searched.with_thresholds(fold, f"the {name}") for name in ("mean", "median"))
    assert mean.X.ravel().tolist() == median.X.ravel().tolist() == [0.0, 0.0, 1.0]
    assert mean.X_test.ravel().tolist() == [0.0, 1.0]
    assert median.X_test.ravel().tolist() == [1.0, 1.0]


def test_one_variant_must_give_the_figures_of_both_sets(two_rounds):
    other = SMALL | {"n_bins": 2}
    own, beside = (searched.by_variant(**each, n_folds=2) for each in (SMALL, other))
    first, second = "any threshold, rounds 1, ties wrong", "the mean, rounds 2, ties right"
    paper = {"wmw": (own[first], 1e-3), "beside": (beside[second], 1e-3)}
    found = searched.nearest_variant(data=SMALL, beside=other, paper=paper, n_folds=2)
    distances = {
        each: max(abs(own[each] - own[first]), abs(beside[each] - beside[second])) / 1e-3
        for each in own
    }
    assert found["chosen"] == min(distances, key=distances.__getitem__)
    assert found["distance"] == pytest.approx(min(distances.values()))
    assert found["distance"] > 1.0
    assert first in found["alone"].split("; ")
    assert second not in found["alone"].split("; ")
    assert found["tried"] == 18


def test_searches_ask_for_what_the_paper_prints():
    for each in searched.COLUMNS.cells:
        source = next(source for source in sets.SOURCES if source.name == each.row)
        assert each.config["paper"]["M"] == [source.n_pairs, pytest.approx(source.n_pairs / 100)]
        assert all(math.isfinite(unit) and unit > 0 for _, unit in each.config["paper"].values())
    one, two = (each.config["paper"] for each in searched.VARIANTS.cells)
    assert one["wmw"] == two["beside"] == [0.651, 0.09]
    assert one["beside"] == two["wmw"] == [0.958, 0.006]
