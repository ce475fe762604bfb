"""The Newton system of the hull: rows in pieces, dense and sparse, against the dense system."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank.objective import HullObjective, hull_objective
from pairrank.objective.limit_rows import newton_system
from pairrank.preferences import Levels, OrderGraph

pytestmark = pytest.mark.numeric

EDGES = [(0.0, 1.0), (1.0, 2.0), (0.0, 3.0), (4.0, 3.0)]


@pytest.mark.parametrize("graph", ["chain", "full", OrderGraph(EDGES)], ids=str)
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
@pytest.mark.parametrize("kept", [True, False])
def test_newton_s_system_equals_the_dense_one(graph, direct, form, kept, monkeypatch):
    """Rows come in pieces, which are kept or computed anew."""
    monkeypatch.setattr(hull_objective, "_PIECE_ROWS", 17)
    monkeypatch.setattr(hull_objective, "_SPARSE_PIECE_ROWS", 20)
    monkeypatch.setattr(hull_objective, "_ENTRIES_TO_KEEP", 1 << 23 if kept else 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) + 5
    y, weight = rng.integers(0, 6, 90) * 1.0, rng.integers(0, 3, 90) * 1.0
    levels = Levels.build(y, rng.integers(0, 4, 90), graph=graph, sample_weight=weight)
    objective = HullObjective(form(X), levels, 0.5)
    objective.takes_matrices = direct
    group_of = objective.by_row(np.arange(objective.n_groups))
    has = objective.by_row(objective.bounded)
    sides, cross = rng.random(has.shape) * has, rng.random(has.shape[1]) * has.all(axis=0)
    stiffness = rng.random(objective.edges.shape[0])
    rows_matrix = np.column_stack([objective.scores(one) for one in np.eye(3)])
    rows, v = X[objective.row_of], rng.normal(size=objective.n_rows)
    np.testing.assert_allclose(rows_matrix, rows, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(objective.transposed(v), rows.T @ v, rtol=1e-5, atol=1e-5)
    # One row's energy: upper (s - L)^2 + lower (U - s)^2 + cross ((s - L) - (U - s))^2, halved.
    n_groups = objective.n_groups
    matrix = np.zeros((3 + 2 * n_groups, 3 + 2 * n_groups))
    matrix[:3, :3] = np.eye(3)

    def add(vector, weight):
        matrix[...] += weight * np.outer(vector, vector)

    for place, group in enumerate(group_of):
        above, below = np.zeros(len(matrix)), np.zeros(len(matrix))
        above[:3], above[3 + n_groups + group] = rows_matrix[place], -1
        below[:3], below[3 + group] = -rows_matrix[place], 1
        add(above, sides[1, place])
        add(below, sides[0, place])
        add(above - below, cross[place])
    for (low, high), weight in zip(objective.edges, stiffness, strict=True):
        apart = np.zeros(len(matrix))
        apart[3 + high], apart[3 + n_groups + low] = 1, -1
        add(apart, weight)
    free = 3 + np.flatnonzero(~objective.bounded.ravel())
    matrix[free, free] = 1.0
    right = rng.normal(size=len(matrix))
    expected = np.linalg.solve(matrix, right)

    def couple(piece, totals):
        for total, values in zip(totals, (*sides, cross), strict=True):
            np.add.at(total, group_of[piece.rows], values[piece.rows])
        return sides[:, piece.rows] + 2 * cross[piece.rows]

    system = newton_system(objective, couple, stiffness)
    weights, limits = system.solve(right[:3], right[3:].reshape(2, -1))
    tolerance = 1e-9 if direct else 1e-5
    np.testing.assert_allclose(weights, expected[:3], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(limits.ravel(), expected[3:], rtol=tolerance, atol=tolerance)
