"""Intervals hold as often as they say: simulated votes, also of voters who differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from pairrank import BradleyTerry
from pairrank.ratings.likelihoods import LIKELIHOODS

pytestmark = pytest.mark.slow

N_ITEMS, LEVEL = 5, 0.95
TRUE = np.array([0.9, 0.4, 0.0, -0.3, -1.0])
PAIRS = np.argwhere(~np.eye(N_ITEMS, dtype=bool))
NU = np.log(0.8)
POINTS = 0.02
"""How far the coverage may be from the level."""


class World(NamedTuple):
    """How votes arise, and how they are judged."""

    params: dict[str, object]
    ties: str = "half"
    voter_spread: float = 0.0
    n_voters: int = 60
    votes_each: int = 20


WORLDS = {
    "hessian": World({"covariance": "hessian"}),
    "robust, half ties": World({}, ties="davidson"),
    "davidson": World({"ties": "davidson"}, ties="davidson"),
    "rao-kupper": World({"ties": "rao-kupper"}, ties="rao-kupper"),
    "voters who differ": World({}, voter_spread=1.0),
    "voters who differ, davidson": World({"ties": "davidson"}, ties="davidson", voter_spread=1.0),
}


def outcome_probabilities(world, d):
    """Return win, tie and loss at margins d; halves have no ties."""
    t = {"half": 0.0, "davidson": NU, "rao-kupper": 0.5}[world.ties]
    found = np.exp(LIKELIHOODS[world.ties].log_probabilities(d, t))
    return np.array([found[0], 0.0 * found[0], found[2]]) if world.ties == "half" else found


def limit_scores(world):
    """Return the scores that the estimator has with infinitely many votes.

    They are those of the probabilities of a vote, averaged over voters by Gauss and Hermite.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    d = TRUE[PAIRS[:, 0]] - TRUE[PAIRS[:, 1]]
    spread = np.sqrt(2.0) * world.voter_spread
    chance = sum(
        w * outcome_probabilities(world, d + spread * x)
        for x, w in zip(nodes, weights / weights.sum(), strict=True)
    )
    win, tie, _ = chance
    model = BradleyTerry(**{**world.params, "covariance": None}).fit(
        np.tile(PAIRS[:, 0], 2),
        np.tile(PAIRS[:, 1], 2),
        tie=np.repeat([False, True], len(PAIRS)),
        weight=np.concatenate((win, tie / 2.0)),  # both orders of a pair have its ties
    )
    return model.scores_


def fit_once(world, seed):
    """Return a model of random votes, each voter with scores of their own."""
    rng = np.random.default_rng(seed)
    size = world.n_voters * world.votes_each
    voter = np.repeat(np.arange(world.n_voters), world.votes_each)
    own = TRUE + world.voter_spread * rng.normal(size=(world.n_voters, N_ITEMS))
    i, j = PAIRS[rng.integers(0, len(PAIRS), size)].T
    win, tie, _ = outcome_probabilities(world, own[voter, i] - own[voter, j])
    u = rng.random(size)
    is_win, is_tie = u < win, (u >= win) & (u < win + tie)
    winner = np.where(is_win | is_tie, i, j)
    groups = voter if world.voter_spread else None
    model = BradleyTerry(level=LEVEL, **world.params)
    return model.fit(winner, i + j - winner, tie=is_tie, groups=groups)


def coverage(world, repetitions):
    """Return how often the intervals of scores and of a contrast, and of ranks, hold."""
    limit = limit_scores(world)
    held = np.zeros(3)
    for seed in range(repetitions):
        model = fit_once(world, seed)
        ranking = model.ranking_
        at = ranking["item"]
        inside = (ranking["low"] <= limit[at]) & (limit[at] <= ranking["high"])
        found = model.contrast(1, 3)
        rank = stats.rankdata(-limit)[at]
        in_ranks = (ranking["rank_low"] <= rank) & (rank <= ranking["rank_high"])
        held += inside.mean(), found.low <= limit[1] - limit[3] <= found.high, in_ranks.mean()
    return held / repetitions


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_within_two_points_of_their_level(name):
    score, contrast, rank = coverage(WORLDS[name], 4000)
    print(name, score, contrast, rank)
    assert abs(score - LEVEL) <= POINTS
    assert abs(contrast - LEVEL) <= POINTS
    assert rank >= LEVEL
