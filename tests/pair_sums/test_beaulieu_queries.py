"""Probit sums by Beaulieu's series against the double loop, the direct sum and themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions import preferences_of, probit, sums_over
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.pair_sums import exact_pairs
from pairrank.pair_sums.exact_pairs import SigmoidPairs
from pairrank.pair_sums.papers import beaulieu_queries
from pairrank.pair_sums.papers.beaulieu_queries import BeaulieuQueries
from pairrank.preferences import Levels, OrderGraph
from strategies import KINDS, problems, scores_of

pytestmark = pytest.mark.numeric

ROUNDING = 2e-14
"""What the docstring allows beside eps, of the weight of a row's pairs."""
PLANS = ("as chosen", "all series", "own sums by series")
NAMED = ("full", "chain")
GRAPHS = (*NAMED, OrderGraph([(0.0, 3.0), (1.0, 3.0), (1.0, 2.0), (3.0, 4.0)]))


def make_plan(patch: Any, plan: str) -> None:
    """Send small queries, edges and levels where large ones go."""
    if plan != "as chosen":
        patch.setattr(beaulieu_queries, "FEW_PAIRS", 0)
        patch.setattr(exact_pairs, "TIED_ROWS", 3)
    if plan == "own sums by series":
        patch.setattr(beaulieu_queries, "SMALL_GROUP", 1)


def levels_of(problem: Any) -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        return Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )


def pairs_of(problem: Any) -> list[tuple]:
    y, qid, weight = problem.y, problem.qid, problem.weight
    kept = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    found = preferences_of(y[kept], None if qid is None else qid[kept], problem.graph)
    return [(kept[i], kept[j]) for i, j in found]


@pytest.mark.parametrize("plan", PLANS)
@given(problem=problems(), eps=st.sampled_from((0.1, 1e-3, 1e-6, 1e-10, 1e-13)))
@settings(max_examples=60)
def test_sums_equal_the_double_loop(plan, problem, eps):
    levels = levels_of(problem)
    wanted = sums_over(
        pairs_of(problem), problem.scores, probit(), problem.v, problem.weight, lambda i: 1.0
    )
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, plan)
        bound = BeaulieuQueries(levels, np.arange(levels.n_queries), PROBIT, eps)
        gradient = np.ones(levels.n_rows)
        value = bound.value_and_gradient(problem.scores, gradient)
    allowed = (eps + ROUNDING) * wanted.row_weight + 4e-16
    assert (np.abs(gradient - 1.0 - wanted.gradient) <= allowed).all()
    size = wanted.value + wanted.pair_weight
    assert abs(value - wanted.value) <= eps * wanted.pair_weight + ROUNDING * size


def made(n_rows: int, n_levels: int, graph: Any, *, weighted: bool, seed: int = 0) -> Levels:
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_levels, n_rows).astype(float)
    y[generator.random(n_rows) < 0.6] = min(2.0, n_levels - 1)
    qid = generator.integers(0, 2, n_rows)
    weight = generator.exponential(size=n_rows) if weighted else None
    return Levels.build(y, qid, graph=graph, sample_weight=weight).reduced("query")


def gradients(levels: Levels, scores: Any, eps: float) -> tuple[Any, Any, Any]:
    """Return the gradient by series and pair by pair, and the weight of each row's pairs.

    The sum pair by pair adds up n_rows costs a row, and then as many rows: it may be off by
    2 n_rows roundings itself.
    """
    queries = np.arange(levels.n_queries)
    found, wanted = np.zeros(levels.n_rows), np.zeros(levels.n_rows)
    value = BeaulieuQueries(levels, queries, PROBIT, eps).value_and_gradient(scores, found)
    exact = SigmoidPairs(levels, queries, PROBIT, eps).value_and_gradient(scores, wanted)
    wins, losses = levels.wins_and_losses()
    rounding = ROUNDING + 2 * levels.n_rows * np.finfo(float).eps
    allowed = eps * levels.total_weight + rounding * (exact + levels.total_weight)
    assert abs(value - exact) <= allowed
    return found, wanted, wins + losses


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_levels", "graph"),
    [(n, graph) for n in (2, 5, 40, 1000) for graph in GRAPHS if n in (5, 40) or graph in NAMED],
)
def test_thousands_of_rows_equal_the_direct_sum(n_levels, graph, weighted):
    levels = made(3000, n_levels, graph, weighted=weighted)
    for seed, kind in enumerate(KINDS):
        scores = scores_of(kind, 3000, np.random.default_rng(seed))
        for eps in (1e-3, 1e-10):
            found, wanted, weight = gradients(levels, scores, eps)
            assert (np.abs(found - wanted) <= (eps + ROUNDING) * weight).all(), kind


@pytest.mark.parametrize("heaviest", [0, 1, 3])
def test_a_level_of_nearly_all_the_weight_costs_the_others_no_digits(heaviest):
    generator = np.random.default_rng(1)
    y = np.repeat(np.arange(4.0), 100)
    weight = np.where(y == heaviest, 1e60, generator.random(400) + 0.5)
    levels = Levels.build(y, sample_weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, "all series")
        found, wanted, _ = gradients(levels, generator.normal(size=400), 1e-12)
    size = weight * [weight[y != level].sum() for level in y]
    assert (np.abs(found - wanted) <= (1e-12 + ROUNDING) * size).all()


@pytest.mark.parametrize("graph", GRAPHS)
def test_curvature_and_influence_are_those_of_all_queries(graph):
    generator = np.random.default_rng(2)
    y, qid = generator.integers(0, 5, 1500).astype(float), np.arange(1500) // 500
    qid[:60] = np.arange(60) // 20 + 3
    levels = Levels.build(y, qid, graph=graph)
    scores, v = generator.normal(size=(2, 1500))
    queries = np.arange(levels.n_queries)
    bound, exact = (of(levels, queries, PROBIT, 1e-9) for of in (BeaulieuQueries, SigmoidPairs))
    made = []
    for part in (bound, exact):
        product, diagonal, influence = np.zeros((3, 1500))
        for each in part.derivatives(2, scores):
            each.product(v, product)
            each.diagonal(diagonal)
        for each in part.derivatives(1, scores):
            each.product(v, influence)
        made.append((product, diagonal, influence))
    for found, wanted in zip(*made, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_queries_that_are_not_asked_for_stay_as_they_are():
    levels = made(2000, 5, "full", weighted=False)
    gradient = np.full(2000, 7.0)
    bound = BeaulieuQueries(levels, np.array([1]), PROBIT, 1e-6)
    bound.value_and_gradient(np.random.default_rng(0).normal(size=2000), gradient)
    outside = levels.row_of[levels.query_start[0] : levels.query_start[1]]
    assert (gradient[outside] == 7.0).all()
    assert (np.delete(gradient, outside) != 7.0).all()


def test_the_logistic_loss_is_refused():
    levels = made(50, 3, "full", weighted=False)
    with pytest.raises(PairrankError, match="serves the probit loss alone"):
        BeaulieuQueries(levels, np.array([0]), LOGISTIC, 1e-6)
