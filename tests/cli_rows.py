"""Rows for the tests of the command line."""

from __future__ import annotations

import numpy as np

from pairrank.io import Rows

N_FEATURES = 4
WORDS = np.array(["poor", "fair", "good"])


def make_rows(seed: int, n_rows: int = 60, n_queries: int = 6) -> Rows:
    """Return rows whose labels 0 to 2 follow a linear utility with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)).round(3)
    utility = X @ np.array([2.0, -1.0, 0.5, 0.0]) + rng.normal(size=n_rows)
    y = np.digitize(utility, [-1.0, 1.0]).astype(np.float64)
    qid = np.repeat(np.arange(n_queries), n_rows // n_queries)
    return Rows(X, y, qid, None, [f"f{index}" for index in range(N_FEATURES)], None)


def weighted_rows(seed: int) -> Rows:
    """Return rows with a weight each, and others for the pairs that they win and lose."""
    wins = np.where(np.arange(60) % 3 == 0, 0.0, np.linspace(0.5, 2, 60))
    return make_rows(seed)._replace(
        weight=np.linspace(0.5, 2, 60), winner_weight=wins, loser_weight=np.linspace(2, 1, 60)
    )


def compared(seed: int) -> tuple[list[int], list[int], list[float]]:
    """Return the comparisons of every two rows of a query, by the differences of their labels."""
    rows = make_rows(seed)
    i, j = np.triu_indices(60, 1)
    joined = rows.qid[i] == rows.qid[j]
    i, j = i[joined], j[joined]
    return i.tolist(), j.tolist(), (rows.y[i] - rows.y[j]).tolist()
