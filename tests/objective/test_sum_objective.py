"""Any pair sum as an objective: its gradient, its Hessian, and the diagonal before it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from pairrank import MPRank, Pairs, RankRLS, SVRank
from pairrank._protocols import Status
from pairrank.design import Design
from pairrank.losses import Hinge, Square, Tube
from pairrank.objective import (
    LeastSquares,
    PairObjective,
    SumObjective,
    inverse_diagonal,
    is_even,
)
from pairrank.objective import spread_of_features as spread
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels
from pairrank.solvers.tron import Tron

LOSSES = [Square(), Tube(0.3, 2), Tube(0.0, 2)]
RANKERS = [RankRLS(), MPRank(), MPRank(solver="cg"), MPRank(n=1), SVRank(), SVRank(n=2)]


def differences(rng, n_rows):
    weight = rng.exponential(size=n_rows)
    return Differences.build(rng.normal(size=n_rows), np.arange(n_rows) % 3, sample_weight=weight)


def comparisons(rng, n_rows):
    i, j = rng.integers(0, n_rows, (2, 90))
    i, j = i[i != j], j[i != j]
    return Pairs(i, j, None, rng.normal(size=i.size), n_rows=n_rows)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("build", [differences, comparisons])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_and_hessian_are_differences_of_values_and_gradients(loss, build, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    objective = SumObjective(Design(form(X)), bind(loss, build(rng, 40)), penalty=2.0)
    w, step = rng.normal(size=3), 1e-6
    gradient = objective.loss_and_gradient(w)[1]
    for at, unit in enumerate(np.eye(3)):
        up, down = (objective.loss_and_gradient(w + sign * step * unit) for sign in (1, -1))
        assert gradient[at] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-6, abs=1e-7)
        bend = (up[1] - down[1]) / (2 * step) + 2.0 * unit
        np.testing.assert_allclose(objective.hessian(w).matvec(unit), bend, rtol=1e-5, atol=1e-6)
    value, at_zero = objective.loss_and_gradient(np.zeros(3))
    assert value == pytest.approx(objective.loss_and_gradient(np.full(3, 1e-12))[0])
    assert objective.reference_norm == pytest.approx(np.linalg.norm(at_zero))
    at_zero += 1.0
    np.testing.assert_allclose(objective.loss_and_gradient(np.zeros(3))[1], at_zero - 1.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_a_gradient_is_off_by_no_more_than_its_pull_and_rounding_say(kind, dtype, form):
    rng = np.random.default_rng(0)
    X = rng.normal((0.0, 100.0, 1e4), 1.0, (400, 3)).astype(dtype)
    if kind == "hinge":
        levels = Levels.build(np.round(rng.normal(size=400)))
        pair_sum, factor = bind(Hinge(), levels), 0.1
        objective = PairObjective(form(X), levels, Hinge(), factor=factor, penalty=1.0)
    else:
        pair_sum, factor = bind(Tube(0.1, 1), differences(rng, 400)), 1.0
        objective = SumObjective(Design(form(X)), pair_sum, penalty=1.0)
    double = X.astype(np.float64)
    for w in (np.array([0.3, -0.2, 1e-4]), np.zeros(3)):
        gradient = objective.loss_and_gradient(w)[1]
        scores = objective.design.scores(w)
        pull = factor * pair_sum.at(scores)[1]
        assert objective.pull == pytest.approx(np.linalg.norm(pull))
        off = np.abs(gradient - double.T @ pull)
        assert (off <= objective.pull * objective.rounding).all()
        np.testing.assert_allclose(
            objective.rounding, 2 * np.finfo(dtype).eps * np.linalg.norm(double, axis=0)
        )


@pytest.mark.parametrize(
    "ranker", [RankRLS(), MPRank(), MPRank(n=1), SVRank(), SVRank(n=2)], ids=str
)
@pytest.mark.parametrize("value", [0.1, 1.0, 3.3, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_teach_nothing_and_warn_of_nothing(dtype, value, ranker):
    rng = np.random.default_rng(0)
    for labels in (np.arange(2000) % 4, rng.normal(size=2000)):
        ranker.fit(np.full((2000, 3), value, dtype), labels, qid=np.arange(2000) % 3)
        assert ranker.status_ in ("converged", "gap_closed")
        assert not ranker.coef_.any()


def test_what_differs_little_teaches_all_the_same():
    rng = np.random.default_rng(0)
    X, y = 1e9 + np.round(rng.normal(size=(3000, 1)), 3), rng.normal(size=3000)
    for ranker in (RankRLS(1.0), MPRank(1e3), SVRank(1e3, n=2)):
        wanted = clone(ranker).fit(X - 1e9, y)
        np.testing.assert_allclose(ranker.fit(X, y).coef_, wanted.coef_, rtol=1e-3)


def test_the_scores_kept_are_those_of_the_weights_asked_for():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 3)), rng.normal(size=3)
    pair_sum = bind(Tube(0.5, 2), differences(rng, 40))
    objective = SumObjective(Design(X), pair_sum, penalty=2.0)
    first = objective.loss_and_gradient(w)[0]
    w *= 2.0
    assert objective.loss_and_gradient(w)[0] == pytest.approx(pair_sum.at(X @ w)[0])
    assert objective.loss_and_gradient(w)[0] != pytest.approx(first)


def test_a_diagonal_saves_steps_where_features_differ_in_size():
    rng = np.random.default_rng(0)
    size = np.logspace(0, 5, 40)
    X = rng.normal(size=(300, 40)) * size
    weighed = Differences.build(X @ (1 / size) + rng.normal(size=300))
    pair_sum, design = bind(Tube(0.2, 2), weighed), Design(X)
    degree = bind(Square(), weighed).at(np.zeros(300)).curvature().diagonal()
    wide = spread(design, degree)
    np.testing.assert_allclose(wide, 2 * 299 / 300 * 300 * X.var(axis=0), rtol=1e-9)
    found = []
    for inverse in (None, inverse_diagonal(wide, 1.0)):
        objective = SumObjective(design, pair_sum, penalty=1.0, inverse=inverse)
        found.append(Tron()(objective, np.zeros(40), tol=1e-8, max_iter=200))
    assert {one.status for one in found} == {Status.CONVERGED}
    np.testing.assert_allclose(found[0].coef * size, found[1].coef * size, rtol=1e-3)
    products = [one.history[-1].n_products for one in found]
    assert 5 * products[1] < products[0]


def test_features_of_one_size_are_even_whatever_is_constant():
    assert is_even(np.array([1.0, 3.0, 5.0]))
    assert is_even(np.array([1.0, 3.0, 5.0, 1e-20, 0.0]))
    assert not is_even(np.array([1.0, 30.0, 1000.0]))
    assert is_even(np.zeros(3))
    assert is_even(np.empty(0))
    assert is_even(np.array([1.0, np.inf]))
    np.testing.assert_array_equal(spread(Design(np.ones((4, 2))), np.zeros(4)), 0.0)
    lifted = inverse_diagonal(np.array([0.0, 1e14]), 1.0).matvec(np.ones(2))
    np.testing.assert_allclose(lifted, [1 / 101, 1e-14], rtol=1e-6)


def test_least_squares_have_one_hessian_and_no_preconditioner():
    rng = np.random.default_rng(0)
    squares = bind(Square(), differences(rng, 40))
    objective = LeastSquares(Design(rng.normal(size=(40, 3))), squares, penalty=2.0)
    assert objective.hessian(np.zeros(3)) is objective.hessian(np.ones(3))
    assert objective.preconditioner(np.ones(3)) is None
