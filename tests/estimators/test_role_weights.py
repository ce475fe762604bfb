"""Weights by role in every ranker: optimum, counts, scores and validation, against every pair."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import ConvexHullRanker, Pairs, RankRLS, RankSVM
from pairrank.estimators._rows import RankingAccuracy, Rows, draw_held_rows
from pairrank.exceptions import PairrankWarning
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


def test_validation_rows_have_their_own(data):
    X, y, qid, roles = data
    held = {f"{name}_val": part for name, part in roles.items()}
    for ranker in (RankSVM(), ConvexHullRanker(graph="full")):
        ranker.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid, **held)
        wanted = pairwise_accuracy(y, ranker.predict(X), qid=qid, **roles)
        assert ranker.validation_scores_[-1] == pytest.approx(wanted)
    early = RankRLS(regularization="iteration", max_iter=5)
    early.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid, **held)
    wanted = RankingAccuracy(y, qid, **roles)(early.predict(X))
    assert early.validation_scores_[early.best_iteration_] == pytest.approx(wanted)


def test_the_ranking_accuracy_is_that_of_the_metric(data):
    X, y, qid, roles = data
    scores = np.round(X[:, 0], 1)
    more = {name: [1.0, float(name != "winner_weight")] for name in roles}
    with pytest.warns(PairrankWarning, match="query 9 of .* no pair of positive winner_weight"):
        found = RankingAccuracy(
            np.append(y, [0.0, 1.0]), np.append(qid, [9, 9]),
            **{name: np.append(part, more[name]) for name, part in roles.items()},
        )(np.append(scores, [0.0, 0.0]))  # fmt: skip
    assert found == pytest.approx(pairwise_accuracy(y, scores, qid=qid, average="queries", **roles))
    turned = Pairs([0, 1, 2], [3, 4, 5], magnitude=[1.0, -1.0, 0.0], n_rows=y.size)
    for judge in (
        RankingAccuracy(turned, **roles)(scores),
        pairwise_accuracy(turned, scores, **roles),
    ):
        weight = roles["sample_weight"]
        win, lose = weight * roles["winner_weight"], weight * roles["loser_weight"]
        each = [
            (win[0] * lose[3], scores[0] - scores[3]),
            (win[4] * lose[1], scores[4] - scores[1]),
        ]
        right = sum(w * (0.5 if d == 0 else d > 0) for w, d in each)
        assert judge == pytest.approx(right / sum(w for w, _ in each))


def test_rows_held_out_keep_them(data):
    X, y, qid, roles = data
    rows = Rows(X, y, qid, **roles)
    _, held = draw_held_rows(rows, 0.3, np.random.default_rng(0))
    for name, part in roles.items():
        np.testing.assert_array_equal(held.layout[name], part[held.places])
