"""Fits on tens of thousands of rows end at one optimum, in the same bits on one thread and two."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from block_sources import cut
from pairrank import (
    ConvexHullRanker,
    MPRank,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
)
from pairrank.metrics import tube_cost

pytestmark = pytest.mark.numeric


N_ROWS = 30_000


def made(n_levels, n_queries=1, *, seed=0, n_rows=N_ROWS):
    """Return X of features that differ in size and depend on one another, y, and identifiers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) @ rng.normal(size=(4, 4)) * [1.0, 3.0, 0.1, 1.0] + 5.0
    y = X @ [1.0, -0.5, 2.0, 0.2] + 2.0 * rng.normal(size=n_rows)
    if n_levels:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_levels) / n_levels)) * 1.0
    return X, y, rng.integers(0, n_queries, n_rows)


@pytest.mark.parametrize(
    ("ranker", "n_queries"),
    [
        (MPRank(3.0, n=1, tol=1e-4), 1),
        (SVRank(3.0, 0.5, tol=1e-4), 1),
        (SVRank(3.0, 0.5, n=2, tol=1e-9), 700),
        (MPRank(3.0, tol=1e-10), 3),
    ],
    ids=str,
)
def test_the_objective_of_tubes_is_their_cost_over_every_pair(ranker, n_queries):
    X, y, qid = made(0, n_queries)
    w = ranker.fit(X, y, qid=qid).coef_
    options = {"epsilon": getattr(ranker, "epsilon", 0.0), "n": ranker.n}
    costs = tube_cost(y, X @ w, qid=qid, average="queries", **options) * n_queries
    assert ranker.objective_ == pytest.approx(w @ w + 3.0 * costs, rel=1e-8)
    assert ranker.status_ in ("converged", "gap_closed")


@pytest.mark.parametrize("n_queries", [1, 500])
def test_squares_are_centred_least_squares(n_queries):
    X, y, qid = made(0, n_queries)
    size = np.bincount(qid)
    centre = [np.bincount(qid, column) / size for column in (*X.T, y)]
    Z, r = X - np.transpose(centre[:-1])[qid], y - centre[-1][qid]
    wanted = np.linalg.solve(Z.T @ Z + 7.0 * np.eye(4), Z.T @ r)
    for solver in ("auto", "cg", "direct"):
        found = RankRLS(7.0, solver=solver, tol=1e-12).fit(X, y, qid=qid).coef_
        np.testing.assert_allclose(found, wanted, rtol=1e-7)


ON_BLOCKS = {
    "squared hinge": (RankSVM(tol=1e-8), 3),
    "real labels": (RankSVM(tol=1e-8), 0),
    "logistic": (RankNCG(tol=1e-8), 4),
    "probit of real labels": (RankNCG(loss="probit", tol=1e-8), 0),
    "squares": (RankRLS(tol=1e-12), 0),
    "tube": (SVRank(1.0, 0.5, n=2, tol=1e-9), 0),
    "hinge": (RankSVM(loss="hinge", tol=1e-3), 3),
}
LAYOUTS = [
    *((name, "shuffled") for name in ON_BLOCKS if "real" not in name),
    ("logistic", "one query"),
    ("real labels", "sorted"),
    ("probit of real labels", "sorted"),
]


@pytest.mark.parametrize(("name", "layout"), LAYOUTS)
def test_blocks_beyond_the_sample_end_where_memory_ends(name, layout):
    ranker, n_levels = ON_BLOCKS[name]
    X, y, qid = made(n_levels, 1 if layout == "one query" else 60, n_rows=55_000)
    if layout == "sorted":
        order = np.argsort(qid, kind="stable")
        X, y, qid = X[order], y[order], qid[order]
    blocks = cut([20_000, 20_001, 40_000], X, y, qid)
    wanted = type(ranker)(**ranker.get_params()).fit(X, y, qid=qid)
    found = ranker.fit(blocks)
    assert (found.n_pairs_, found.n_queries_) == (wanted.n_pairs_, wanted.n_queries_)
    if name == "hinge":
        assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-3)
        return
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-8)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-4, atol=1e-7)


RANKERS = {
    "squared hinge": RankSVM(),
    "hinge": RankSVM(loss="hinge"),
    "logistic": RankNCG(),
    "probit": RankNCG(loss="probit"),
    "exponential": PairwiseRanker(),
    "squares": RankRLS(),
    "MPRank": MPRank(1.0, n=1),
    "SVRank": SVRank(1.0, n=2),
    "hull": ConvexHullRanker(),
    "boosting": RankBoost(5),
}


@pytest.mark.parametrize("name", RANKERS)
def test_a_fit_has_the_same_bits_on_one_thread_and_two(name):
    is_sparse = list(RANKERS).index(name) % 2
    rng = np.random.default_rng(0)
    n_rows = 30_000
    X = rng.normal(size=(n_rows, 12))
    if is_sparse:
        X[np.abs(X) < 1] = 0.0
    y = np.digitize(X[:, :3].sum(axis=1) + rng.normal(size=n_rows), [-1.0, 1.0])
    qid = rng.integers(0, 3, n_rows)
    table = sparse.csr_array(X) if is_sparse else X
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            ranker = RANKERS[name].fit(table, y, qid=qid)
            found.append(ranker.predict(table))
    np.testing.assert_array_equal(*found)
