"""RankBoost's rounds against a list of pairs and a loop over every threshold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import Pairs, RankBoost
from pairrank.exceptions import ZeroWeightsWarning
from rank_boost_definition import (
    KINDS,
    N_ROUNDS,
    SMOOTHING,
    assert_rounds,
    features,
    pair_list,
)  # fmt: skip

pytestmark = [pytest.mark.numeric, pytest.mark.filterwarnings("ignore::UserWarning")]


@given(
    n_rows=st.integers(2, 20),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_rounds_over_pairs_equal_the_pair_list(n_rows, seed, kind, ties, weighted):
    generator = np.random.default_rng(seed)
    X = features(kind, n_rows, generator)
    i = generator.integers(0, n_rows, 30)
    j = (i + generator.integers(1, n_rows, 30)) % n_rows
    weight = generator.exponential(size=30) if weighted else np.ones(30)
    magnitude = (generator.random(30) < 0.7) * 1.0 if ties else np.ones(30)
    sample_weight = generator.exponential(size=n_rows)
    ranker = RankBoost(N_ROUNDS, learning_rate=1.0 if ties else 0.5)
    ranker.fit(X, Pairs(i, j, weight, magnitude, n_rows=n_rows), sample_weight=sample_weight)
    weight = weight * sample_weight[i] * sample_weight[j]
    rows = list(zip(i.tolist(), j.tolist(), weight.tolist(), magnitude.tolist(), strict=True))
    listed = [(i, j, w) for i, j, w, m in rows if m]
    listed += [pair for i, j, w, m in rows if not m for pair in ((i, j, w / 2), (j, i, w / 2))]
    pairs = pair_list([(i, j) for i, j, _ in listed], np.ones(n_rows), np.ones(n_rows), lambda _: 1)
    pairs = [pair._replace(weight=w) for pair, (_, _, w) in zip(pairs, listed, strict=True)]
    assert_rounds(ranker, X, list(range(n_rows)), pairs)


def test_a_ranking_without_a_mistake_has_a_finite_alpha():
    X, y = np.arange(10.0)[:, np.newaxis], np.repeat([0, 1], 5)
    ranker = RankBoost(1, learning_rate=1.0).fit(X, y)
    # All 25 pairs are right: W+ = 1, W- = 0.
    wanted = 0.5 * math.log((1.0 + SMOOTHING) / SMOOTHING)
    assert ranker.rankings_.alphas[0] == pytest.approx(wanted, rel=1e-14)
    assert ranker.rankings_.thresholds[0] == 4.5


def test_alpha_is_finite_and_of_the_edges_sign():
    y = np.repeat([0, 1], [20, 23])
    for X in (y[:, np.newaxis], -y[:, np.newaxis]):
        ranker = RankBoost(3, learning_rate=1.0).fit(X, y)
        # Every pair is right (or wrong): each round multiplies the loss by exp(-|alpha|).
        alphas = X[-1] * ranker.rankings_.alphas
        np.testing.assert_allclose(alphas, 0.5 * math.log1p(1.0 / SMOOTHING), rtol=1e-6)
        losses = np.exp(-np.cumsum(alphas))
        np.testing.assert_allclose(ranker.train_score_[1:], losses, rtol=1e-10)


def test_rounds_end_before_the_weights_of_pairs_underflow():
    X, y = np.arange(10.0)[:, np.newaxis], np.repeat([0, 1], 5)
    ranker = RankBoost(1000).fit(X, y)
    assert ranker.status_ == "separated"
    assert 10 < ranker.n_estimators_ < 1000
    assert np.isfinite(ranker.predict(X)).all()
    assert (np.diff(ranker.train_score_) < 0).all()


def test_rounds_end_where_no_ranking_is_better_than_chance():
    with pytest.warns(ZeroWeightsWarning, match="every row has the same score"):
        ranker = RankBoost().fit([[1.0], [1.0], [1.0]], [0, 1, 2])
    assert (ranker.status_, ranker.n_estimators_) == ("no_edge", 0)
    np.testing.assert_array_equal(ranker.predict([[0.0], [2.0]]), [0.0, 0.0])
    # Two thresholds can only trade mistakes here: after a few rounds the loss is least.
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 2]
    ranker = RankBoost(1000, learning_rate=1.0).fit(X, y)
    assert ranker.status_ == "no_edge"
    assert 0 < ranker.n_estimators_ < 1000
    # W+ = 2 (of 5 pairs), W- = 1: rows of equal features tie.
    assert ranker.objective_ == pytest.approx((2.0 + 2.0 * math.sqrt(2.0)) / 5.0, rel=1e-12)


def test_a_feature_without_gaps_in_training_has_half_a_step_for_later_gaps():
    ranker = RankBoost(1).fit([[0.0], [1.0]], [0, 1])
    low, gap, high = ranker.predict([[0.0], [np.nan], [1.0]])
    assert low < gap < high
    assert gap == (low + high) / 2


def test_a_gap_alone_can_rank():
    X, y = [[1.0], [np.nan], [1.0], [np.nan]], [0, 1, 0, 1]
    ranker = RankBoost(1).fit(X, y)
    assert ranker.rankings_.thresholds[0] == -np.inf
    assert ranker.score(X, y) == 1.0
