"""RankBoost's rounds against a list of pairs and a loop over every threshold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from loss_table import pairs_of, weights_of
from pairrank import RankBoost
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.preferences import Levels
from rank_boost_definition import pair_list
from rank_boost_rounds import KINDS, N_ROUNDS, assert_rounds, features
from strategies import problems_with_roles
from sum_table import levels_of, scale_of_rows

pytestmark = [pytest.mark.numeric, pytest.mark.filterwarnings("ignore::UserWarning")]


@given(
    problem=problems_with_roles(max_rows=25),
    kind=st.sampled_from(KINDS),
    reduction=st.sampled_from(("auto", "query")),
)
@settings(max_examples=400)
def test_rounds_equal_the_pair_list(problem, kind, reduction):
    generator = np.random.default_rng(problem.y.size)
    X = features(kind, problem.y.size, generator)
    ranker = RankBoost(N_ROUNDS, graph=problem.graph, reduction=reduction)
    layout = {
        "qid": problem.qid, "sample_weight": problem.weight,
        "winner_weight": problem.winner, "loser_weight": problem.loser,
    }  # fmt: skip
    winner, loser = (np.ones(len(X)) if side is None else side for side in weights_of(problem))
    listed = pairs_of(problem)
    kept = np.flatnonzero((winner > 0) | (loser > 0)).tolist()
    if not any(winner[i] * loser[j] > 0 for i, j in listed):
        with pytest.raises(PairrankError):
            ranker.fit(X, problem.y, **layout)
        return
    scale = scale_of_rows(levels_of(problem, reduction))
    pairs = pair_list(listed, winner, loser, lambda i: scale[i])
    ranker.fit(X, problem.y, **layout)
    assert_rounds(ranker, X, kept, pairs)
    by_entry = RankBoost(**ranker.get_params()).fit(sparse.csr_array(X), problem.y, **layout)
    np.testing.assert_allclose(by_entry.train_score_[:2], ranker.train_score_[:2], rtol=1e-9)
    np.testing.assert_array_equal(
        by_entry.predict(sparse.csr_array(X)), by_entry.predict(X), strict=True
    )


def test_large_margins_of_rows_that_weigh_nothing_as_losers_are_ignored():
    # Row 2 never loses; its score of 1e3 must not scale the sums of the other losers to 0.
    from pairrank.losses import Exponential
    from pairrank.pair_sums import bind

    y = np.array([0.0, 1.0, 0.0])
    loser = np.array([1.0, 1.0, 0.0])
    levels = Levels.build(y, loser_weight=loser)
    found = bind(Exponential(), levels).at(np.array([0.0, 1.0, 1e3]))
    assert found.value == pytest.approx(math.exp(-1.0), rel=1e-14)
    with pytest.raises(NoPairsError):
        RankBoost().fit([[0.0], [1.0], [2.0]], y, loser_weight=np.zeros(3))
