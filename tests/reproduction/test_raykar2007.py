"""Raykar 2007: the pieces of the experiments agree with their definitions."""

import statistics

import numpy as np
import pytest
from scipy.special import erfc
from sklearn.datasets import load_diabetes

from reproduction.data.made import discretize
from reproduction.papers.raykar2007 import erfc as sums
from reproduction.papers.raykar2007 import sets
from reproduction.protocols import ExplicitPairs, count_preferences, folds_of, with_ties


def test_the_series_errs_less_than_its_bound_until_rounding():
    for terms in (1, 3, 6, 12):
        found = sums.series_errors(terms=terms, n_points=501)
        assert found["error"] <= found["bound"] + 1e-15
    assert found["error"] < 1e-6


def test_the_series_is_the_papers():
    terms, points = 5, np.linspace(-4.0, 4.0, 41)
    found = sums.series_errors(terms=terms, n_points=41)
    slow = np.ones(points.size)
    for n in range(1, 2 * terms, 2):
        h = found["h"]
        slow -= 4 / np.pi * np.exp(-(n**2) * h**2) / n * np.sin(2 * n * h * points)
    assert found["error"] == pytest.approx(np.abs(erfc(points) - slow).max(), rel=1e-6)


def test_a_direct_sum_beyond_the_largest_is_extrapolated(monkeypatch):
    monkeypatch.setattr(sums, "LARGEST_DIRECT", 150)
    asked = []

    def spy(sources, targets, **options):
        asked.append(targets.size)
        return np.array([erfc(target - sources).sum() for target in targets])

    monkeypatch.setattr(sums, "fast_erfc_sum", spy)
    for n_points, method in ((120, "direct"), (300, "direct"), (300, "boxes")):
        sums.sum_of_erfc(n_points=n_points, eps=1e-6, method=method, n_repeats=1)
    assert asked[1::2] == [120, sums.FEW_TARGETS, 300]


def test_quadratic_features_have_the_inner_products_of_the_kernel():
    X = np.random.default_rng(0).normal(size=(6, 4))
    features = ExplicitPairs(degree=2)._features(X)
    assert np.allclose(features @ features.T, (X @ X.T + 1.0) ** 2 - 1.0)


def test_folds_part_the_rows_and_are_scaled_on_the_training_rows():
    X = np.random.default_rng(1).normal(3.0, 2.0, (23, 2))
    y = np.arange(23.0)
    folds = list(folds_of(X, y, 5, seed=3))
    assert sorted(np.concatenate([fold.y_test for fold in folds])) == y.tolist()
    for fold in folds:
        assert np.allclose(fold.X.mean(axis=0), 0.0)
        assert np.allclose(fold.X.std(axis=0), 1.0)
        assert not set(fold.y) & set(fold.y_test)


def test_rounded_scores_tie_where_additions_differ_in_order():
    assert len(set(with_ties([0.1 + 0.2, 0.3, 1.0]))) == 2
    assert with_ties([0.0, 0.0]).tolist() == [0.0, 0.0]


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
