"""Hinge and squared hinge: every route is the double loop, whatever the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions import hessian_product, hinge, pair_sum, preferences_of, violations
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.losses import Hinge, SquaredHinge
from pairrank.pair_sums import bind, hinge_schedule, hinge_state
from pairrank.preferences import Levels, Pairs
from strategies import KINDS, Problem, problems, scores_of

EPS = 1e-13
"""Ten times better than what is promised, so that a promise kept by luck is found out."""

ROUTES = ("flat_tree", "selection_tree", "direct")
PLANS = {
    "as_it_is": {},
    "pair_by_pair": {"SMALL_QUERY": 1000, "ROWS_A_LEVEL": 1000, "FEW_GROUPS": 0},
    "edges": {"SMALL_QUERY": 0, "FEW_GROUPS": 1000},
    "tree": {"SMALL_QUERY": 0, "FEW_GROUPS": 0, "LEAF_ROWS": 1},
    "tree_of_leaves": {"SMALL_QUERY": 0, "FEW_GROUPS": 2, "LEAF_ROWS": 5},
}


def make_plan(patch: pytest.MonkeyPatch, plan: str, *, kept: bool = True) -> None:
    for name, value in PLANS[plan].items():
        patch.setattr(hinge_schedule, name, value)
    if not kept:
        patch.setattr(hinge_state, "_PLAN_BYTES", 0)
        patch.setattr(hinge_state, "_PLAN_BYTES_A_ROW", 0)


def levels_of(problem: Problem, reduction: str = "sum") -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        levels = Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )
    return levels.reduced(reduction) if levels.n_pairs else levels


def pairs_of(problem: Problem) -> list[tuple]:
    """Return the preferences among rows of positive weight: what weighs nothing is not there."""
    y, qid, weight = problem.y, problem.qid, problem.weight
    kept = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    found = preferences_of(y[kept], None if qid is None else qid[kept], problem.graph)
    return [(kept[i], kept[j]) for i, j in found]


def assert_close(found: Any, wanted: Any, size: Any) -> None:
    error = np.abs(np.asarray(found) - wanted)
    assert (error <= EPS * np.asarray(size)).all(), (found, wanted, error / size)


def assert_matches(bound: Any, problem: Problem, margin: float, squared: bool) -> None:
    """Compare value, gradient, Hessian, counts and gammas with the definitions."""
    scores, weight, v = problem.scores, problem.weight, problem.v
    pairs = pairs_of(problem)
    cost, slope, bend = hinge(margin, squared)
    wanted = pair_sum(pairs, scores, cost, slope, weight)
    value, gradient = bound.at(scores)[:2]
    assert_close(value, wanted.value, wanted.value_size)
    assert_close(gradient, wanted.gradient, wanted.gradient_size)
    violating = violations(pairs, scores, margin)
    i, j = np.array(violating, dtype=int).reshape(-1, 2).T
    plus, minus = bound.counts(scores)
    assert (plus == np.bincount(j, minlength=scores.size)).all()
    assert (minus == np.bincount(i, minlength=scores.size)).all()
    if not squared:
        return
    curvature = bound.at(scores).curvature()
    product, size = hessian_product(pairs, scores, bend, v, weight)
    assert_close(curvature.matvec(v), product, size)
    assert_close(curvature.matmat(v[np.newaxis])[0], product, size)
    _, size = hessian_product(pairs, scores, bend, np.ones(scores.size), weight)
    assert_close(curvature.diagonal(), size / 2, size)
    for found, ends, others in zip(curvature.gamma(v), (j, i), (i, j), strict=True):
        wanted_gamma = np.bincount(ends, v[others], scores.size)
        assert_close(found, wanted_gamma, np.bincount(ends, np.abs(v[others]), scores.size))


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("plan", PLANS)
@given(problem=problems(), margin=st.sampled_from((1.0, 0.0, 0.3)), squared=st.booleans())
@settings(max_examples=60)
def test_levels_equal_the_double_loop(plan, kept, problem, margin, squared):
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, plan, kept=kept)
        loss = SquaredHinge(margin) if squared else Hinge(margin)
        assert_matches(bind(loss, levels_of(problem)), problem, margin, squared)


@pytest.mark.parametrize("route", ROUTES)
@given(problem=problems(), margin=st.sampled_from((1.0, 0.0)), squared=st.booleans())
@settings(max_examples=60)
def test_every_route_equals_the_double_loop(route, problem, margin, squared):
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, "tree_of_leaves")
        loss = SquaredHinge(margin) if squared else Hinge(margin)
        assert_matches(bind(loss, levels_of(problem), pair_sum=route), problem, margin, squared)


@given(problem=problems(graphs=("full",)), squared=st.booleans())
@settings(max_examples=100)
def test_explicit_pairs_equal_the_double_loop(problem, squared):
    pairs = preferences_of(problem.y, problem.qid, problem.graph)
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    n_rows = problem.scores.size
    bound = Pairs(i, j, n_rows=n_rows).bound(n_rows, sample_weight=problem.weight)
    loss = SquaredHinge() if squared else Hinge()
    assert_matches(bind(loss, bound), problem, 1.0, squared)


def random_levels(
    n_rows: int, n_levels: int, *, seed: int = 0, graph: Any = "full", queries: int = 1
) -> tuple[Levels, np.ndarray, np.random.Generator]:
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_levels, n_rows).astype(float)
    qid = generator.integers(0, queries, n_rows) if queries > 1 else None
    return Levels.build(y, qid, graph=graph), generator.normal(size=n_rows), generator


@pytest.mark.parametrize("reduction", ["rows", "query"])
@pytest.mark.parametrize("plan", PLANS)
@given(problem=problems(graphs=("full", "chain")))
@settings(max_examples=20)
def test_scaled_pairs_are_scaled_everywhere(plan, reduction, problem):
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, plan)
        levels = levels_of(problem, reduction)
        bound = bind(SquaredHinge(), levels)
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        row_scale = np.zeros(problem.y.size)
        row_scale[levels.row_of] = np.repeat(scale, np.diff(levels.query_start))
        cost, slope, bend = hinge(1.0, True)
        made = (pairs_of(problem), problem.scores)
        extra = (problem.weight, lambda i: row_scale[i])
        wanted = pair_sum(*made, cost, slope, *extra)
        value, gradient = bound.at(problem.scores)[:2]
        assert_close(value, wanted.value, wanted.value_size)
        assert_close(gradient, wanted.gradient, wanted.gradient_size)
        product, size = hessian_product(*made, bend, problem.v, *extra)
        assert_close(bound.at(problem.scores).curvature().matvec(problem.v), product, size)


@pytest.mark.parametrize("loss", [SquaredHinge(), SquaredHinge(0.0), Hinge(), Hinge(0.5)])
@pytest.mark.parametrize("n_levels", [2, 5, 900])
def test_gradient_and_curvature_are_the_differences(loss, n_levels):
    levels, scores, generator = random_levels(1000, n_levels)
    bound = bind(loss, levels)
    towards, step = generator.normal(size=scores.size), 1e-7
    (below, down), (above, up) = (bound.at(scores + side * step * towards)[:2] for side in (-1, 1))
    slope = bound.at(scores)[1] @ towards
    assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-5)
    if isinstance(loss, SquaredHinge):
        product = bound.at(scores).curvature().matvec(towards)
        assert (up - down) / (2 * step) == pytest.approx(product, rel=1e-3, abs=1e-3 * n_levels)


@pytest.mark.parametrize("n_levels", [2, 5, 40, 3000])
@pytest.mark.parametrize("kind", KINDS)
def test_routes_agree_on_thousands_of_rows(kind, n_levels):
    generator = np.random.default_rng(5)
    scores = scores_of(kind, 6000, generator)
    y, qid = generator.integers(0, n_levels, 6000) * 1.0, generator.integers(0, 3, 6000)
    levels = Levels.build(y, qid, sample_weight=generator.random(6000))
    results = [compare_route(route, levels, scores, generator) for route in ROUTES]
    for other in results[1:]:
        for found, wanted in zip(other, results[0], strict=True):
            size = np.abs(wanted).max() if np.ndim(wanted) else abs(wanted)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * size)


def compare_route(route: str, levels: Levels, scores: np.ndarray, generator: Any) -> list:
    bound = bind(SquaredHinge(), levels, pair_sum=route)
    v = np.sin(np.arange(scores.size))
    curvature = bound.at(scores).curvature()
    return [*bound.at(scores)[:2], curvature.matvec(v), *bound.counts(scores)]


@pytest.mark.slow
@pytest.mark.parametrize("n_levels", [2, 5, 100])
def test_routes_agree_on_a_million_rows(n_levels):
    levels, scores, generator = random_levels(1_000_000, n_levels)
    results = [compare_route(route, levels, scores, generator) for route in ROUTES]
    for other in results[1:]:
        for found, wanted in zip(other, results[0], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("n_levels", [2, 5, 500])
def test_order_of_rows_does_not_matter(n_levels):
    levels, scores, generator = random_levels(1000, n_levels)
    order = generator.permutation(scores.size)
    shuffled = Levels.build(labels_of(levels)[order])
    value, gradient = bind(SquaredHinge(), levels).at(scores)[:2]
    again, moved = bind(SquaredHinge(), shuffled).at(scores[order])[:2]
    assert again == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(moved, gradient[order], rtol=1e-12)


def labels_of(levels: Levels) -> np.ndarray:
    level = np.repeat(levels.group_level, np.diff(levels.group_start))
    return levels.from_layout(levels.labels[level].astype(float))


@pytest.mark.parametrize("plan", PLANS)
def test_an_outlier_costs_the_others_no_digits(plan, monkeypatch):
    make_plan(monkeypatch, plan)
    levels, scores, _ = random_levels(300, 7)
    bound = bind(SquaredHinge(), levels)
    quiet = scores.copy()
    labels = labels_of(levels)
    best = int(np.flatnonzero(labels == labels.max())[0])
    quiet[best], scores[best] = 1e3, 1e150
    wanted, found = bound.at(quiet), bound.at(scores)
    assert found[0] == pytest.approx(wanted[0], rel=1e-13)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-13)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("route", ROUTES)
def test_far_scores_overflow_to_infinity(plan, route, monkeypatch):
    make_plan(monkeypatch, plan)
    levels, scores, _ = random_levels(60, 3)
    bound = bind(SquaredHinge(), levels, pair_sum=route)
    value, gradient = bound.at(1e150 * scores)[:2]
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    value, gradient = bound.at(1e200 * scores)[:2]
    assert value == np.inf
    assert np.isfinite(gradient).all()
    assert bound.at(np.where(scores > 0, np.inf, scores))[0] == np.inf


def test_a_changed_array_is_seen_and_a_curvature_outlives_it():
    levels, scores, generator = random_levels(2000, 5)
    bound = bind(SquaredHinge(), levels)
    first = bound.at(scores)
    curvature, v = bound.at(scores).curvature(), generator.normal(size=scores.size)
    product = curvature.matvec(v)
    kept = scores.copy()
    scores += generator.normal(size=scores.size)
    other = bound.at(scores)
    assert other[0] != first[0]
    assert (curvature.matvec(v) == product).all()
    again = bound.at(kept)
    assert again[0] == first[0]
    assert (again[1] == first[1]).all()


@pytest.mark.parametrize("n_levels", [2, 20])
def test_gradient_and_curvature_share_one_sort(n_levels, monkeypatch):
    levels, scores, _ = random_levels(3000, n_levels)
    bound = bind(SquaredHinge(), levels)
    bound.at(scores)
    monkeypatch.setattr(hinge_state, "sort_segments", lambda *args: pytest.fail("sorted again"))
    bound.at(scores.copy()).curvature().matvec(scores)
    bound.counts(scores)


def test_many_pairs_are_counted_exactly():
    n_rows = 400_000
    levels = Levels.build(np.arange(n_rows) % 2.0)
    plus, minus = bind(SquaredHinge(), levels).counts(np.zeros(n_rows))
    assert int(plus.sum()) == int(minus.sum()) == (n_rows // 2) ** 2 == levels.n_pairs


@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge(0.25)])
def test_phi_is_what_is_summed(loss):
    levels, scores, _ = random_levels(50, 4)
    pairs = preferences_of(labels_of(levels), None, "full")
    d = np.array([scores[i] - scores[j] for i, j in pairs])
    assert loss.phi(d).sum() == pytest.approx(bind(loss, levels).at(scores)[0])
    cost, slope, bend = hinge(loss.margin, isinstance(loss, SquaredHinge))
    for order, function in enumerate((cost, slope, bend)):
        assert loss.phi(d, order=order).tolist() == [function(x) for x in d]


def test_wrong_requests_are_refused():
    levels, scores, _ = random_levels(50, 4)
    with pytest.raises(PairrankError, match="'fast'; choose one of 'auto', 'flat_tree'"):
        bind(SquaredHinge(), levels, pair_sum="fast")
    with pytest.raises(PairrankError, match="no curvature"):
        bind(Hinge(), levels).at(scores).curvature()
    with pytest.raises(PairrankError, match=r"shape \(49,\), but there are 50 rows"):
        bind(SquaredHinge(), levels).at(scores[1:])
    with pytest.raises(PairrankError, match="order 0, 1 and 2, got 3"):
        SquaredHinge().phi(scores, order=3)


@pytest.mark.parametrize("upwards", [True, False])
@pytest.mark.parametrize("n_levels", [2, 7])
def test_a_hundred_thousand_additions_lose_no_digits(n_levels, upwards):
    """A plain running sum of 0.1 is off by 1e-12 here, and by 1e-10 at ten million rows."""
    n_rows = 100_000
    y = np.minimum(np.arange(n_rows + 1) // (n_rows // (n_levels - 1)), n_levels - 1) * 1.0
    levels = Levels.build(y if upwards else -y, sample_weight=np.full(n_rows + 1, 0.1))
    others = int((y < n_levels - 1).sum())
    zero, tenths = np.zeros(n_rows + 1), np.full(n_rows + 1, 0.1)
    curvature = bind(SquaredHinge(), levels).at(zero).curvature()
    assert curvature.diagonal()[-1] == pytest.approx(2 * 0.1 * 0.1 * others, rel=1e-14)
    gamma = curvature.gamma(tenths)[1 if upwards else 0]
    assert gamma[-1] == pytest.approx(0.1 * others, rel=1e-14)
    slope = -0.01 if upwards else 0.01
    gradient = bind(Hinge(), levels).at(zero)[1]
    assert gradient[-1] == pytest.approx(slope * others, rel=1e-14)


def test_one_changed_score_is_seen():
    levels, scores, _ = random_levels(2000, 5)
    bound = bind(SquaredHinge(), levels)
    first = bound.at(scores)[0]
    scores[1234] += 1.0
    assert bound.at(scores)[0] != first
