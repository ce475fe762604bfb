"""Interior points of the hull: products, the Newton system, statuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from pairrank.objective import HullObjective, hull_objective
from pairrank.objective.limit_rows import newton_system
from pairrank.preferences import Levels, OrderGraph

pytestmark = pytest.mark.numeric

EDGES = [(0.0, 1.0), (1.0, 2.0), (0.0, 3.0), (4.0, 3.0)]


def make_levels(n_rows=90, seed=0, graph="chain", n_queries=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n_rows).astype(float)
    weight = rng.integers(0, 3, n_rows).astype(float)
    return Levels.build(y, rng.integers(0, n_queries, n_rows), graph=graph, sample_weight=weight)


def make_objective(form=np.asarray, graph="chain", seed=0, n_features=3, nu=0.5, n_rows=90):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features)) + 5
    return HullObjective(form(X), make_levels(n_rows, seed=seed, graph=graph), nu), X


WAYS = ["kept", "in pieces", "sparse", "float32", "more features"]


@pytest.fixture(params=WAYS)
def problem(request, monkeypatch):
    """An objective along each of its ways, and its rows as one dense matrix."""
    monkeypatch.setattr(hull_objective, "_SPARSE_PIECE_ROWS", 20)
    if "pieces" in request.param:
        monkeypatch.setattr(hull_objective, "_ENTRIES_TO_KEEP", 0)
        monkeypatch.setattr(hull_objective, "_PIECE_ROWS", 13)
    form = {"sparse": sparse.csr_array, "float32": np.float32}.get(request.param, np.asarray)
    n_features = 100 if request.param.startswith("more") else 3
    graph = OrderGraph(EDGES)
    objective, X = make_objective(form, graph, n_features=n_features)
    rows = X[objective.row_of]
    if request.param.startswith("more"):
        basis = np.column_stack([objective.scores(one) for one in np.eye(objective.n_features)])
        np.testing.assert_allclose(basis @ basis.T, rows @ rows.T, atol=1e-9)
        rows = basis
    return objective, rows


def group_of(objective):
    return objective.by_row(np.arange(objective.n_groups))


def test_products_equal_those_of_the_rows(problem):
    objective, rows = problem
    rng = np.random.default_rng(1)
    w, v = rng.normal(size=objective.n_features), rng.normal(size=objective.n_rows)
    sides = rng.random((2, objective.n_rows))
    tolerance = {"rtol": 1e-5, "atol": 1e-5}
    assert rows.shape[0] < 90  # without the rows of weight 0 and of classes that no edge names
    np.testing.assert_allclose(objective.scores(w), rows @ w, **tolerance)
    np.testing.assert_allclose(objective.transposed(v), rows.T @ v, **tolerance)
    sums = np.zeros((2, objective.n_groups, objective.n_features))
    gram = np.zeros((objective.n_features, objective.n_features))
    totals = objective.by_group(sides)
    for piece in objective.pieces:
        objective.add_grams(piece, sides[:, piece.rows], gram, sums)
    np.testing.assert_allclose(gram, (rows.T * sides.sum(axis=0)) @ rows, **tolerance)
    groups = group_of(objective)
    spread = np.concatenate([piece.by_row(totals) for piece in objective.pieces], axis=1)
    np.testing.assert_array_equal(spread, totals[:, groups])
    for group, side in itertools.product(range(objective.n_groups), (0, 1)):
        inside = groups == group
        np.testing.assert_allclose(
            sums[side, group], sides[side, inside] @ rows[inside], **tolerance
        )
        assert objective.by_group(v)[group] == pytest.approx(v[inside].sum())
        assert totals[side, group] == pytest.approx(sides[side, inside].sum())


@pytest.mark.parametrize("graph", ["chain", "full", "odd"])
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_newton_s_system_equals_the_dense_one(graph, direct, form, monkeypatch):
    monkeypatch.setattr(hull_objective, "_PIECE_ROWS", 17)
    objective, _ = make_objective(form, OrderGraph(EDGES) if graph == "odd" else graph)
    objective.takes_matrices = direct
    rng = np.random.default_rng(2)
    has = objective.by_row(objective.bounded)
    sides, cross = rng.random(has.shape) * has, rng.random(has.shape[1]) * has.all(axis=0)
    stiffness = rng.random(objective.edges.shape[0])
    rows_matrix = np.column_stack([objective.scores(one) for one in np.eye(3)])
    # One row's energy: upper (s - L)^2 + lower (U - s)^2 + cross ((s - L) - (U - s))^2, halved.
    n_groups = objective.n_groups
    matrix = np.zeros((3 + 2 * n_groups, 3 + 2 * n_groups))
    matrix[:3, :3] = np.eye(3)

    def add(vector, weight):
        matrix[...] += weight * np.outer(vector, vector)

    for place, group in enumerate(group_of(objective)):
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
            np.add.at(total, group_of(objective)[piece.rows], values[piece.rows])
        return sides[:, piece.rows] + 2 * cross[piece.rows]

    system = newton_system(objective, couple, stiffness)
    weights, limits = system.solve(right[:3], right[3:].reshape(2, -1))
    tolerance = 1e-9 if direct else 1e-5
    np.testing.assert_allclose(weights, expected[:3], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(limits.ravel(), expected[3:], rtol=tolerance, atol=tolerance)
