"""Rows for boosting objectives and metrics, and stand-ins for the data of the libraries."""

from __future__ import annotations

import numpy as np


class Data:
    """A stand-in for a Dataset, or with `num_row` for a DMatrix."""

    def __init__(self, labels, weight=None, group=None, *, matrix=False):
        self.label, self.weight, self.group = labels, weight, group
        if matrix:
            self.num_row = lambda: len(labels)

    def get_label(self):
        return np.asarray(self.label, dtype=np.float32)

    def get_weight(self):
        return self.weight

    def get_group(self):
        return self.group


def rows(n_rows=30, n_queries=5):
    rng = np.random.default_rng(0)
    qid = np.sort(rng.integers(0, n_queries, n_rows))
    y = rng.integers(0, 3, n_rows).astype(float)
    return y, rng.normal(size=n_rows), qid, np.bincount(qid), rng.exponential(size=n_rows)


def learnable_rows(n_queries=40, seed=0, size=12):
    """Return X, grades that trees can learn, and sorted queries of one size."""
    rng = np.random.default_rng(seed)
    n_rows = n_queries * size
    X = rng.normal(size=(n_rows, 4))
    score = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    y = np.digitize(score, [-1.0, 0.5, 1.5]).astype(float)
    return X, y, np.repeat(np.arange(n_queries), size)


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
