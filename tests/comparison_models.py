"""Estimators that fail or warn, for the tests of comparisons."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator


class Column(BaseEstimator):
    """Scores rows by one of their features."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.column]


class Stopped(Column):
    """Returns from an interrupted fit, as rankers do."""

    def fit(self, X, y):
        self.status_ = "interrupted"
        return self


class Broken(Column):
    """Fails in its fit."""

    def fit(self, X, y):
        raise RuntimeError("no such\n luck")


class Warns(Column):
    """Warns in its fit, twice the same."""

    def fit(self, X, y):
        for _ in range(2):
            warnings.warn("it did not converge", UserWarning, stacklevel=1)
        return self


class Nothing(Column):
    """Predicts no number."""

    def predict(self, X):
        return np.full(X.shape[0], np.nan)


class Huge(Column):
    """Scores rows so high that squares of scores are infinite."""

    def predict(self, X):
        return 1e300 * X[:, 0]
