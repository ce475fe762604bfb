"""Hinge and squared hinge: schedules, routes and what is kept between calls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import LOSSES
from pairrank.losses import Hinge, HuberisedHinge, ModifiedHuber, SquaredHinge
from pairrank.pair_sums import bind
from pairrank.pair_sums import sorted as sorted_module
from pairrank.pair_sums import sorted as sorted_sums
from pairrank.preferences import Levels
from strategies import KINDS, problems, scores_of
from sum_table import assert_sums, double_loop, levels_of

pytestmark = pytest.mark.numeric

HINGES = [name for name in LOSSES if "hinge" in name and "huberised" not in name]
ROUTES = ("sorted", "selection_tree", "level_counting")
PLANS = {
    "as_it_is": {},
    "pair_by_pair": {"SMALL_QUERY": 1000, "ROWS_PER_LEVEL": 1000},
    "tree": {"SMALL_QUERY": 0, "LEAF_ROWS": 1},
    "tree_of_leaves": {"SMALL_QUERY": 0, "LEAF_ROWS": 5},
}


def make_plan(patch: pytest.MonkeyPatch, plan: str) -> None:
    for name, value in PLANS[plan].items():
        patch.setattr(sorted_sums, name, value)


@pytest.mark.parametrize("plan", PLANS)
@given(
    problem=problems(),
    name=st.sampled_from(HINGES),
    reduction=st.sampled_from(("sum", "rows", "query")),
    rows_per_part=st.sampled_from((1, sorted_module.ROWS_PER_PART)),
)
def test_every_schedule_equals_the_double_loop(plan, problem, name, reduction, rows_per_part):
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, plan)
        patch.setattr(sorted_module, "ROWS_PER_PART", rows_per_part)
        levels = levels_of(problem, reduction)
        bound = bind(LOSSES[name].loss, levels)
        wanted = double_loop(problem, LOSSES[name].definition, levels)
        assert_sums(name, bound, problem.scores, problem.v, wanted)


def random_levels(
    n_rows: int, n_levels: int, *, seed: int = 0, graph: Any = "full", queries: int = 1
) -> tuple[Levels, np.ndarray, np.random.Generator]:
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_levels, n_rows).astype(float)
    qid = generator.integers(0, queries, n_rows) if queries > 1 else None
    return Levels.build(y, qid, graph=graph), generator.normal(size=n_rows), generator


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
    counts = bind(Hinge(), levels, pair_sum=route).at(scores).gradient
    return [*bound.at(scores)[:2], curvature.matvec(v), counts]


@pytest.mark.slow
@pytest.mark.parametrize("n_levels", [2, 5, 100])
def test_routes_agree_on_a_million_rows(n_levels):
    levels, scores, generator = random_levels(1_000_000, n_levels)
    results = [compare_route(route, levels, scores, generator) for route in ROUTES]
    for other in results[1:]:
        for found, wanted in zip(other, results[0], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())


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
    found = bound.at(scores)
    monkeypatch.setattr(sorted_module, "sort_segments", lambda *args: pytest.fail("sorted again"))
    found.curvature().matvec(scores)


@pytest.mark.parametrize("upwards", [True, False])
@pytest.mark.parametrize("n_levels", [2, 7])
def test_a_hundred_thousand_additions_lose_no_digits(n_levels, upwards):
    """A plain running sum of 0.1 is off by 1e-12 here, and by 1e-10 at ten million rows."""
    n_rows = 100_000
    y = np.minimum(np.arange(n_rows + 1) // (n_rows // (n_levels - 1)), n_levels - 1) * 1.0
    levels = Levels.build(y if upwards else -y, sample_weight=np.full(n_rows + 1, 0.1))
    others = int((y < n_levels - 1).sum())
    zero = np.zeros(n_rows + 1)
    curvature = bind(SquaredHinge(), levels, pair_sum="sorted").at(zero).curvature()
    assert curvature.diagonal()[-1] == pytest.approx(2 * 0.1 * 0.1 * others, rel=1e-14)
    slope = -0.01 if upwards else 0.01
    gradient = bind(Hinge(), levels, pair_sum="sorted").at(zero)[1]
    assert gradient[-1] == pytest.approx(slope * others, rel=1e-14)


@pytest.mark.parametrize("rows_per_part", [1, sorted_module.ROWS_PER_PART])
def test_queries_of_few_and_of_many_levels_add_up(rows_per_part, monkeypatch):
    """Of the same sum, two queries are summed by trees and one pair by pair."""
    monkeypatch.setattr(sorted_module, "ROWS_PER_PART", rows_per_part)
    generator = np.random.default_rng(2)
    qid = np.arange(2000) % 2
    y = np.where(qid, generator.integers(0, 100, 2000), np.arange(2000) // 2 % 2) * 1.0
    qid[:100] = 2
    levels, scores = Levels.build(y, qid), generator.normal(size=2000)
    v = generator.normal(size=2000)
    found, wanted = (
        bind(SquaredHinge(), levels, pair_sum=name).at(scores) for name in ("sorted", "direct")
    )
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-12)
    np.testing.assert_allclose(
        found.curvature().matvec(v), wanted.curvature().matvec(v), rtol=1e-10, atol=1e-9
    )


def test_one_changed_score_is_seen():
    levels, scores, _ = random_levels(2000, 5)
    bound = bind(SquaredHinge(), levels)
    first = bound.at(scores)[0]
    scores[1234] += 1.0
    assert bound.at(scores)[0] != first


def far_margin(loss, n_rows=40):
    """Return the sum and the rows' gradients in exact fractions, for scores 1e13 margins apart."""
    scores = np.random.default_rng(0).normal(size=n_rows) * 10.0 ** (np.arange(n_rows) % 14)
    y = np.random.default_rng(1).integers(0, 3, n_rows)
    value, gradient = Fraction(0), [Fraction(0)] * n_rows
    for i, j in zip(*np.nonzero(y[:, None] > y[None, :]), strict=True):
        d = Fraction(scores[i]) - Fraction(scores[j])
        for margin, power, c in loss.family.terms:
            over = max(Fraction(margin) - d, 0)
            value += Fraction(c) * over**power
            slope = Fraction(c) * (2 * over if power == 2 else over > 0)
            gradient[i] -= slope
            gradient[j] += slope
    return Levels.build(y * 1.0), scores, float(value), np.array([float(g) for g in gradient])


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), ModifiedHuber(), HuberisedHinge(0.5)], ids=str
)
def test_scores_many_margins_apart_cost_no_digits(loss, plan, monkeypatch):
    make_plan(monkeypatch, plan)
    levels, scores, value, gradient = far_margin(loss)
    found = bind(loss, levels).at(scores)
    assert found.value == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-12)


def test_many_pairs_are_counted_exactly():
    n_rows = 400_000
    levels = Levels.build(np.arange(n_rows) % 2.0)
    gradient = bind(Hinge(), levels).at(np.zeros(n_rows)).gradient
    assert gradient[1::2].sum() == -gradient[::2].sum() == -((n_rows // 2) ** 2)
    assert levels.n_pairs == (n_rows // 2) ** 2
