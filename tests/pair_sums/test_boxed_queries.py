"""Fast sums over levels: every plan is the double loop to eps, whatever graph, labels, weights."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions import Sums, logistic, preferences_of, probit, sums_over
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.exceptions import PairrankWarning
from pairrank.losses import Logistic
from pairrank.pair_sums import bands, bind, box_sum, boxed_queries, sigmoid
from pairrank.pair_sums.profiles import PRODUCT_EPS
from pairrank.pair_sums.sigmoid import SigmoidSum
from pairrank.preferences import Levels, OrderGraph
from pairrank.preferences._codes import totals_around
from strategies import Problem, problems, scores_of

pytestmark = pytest.mark.numeric

ROUNDING = 1e-14
"""Of the weight of the pairs."""
DEFINITIONS = {LOGISTIC: logistic(), PROBIT: probit()}

PLANS: dict[str, tuple[str, dict[tuple[Any, str], Any]]] = {
    "auto": ("auto", {}),
    "levels": ("boxes", {(sigmoid, "BAND_ROWS"): 1}),
    "bands": ("boxes", {(sigmoid, "BAND_ROWS"): 4}),
    "large bands": ("boxes", {}),
    "small batches": ("boxes", {(sigmoid, "BAND_ROWS"): 4, (boxed_queries, "ROWS_A_BATCH"): 16}),
    "sorting": ("boxes", {(sigmoid, "BAND_ROWS"): 1, (box_sum, "FEW_BOXES"): 0}),
}


def make_plan(patch: pytest.MonkeyPatch, plan: str) -> None:
    for (module, name), value in PLANS[plan][1].items():
        patch.setattr(module, name, value)


def levels_of(problem: Problem, reduction: str = "sum") -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        levels = Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )
    return levels.reduced(reduction) if levels.n_pairs else levels


def double_loop(problem: Problem, kind: int, levels: Levels) -> Sums:
    y, qid, weight = problem.y, problem.qid, problem.weight
    kept = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    found = preferences_of(y[kept], None if qid is None else qid[kept], problem.graph)
    pairs = [(kept[i], kept[j]) for i, j in found]
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    by_row = levels.from_layout(np.repeat(scale, np.diff(levels.query_start)))
    loss = DEFINITIONS[kind]
    return sums_over(pairs, problem.scores, loss, problem.v, weight, lambda i: by_row[i])


def results(bound: SigmoidSum, scores: np.ndarray, v: np.ndarray) -> tuple:
    """Return value, gradient, product, diagonal and influence."""
    found = bound.at(scores)
    curvature = found.curvature()
    influence = bound.influence(scores, v[np.newaxis])[0]
    return found.value, found.gradient, curvature.matvec(v), curvature.diagonal(), influence


def boxed(levels: Levels, kind: int, eps: float, name: str = "boxes") -> SigmoidSum:
    return SigmoidSum(levels, kind, name, eps)


def assert_within(found: Any, wanted: Any, allowed: Any) -> None:
    error = np.abs(np.asarray(found) - wanted)
    assert (error <= allowed).all(), (found, wanted, error / allowed)


def assert_matches(found: tuple, wanted: Sums, eps: float) -> None:
    value, gradient, product, diagonal, influence = found
    size = wanted.pair_weight + wanted.value
    assert_within(value, wanted.value, eps * wanted.pair_weight + ROUNDING * size)
    assert_within(gradient, wanted.gradient, (eps + ROUNDING) * wanted.row_weight)
    assert_within(influence, wanted.influence, (eps + 10 * ROUNDING) * wanted.span.max())
    eps = max(eps, PRODUCT_EPS)
    assert_within(product, wanted.product, eps * wanted.span.max())
    assert_within(diagonal, wanted.diagonal, eps * wanted.row_weight)


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("plan", PLANS)
@given(
    problem=problems(),
    reduction=st.sampled_from(("sum", "rows", "query")),
    eps=st.sampled_from((1e-1, 1e-3, 1e-6, 1e-10, 1e-13)),
)
@settings(max_examples=25)
def test_levels_equal_the_double_loop(plan, kind, problem, reduction, eps):
    levels = levels_of(problem, reduction)
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, plan)
        found = results(boxed(levels, kind, eps, PLANS[plan][0]), problem.scores, problem.v)
    assert_matches(found, double_loop(problem, kind, levels), eps)


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("plan", PLANS)
@given(problem=problems(graphs=("full",)), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_weights_of_every_size_are_carried(plan, kind, problem, seed):
    """The heaviest rows may outweigh the others by 1e100: errors are of the others' weight."""
    exponents = np.random.default_rng(seed).integers(-50, 51, problem.y.size)
    problem = problem._replace(weight=10.0**exponents, v=np.sin(np.arange(problem.y.size)))
    levels = levels_of(problem)
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, plan)
        bound = boxed(levels, kind, 1e-6, PLANS[plan][0])
        value, gradient, *_ = results(bound, problem.scores, problem.v)
    wanted = double_loop(problem, kind, levels)
    size = wanted.pair_weight + wanted.value
    assert_within(value, wanted.value, 1e-6 * wanted.pair_weight + ROUNDING * size)
    assert_within(gradient, wanted.gradient, (1e-6 + ROUNDING) * wanted.row_weight)


