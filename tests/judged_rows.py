"""Rows that scorers judge, and a model of their first feature."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator


class FirstFeature(BaseEstimator):
    """Scores rows by their first feature."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def judged_rows():
    """Return X, labels, queries and weights."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(9), 12))
    X = rng.normal(size=(qid.size, 2))
    y = np.clip(np.rint(1.5 * X[:, 0] + X[:, 1] + 1), 0, 4)
    return X, y, qid, 1.0 + qid % 3
