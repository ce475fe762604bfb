"""Hinge and squared hinge: every route is the double loop, whatever the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from definitions import hessian_product, hinge, pair_sum, preferences_of, violations
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import KINDS, Problem, problems, scores_of

from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.losses import Hinge, SquaredHinge, hinge_schedule, hinge_sums
from pairrank.preferences import Levels, OrderGraph, Pairs

EPS = 1e-13
"""Ten times better than what is promised, so that a promise kept by luck is found out."""

ROUTES = ("flat_tree", "selection_tree", "direct")
PLANS = {
    "pair_by_pair": {"SMALL_QUERY": 1000},
    "edges": {"SMALL_QUERY": 0, "FEW_GROUPS": 1000},
    "tree": {"SMALL_QUERY": 0, "FEW_GROUPS": 0, "LEAF_ROWS": 1},
    "tree_of_leaves": {"SMALL_QUERY": 0, "FEW_GROUPS": 2, "LEAF_ROWS": 5},
}


def make_plan(patch: pytest.MonkeyPatch, plan: str, *, kept: bool = True) -> None:
    for name, value in PLANS[plan].items():
        patch.setattr(hinge_schedule, name, value)
    if not kept:
        patch.setattr(hinge_sums, "_PLAN_BYTES", 0)
        patch.setattr(hinge_sums, "_PLAN_BYTES_A_ROW", 0)


def levels_of(problem: Problem, normalize: str | None = None) -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        levels = Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )
    return levels.normalized(normalize) if levels.n_pairs else levels


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
    value, gradient = bound.value_and_gradient(scores)
    assert_close(value, wanted.value, wanted.value_size)
    assert_close(gradient, wanted.gradient, wanted.gradient_size)
    violating = violations(pairs, scores, margin)
    i, j = np.array(violating, dtype=int).reshape(-1, 2).T
    plus, minus = bound.counts(scores)
    assert (plus == np.bincount(j, minlength=scores.size)).all()
    assert (minus == np.bincount(i, minlength=scores.size)).all()
    if not squared:
        return
    curvature = bound.curvature(scores)
    product, size = hessian_product(pairs, scores, bend, v, weight)
    assert_close(curvature.matvec(v), product, size)
    assert_close(curvature.matmat(v[np.newaxis])[0], product, size)
    ones, size = hessian_product(pairs, scores, bend, np.ones(scores.size), weight)
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
        assert_matches(loss.sum_over(levels_of(problem)), problem, margin, squared)


@pytest.mark.parametrize("route", ROUTES)
@given(problem=problems(), margin=st.sampled_from((1.0, 0.0)), squared=st.booleans())
@settings(max_examples=60)
def test_every_route_equals_the_double_loop(route, problem, margin, squared):
    with pytest.MonkeyPatch.context() as patch:
        make_plan(patch, "tree_of_leaves")
        loss = SquaredHinge(margin) if squared else Hinge(margin)
        assert_matches(loss.sum_over(levels_of(problem), route=route), problem, margin, squared)


@given(problem=problems(graphs=("full",)), squared=st.booleans())
@settings(max_examples=100)
def test_explicit_pairs_equal_the_double_loop(problem, squared):
    pairs = preferences_of(problem.y, problem.qid, problem.graph)
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    n_rows = problem.scores.size
    bound = Pairs(i, j, n_rows=n_rows).bound(n_rows, sample_weight=problem.weight)
    loss = SquaredHinge() if squared else Hinge()
    assert_matches(loss.sum_over(bound), problem, 1.0, squared)
