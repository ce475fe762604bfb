"""The order-statistic trees of Figure 4 agree with every pair, and with pairrank's optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import RankSVM
from reproduction.papers.lee2014.problems import Rows
from reproduction.papers.lee2014.trees import TREES, SquaredHinge, balance, insert, minimise


def rows_of(seed, n_rows, n_levels):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 3)), 1)
    return Rows(X, rng.integers(0, n_levels, n_rows).astype(float), rng.integers(0, 3, n_rows))


def by_pairs(rows, w, v, C):
    """Return value, gradient and Hessian product by a loop over every pair."""
    value, gradient, product = 0.5 * w @ w, w.copy(), v.copy()
    for i, one in enumerate(rows.X):
        for j, other in enumerate(rows.X):
            d = one - other
            excess = 1.0 - w @ d
            if rows.qid[i] == rows.qid[j] and rows.y[i] > rows.y[j] and excess > 0.0:
                value += C * excess**2
                gradient -= 2.0 * C * excess * d
                product += 2.0 * C * (d @ v) * d
    return value, gradient, product


@pytest.mark.parametrize("tree", TREES)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 25), n_levels=st.integers(1, 30))
def test_sums_by_a_tree_equal_those_over_every_pair(tree, seed, n_rows, n_levels):
    rows = rows_of(seed, n_rows, n_levels)
    w, v = np.random.default_rng(seed + 1).normal(size=(2, 3))
    objective = SquaredHinge(*rows[:3], 0.5, tree)
    value, gradient, product = by_pairs(rows, w, v, 0.5)
    found, slope = objective.value_and_gradient(w)
    assert found == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(slope, gradient, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(objective.product(w, v), product, rtol=1e-10, atol=1e-9)


@given(levels=st.lists(st.integers(0, 40), min_size=1, max_size=120))
def test_an_aa_tree_stays_sorted_and_balanced(levels):
    nodes = np.zeros((len(levels) + 1, 4), dtype=np.int64)
    left, right, depth, key = nodes.T
    sums, path = np.zeros((len(levels) + 1, 4)), np.zeros(128, dtype=np.int64)
    root = n_nodes = 0
    for level in levels:
        root, n_nodes = insert(nodes, sums, path, root, n_nodes, level, float(level))

    def walk(node, above):
        if not node:
            return []
        assert depth[left[node]] == depth[node] - 1
        assert depth[node] - depth[right[node]] in (0, 1)
        assert depth[right[right[node]]] < depth[node]
        assert above < 128
        inside = [*walk(left[node], above + 1), key[node], *walk(right[node], above + 1)]
        rows = [level for level in levels if level in inside]
        assert sums[node, 2:].tolist() == [len(rows), sum(rows)]
        return inside

    assert walk(root, 0) == sorted(set(levels))
    assert balance(nodes, sums, root) == root


@pytest.mark.parametrize("tree", TREES)
def test_a_descent_ends_at_the_optimum_of_pairrank(tree):
    rows = rows_of(5, 60, 4)
    steps = minimise(rows, 0.25, tree, 1e-8, 30.0)
    ranker = RankSVM(0.25, reduction="sum", tol=1e-10).fit(rows.X, rows.y, qid=rows.qid)
    np.testing.assert_allclose(steps[-1].coef, ranker.coef_, rtol=1e-5, atol=1e-7)
    assert steps[0].value > steps[-1].value
    assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)
