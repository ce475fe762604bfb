"""Weights by role: every loss and algorithm against the double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loss_table import LOSSES, assert_within, pairs_of, random_problem
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind, cell_plan
from pairrank.preferences import Levels, Pairs
from strategies import problems_with_roles
from sum_table import EVERY, assert_sums, double_loop, levels_of, sum_of

pytestmark = pytest.mark.numeric


def with_roles(problem, *, events=False):
    generator = np.random.default_rng(problem.y.size)
    winner, loser = generator.exponential(size=(2, problem.y.size))
    if events:
        winner = np.where(generator.random(winner.size) < 0.4, winner, 0.0)
    return problem._replace(winner=winner, loser=loser)


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@given(
    problem=problems_with_roles(),
    reduction=st.sampled_from(("sum", "rows", "query")),
    eps=st.sampled_from((1e-3, 1e-6, 1e-13)),
)
@settings(max_examples=60)
def test_levels_equal_the_double_loop(name, algorithm, problem, reduction, eps):
    levels = levels_of(problem, reduction)
    bound = sum_of(name, algorithm, levels, eps)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_sums(name, bound, problem.scores, problem.v, wanted)


@pytest.mark.parametrize("name", LOSSES)
@given(problem=problems_with_roles())
@settings(max_examples=30)
def test_explicit_pairs_equal_the_double_loop(name, problem):
    i, j = np.array(pairs_of(problem), int).reshape(-1, 2).T
    n_rows = problem.y.size
    pairs = Pairs(i, j, n_rows=n_rows).bound(
        n_rows, sample_weight=problem.weight, winner_weight=problem.winner,
        loser_weight=problem.loser,
    )  # fmt: skip
    wanted = double_loop(problem, LOSSES[name].definition, levels_of(problem))
    assert_sums(name, bind(LOSSES[name].loss, pairs), problem.scores, problem.v, wanted)


@pytest.fixture
def every_query_is_large(monkeypatch):
    """Let cells serve queries of any size, with bands of a few rows."""
    for constant, value in {"LEAST_ROWS": 2, "ROWS_PER_BAND": 3, "SMALL_TABLE": 1 << 20}.items():
        monkeypatch.setattr(cell_plan, constant, value)


def assert_stated_error(found, wanted):
    rounding = 1e-12 * wanted.value_size
    assert abs(found.value - wanted.value) <= found.error + rounding
    off = np.abs(found.gradient - wanted.gradient).sum()
    assert off <= found.gradient_error + 1e-12 * wanted.gradient_size.sum()


@pytest.mark.usefixtures("every_query_is_large")
@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "hinge of margin 0.3"])
@given(
    problem=problems_with_roles(),
    reduction=st.sampled_from(("sum", "rows", "query")),
)
@settings(max_examples=60)
def test_cells_state_their_error_for_every_problem(name, problem, reduction):
    scores = problem.scores
    if not np.abs(scores).max(initial=0.0) < 1e100:
        problem = problem._replace(scores=scores / np.abs(scores).max())
    # A slope of 1 at a kink may be counted in or out by rounding.
    problem = problem._replace(scores=problem.scores + 1e-9 * np.arange(scores.size))
    levels = levels_of(problem, reduction)
    bound = sum_of(name, "cells", levels)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_stated_error(bound.at(problem.scores), wanted)


@pytest.mark.usefixtures("every_query_is_large")
@pytest.mark.parametrize("n_levels", [2, 5, 300])
@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "modified_huber"])
def test_cells_are_sharpened_to_the_exact_sum(name, n_levels):
    problem = with_roles(random_problem(300, n_levels, queries=3, weighted=True), events=True)
    levels = levels_of(problem, "rows")
    bound = sum_of(name, "cells", levels)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    found = bound.at(problem.scores)
    assert found.error > 0.0
    assert_stated_error(found, wanted)
    if LOSSES[name].loss.smooth:
        curvature = found.curvature()
        off = curvature.matvec(problem.v) - wanted.product
        assert np.linalg.norm(off) <= 0.05 * np.linalg.norm(wanted.product)
        off = curvature.diagonal() - wanted.diagonal
        assert np.linalg.norm(off) <= 0.05 * np.linalg.norm(wanted.diagonal)
    errors = [found.error]
    while bound.sharpen():
        errors.append(bound.at(problem.scores).error)
    assert len(errors) == (4 if LOSSES[name].loss.smooth else 3)
    assert max(errors[1:]) < errors[0]
    exact = bound.at(problem.scores)
    assert exact.error == 0.0
    assert_within(exact.gradient, wanted.gradient, 1e-12 * wanted.gradient_size)


@pytest.mark.parametrize("algorithm", ["boxes", "bands"])
def test_boxes_are_sharpened_to_the_promised_error(algorithm):
    problem = with_roles(random_problem(400, 6, weighted=True))
    levels = levels_of(problem)
    bound = sum_of("logistic", algorithm, levels, 1e-4)
    wanted = double_loop(problem, LOSSES["logistic"].definition, levels)
    before = bound.error
    assert before == pytest.approx(1e-4 * levels.total_weight, rel=1e-12)
    assert bound.sharpen()
    assert bound.error == pytest.approx(0.01 * before, rel=1e-12)
    assert_sums("logistic", bound, problem.scores, problem.v, wanted)


@pytest.mark.parametrize("n_levels", [3, 200])
@pytest.mark.parametrize(("name", "algorithm"), EVERY)
def test_gradient_and_curvature_are_the_differences(name, algorithm, n_levels):
    problem = with_roles(random_problem(300, n_levels, queries=3), events=True)
    bound = sum_of(name, algorithm, levels_of(problem, "rows"), 1e-12)
    # Short steps where the loss has pieces, so that few pairs change theirs; else long ones.
    step = 1e-4 if LOSSES[name].floor else 1e-6
    below, above = (bound.at(problem.scores + side * step * problem.v) for side in (-1, 1))
    at = bound.at(problem.scores)
    if name != "raykar":
        slope = at.gradient @ problem.v
        assert (above.value - below.value) / (2 * step) == pytest.approx(slope, rel=1e-5)
    if LOSSES[name].loss.smooth:
        product = at.curvature().matvec(problem.v)
        found = (above.gradient - below.gradient) / (2 * step)
        size = np.abs(product).max()
        np.testing.assert_allclose(found, product, rtol=1e-4, atol=1e-3 * size)


@pytest.mark.parametrize("name", LOSSES)
def test_roles_of_weight_one_are_the_plain_sum(name):
    problem = random_problem(500, 40, queries=4, weighted=True)
    ones = problem._replace(winner=np.ones(500), loser=np.ones(500))
    plain = bind(LOSSES[name].loss, levels_of(problem), eps=1e-12).at(problem.scores)
    found = bind(LOSSES[name].loss, levels_of(ones), eps=1e-12).at(problem.scores)
    assert found.value == pytest.approx(plain.value, rel=1e-10)
    size = np.abs(plain.gradient).max()
    np.testing.assert_allclose(found.gradient, plain.gradient, rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
def test_scores_out_of_range_give_infinity_and_no_curvature(name, algorithm):
    problem = with_roles(random_problem(60, 3))
    bound = sum_of(name, algorithm, levels_of(problem))
    for bad in (np.nan, np.inf):
        scores = np.where(np.arange(60) == 7, bad, problem.scores)
        found = bound.at(scores)
        assert found.value == np.inf
        assert np.isnan(found.gradient).all()
        with pytest.raises(PairrankError):
            found.curvature()
    if not LOSSES[name].loss.smooth:
        with pytest.raises(PairrankError, match="no curvature"):
            bound.at(problem.scores).curvature()


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
def test_labels_without_a_preference_of_positive_weight_sum_to_nothing(name, algorithm):
    for graph in ("full", "chain"):
        levels = Levels.build(np.arange(3.0), graph=graph, winner_weight=np.array([1.0, 0.0, 0.0]))
        found = sum_of(name, algorithm, levels).at(np.arange(3.0))
        assert found.value == found.error == 0.0
        assert not found.gradient.any()


def test_large_weights_of_far_pairs_cost_light_ones_no_digits():
    winner, loser = np.array([1.0, 1e-60, 1e60]), np.ones(3)
    problem = random_problem(3, 3)._replace(y=np.arange(3.0), winner=winner, loser=loser)
    bound = sum_of("squared_hinge", "sorted", levels_of(problem))
    scores = np.array([5.0, 0.0, 9.0])
    np.testing.assert_allclose(bound.at(scores).gradient, [1.2e-59, -1.2e-59, 0.0], rtol=1e-12)
