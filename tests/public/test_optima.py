"""Every ranker of preferences ends at the optimum of its definition, whatever it is given.

Options are cycled so that any two values of two of them meet in some case, not in every case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse

from block_sources import cut
from loss_table import pairs_of, weights_of
from pairrank import OrderGraph, Pairs, PairwiseRanker, RankNCG, RankSVM
from pairrank.losses import as_loss
from programs import hinge_by_clarabel
from strategies import Problem

pytestmark = pytest.mark.numeric


class Kind(NamedTuple):
    """A ranker, and how its objective weighs its penalty: |w|^2/2 times this."""

    ranker: Any
    loss: str
    penalty: float
    solvers: tuple[str, ...]
    sums: tuple[str, ...]


HINGES = ("auto", "sorted", "selection_tree", "level_counting", "direct")
TRON = ("auto", "tron", "ncg")
KINDS = {
    "squared_hinge": Kind(RankSVM(0.7), "squared_hinge", 1.0, ("auto", "tron"), (*HINGES, "cells")),
    "hinge": Kind(RankSVM(0.7, loss="hinge"), "hinge", 1.0, ("auto", "bundle"), HINGES),
    "logistic": Kind(RankNCG(0.6), "logistic", 0.6, TRON, ("auto", "boxes", "direct")),
    "probit": Kind(
        RankNCG(0.6, loss="probit"), "probit", 0.6, TRON, ("auto", "boxes", "beaulieu", "direct")
    ),
    "exponential": Kind(
        PairwiseRanker(C=0.7), "exponential", 1.0, TRON, ("auto", "separable", "direct")
    ),
    "modified_huber": Kind(
        PairwiseRanker("modified_huber", C=0.7), "modified_huber", 1.0, TRON, ("auto",)
    ),
    "huberised_hinge": Kind(
        PairwiseRanker("huberised_hinge", C=0.7), "huberised_hinge", 1.0, TRON, ("auto",)
    ),
}
GRAPHS = ("full", "chain", OrderGraph([(0.0, 2.0), (1.0, 3.0), (0.0, 1.0)]))
WEIGHTS = ("none", "rows", "roles", "both")
REDUCTIONS = ("rows", "query", "sum")
INPUTS = ("dense", "csr", "float32", "frame", "blocks", "pairs")
NOT_CROSSING = ("hinge", "exponential")
"""The exponential is refused where one query crosses blocks, the hinge is less precise there."""
CASES = [(name, case) for name in KINDS for case in range(12)]


def problem_of(case: int) -> tuple[np.ndarray, Problem]:
    rng = np.random.default_rng(case)
    n_rows = 50
    X = rng.normal(size=(n_rows, 3)).astype(np.float32).astype(np.float64)
    y = np.digitize(X @ [1.0, -0.5, 0.2] + rng.normal(size=n_rows), [-1.0, 0.0, 1.0]) * 1.0
    qid = np.sort(rng.integers(0, 4, n_rows)) if case % 2 else None
    kind = WEIGHTS[case // 3]
    weight = rng.choice([0.0, 0.5, 2.0], n_rows) if kind in ("rows", "both") else None
    roles = rng.choice([0.0, 1.0, 3.0], (2, n_rows)) if kind in ("roles", "both") else (None, None)
    return X, Problem(y, qid, GRAPHS[case % 3], weight, y, y, *roles)


def costs_of(problem: Problem, pairs: np.ndarray, reduction: str) -> np.ndarray:
    """Return what each pair weighs in the objective."""
    weight = np.ones(problem.y.size) if problem.weight is None else problem.weight
    winner, loser = weights_of(problem)
    qid = np.zeros(problem.y.size) if problem.qid is None else problem.qid
    i, j = pairs
    cost, kept = winner[i] * loser[j], (winner > 0) | (loser > 0)
    if reduction == "sum":
        return cost
    if reduction == "rows":
        return cost * weight[kept].sum() / cost.sum()
    total = {q: cost[qid[i] == q].sum() for q in set(qid[i])}
    share = weight[kept].sum() / len(set(qid[kept]))
    return cost * share / np.array([total[q] for q in qid[i]])


def fitted(ranker: Any, form: str, X: np.ndarray, problem: Problem, pairs: np.ndarray) -> Any:
    given = problem.aligned
    if form == "blocks":
        borders = [20, 21, 36]
        if ranker.loss in NOT_CROSSING and problem.qid is None:
            borders = []
        return ranker.fit(cut(borders, X, problem.y, *given.values()))
    if form == "pairs":
        return ranker.fit(X, Pairs(*pairs, n_rows=len(X)), **given)
    table = {
        "dense": X,
        "csr": sparse.csr_array(X),
        "float32": X.astype(np.float32),
        "frame": pd.DataFrame(X, columns=list("abc")),
    }[form]
    return ranker.fit(table, problem.y, **given)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_optimum_is_that_of_every_listed_pair(name, case):
    kind = KINDS[name]
    X, problem = problem_of(case)
    pairs = np.array(pairs_of(problem)).T
    form, reduction = INPUTS[(case + case // 6) % 6], REDUCTIONS[case // 2 % 3]
    options = {"tol": 1e-7 if name == "hinge" else 1e-9, "reduction": reduction, "max_iter": 5000}
    if form != "pairs":
        options["graph"] = problem.graph
    if form not in ("pairs", "blocks"):
        options["solver"] = kind.solvers[case % len(kind.solvers)]
        options["pair_sum"] = kind.sums[case % len(kind.sums)]
    if "eps" in kind.ranker.get_params():
        options["eps"] = 1e-12
    ranker = type(kind.ranker)(**{**kind.ranker.get_params(), **options})
    fitted(ranker, form, X, problem, pairs)
    assert ranker.n_pairs_ == pairs.shape[1]

    loss, D = as_loss(kind.loss), X[pairs[0]] - X[pairs[1]]
    cost = costs_of(problem, pairs, reduction) * (ranker.C if hasattr(ranker, "C") else 1.0)

    def value(w):
        slope = cost * loss.phi(D @ w, order=1)
        return kind.penalty * w @ w / 2 + cost @ loss.phi(D @ w), kind.penalty * w + slope @ D

    fine = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000}
    best = optimize.minimize(value, np.zeros(3), jac=True, method="L-BFGS-B", options=fine).x
    best = hinge_by_clarabel(X, pairs.T, cost) if name == "hinge" else best
    found = value(ranker.coef_)[0]
    assert ranker.objective_ == pytest.approx(found, rel=1e-9)
    assert found <= value(best)[0] * (1 + 1e-6 if name == "hinge" else 1 + 1e-9)
    if name != "hinge":
        np.testing.assert_allclose(ranker.coef_, best, atol=1e-5)


def summed_over_all(loss: Any, X: np.ndarray, y: np.ndarray, qid: Any, w: np.ndarray) -> Any:
    """Return value, gradient and number of pairs of a sum over every pair, some rows at a time."""
    scores, value, gradient, count = X @ w, 0.0, np.zeros(X.shape[1]), 0
    for start in range(0, len(y), 500):
        part = slice(start, start + 500)
        i, j = np.nonzero((y[part, None] > y) & (qid[part, None] == qid))
        d = scores[part][i] - scores[j]
        slope = loss.phi(d, order=1)
        value += loss.phi(d).sum()
        count += d.size
        gradient += np.bincount(i, slope, len(y[part])) @ X[part]
        gradient -= np.bincount(j, slope, len(y)) @ X
    return value, gradient, count


LARGE = [
    *((name, sum_, levels) for name in KINDS for levels in (5, 0) for sum_ in ("auto",)),
    ("squared_hinge", "cells", 5), ("squared_hinge", "cells", 0), ("hinge", "cells", 0),
    ("logistic", "boxes", 0), ("probit", "boxes", 5), ("exponential", "separable", 0),
]  # fmt: skip
"""Losses, pair sums, and numbers of labels; 0: as many as rows."""


@pytest.mark.parametrize(("name", "pair_sum", "n_levels"), LARGE)
def test_the_optimum_over_millions_of_pairs_is_that_of_all_of_them(name, pair_sum, n_levels):
    kind, rng = KINDS[name], np.random.default_rng(1)
    n_rows, n_queries = 800 if "huber" in name else 3000, 30 if pair_sum == "auto" else 1
    X = rng.normal(size=(n_rows, 4))
    X[:, 3] += 1e5
    y = X[:, :3] @ [1.0, -0.5, 0.2] + rng.normal(size=n_rows)
    if n_levels:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_levels) / n_levels)) * 1.0
    qid = rng.integers(0, n_queries, n_rows)
    options = {"tol": 1e-5 if name == "hinge" else 1e-8, "pair_sum": pair_sum}
    ranker = type(kind.ranker)(**{**kind.ranker.get_params(), **options})
    ranker.fit(X, y, qid=qid)
    loss = as_loss(kind.loss)
    value, gradient, count = summed_over_all(loss, X, y, qid, ranker.coef_)
    assert ranker.n_pairs_ == count
    scale = n_rows / count * getattr(ranker, "C", 1.0)
    w = ranker.coef_
    # eps = 1e-6 of the weight of all pairs is what box sums may be off by.
    objective = kind.penalty * w @ w / 2 + scale * value
    assert ranker.objective_ == pytest.approx(objective, rel=1e-5)
    if name == "hinge":
        assert ranker.objective_ - ranker.gap_ <= objective * (1 + 1e-9)
        assert ranker.gap_ <= 1e-5 * objective
        return
    at_0 = scale * summed_over_all(loss, X, y, qid, np.zeros(4))[1]
    left = kind.penalty * w + scale * gradient
    # A row's gradient may be off by eps; the last feature is about 1e5 in every row.
    size = np.abs(X - X.mean(axis=0)).sum(axis=0)
    assert np.abs(left).max() <= 1e-6 * np.abs(at_0).max() + 1e-6 * size.max()
