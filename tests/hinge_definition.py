"""Eq. 2 of Lee & Lin word for word: every pair a slack of a quadratic program."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def objective_at(w, X, pairs, cost):
    """Return |w|^2/2 + the cost of every pair (i, j) times its hinge, by the definition."""
    i, j = np.asarray(pairs).T
    return float(0.5 * w @ w + cost @ np.maximum(0.0, 1.0 - X[i] @ w + X[j] @ w))


def hinge_by_clarabel(X, pairs, cost, *, tol=1e-11):
    """Return the weights at the optimum: unknowns are the weights and a slack a pair."""
    i, j = np.asarray(pairs).T
    n_features, n_pairs = X.shape[1], i.size
    D = sparse.csr_matrix(X[i] - X[j])
    slack, none = sparse.eye(n_pairs), sparse.csr_matrix((n_pairs, n_features))
    A = sparse.bmat([[-D, -slack], [none, -slack]], format="csc")
    b = np.concatenate([-np.ones(n_pairs), np.zeros(n_pairs)])
    P = sparse.diags(np.concatenate([np.ones(n_features), np.zeros(n_pairs)]), format="csc")
    scale = np.mean(cost)
    q = np.concatenate([np.zeros(n_features), cost / scale])
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(b.size)]
    solution = clarabel.DefaultSolver(P / scale, q, A, b, cones, options).solve()
    return np.array(solution.x)[:n_features]