GRAPHS = {
    "full": "full",
    "chain": "chain",
    "diamond": OrderGraph([(0, 1), (0, 2), (1, 4), (2, 4), (5, 3), (0, 4)]),
}


CASES = [
    *[(graph, "six") for graph in GRAPHS],
    *[(graph, labels) for graph in ("full", "chain") for labels in ("skewed", "ties", "real")],
]


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize(("graph", "labels"), CASES)
@pytest.mark.parametrize("scores", ["normal", "wide", "outlier", "constant", "offset", "clusters"])
@pytest.mark.parametrize("weighted", [False, True])
def test_thousands_of_rows_equal_pair_by_pair(weighted, kind, graph, labels, scores):
    generator = np.random.default_rng(3)
    n_rows = 1500
    y = {
        "six": generator.integers(0, 6, n_rows),
        "skewed": np.floor(generator.exponential(4.0, n_rows) ** 2),
        "ties": generator.integers(0, 300, n_rows),
        "real": generator.normal(size=n_rows),
    }[labels].astype(float)
    qid = generator.integers(0, 2, n_rows)
    weight = generator.exponential(size=n_rows) * (generator.random(n_rows) < 0.9)
    weight = weight if weighted else None
    levels = Levels.build(y, qid, graph=GRAPHS[graph], sample_weight=weight).reduced("rows")
    at, v = scores_of(scores, n_rows, generator), generator.normal(size=n_rows)
    direct = results(boxed(levels, kind, 1e-6, "direct"), at, v)
    pairs = sum(levels.wins_and_losses())
    span = pairs * np.abs(v) + pairs.max() * np.abs(v).max()
    size = levels.total_weight
    for eps in (1e-6, 1e-12):
        found = results(boxed(levels, kind, eps), at, v)
        assert_within(found[0], direct[0], eps * size + ROUNDING * (size + direct[0]))
        assert_within(found[1], direct[1], (eps + ROUNDING) * pairs)
        assert_within(found[2], direct[2], max(eps, 1e-6) * span)
        assert_within(found[3], direct[3], max(eps, 1e-6) * pairs)
        assert_within(found[4], direct[4], (eps + 10 * ROUNDING) * span)


