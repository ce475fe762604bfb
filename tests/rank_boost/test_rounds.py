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
from rank_boost_definition import Distribution, pair_list, weak_rankings
from strategies import problems_with_roles
from sum_table import levels_of, scale_of_rows

pytestmark = [pytest.mark.numeric, pytest.mark.filterwarnings("ignore::UserWarning")]

METHODS = ("second", "third", "newton")
N_ROUNDS = 4


def features(kind: str, n_rows: int, generator: np.random.Generator) -> np.ndarray:
    """Return three columns: drawn by kind, of few values, and constant; perhaps with gaps."""
    normal = generator.normal(size=n_rows)
    first = {
        "normal": normal,
        "ties": generator.integers(0, 3, n_rows) * 0.5,
        "close": 1.0 + 1e-16 * generator.integers(0, 9, n_rows),
        "huge": 1e300 * normal,
    }[kind.removesuffix(" with gaps")]
    X = np.column_stack([first, generator.integers(-1, 2, n_rows), np.full(n_rows, 2.0)])
    if kind.endswith("with gaps"):
        X[generator.random(X.shape) < 0.3] = np.nan
    return X


KINDS = [kind + gaps for kind in ("normal", "ties", "close", "huge") for gaps in ("", " with gaps")]


def assert_rounds(ranker, X, kept, pairs, *, graded, abstain):
    """Check each round at the scores before it: the edge, the ranking, alpha and the loss."""
    tolerance = 12.0 * len(X) * np.finfo(float).eps
    smoothing = ranker.smoothing
    candidates = weak_rankings(X, kept, graded=graded, abstain=abstain)
    first = Distribution(pairs, np.zeros(len(X))).total
    scores, staged = np.zeros(len(X)), ranker.staged_predict(X)
    for number, parts in enumerate(zip(*ranker.rankings_, strict=True)):
        feature, lower, upper, missing, alpha = (part.item() for part in parts)
        now = Distribution(pairs, scores)
        edges = [now.edge(weak.h) for weak in candidates]
        best = max(map(abs, edges))
        found = [
            weak
            for weak in candidates
            if weak.feature == feature
            and (weak.threshold is None or weak.threshold == lower == upper)
            and (weak.missing == missing or not np.isnan(X[kept, feature]).any())
        ]
        (weak,) = found
        assert abs(now.edge(weak.h)) >= best - tolerance
        near = {
            tuple(weak.h[row] for row in kept)
            for weak, edge in zip(candidates, edges, strict=True)
            if abs(edge) >= best - tolerance
        }
        assert tuple(weak.h[row] for row in kept) in near
        assert abs(ranker.history_[number].gradient_norm - best) <= tolerance
        wanted = now.alpha(weak.h, ranker.alpha_method, smoothing)
        # An alpha is the logarithm of shares of at least `smoothing`, or the root of a slope that
        # rises by at least 2 smoothing; both are known to `tolerance`.
        assert abs(alpha - wanted) <= 4.0 * tolerance / smoothing
        scores = next(staged)
        np.testing.assert_allclose(
            ranker.train_score_[number + 1], Distribution(pairs, scores).total / first, rtol=1e-9
        )
    np.testing.assert_array_equal(scores, ranker.predict(X))
    if ranker.status_ == "no_edge":
        now = Distribution(pairs, scores)
        assert all(abs(now.edge(weak.h)) <= tolerance for weak in candidates)
    else:
        assert ranker.status_ == "rounds"
        assert ranker.n_estimators_ == N_ROUNDS


@given(
    problem=problems_with_roles(max_rows=25),
    kind=st.sampled_from(KINDS),
    method=st.sampled_from(METHODS),
    graded=st.booleans(),
    missing=st.sampled_from(("default", "abstain")),
    reduction=st.sampled_from(("auto", "query")),
)
@settings(max_examples=400)
def test_rounds_equal_the_pair_list(problem, kind, method, graded, missing, reduction):
    generator = np.random.default_rng(problem.y.size)
    X = features(kind, problem.y.size, generator)
    graded = graded and method != "second"
    ranker = RankBoost(
        N_ROUNDS, alpha_method=method, weak_ranking="graded" if graded else "threshold",
        missing=missing, graph=problem.graph, reduction=reduction,
    )  # fmt: skip
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
    assert_rounds(ranker, X, kept, pairs, graded=graded, abstain=missing == "abstain")
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
