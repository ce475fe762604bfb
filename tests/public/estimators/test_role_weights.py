"""Weights by role in every ranker: optimum, counts, scores and validation, against every pair."""

from __future__ import annotations

import numpy as np
import pytest

from definitions import (
    exponential,
    hinge,
    huberised_hinge,
    logistic,
    modified_huber,
    preferences_of,
    probit,
    sums_over,
)
from pairrank import (
    ConvexHullRanker,
    MPRank,
    OrderGraph,
    Pairs,
    PairwiseRanker,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
)
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.losses import HuberisedHinge
from pairrank.metrics import pairwise_accuracy

pytestmark = pytest.mark.numeric

TOL = 1e-8
SMOOTH = {
    "squared hinge": (RankSVM(0.3, tol=TOL), hinge(1.0, True)),
    "squared hinge, sorted": (RankSVM(0.3, tol=TOL, pair_sum="sorted"), hinge(1.0, True)),
    "squared hinge, tree": (RankSVM(0.3, tol=TOL, pair_sum="selection_tree"), hinge(1.0, True)),
    "squared hinge, direct": (RankSVM(0.3, tol=TOL, pair_sum="direct"), hinge(1.0, True)),
    "logistic": (RankNCG(2.0, tol=TOL), logistic()),
    "logistic, boxes": (RankNCG(2.0, tol=TOL, pair_sum="boxes", eps=1e-10), logistic()),
    "probit": (RankNCG(2.0, loss="probit", tol=TOL), probit()),
    "exponential": (PairwiseRanker("exponential", C=0.3, tol=TOL), exponential()),
    "modified huber": (PairwiseRanker("modified_huber", C=0.3, tol=TOL), modified_huber()),
    "huberised": (PairwiseRanker(HuberisedHinge(0.5), C=0.3, tol=TOL), huberised_hinge(0.5)),
}


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


def pairs_of(y, qid, graph, roles):
    """Return the preferences of positive weight, and the weights of rows by role."""
    winner = roles["sample_weight"] * roles["winner_weight"]
    loser = roles["sample_weight"] * roles["loser_weight"]
    kept = np.flatnonzero((winner > 0) | (loser > 0))
    among = preferences_of(y[kept], None if qid is None else qid[kept], graph)
    pairs = [(kept[i], kept[j]) for i, j in among]
    pairs = [(i, j) for i, j in pairs if winner[i] > 0 and loser[j] > 0]
    return pairs, winner, loser, roles["sample_weight"][kept].sum()


def strengths(ranker):
    """Return the factors of the penalty |w|^2/2 and of the loss."""
    return float(getattr(ranker, "alpha", 1.0)), float(getattr(ranker, "C", 1.0))


@pytest.mark.parametrize("graph", ["full", "chain", OrderGraph([(0.0, 3.0), (1.0, 2.0)])])
@pytest.mark.parametrize("name", SMOOTH)
def test_the_optimum_is_that_of_every_pair(name, graph, data):
    X, y, qid, roles = data
    ranker, definition = SMOOTH[name]
    ranker.set_params(graph=graph).fit(X, y, qid=qid, **roles)
    pairs, winner, loser, row_weight = pairs_of(y, qid, graph, roles)
    assert ranker.n_pairs_ == len(pairs)
    total = sum(winner[i] * loser[j] for i, j in pairs)
    penalty, factor = strengths(ranker)
    factor *= row_weight / total

    def gradient_at(w):
        found = sums_over(pairs, X @ w, definition, np.zeros(y.size), winner, None, loser)
        return 0.5 * penalty * w @ w + factor * found.value, penalty * w + factor * (
            X.T @ found.gradient
        )

    value, gradient = gradient_at(ranker.coef_)
    _, first = gradient_at(np.zeros(3))
    # The stop, and the proven error of sums: eps times the weight of a row's pairs.
    allowed = 2 * TOL * np.linalg.norm(first) + 4e-10 * factor * total * np.abs(X).max()
    assert np.linalg.norm(gradient) <= allowed
    assert ranker.objective_ == pytest.approx(value, rel=1e-6)


def test_the_hinge_s_optimum_is_that_of_weighted_comparisons(data):
    X, y, qid, roles = data
    pairs, winner, loser, _ = pairs_of(y, qid, "full", roles)
    i, j = np.array(pairs).T
    compared = Pairs(i, j, winner[i] * loser[j], n_rows=y.size)
    ranker = RankSVM(0.3, loss="hinge", reduction="sum", tol=1e-6)
    wanted = ranker.fit(X, compared).objective_
    assert ranker.fit(X, y, qid=qid, **roles).objective_ == pytest.approx(wanted, rel=2e-6)
    assert ranker.n_pairs_ == len(pairs)


@pytest.mark.parametrize("reduction", ["sum", "rows", "query"])
@pytest.mark.parametrize("ranker", [RankSVM(tol=TOL), RankNCG(tol=TOL, pair_sum="direct")])
def test_comparisons_take_them(ranker, reduction, data):
    X, y, qid, roles = data
    roles = {**roles, "sample_weight": np.ones(y.size)}
    i, j = np.array(preferences_of(y, qid, "full")).T
    ranker.set_params(reduction=reduction)
    of_labels = ranker.fit(X, y, qid=qid, **roles).coef_
    of_pairs = ranker.fit(X, Pairs(i, j, n_rows=y.size), qid=qid, **roles).coef_
    np.testing.assert_allclose(of_pairs, of_labels, rtol=1e-6)


@pytest.mark.parametrize("ranker", [RankSVM(tol=TOL), RankNCG(tol=TOL), PairwiseRanker(tol=TOL)])
def test_equal_weights_in_both_roles_are_sample_weights(ranker, data):
    X, y, qid, roles = data
    weight = roles["sample_weight"] + 0.5
    ranker.set_params(reduction="sum")
    wanted = ranker.fit(X, y, qid=qid, sample_weight=weight).coef_
    found = ranker.fit(X, y, qid=qid, winner_weight=weight, loser_weight=weight)
    np.testing.assert_allclose(found.coef_, wanted, rtol=1e-6)
    accuracy = found.score(X, y, qid=qid, sample_weight=weight)
    both = found.score(X, y, qid=qid, winner_weight=weight, loser_weight=weight)
    assert both == pytest.approx(accuracy, rel=1e-12)


@pytest.mark.parametrize("ranker", [RankSVM(tol=TOL), RankNCG(tol=TOL), PairwiseRanker(tol=TOL)])
def test_rows_that_never_win_are_a_smaller_graph(ranker, data):
    X, y, qid, _ = data
    top = OrderGraph([(low, 3.0) for low in (0.0, 1.0, 2.0)])
    wanted = ranker.set_params(graph=top).fit(X, y, qid=qid)
    accuracy, n_pairs, coef = wanted.score(X, y, qid=qid), wanted.n_pairs_, wanted.coef_
    wins = (y == 3.0) * 1.0
    found = ranker.set_params(graph="full").fit(X, y, qid=qid, winner_weight=wins)
    np.testing.assert_allclose(found.coef_, coef, rtol=1e-6)
    assert found.n_pairs_ == n_pairs
    assert found.score(X, y, qid=qid, winner_weight=wins) == pytest.approx(accuracy, rel=1e-12)


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
