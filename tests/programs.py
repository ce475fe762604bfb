"""The papers' problems word for word, every slack an unknown of a quadratic program."""

from __future__ import annotations

from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse


class Reference(NamedTuple):
    """The optimum of a program: its value, and its first unknowns, the weights."""

    value: float
    coef: np.ndarray


def solved(P, q, A, b, n_features, tol):
    """Return min z'Pz/2 + q'z, A z <= b, by an interior point solver."""
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = tol
    P, cones = sparse.triu(P, format="csc"), [clarabel.NonnegativeConeT(b.size)]
    found = clarabel.DefaultSolver(P, q, A.tocsc(), b, cones, options).solve()
    return Reference(found.obj_val, np.array(found.x)[:n_features])


def hinge_cost(w, X, pairs, cost):
    """Return |w|^2/2 + the cost of every pair (i, j) times its hinge, by the definition."""
    i, j = np.asarray(pairs).T
    return float(0.5 * w @ w + cost @ np.maximum(0.0, 1.0 - X[i] @ w + X[j] @ w))


def hinge_by_clarabel(X, pairs, cost, *, tol=1e-11):
    """Return the weights of Eq. 2 of Lee & Lin: unknowns are the weights and a slack a pair."""
    i, j = np.asarray(pairs).T
    n_features, n_pairs = X.shape[1], i.size
    slack, none = sparse.eye(n_pairs), sparse.csr_matrix((n_pairs, n_features))
    A = sparse.bmat([[sparse.csr_matrix(X[j] - X[i]), -slack], [none, -slack]])
    b = np.concatenate([-np.ones(n_pairs), np.zeros(n_pairs)])
    scale = np.mean(cost)
    P = sparse.diags(np.concatenate([np.ones(n_features), np.zeros(n_pairs)]))
    q = np.concatenate([np.zeros(n_features), cost / scale])
    return solved(P / scale, q, A, b, n_features, tol).coef


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


def tube_cost(w, X, listed, epsilon, n):
    """Return |w|^2 and the sum of costs, by the definition."""
    error = np.abs(X[listed.i] @ w - X[listed.j] @ w - listed.wanted)
    return float(w @ w + listed.cost @ np.maximum(0.0, error - epsilon) ** n)


def tube_by_clarabel(X, listed, epsilon, n, *, tol=1e-11):
    """Return the weights of Eqs. 24 and 25 of Cortes et al.: unknowns are weights and slacks."""
    n_features, n_pairs = X.shape[1], listed.i.size
    D = sparse.csr_matrix(X[listed.i] - X[listed.j])
    slack, none = sparse.eye(n_pairs), sparse.csr_matrix((n_pairs, n_features))
    A = sparse.bmat([[D, -slack], [-D, -slack], [none, -slack]])
    b = np.concatenate([listed.wanted + epsilon, epsilon - listed.wanted, np.zeros(n_pairs)])
    square = 2.0 * listed.cost * (n == 2)
    P = sparse.diags(np.concatenate([np.full(n_features, 2.0), square]))
    q = np.concatenate([np.zeros(n_features), listed.cost * (n == 1)])
    return solved(P, q, A, b, n_features, tol).coef


def hull_by_clarabel(X, y, nu, edges, *, weight=None, penalty=None, tol=1e-10):
    """Return the optimum of (27) and (28) of Fung et al.

    Unknowns are the weights, a slack a row and two limits an edge. An edge is (low, high):
    s_a - t_lo <= y_a for the rows of low, t_hi - s_b <= y_b for those of high, t_hi - t_lo >= 1.
    """
    n_rows, n_features = X.shape
    weight = np.ones(n_rows) if weight is None else weight
    square = sparse.eye(n_features) if penalty is None else sparse.csc_matrix(penalty)
    n_edges = len(edges)
    P = sparse.block_diag(
        (square, sparse.diags(2 * nu * weight), sparse.csc_matrix((2 * n_edges, 2 * n_edges)))
    )
    parts, bounds = [], []
    for edge, (low, high) in enumerate(edges):
        for end, label, sign in ((0, low, 1.0), (1, high, -1.0)):
            inside = np.flatnonzero(y == label)
            places, ones = np.arange(inside.size), np.ones(inside.size)
            slack = sparse.csr_matrix((-ones, (places, inside)), (inside.size, n_rows))
            columns = np.full(inside.size, 2 * edge + end)
            limit = sparse.csr_matrix((-sign * ones, (places, columns)), (inside.size, 2 * n_edges))
            parts.append(sparse.hstack((sparse.csr_matrix(sign * X[inside]), slack, limit)))
            bounds.append(np.zeros(inside.size))
        margin = np.zeros((1, n_features + n_rows + 2 * n_edges))
        margin[0, n_features + n_rows + 2 * edge + np.array([0, 1])] = 1.0, -1.0
        parts.append(sparse.csr_matrix(margin))
        bounds.append([-1.0])
    A, b = sparse.vstack(parts), np.concatenate(bounds)
    return solved(P, np.zeros(P.shape[0]), A, b, n_features, tol)
