"""Preferences inside: codes, bands, samples, weights by role, and pairs drawn by weight."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from definitions import preferences_of
from loss_table import pairs_of, weights_of
from pairrank import OrderGraph, Pairs
from pairrank.compiled.concordance import count_concordant
from pairrank.preferences import Levels, PairIndex, draw_sample, merge_levels
from pairrank.preferences._codes import level_codes
from strategies import problems, problems_with_roles
from sum_table import levels_of, scale_of_rows

pytestmark = pytest.mark.numeric


ROW = st.tuples(
    st.sampled_from([0.0, 1.0, 2.0, 3.0]), st.sampled_from("abc"), st.sampled_from([0, 0.5, 1, 3])
)


@given(rows=st.lists(ROW, min_size=1, max_size=25), n_bands=st.integers(1, 3))
def test_bands_merge_neighbouring_levels_and_weigh_as_much(rows, n_bands):
    y, qid, weight = (np.array(column) for column in zip(*rows, strict=True))
    levels = Levels.build(y, qid, sample_weight=weight.astype(float) + 1)
    banded = merge_levels(levels, n_bands)
    level_of_row = np.repeat(levels.group_level, np.diff(levels.group_start))
    band_of_row = np.repeat(banded.group_level, np.diff(banded.group_start))
    bands = {level: set(band_of_row[level_of_row == level]) for level in set(level_of_row)}
    assert all(len(found) == 1 for found in bands.values())
    ordered = [min(bands[level]) for level in sorted(bands)]
    assert ordered == sorted(ordered)
    assert max(ordered) < n_bands
    query = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_start))
    again = Levels.build(band_of_row, query, sample_weight=levels.weight)
    assert banded.n_pairs == again.n_pairs
    if banded.n_pairs:
        assert banded.pair_scale * banded.pair_weight == pytest.approx(levels.pair_weight)


@pytest.mark.parametrize(
    "y",
    [
        np.array([127, -128, 0, 127], np.int8),
        np.array([True, True]),
        np.array([True, False]),
        np.array([-3.0, 1e3, 0.0], np.float32),
        np.append(np.zeros(20_000), 0.5),
        np.append(np.zeros(20_000), 3.0),
        np.append(np.arange(20_000) % 2, 3).astype(np.int16),
    ],
    ids=lambda y: str(y.dtype) if y.any() != y.all() else f"{y.dtype}, all alike",
)
def test_labels_of_any_dtype_have_the_codes_of_their_order(y):
    """A label may occur in the last of many rows only, and may alone be no whole number."""
    labels, codes = level_codes(y)
    wanted, inverse = np.unique(y.astype(np.float64), return_inverse=True)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(codes, inverse)


def test_a_sample_of_comparisons_weighs_as_much_as_all():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 5000, (2, 20_000))
    pairs = Pairs(i[i != j], j[i != j], rng.random((i != j).sum()), n_rows=5000)
    rows, sample = draw_sample(pairs.bound(5000, reduction="rows"), 300, rng)
    assert sample.n_pairs == 300
    assert sample.n_rows == rows.size
    assert {tuple(pair) for pair in rows[np.column_stack((sample.i, sample.j))]} <= set(
        zip(pairs.i, pairs.j, strict=True)
    )
    assert sample.total_weight == pytest.approx(5000)


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


N_DRAWS = 100_000
LEAST_P = 1e-3
"""Seeds are fixed, so a test that passes once passes always."""


def drawn(index, n_draws=N_DRAWS, seed=0):
    winners, losers = index.draw(n_draws, np.random.default_rng(seed))
    return list(zip(winners.tolist(), losers.tolist(), strict=True))


def assert_proportional(index, weights, seed=0):
    """Compare draws with the weights of all pairs by a chi-square test."""
    counts = Counter(drawn(index, seed=seed))
    assert set(counts) <= {pair for pair, weight in weights.items() if weight > 0}
    share = np.array(list(weights.values()))
    seen = [counts[pair] for pair in weights]
    assert chisquare(seen, N_DRAWS * share / share.sum()).pvalue > LEAST_P


@pytest.mark.parametrize("graph", ["full", "chain", OrderGraph([(0.0, 2.0), (0.0, 1.0)])], ids=str)
@pytest.mark.parametrize("reduction", ["rows", "query"])
@pytest.mark.parametrize("weighted", ["none", "rows", "roles"])
def test_pairs_are_drawn_in_proportion_to_weights_and_scales(graph, reduction, weighted):
    rng = np.random.default_rng(7)
    y, qid = rng.integers(0, 3, 24).astype(float), rng.integers(0, 3, 24)
    winner = loser = np.ones(24)
    given = {}
    if weighted == "rows":
        winner = loser = given["sample_weight"] = rng.integers(1, 4, 24).astype(float)
    if weighted == "roles":
        winner = given["winner_weight"] = rng.integers(1, 4, 24).astype(float)
        loser = given["loser_weight"] = rng.integers(0, 3, 24).astype(float)
    levels = Levels.build(y, qid, graph=graph, **given).reduced(reduction)
    scale = np.broadcast_to(levels.pair_scale, 3)
    weights = {
        (i, j): winner[i] * loser[j] * scale[qid[i]] for i, j in preferences_of(y, qid, graph)
    }
    index = PairIndex(levels)
    assert index.total_weight == pytest.approx(sum(weights.values()), rel=1e-12)
    assert_proportional(index, {pair: weight for pair, weight in weights.items() if weight})


def test_rows_of_tiny_weight_are_drawn_within_their_query():
    y, qid = np.array([0.0, 1, 1, 0.0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    weight = np.array([1e60, 1e60, 1e60, 1e-60, 1e-60, 2e-60])
    levels = Levels.build(y, qid, sample_weight=weight).reduced("query")
    weights = {(1, 0): 1 / 2, (2, 0): 1 / 2, (4, 3): 1 / 3, (5, 3): 2 / 3}
    assert_proportional(PairIndex(levels), weights)
