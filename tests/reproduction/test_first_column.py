"""Generated rows are not compared, and the first column as the target."""

import statistics

import numpy as np
from sklearn.datasets import load_diabetes

from reproduction.data.made import discretize
from reproduction.page import compared
from reproduction.papers import STUDIES, load_study
from reproduction.papers.raykar2007 import sets
from reproduction.protocols import count_preferences, folds_of


def test_generated_rows_are_never_compared():
    for name in STUDIES:
        for each in compared(load_study(name)):
            assert "shape" not in each.place
            assert "generated" not in each.place
            assert "Rand" not in each.place or each.place.endswith((": N", ": d", ": S"))


def test_the_first_column_leaves_the_features_and_the_usual_target_enters():
    X, target = load_diabetes(return_X_y=True)
    features, classes = sets.rows_of("sklearn-diabetes", 3, "width", first=True)
    np.testing.assert_array_equal(features, np.column_stack([X[:, 1:], target]))
    np.testing.assert_array_equal(classes, discretize(X[:, 0], 3, by="width"))
    found = sets.count_rows(data="sklearn-diabetes", n_bins=3, by="width", first=True)
    pairs = [count_preferences(fold.y) for fold in folds_of(features, classes)]
    assert (found["d"], found["M"]) == (10, statistics.fmean(pairs))


def test_the_sexes_of_abalone_are_in_alphabetical_order(monkeypatch):
    male, female, infant = np.eye(3)
    X = np.column_stack([np.array([male, female, infant, male]), np.arange(4.0)])
    monkeypatch.setattr(sets, "_real_rows", lambda data: (X, np.array([9.0, 8, 7, 6])))
    features, classes = sets.rows_of("abalone", 3, "width", first=True)
    assert classes.tolist() == [2.0, 0.0, 1.0, 2.0]
    np.testing.assert_array_equal(features, [[0, 9], [1, 8], [2, 7], [3, 6]])
