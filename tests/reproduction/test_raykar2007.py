"""Raykar 2007: the pieces of the experiments agree with their definitions."""

import numpy as np
import pytest
from scipy.special import erfc

from reproduction.papers.raykar2007 import erfc as sums
from reproduction.protocols import ExplicitPairs, folds_of


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
