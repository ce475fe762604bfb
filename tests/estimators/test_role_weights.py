"""Weights by role in every ranker: optimum, counts, scores and validation, against every pair."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import ConvexHullRanker, RankRLS, RankSVM
from pairrank.estimators._rows import Rows, draw_held_rows
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
    wanted = pairwise_accuracy(y, early.predict(X), qid=qid, average="queries", **roles)
    assert early.validation_scores_[early.best_iteration_] == pytest.approx(wanted)


def test_rows_held_out_keep_them(data):
    X, y, qid, roles = data
    rows = Rows(X, y, qid, **roles)
    _, held = draw_held_rows(rows, 0.3, np.random.default_rng(0))
    for name, part in roles.items():
        np.testing.assert_array_equal(held.layout[name], part[held.places])
