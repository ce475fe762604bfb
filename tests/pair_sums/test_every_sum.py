"""What every pair sum promises, for each loss and algorithm of the table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import LOSSES, assert_within, pairs_of, random_problem
from pairrank.pair_sums import bind
from pairrank.preferences import Levels, Pairs
from strategies import problems, problems_with_roles
from sum_table import ALGORITHMS, EVERY, ONCE, assert_sums, double_loop, levels_of, sum_of

pytestmark = pytest.mark.numeric

any_problem = st.one_of(problems(), problems_with_roles())
NOT_EXPONENTIAL = [each for each in ONCE if each[0] != "exponential"]


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@given(
    problem=any_problem,
    reduction=st.sampled_from(("sum", "rows", "query")),
    eps=st.sampled_from((1e-3, 1e-6, 1e-10, 1e-13)),
)
def test_levels_equal_the_double_loop(name, algorithm, problem, reduction, eps):
    levels = levels_of(problem, reduction)
    bound = sum_of(name, algorithm, levels, eps)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_sums(name, bound, problem.scores, problem.v, wanted)


@pytest.mark.parametrize("name", LOSSES)
@given(problem=any_problem, reduction=st.sampled_from(("sum", "rows")))
def test_explicit_pairs_equal_the_double_loop(name, problem, reduction):
    levels = levels_of(problem, reduction)
    i, j = np.array(pairs_of(problem), int).reshape(-1, 2).T
    n_rows = problem.scores.size
    pairs = Pairs(i, j, n_rows=n_rows).bound(n_rows, reduction=reduction, **problem.aligned)
    bound = bind(LOSSES[name].loss, pairs, eps=1e-3)
    assert bound.error == 0.0
    assert not bound.sharpen()
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_sums(name, bound, problem.scores, problem.v, wanted)


@pytest.mark.parametrize(("name", "algorithm"), ONCE)
def test_an_offset_of_all_scores_changes_nothing(name, algorithm):
    problem = random_problem(200, 4, queries=3)
    scores = np.round(problem.scores * 64) / 64  # Exact after an offset of 1e7.
    bound = sum_of(name, algorithm, levels_of(problem), 1e-9)
    near, far = bound.at(scores), bound.at(scores + 1e7)
    assert abs(far.value - near.value) <= 2 * bound.error + 1e-12 * near.value
    weight = np.add(*levels_of(problem).wins_and_losses())
    # Eps of the weight of the pairs where the sum has an error, else rounding.
    size = 2e-9 * weight if bound.error else 1e-12 * (weight + np.abs(near.gradient))
    assert_within(far.gradient, near.gradient, size)


@pytest.mark.parametrize(("name", "algorithm"), ONCE)
def test_scores_that_are_not_finite_give_infinity(name, algorithm):
    problem = random_problem(60, 3)
    pairs = Pairs([0, 1], [2, 3], n_rows=60).bound(60)
    for bad in (np.nan, np.inf, -np.inf):
        scores = problem.scores.copy()
        scores[7] = bad
        for bound in (sum_of(name, algorithm, levels_of(problem)), bind(LOSSES[name].loss, pairs)):
            found = bound.at(scores)
            assert found.value == np.inf
            assert np.isnan(found.gradient).all()


FINITE = {"squared_hinge": 1e150, "squared_hinge of margin 0": 1e150, "no family": 1e150}
"""How far scores may lie apart for a finite value; 300 powers of ten by default."""


@pytest.mark.parametrize(("name", "algorithm"), NOT_EXPONENTIAL)
def test_far_scores_stay_finite_or_give_infinity_without_a_warning(name, algorithm):
    problem = random_problem(60, 3)
    bound = sum_of(name, algorithm, levels_of(problem))
    pairs = bind(LOSSES[name].loss, Pairs([0, 1], [2, 3], n_rows=60).bound(60))
    for each in (bound, pairs):
        found = each.at(FINITE.get(name, 1e300) * problem.scores)
        assert np.isfinite(found.value)
        assert np.isfinite(found.gradient).all()
        if LOSSES[name].loss.smooth:
            assert np.isfinite(found.curvature().matvec(problem.v)).all()
    if name in FINITE:
        assert bound.at(1e200 * problem.scores).value == np.inf


@pytest.mark.parametrize("algorithm", ALGORITHMS["exponential"])
def test_exponentials_of_far_scores_are_exact_until_they_overflow(algorithm):
    levels = Levels.build(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1]))
    bound = sum_of("exponential", algorithm, levels)
    # Each query has margins of its own size at an offset of its own.
    found = bound.at(np.array([-1e3, -1e3 + 2.0, 1e3, 1e3 - 345.0]))
    assert found.value == pytest.approx(np.exp(-2.0) + np.exp(345.0), rel=1e-12)
    wanted = np.array([np.exp(-2.0), -np.exp(-2.0), np.exp(345.0), -np.exp(345.0)])
    np.testing.assert_allclose(found.gradient, wanted, rtol=1e-12)
    assert bound.at(np.array([-1e3, 1e3, -1e3, 1e3])).value == 0.0
    assert bound.at(np.array([1e3, -1e3, 0.0, 0.0])).value == np.inf
    mixed = Levels.build(np.array([0.0, 1.0, 1.0]))
    found = sum_of("exponential", algorithm, mixed).at(np.array([-1e3, -1e3, 1e3]))
    assert found.value == 1.0
    np.testing.assert_array_equal(found.gradient, [1.0, -1.0, 0.0])
    influence = sum_of("exponential", algorithm, Levels.build(np.array([0.0, 1.0]))).influence
    found = influence(np.array([600.0, 0.0]), np.array([[1e100, -1e100]]))
    np.testing.assert_array_equal(found, [[np.inf, np.inf]])


def test_large_weights_of_far_pairs_cost_light_ones_no_digits():
    winner, loser = np.array([1.0, 1e-60, 1e60]), np.ones(3)
    problem = random_problem(3, 3)._replace(y=np.arange(3.0), winner=winner, loser=loser)
    bound = sum_of("squared_hinge", "sorted", levels_of(problem))
    scores = np.array([5.0, 0.0, 9.0])
    np.testing.assert_allclose(bound.at(scores).gradient, [1.2e-59, -1.2e-59, 0.0], rtol=1e-12)
