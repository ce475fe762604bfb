"""The Hessian of a sample as a matrix, against products of the sum over every pair."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import OrderGraph
from pairrank.losses import Logistic, Probit, SquaredHinge
from pairrank.objective.pair_hessian import PairHessian, takes_levels
from pairrank.pair_sums import bind
from pairrank.preferences import Levels

LOSSES = (Logistic(), Probit(), SquaredHinge())
GRAPHS = {"full": "full", "chain": "chain", "edges": OrderGraph([(0, 2), (1, 2)])}


def by_products(loss, levels, X, scores):
    curvature = bind(loss, levels, eps=1e-12).at(scores).curvature()
    return curvature.matmat(np.ascontiguousarray(X.T)) @ X


def sample(rng, sizes, n_levels, graph="full", *, roles=False):
    """Return Levels in the order of the rows, and rows."""
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.integers(0, n_levels, qid.size).astype(float)
    order = np.lexsort((y, qid))
    y, qid = y[order], qid[order]
    weights = {"sample_weight": rng.uniform(0.5, 2.0, y.size)} if roles else {}
    if roles:
        weights |= {"winner_weight": rng.uniform(0, 2, y.size) * (rng.random(y.size) < 0.8)}
    levels = Levels.build(y, qid=qid, graph=graph, **weights).reduced("query")
    assert levels.in_order
    return levels, rng.normal(size=(y.size, 4)), rng.normal(size=y.size) + y / n_levels


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("roles", [False, True])
def test_small_queries_take_every_pair(loss, graph, roles):
    rng = np.random.default_rng(0)
    levels, X, scores = sample(rng, [1, 40, 3, 90, 2, 41], 3, GRAPHS[graph], roles=roles)
    assert takes_levels(levels)
    hessian = PairHessian(loss, levels, X)
    assert hessian.is_exact
    expected = by_products(loss, levels, X, scores)
    np.testing.assert_allclose(hessian.at(scores), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n_levels", [2, 5, 3000])
def test_large_queries_are_binned_to_a_few_percent(loss, n_levels):
    rng = np.random.default_rng(2)
    levels, X, scores = sample(rng, [3000, 20, 800], n_levels, roles=n_levels == 5)
    hessian = PairHessian(loss, levels, X)
    assert not hessian.is_exact
    expected = by_products(loss, levels, X, scores)
    assert np.linalg.norm(hessian.at(scores) - expected) <= 0.03 * np.linalg.norm(expected)
