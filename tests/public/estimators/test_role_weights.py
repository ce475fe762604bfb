"""Weights by role in every ranker: optimum, counts, scores and validation, against every pair."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import (
    ConvexHullRanker,
    MPRank,
    Pairs,
    RankRLS,
    RankSVM,
    SVRank,
)
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics import pairwise_accuracy

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X @ [2, -1, 0.5] + 2 * rng.normal(size=90), [-1, 0.5, 2]).astype(float)
    roles = {
        "sample_weight": rng.integers(0, 3, 90) * 1.0,
        "winner_weight": np.where(rng.random(90) < 0.4, 0.0, rng.exponential(size=90)),
        "loser_weight": np.where(rng.random(90) < 0.2, 0.0, rng.exponential(size=90)),
    }
    return X, y, rng.integers(0, 4, 90), roles


@pytest.mark.parametrize(
    ("ranker", "reason"),
    [
        (RankRLS(), "in both directions"),
        (MPRank(), "in both directions"),
        (SVRank(), "in both directions"),
        (ConvexHullRanker(), "separates classes as wholes"),
    ],
)
@pytest.mark.parametrize("role", ["winner_weight", "loser_weight"])
def test_losses_without_winners_refuse_them_but_scores_do_not(ranker, reason, role, data):
    X, y, qid, roles = data
    with pytest.raises(PairrankError, match=f"{role} is not supported here: .*{reason}"):
        ranker.fit(X, y, qid=qid, **{role: roles[role]})
    with pytest.raises(PairrankError, match=reason):
        ranker.fit(X, Pairs([0], [1], n_rows=y.size), **{role: roles[role]})
    ranker.fit(X, y, qid=qid)
    found = ranker.score(X, y, qid=qid, **{role: roles[role]})
    wanted = pairwise_accuracy(
        y, ranker.predict(X), qid=qid, graph=ranker.graph, **{role: roles[role]}
    )
    assert found == wanted


@pytest.mark.parametrize("role", ["winner_weight", "loser_weight"])
def test_bad_weights_are_named(role, data):
    X, y, _, _ = data
    for bad, message in (
        (np.ones(3), f"{role} has 3 "),
        (np.full(90, -1.0), rf"{role}\[0\] = -1.0 is negative"),
        (np.full(90, np.nan), f"{role} contains NaN in row 0"),
        (np.full(90, 1e120), f"{role} runs from"),
    ):
        with pytest.raises(PairrankError, match=message):
            RankSVM().fit(X, y, **{role: bad})
        with pytest.raises(PairrankError, match=message):
            pairwise_accuracy(y, X[:, 0], **{role: bad})
    with pytest.raises(NoPairsError, match="winner_weight 0"):
        RankSVM().fit(X, y, **{role: np.zeros(90), "sample_weight": np.ones(90)})
    far = np.full(90, 1e80)
    with pytest.raises(PairrankError, match=rf"{role} \(times sample_weight\)"):
        RankSVM().fit(X, y, sample_weight=far, **{role: far})
