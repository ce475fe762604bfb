"""RankSVM with the hinge: the optimum of all pairs, the gap, and what else its users meet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from definitions import preferences_of
from pairrank import RankSVM
from pairrank.exceptions import ZeroWeightsWarning
from programs import hinge_by_clarabel, hinge_cost
from strategies import problems

pytestmark = pytest.mark.numeric


def hinge(C=1.0, **options):
    return RankSVM(C, loss="hinge", **options)


def check_optimum(ranker, X, pairs, cost, w):
    """Check that w is the optimum over all the pairs, to 1e-6, and that the gap is no lie."""
    best = hinge_cost(hinge_by_clarabel(X, pairs, cost), X, pairs, cost)
    found = hinge_cost(w, X, pairs, cost)
    assert found <= best * (1 + 1e-6)
    assert found >= best * (1 - 1e-6)
    assert ranker.objective_ == pytest.approx(found, rel=1e-9)
    assert found - best <= ranker.gap_ + 1e-8 * best
    assert ranker.gap_ <= 1e-7 * found


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
    one = hinge(reduction="sum", C=0.01, tol=1e-8).fit(X[:50, :1], y[:50])
    pairs = preferences_of(y[:50], None, "full")
    check_optimum(one, X[:50, :1], pairs, np.full(len(pairs), 0.01), one.coef_)


@pytest.mark.parametrize(("scale", "C"), [(1e-3, 1.0), (1e4, 1.0), (1e8, 1e6)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_of_any_size_rank(rows, scale, C):
    X, y, qid = rows
    ranker = hinge(C, max_iter=50).fit(scale * X, y, qid=qid)
    assert ranker.score(scale * X, y, qid=qid) > 0.9


def test_an_early_end_keeps_the_best_weights_within_the_gap(rows):
    X, y, qid = rows

    def interrupt(step):
        if step.n_iter == 8:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker = hinge(tol=1e-9).fit(X, y, qid=qid, callback=interrupt)
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
