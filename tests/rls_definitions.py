"""What RankRLS minimises, pair by pair: slow solutions that its shortcuts are checked against."""

from __future__ import annotations

import numpy as np


def refit(X, y, qid, weight, alpha):
    """Return the weights that minimise the double sum over differences, solved as it is written."""
    n_features = X.shape[1]
    A, c = alpha * np.eye(n_features), np.zeros((n_features, y.shape[1]))
    for query in np.unique(qid[weight > 0]):
        rows = np.flatnonzero((qid == query) & (weight > 0))
        for i in rows:
            # Differences of row i with all rows of its query, both directions counted by i's turn.
            x, d = X[i] - X[rows], y[i] - y[rows]
            share = weight[i] * weight[rows] / (2 * weight[rows].sum())
            A += (x.T * share) @ x
            c += (x.T * share) @ d
    return np.linalg.solve(A, c)


def awkward_rows(kind, rng, n_rows, n_features):
    """Return rows of ties, far from zero, all alike, or of single precision."""
    X = rng.integers(0, 2, (n_rows, n_features)).astype(float)
    if kind in ("offset", "float32"):
        X = rng.normal(size=X.shape) + (1e7 if kind == "offset" else 0.0)
    X = np.full_like(X, 0.1) if kind == "constant" else X
    return X.astype(np.float32) if kind == "float32" else X
