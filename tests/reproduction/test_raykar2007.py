"""Raykar 2007: the pieces of the experiments agree with their definitions."""

import numpy as np
import pytest
from scipy.special import erfc

from reproduction.papers.raykar2007 import erfc as sums
from reproduction.protocols import ExplicitPairs, count_preferences, folds_of, with_ties


def test_the_series_errs_less_than_its_bound_until_rounding():
    for terms in (1, 3, 6, 12):
        found = sums.series_errors(terms=terms, n_points=501)
        assert found["error"] <= found["bound"] + 1e-15
    assert found["error"] < 1e-6


def test_the_series_is_the_papers():
    terms, points = 5, np.linspace(-4.0, 4.0, 41)
    h = sums.series_errors(terms=terms, n_points=41)["h"]
    slow = np.ones(points.size)
    for n in range(1, 2 * terms, 2):
        slow -= 4 / np.pi * np.exp(-(n**2) * h**2) / n * np.sin(2 * n * h * points)
    error = sums.series_errors(terms=terms, n_points=41)["error"]
    assert error == pytest.approx(np.abs(erfc(points) - slow).max(), rel=1e-6)


def test_a_direct_sum_beyond_the_largest_is_extrapolated(monkeypatch):
    monkeypatch.setattr(sums, "LARGEST_DIRECT", 150)
    asked = []

    def spy(sources, targets, **options):
        asked.append(targets.size)
        return np.array([erfc(target - sources).sum() for target in targets])

    monkeypatch.setattr(sums, "fast_erfc_sum", spy)
    sums.sum_of_erfc(n_points=120, eps=1e-6, method="direct", n_repeats=1)
    sums.sum_of_erfc(n_points=300, eps=1e-6, method="direct", n_repeats=1)
    sums.sum_of_erfc(n_points=300, eps=1e-6, method="boxes", n_repeats=1)
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


def test_classes_of_equal_count_have_the_most_pairs():
    """The reason why the numbers of pairs differ from the paper's Table 1."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, k = rng.integers(20, 200), int(rng.integers(2, 6))
        even = count_preferences(np.arange(n) * k // n)
        assert count_preferences(rng.integers(0, k, n)) <= even
