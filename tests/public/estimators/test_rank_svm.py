"""RankSVM as its users meet it: optimum, inputs, weights, warnings, model files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pairrank import OrderGraph, RankSVM
from pairrank.exceptions import NoPairsWarning

pytestmark = pytest.mark.numeric


def test_an_order_graph_of_text_labels(rows):
    X, y, _ = rows
    names = np.array(["poor", "fair", "good", "best"])[y.astype(int)]
    edges = [("poor", "fair"), ("fair", "good"), ("good", "best")]
    by_name = RankSVM(graph=OrderGraph(edges), tol=1e-9).fit(X, names)
    chain = RankSVM(graph="chain", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(by_name.coef_, chain.coef_, rtol=1e-6)
    assert by_name.score(X, names) == pytest.approx(chain.score(X, y))


def test_positions_start_at_one_in_every_query(rows):
    X, y, qid = rows
    ranker = RankSVM().fit(X, y, qid=qid)
    positions, scores = ranker.rank(X, qid=qid), ranker.predict(X)
    for q in set(qid):
        inside = qid == q
        np.testing.assert_array_equal(np.sort(positions[inside]), np.arange(1, inside.sum() + 1))
        assert scores[inside][positions[inside] == 1] == scores[inside].max()
    ties = ranker.rank(np.zeros((3, 5)))
    np.testing.assert_array_equal(ties, [1, 2, 3])


def test_score_is_nan_with_a_warning_where_nothing_can_be_compared(rows):
    X, y, qid = rows
    ranker = RankSVM().fit(X, y, qid=qid)
    with pytest.warns(NoPairsWarning):
        assert np.isnan(ranker.score(X[:3], np.ones(3)))


def test_double_precision_is_not_told_to_pass_float64(rows):
    X, y, qid = rows
    with pytest.warns(ConvergenceWarning, match="No step lowers"):
        fitted = RankSVM(C=1e6, reduction="sum", tol=1e-18, solver="tron").fit(X, y, qid=qid)
    assert fitted.status_ == "no_progress"


def test_rows_that_no_sample_holds_do_not_spoil_the_fit():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30_000, 10)) < 1e-4, 1e6, rng.normal(size=(30_000, 10)))
    y = np.digitize(rng.normal(size=30_000) + np.sign(X[:, 0]), [0, 1])
    qid = rng.integers(0, 50, 30_000)
    sampled = RankSVM().fit(X, y, qid=qid)
    assert sampled.status_ == "converged"
    assert sampled.n_iter_ < 30
    assert sampled.objective_ <= 1.001 * RankSVM(solver="tron").fit(X, y, qid=qid).objective_


def test_weights_that_no_sample_holds_do_not_spoil_the_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 10))
    y = np.digitize(X[:, 0] + rng.normal(size=30_000), [0, 1])
    weight = np.where(rng.random(30_000) < 0.001, 1e3, 1e-3)
    qid = rng.integers(0, 50, 30_000)
    fitted = [
        RankSVM(solver=solver, tol=1e-8, max_iter=100).fit(X, y, qid=qid, sample_weight=weight)
        for solver in ("auto", "tron")
    ]
    assert fitted[0].objective_ == pytest.approx(fitted[1].objective_, rel=1e-8)