def random_levels(n_rows: int, n_levels: int, graph: Any = "full") -> tuple:
    generator = np.random.default_rng(0)
    y = generator.integers(0, n_levels, n_rows).astype(float)
    return Levels.build(y, graph=graph), generator.normal(size=n_rows), generator


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("n_levels", [2, 6, 900])
def test_gradient_and_products_are_the_differences(kind, n_levels):
    levels, scores, generator = random_levels(1500, n_levels)
    bound = boxed(levels, kind, 1e-12)
    towards, step = generator.normal(size=scores.size), 1e-4
    (below, down), (above, up) = (bound.at(scores + side * step * towards)[:2] for side in (-1, 1))
    slope = results(bound, scores, towards)[1] @ towards
    assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-6)
    product = results(bound, scores, towards)[2]
    assert (up - down) / (2 * step) == pytest.approx(product, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("graph", ["full", "chain"])
@pytest.mark.parametrize("n_levels", [2, 6, 900])
@pytest.mark.parametrize("eps", [1e-3, 1e-10])
def test_order_of_rows_does_not_matter(graph, n_levels, eps):
    levels, scores, generator = random_levels(3000, n_levels, graph)
    level = np.repeat(levels.group_level, np.diff(levels.group_start))
    y = levels.from_layout(levels.labels[level].astype(float))
    order, v = generator.permutation(scores.size), generator.normal(size=scores.size)
    shuffled = Levels.build(y[order], graph=graph)
    wanted = results(boxed(levels, LOGISTIC, eps), scores, v)
    found = results(boxed(shuffled, LOGISTIC, eps), scores[order], v[order])
    assert found[0] == pytest.approx(wanted[0], rel=1e-12)
    for moved, stayed in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(moved, stayed[order], atol=1e-12 * np.abs(stayed).max())


@pytest.mark.parametrize("n_levels", [2, 6, 900])
@pytest.mark.parametrize("far", [1e3, 1e8, 1e150, 1e300])
def test_an_outlier_costs_the_others_no_digits(n_levels, far):
    levels, scores, _ = random_levels(1200, n_levels)
    best = int(levels.row_of[-1])
    scores[best] = 100.0
    wanted = results(boxed(levels, LOGISTIC, 1e-12), scores, scores)
    scores[best] = far
    found = results(boxed(levels, LOGISTIC, 1e-12), scores, np.where(scores == far, 100.0, scores))
    assert found[0] == pytest.approx(wanted[0], rel=1e-10)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-11 * levels.n_rows)


def test_a_query_need_not_be_one_run_of_rows():
    generator = np.random.default_rng(5)
    y, scores = generator.integers(0, 4, 4000) * 1.0, generator.normal(size=4000)
    qid = np.repeat([0, 1], 2000)
    order = generator.permutation(4000)
    runs, mixed = Levels.build(y, qid), Levels.build(y[order], qid[order])
    wanted = results(boxed(runs, PROBIT, 1e-8), scores, scores)
    found = results(boxed(mixed, PROBIT, 1e-8), scores[order], scores[order])
    assert found[0] == pytest.approx(wanted[0], rel=1e-12)
    for moved, stayed in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(moved, stayed[order], atol=1e-11 * np.abs(stayed).max())


def test_only_the_chosen_queries_are_summed():
    generator = np.random.default_rng(6)
    y, scores = generator.integers(0, 3, 900) * 1.0, generator.normal(size=900)
    levels = Levels.build(y, np.arange(900) % 3)
    gradient, chosen = np.zeros(900), np.array([False, True, False])
    borders = bands.borders_of(levels, chosen, 1)
    costs = boxed_queries.BoxedQueries(levels, chosen, borders, LOGISTIC, 1e-6).costs(
        scores, gradient
    )
    assert (costs > 0.0).tolist() == chosen.tolist()
    assert (gradient[np.arange(900) % 3 != 1] == 0.0).all()
    assert (gradient[1::3] != 0.0).all()


@pytest.mark.parametrize("algorithm", ["boxes", "direct"])
def test_a_curvature_outlives_its_scores(algorithm):
    levels, scores, generator = random_levels(2000, 5)
    curvature = bind(Logistic(), levels, pair_sum=algorithm).at(scores).curvature()
    v = generator.normal(size=2000)
    before = curvature.matvec(v)
    scores += 1.0 + generator.normal(size=2000)
    assert (before == curvature.matvec(v)).all()


def test_sums_of_unequal_weights_lose_no_digits():
    """Of as many levels as rows: one sum after another would lose a part of 1e-13."""
    totals = 10.0 ** np.random.default_rng(0).uniform(-10, 10, 300_000)
    below, above = totals_around(totals, np.array([0, totals.size]))
    for at in (1, 2, 1000, 150_000, 299_998):
        assert below[at] == pytest.approx(math.fsum(totals[:at]), rel=1e-14)
        assert above[at] == pytest.approx(math.fsum(totals[at + 1 :]), rel=1e-14)
