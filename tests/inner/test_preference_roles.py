"""Weights by role in Levels and Pairs, against every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import pairs_of, weights_of
from pairrank.compiled.concordance import count_concordant
from pairrank.preferences import Levels, draw_sample
from strategies import problems, problems_with_roles
from sum_table import levels_of, scale_of_rows

pytestmark = pytest.mark.numeric
any_problem = st.one_of(problems(), problems_with_roles())


def sums_of_ends(problem, scale):
    """Return each row's weight of wins and of losses, pair by pair."""
    winner, loser = weights_of(problem)
    wins, losses = np.zeros((2, problem.y.size))
    for i, j in pairs_of(problem):
        weight = winner[i] * loser[j] * scale[i]
        wins[i] += weight
        losses[j] += weight
    return wins, losses


@given(problem=any_problem, reduction=st.sampled_from(("sum", "rows", "query")))
def test_counts_and_weights_are_those_of_every_pair(problem, reduction):
    levels = levels_of(problem, reduction)
    winner, loser = weights_of(problem)
    assert levels.n_pairs == len(pairs_of(problem))
    weight = sum(winner[i] * loser[j] for i, j in pairs_of(problem))
    assert levels.pair_weight == pytest.approx(weight, rel=1e-12)
    wanted = sums_of_ends(problem, scale_of_rows(levels))
    np.testing.assert_allclose(levels.wins_and_losses(), wanted, rtol=1e-12)
    sample = np.ones(problem.y.size) if problem.weight is None else problem.weight
    kept = (winner > 0) | (loser > 0)
    assert levels.row_of.size == kept.sum()
    assert levels.row_weight == pytest.approx(sample[kept].sum(), rel=1e-12)
    if levels.n_pairs and reduction == "rows":
        assert levels.total_weight == pytest.approx(levels.row_weight, rel=1e-12)


@pytest.mark.parametrize("queries", [1, 400])
def test_a_sample_keeps_the_roles_and_the_weight_of_all_pairs(queries):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 20_000) * 1.0, rng.integers(0, queries, 20_000)
    winner, loser = (rng.random(20_000) < 0.4) * 1.0, rng.random(20_000) + 0.5
    levels = Levels.build(y, qid, winner_weight=winner, loser_weight=loser).reduced("rows")
    rows, sample = draw_sample(levels, 4_000, rng)
    again = Levels.build(y[rows], qid[rows], winner_weight=winner[rows], loser_weight=loser[rows])
    assert sample.n_pairs == again.n_pairs
    assert sample.total_weight == pytest.approx(levels.total_weight)
    scale = levels.total_weight / again.pair_weight
    np.testing.assert_allclose(
        sample.wins_and_losses(), scale * np.array(again.wins_and_losses()), rtol=1e-12
    )


def test_concordance_of_heavy_rows_costs_light_ones_no_digits():
    y, scores = np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0])
    levels = Levels.build(y, winner_weight=np.array([1.0, 1e-60, 1e60]), loser_weight=np.ones(3))
    groups = (levels.group_start, levels.query_group)
    winner, loser = levels.sides
    found = count_concordant(scores, winner, *groups, loser_weight=loser)
    np.testing.assert_array_equal(found, [[1e60, 0.0, 1e-60]])
