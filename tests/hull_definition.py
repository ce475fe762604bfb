"""Formulations (27) and (28) of Fung et al. word for word, as a quadratic program for Clarabel."""

from __future__ import annotations

from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse


class Reference(NamedTuple):
    value: float
    coef: np.ndarray


def hull_program(X, y, nu, edges, *, weight=None, penalty=None):
    """Return P, A and b of min z'Pz/2, A z <= b, for z = (w, a slack a row, two limits an edge).

    An edge is (low, high): s_a - t_lo <= y_a for the rows of low, t_hi - s_b <= y_b for those of
    high, t_hi - t_lo >= 1.
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
    return P.tocsc(), sparse.vstack(parts).tocsc(), np.concatenate(bounds)


def hull_by_clarabel(X, y, nu, edges, *, weight=None, penalty=None, tol=1e-10):
    """Return the optimum by an interior point solver that knows nothing of limits."""
    P, A, b = hull_program(X, y, nu, edges, weight=weight, penalty=penalty)
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(b.size)]
    solver = clarabel.DefaultSolver(
        sparse.triu(P, format="csc"), np.zeros(P.shape[0]), A, b, cones, options
    )
    solution = solver.solve()
    return Reference(solution.obj_val, np.array(solution.x)[: X.shape[1]])
