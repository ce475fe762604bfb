"""Calibration: drawn pairs are preferences, all of them or uniform; bins hold what they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions import preferences_of
from pairrank.plotting.calibration import binned, draw_pairs
from pairrank.preferences import Levels, OrderGraph

GRAPHS = ["full", "chain", OrderGraph([(0, 2), (1, 2), (0, 3)])]


def listed(y, qid, graph, winner, loser):
    """Return {(i, j): weight} of all preferences of positive weight, by the definition."""
    kept = (winner > 0) | (loser > 0)
    places = np.flatnonzero(kept).tolist()
    found = {}
    for i, j, *_ in preferences_of(y[kept].tolist(), qid[kept].tolist(), graph):
        weight = winner[places[i]] * loser[places[j]]
        if weight > 0:
            found[places[i], places[j]] = weight
    return found


def problems():
    return st.tuples(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
            min_size=2,
            max_size=25,
        ),
        st.sampled_from(GRAPHS),
    )


@given(problems())
@pytest.mark.filterwarnings("ignore:the order graph names labels")
def test_all_pairs_are_the_preferences(problem):
    rows, graph = problem
    y, qid, winner, loser = np.array(rows).T
    levels = Levels.build(
        y, qid, graph=graph, winner_weight=winner.astype(float), loser_weight=loser.astype(float)
    )
    drawn, is_sample = draw_pairs(levels, 10_000, np.random.default_rng(0))
    places = zip(drawn.i.tolist(), drawn.j.tolist(), strict=True)
    weights = np.ones(drawn.n_pairs) if drawn.weight is None else drawn.weight
    found = dict(zip(places, weights.tolist(), strict=True))
    assert not is_sample
    assert found == listed(y, qid, graph, winner, loser)
    assert len(found) == levels.n_pairs


def by_definition(outcomes, probabilities, n_bins):
    """Return predicted, observed and counts of each bin that is not empty."""
    found = []
    for number in range(n_bins):
        low, high = 0.5 + number / (2 * n_bins), 0.5 + (number + 1) / (2 * n_bins)
        inside = []
        for outcome, probability in zip(outcomes, probabilities, strict=True):
            if low <= probability < high or (number == n_bins - 1 and probability == 1):
                inside.append((probability, outcome))
        if inside:
            found.append((*np.mean(inside, axis=0), len(inside)))
    return np.array(found).T


def test_bins_are_those_of_the_definition():
    generator = np.random.default_rng(0)
    probabilities = generator.integers(32, 65, 300) / 64
    outcomes = generator.integers(0, 3, 300) / 2
    for n_bins in (1, 2, 8):
        found = binned(outcomes, probabilities, np.ones(300), n_bins, is_sample=False)
        predicted, observed, n_pairs = by_definition(outcomes, probabilities, n_bins)
        np.testing.assert_allclose(found.predicted, predicted, rtol=1e-14)
        np.testing.assert_allclose(found.observed, observed, rtol=1e-14)
        assert found.n_pairs.tolist() == n_pairs.tolist()
