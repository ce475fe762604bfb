"""Rows for the tests of the command line."""

from __future__ import annotations

import numpy as np

from pairrank.io import Rows

N_FEATURES = 4


def make_rows(seed: int, n_rows: int = 60, n_queries: int = 6) -> Rows:
    """Return rows whose labels 0 to 2 follow a linear utility with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)).round(3)
    utility = X @ np.array([2.0, -1.0, 0.5, 0.0]) + rng.normal(size=n_rows)
    y = np.digitize(utility, [-1.0, 1.0]).astype(np.float64)
    qid = np.repeat(np.arange(n_queries), n_rows // n_queries)
    return Rows(X, y, qid, None, [f"f{index}" for index in range(N_FEATURES)], None)
