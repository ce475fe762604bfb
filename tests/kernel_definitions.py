"""Kernels by their formulas, and the check of inner products of features against them."""

from __future__ import annotations

import numpy as np


def rbf(X, Y, gamma=0.3):
    return np.exp(-gamma * np.square(X[:, None, :] - Y[None, :, :]).sum(axis=2))


def quadratic(X, Y):
    return np.array([[(x @ y + 2.0) ** 2 for y in Y] for x in X])


def laplacian(X, Y):
    return np.exp(-np.abs(X[:, None, :] - Y[None, :, :]).sum(axis=2))


KERNELS = {
    "rbf": ({"function": "rbf", "gamma": 0.3}, rbf),
    "poly": ({"function": "poly", "gamma": 1.0, "degree": 2, "coef0": 2.0}, quadratic),
    "callable": ({"function": laplacian}, laplacian),
}
NAMED = ("rbf", "poly")


def rows_of(n_rows, n_features=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def assert_gram(first, second, expected, tolerance=1e-10):
    """Check inner products to a tolerance relative to the greatest kernel value."""
    np.testing.assert_allclose(first @ second.T, expected, atol=tolerance * np.abs(expected).max())
