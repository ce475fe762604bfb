"""RankSVM as its users meet it: with the squared hinge, and the optimum and gap of the hinge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from definitions import preferences_of
from pairrank import OrderGraph, RankSVM
from pairrank.exceptions import NoPairsWarning, ZeroWeightsWarning
from programs import hinge_by_clarabel, hinge_cost
from strategies import problems

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


def hinge(C=1.0, **options):
    return RankSVM(C, loss="hinge", **options)


@given(problem=problems(max_rows=25, graphs=("full", "chain")), C=st.sampled_from([1e-2, 1.0, 1e2]))
def test_every_problem_that_can_be_drawn_is_solved(problem, C):
    weight = np.ones(problem.y.size) if problem.weight is None else problem.weight
    pairs = preferences_of(problem.y, problem.qid, problem.graph)
    if problem.graph == "chain" and (weight == 0).any():
        return
    pairs = [(i, j) for i, j in pairs if weight[i] * weight[j] > 0]
    if not pairs:
        return
    X = np.round(np.random.default_rng(0).normal(size=(problem.y.size, 3)), 1)
    i, j = np.array(pairs).T
    cost = C * weight[i] * weight[j]
    ranker = hinge(C, graph=problem.graph, reduction="sum", tol=1e-7)
    ranker.fit(X, problem.y, qid=problem.qid, sample_weight=problem.weight)
    best = hinge_cost(hinge_by_clarabel(X, pairs, cost), X, pairs, cost)
    assert hinge_cost(ranker.coef_, X, pairs, cost) <= best * (1 + 1e-6) + 1e-12
    assert ranker.objective_ - ranker.gap_ <= best * (1 + 1e-7)


def test_the_bundle_finds_the_squared_hinge_s_optimum_too(rows):
    X, y, qid = rows
    newton = RankSVM(tol=1e-9).fit(X, y, qid=qid)
    bundle = RankSVM(solver="bundle", tol=1e-7).fit(X, y, qid=qid)
    assert bundle.objective_ == pytest.approx(newton.objective_, rel=1e-7)
    assert bundle.objective_ - bundle.gap_ <= newton.objective_ * (1 + 1e-9)
    assert not hasattr(newton, "gap_")


def test_float32_rows_are_proven_as_far_as_float64_rows(rows):
    X, y, qid = rows
    single = X.astype(np.float32)
    double = hinge(tol=1e-9).fit(single.astype(float), y, qid=qid)
    rough = hinge().fit(single, y, qid=qid)
    assert rough.status_ == "gap_closed"
    assert rough.objective_ - double.objective_ <= rough.gap_
    fine = hinge(tol=1e-9).fit(single, y, qid=qid)
    assert fine.status_ == "gap_closed"
    assert fine.objective_ == pytest.approx(double.objective_, rel=1e-9)
    assert fine.objective_ - fine.gap_ <= double.objective_


@pytest.mark.filterwarnings("ignore:feature . is as large as:pairrank.exceptions.PairrankWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("offset", "C"), [(0.0, 1.0), (30.0, 1e4), (1e3, 0.01), (1e5, 1.0)])
def test_no_gap_is_a_lie_however_far_float32_features_lie_from_zero(offset, C):
    rng = np.random.default_rng(3)
    for n_features in (1, 2, 4, 25):
        X = (rng.normal(size=(26, n_features)) + offset).astype(np.float32)
        y = rng.integers(0, 3, 26).astype(float)
        pairs = preferences_of(y, None, "full")
        cost, centred = np.full(len(pairs), C), X.astype(float) - offset
        best = hinge_cost(hinge_by_clarabel(centred, pairs, cost), centred, pairs, cost)
        for tol in (1e-2, 1e-7):
            ranker = hinge(C, reduction="sum", tol=tol).fit(X, y)
            assert ranker.objective_ - ranker.gap_ <= best * (1 + 1e-6)
            assert ranker.gap_ >= -1e-7 * ranker.objective_


def test_constant_rows_and_one_feature(rows):
    X, y, _ = rows
    with pytest.warns(ZeroWeightsWarning, match="features are equal within queries"):
        none = hinge().fit(np.ones((300, 3)), y)
    assert (none.status_, none.n_iter_, none.gap_) == ("gap_closed", 0, 0.0)
    assert not none.coef_.any()
    X, y = X[:50, :1], y[:50]
    one, pairs = hinge(0.01, reduction="sum", tol=1e-8).fit(X, y), preferences_of(y, None, "full")
    cost = np.full(len(pairs), 0.01)
    found = hinge_cost(one.coef_, X, pairs, cost)
    assert found == pytest.approx(hinge_cost(hinge_by_clarabel(X, pairs, cost), X, pairs, cost))
    assert one.objective_ == pytest.approx(found, rel=1e-9)
    assert one.gap_ <= 1e-7 * found


@pytest.mark.parametrize(("scale", "C"), [(1e-3, 1.0), (1e4, 1.0), (1e8, 1e6)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_of_any_size_rank(rows, scale, C):
    X, y, qid = rows
    ranker = hinge(C, max_iter=50).fit(scale * X, y, qid=qid)
    assert ranker.score(scale * X, y, qid=qid) > 0.9


def test_an_early_end_keeps_the_best_weights_within_the_gap(rows, interrupt_at):
    X, y, qid = rows
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker = hinge(tol=1e-9).fit(X, y, qid=qid, callback=interrupt_at(8))
    assert ranker.objective_ == min(step.value for step in ranker.history_)
    assert ranker.objective_ - hinge(tol=1e-6).fit(X, y, qid=qid).objective_ <= ranker.gap_


def test_many_rows_start_from_the_solution_for_a_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 8))
    y = np.digitize(X[:, 0] + rng.normal(size=30_000), [-1, 0.0, 1])
    paper, started = hinge(solver="bundle").fit(X, y), hinge().fit(X, y)
    assert started.status_ == paper.status_ == "gap_closed"
    assert started.history_[0].value < paper.history_[0].value / 2
    assert started.n_iter_ < paper.n_iter_
    assert abs(started.objective_ - paper.objective_) <= max(started.gap_, paper.gap_)
