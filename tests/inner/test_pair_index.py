"""PairIndex draws each preference in proportion to its weight."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from definitions import preferences_of
from pairrank import OrderGraph
from pairrank.preferences import Levels, PairIndex

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
