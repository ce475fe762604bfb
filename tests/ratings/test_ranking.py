"""The ranking table: order, text, frames; intervals of ranks by their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairrank import BradleyTerry
from pairrank.ratings.ranking import quantile, rank_intervals
from ratings_definition import arguments, make_votes


@pytest.fixture(scope="module")
def model():
    return BradleyTerry(level=0.9).fit(**arguments(make_votes(30)))


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(0.5, 0.99))
def test_ranks_follow_simultaneous_intervals_of_differences(seed, n_items, level):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n_items)
    root = rng.normal(size=(n_items, n_items)) * rng.choice([0.01, 0.1, 1.0])
    covariance = root @ root.T
    low, high = rank_intervals(scores, covariance, level)
    z = stats.norm.isf((1 - level) / 2 / (n_items - 1))
    for i in range(n_items):
        better = worse = 0
        for j in range(n_items):
            contrast = np.zeros(n_items)
            contrast[j] += 1.0
            contrast[i] -= 1.0
            margin = z * np.sqrt(max(contrast @ covariance @ contrast, 0.0))
            better += i != j and scores[j] - scores[i] > margin
            worse += i != j and scores[i] - scores[j] > margin
        assert (low[i], high[i]) == (1 + better, n_items - worse)


def test_quantiles_are_those_of_the_normal_and_of_students_distribution():
    np.testing.assert_allclose(quantile(0.95), stats.norm.ppf(0.975), rtol=1e-14)
    np.testing.assert_allclose(quantile(0.9, 7), stats.norm.isf(0.05 / 7), rtol=1e-12)
    np.testing.assert_allclose(quantile(0.9, 7, 11.0), stats.t.isf(0.05 / 7, 11), rtol=1e-10)


def test_few_groups_widen_the_intervals():
    votes = make_votes(31)
    group = np.arange(votes.winner.size) % 6
    model = BradleyTerry().fit(**arguments(votes), groups=group)
    assert model.degrees_of_freedom_ == 5.0
    found, margin = model.contrast(0, 1), stats.t.isf(0.025, 5)
    np.testing.assert_allclose(found.high - found.difference, margin * found.standard_error)
    ranking = model.ranking_
    wanted = margin * ranking["standard_error"]
    np.testing.assert_allclose(ranking["high"] - ranking["score"], wanted)
    low, high = rank_intervals(model.scores_, model.covariance_, 0.95, 5.0)
    order = np.argsort(-model.scores_)
    np.testing.assert_array_equal(ranking["rank_low"], low[order])
    np.testing.assert_array_equal(ranking["rank_high"], high[order])
    dyadic = BradleyTerry(covariance="dyadic").fit(**arguments(votes))
    pairs = np.unique(np.sort(np.column_stack((votes.winner, votes.loser))), axis=0)
    assert dyadic.degrees_of_freedom_ == len(pairs) - 1
