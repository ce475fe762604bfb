"""Eqs. 24 and 25 of Cortes et al. word for word: every pair a slack of a quadratic program."""

from __future__ import annotations

from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse


class Comparisons(NamedTuple):
    """Pairs of rows, what their scores are to differ by, and what an error costs."""

    i: np.ndarray
    j: np.ndarray
    wanted: np.ndarray
    cost: np.ndarray


def all_differences(y, C, qid=None, weight=None):
    """List each pair of a query once, at C w_i w_j/m_q^2 for either direction."""
    qid = np.zeros(y.size) if qid is None else np.asarray(qid)
    weight = np.ones(y.size) if weight is None else np.asarray(weight, dtype=float)
    i, j = np.triu_indices(y.size, 1)
    inside = (qid[i] == qid[j]) & (weight[i] * weight[j] > 0)
    i, j = i[inside], j[inside]
    total = np.array([weight[qid == query].sum() for query in qid[i]])
    return Comparisons(i, j, y[i] - y[j], 2.0 * C * weight[i] * weight[j] / total**2)


def objective_at(w, X, listed, epsilon, n):
    """Return |w|^2 and the sum of costs, by the definition."""
    error = np.abs(X[listed.i] @ w - X[listed.j] @ w - listed.wanted)
    return float(w @ w + listed.cost @ np.maximum(0.0, error - epsilon) ** n)


def tube_by_clarabel(X, listed, epsilon, n, *, tol=1e-11):
    """Return the weights at the optimum: unknowns are the weights and a slack a pair."""
    n_features, n_pairs = X.shape[1], listed.i.size
    D = sparse.csr_matrix(X[listed.i] - X[listed.j])
    slack, none = sparse.eye(n_pairs), sparse.csr_matrix((n_pairs, n_features))
    A = sparse.bmat([[D, -slack], [-D, -slack], [none, -slack]], format="csc")
    b = np.concatenate([listed.wanted + epsilon, epsilon - listed.wanted, np.zeros(n_pairs)])
    square = 2.0 * listed.cost * (n == 2)
    P = sparse.diags(np.concatenate([np.full(n_features, 2.0), square]), format="csc")
    q = np.concatenate([np.zeros(n_features), listed.cost * (n == 1)])
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(b.size)]
    solution = clarabel.DefaultSolver(P, q, A, b, cones, options).solve()
    return np.array(solution.x)[:n_features]
