"""Sigmoidal pair sums: hundreds of rows, errors and sharpening, the choice query by query."""

import numpy as np
import pytest

from definitions import Sums
from loss_table import LOSSES as SUMMED
from loss_table import assert_within, random_problem
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic, Raykar
from pairrank.losses._phi import OfPhi
from pairrank.pair_sums import bind
from pairrank.pair_sums.sigmoid import KINDS, boxes_pay
from pairrank.preferences import Levels, OrderGraph
from strategies import Problem
from sum_table import EVERY as TABLE
from sum_table import assert_sums, levels_of, scale_of_rows, sum_of

pytestmark = pytest.mark.numeric

EVERY = [(route, name) for name, route in TABLE if name in ("logistic", "probit")]
LOSSES = {name: SUMMED[name].loss for name in ("logistic", "probit")}


def all_pairs(problem: Problem, levels: Levels, loss: str) -> Sums:
    """Return what `double_loop` does under the full graph, by whole matrices."""
    y, w, s, v = problem.y, problem.weight, problem.scores, problem.v
    pairs = (y[:, None] > y).astype(float) * scale_of_rows(levels)[:, None]
    if problem.qid is not None:
        pairs *= problem.qid[:, None] == problem.qid
    if w is not None:
        pairs *= np.outer(w, w)
    d = np.subtract.outer(s, s)
    slope, curvature = (pairs * LOSSES[loss].phi(d, order=order) for order in (1, 2))
    change = np.subtract.outer(v, v)
    hessian, influence = curvature * change, slope * change
    sizes = pairs * (np.abs(v)[:, None] + np.abs(v))
    return Sums(
        float((pairs * LOSSES[loss].phi(d)).sum()),
        by_row(slope, -slope),
        by_row(hessian, -hessian),
        by_row(curvature, curvature),
        by_row(influence, influence),
        float(pairs.sum()),
        by_row(pairs, pairs),
        by_row(sizes, sizes),
        float((pairs * LOSSES[loss].phi(d)).sum()),
        *np.zeros((3, y.size)),
    )


def by_row(won: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Sum what each row wins and loses; rows of memory are summed pairwise, columns are not."""
    return won.sum(1) + np.ascontiguousarray(lost.T).sum(1)


KINDS_OF_MANY = [
    ("normal", False), ("normal", True), ("wide", False), ("clusters", True), ("offset", False),
    ("outlier", True),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "weighted"), KINDS_OF_MANY)
@pytest.mark.parametrize("n_levels", [2, 5, 900])
@pytest.mark.parametrize(("route", "loss"), EVERY)
def test_hundreds_of_rows_equal_all_pairs(route, loss, n_levels, weighted, kind):
    problem = random_problem(600, n_levels, queries=2, weighted=weighted, kind=kind)
    levels = levels_of(problem, "query")
    bound = sum_of(loss, route, levels, 1e-9)
    assert_sums(loss, bound, problem.scores, problem.v, all_pairs(problem, levels, loss))


@pytest.mark.parametrize("n_levels", [3, 40])
@pytest.mark.parametrize(("route", "loss"), [each for each in EVERY if each[1] != "raykar"])
def test_an_offset_of_a_vector_costs_no_digits(route, loss, n_levels):
    """Products are of differences, whose errors are the same with an offset, but for rounding."""
    problem = random_problem(600, n_levels, queries=2, weighted=True)
    levels = levels_of(problem)
    v = np.round(1024.0 * problem.v) / 1024.0  # Exact after the offset.
    bound = sum_of(loss, route, levels, 1e-9)
    weight = np.add(*levels.wins_and_losses())
    curvature = bound.at(problem.scores).curvature()
    off = np.abs(curvature.matvec(v + 2.0**20) - curvature.matvec(v))
    assert (off <= 1e-12 * weight * np.ptp(v)).all()
    near, far = bound.influence(problem.scores, np.stack((v, v + 2.0**20)))
    assert (np.abs(far - near) <= 1e-12 * weight * np.ptp(v)).all()


@pytest.mark.parametrize(("route", "loss"), [each for each in EVERY if each[0] != "direct"])
def test_sharpening_lowers_eps_a_hundredfold_to_a_least(route, loss):
    problem = random_problem(3000, 3)
    levels = levels_of(problem)
    bound = sum_of(loss, route, levels, 1e-2)
    exact = bind(LOSSES[loss], levels, pair_sum="direct").at(problem.scores)
    weight = np.add(*levels.wins_and_losses())
    eps = 1e-2
    for smaller in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13):
        assert bound.error == pytest.approx(eps * levels.total_weight)
        value, gradient = bound.at(problem.scores)[:2]
        assert abs(value - exact[0]) <= bound.error + 1e-13 * exact[0]
        assert_within(gradient, exact[1], (eps + 1e-13) * weight)
        assert bound.sharpen()
        eps = smaller
    assert bound.error == pytest.approx(1e-13 * levels.total_weight)
    assert not bound.sharpen()


def rounding_of_pairs(spread: float) -> float:
    """Return the error of a pair's logistic cost or slope, relative to the pair's weight.

    exp and the difference of scores: relative errors of at most 4 ulps of the spread.
    """
    return 4.0 * np.finfo(float).eps * (spread + 1.0)


def rounding_of_gradients(rounding: float, exact: Sums) -> np.ndarray:
    """Return the error of every row's gradient, for rows of weight 1.

    A row of n pairs adds n slopes of at most 1. Each of its n additions, in any order, rounds a
    sum of at most n by half an ulp, in the definition too; code without vectors adds one by one.
    """
    n_pairs = exact.row_weight
    return n_pairs * (rounding + n_pairs * np.finfo(float).eps)


@pytest.mark.parametrize("spread", [0.0, 169.9, 170.1, 240.0, 700.0, 720.0])
@pytest.mark.parametrize("n_winners", [1, 3, 4, 66])
@pytest.mark.parametrize("n_losers", [8, 899, 901, 1810])
def test_products_of_many_far_logistic_pairs_stay_in_range(n_losers, n_winners, spread):
    """Pairs share divisions and logarithms up to a spread of 170 and in runs of 900 columns.

    The factors of a product are all largest at a spread of 170, the mantissas at one of 0.
    """
    losers, winners = np.linspace(0.0, 1e-3, n_losers), np.linspace(2e-3, 3e-3, n_winners)
    scores = np.concatenate([losers, spread + winners])
    for signed in (scores, -scores):
        problem = random_problem(signed.size, 2)._replace(
            y=np.repeat([0.0, 1.0], [n_losers, n_winners]), scores=signed, qid=None
        )
        levels = levels_of(problem)
        exact = all_pairs(problem, levels, "logistic")
        value, gradient = bind(Logistic(), levels, pair_sum="direct").at(signed)[:2]
        rounding = rounding_of_pairs(spread)
        assert abs(value - exact.value) <= rounding * exact.pair_weight
        assert_within(gradient, exact.gradient, rounding_of_gradients(rounding, exact))


@pytest.mark.parametrize("far", [[], [1], [0, 2], [0, 1, 2]])
def test_logistic_queries_of_near_and_far_scores_add_up(far):
    """Queries whose scores spread beyond 170 are summed apart."""
    problem = random_problem(600, 4)
    qid = np.repeat(np.arange(3), 200)
    scores = problem.scores * np.where(np.isin(qid, far), 300.0, 1.0)
    problem = problem._replace(scores=scores, qid=qid)
    levels = levels_of(problem)
    exact = all_pairs(problem, levels, "logistic")
    value, gradient = bind(Logistic(), levels, pair_sum="direct").at(scores)[:2]
    rounding = rounding_of_pairs(np.ptp(scores))
    assert abs(value - exact.value) <= rounding * exact.pair_weight
    assert_within(gradient, exact.gradient, rounding_of_gradients(rounding, exact))


@pytest.mark.parametrize("route", ["auto", "boxes", "beaulieu"])
def test_raykar_sharpens_both_its_sums(route):
    problem = random_problem(3000, 3)
    bound = sum_of("raykar", route, levels_of(problem), 1e-2)
    before = bound.error
    assert bound.sharpen()
    assert bound.error == pytest.approx(1e-2 * before)
    assert bound.reported.eps == bound.followed.eps == pytest.approx(1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_query_goes_where_it_costs_less(loss):
    sizes = np.array([5, 10, 40_000, 1200, 20_000, 2000])
    y = np.random.default_rng(0).integers(0, 4, sizes.sum()) * 1.0
    levels = Levels.build(y, np.repeat(np.arange(6), sizes))
    chosen = boxes_pay(levels, KINDS[loss])
    assert chosen.tolist() == [False, False, True, True, True, True]
    bound = bind(LOSSES[loss], levels)
    assert bound.error == pytest.approx(1e-6 * levels.total_weight)
    only_small = bind(LOSSES[loss], Levels.build(y[:15], np.repeat([0, 1], sizes[:2])))
    assert only_small.error == 0.0


def test_an_exact_sum_cannot_be_sharpened():
    problem = random_problem(60, 3)
    bound = bind(Logistic(), levels_of(problem), pair_sum="direct", eps=1e-2)
    assert bound.error == 0.0
    assert not bound.sharpen()
    assert not bind(Raykar(), levels_of(problem), pair_sum="direct").sharpen()


@pytest.mark.parametrize("loss", LOSSES)
def test_edges_of_a_query_may_come_in_any_order_of_their_losers(loss):
    """The sums of losers are collected over several edges before they are added."""
    generator = np.random.default_rng(6)
    y = np.repeat(np.arange(12), generator.integers(13, 25, 12)) * 1.0
    graph = OrderGraph([(8, 9), (1, 10), (7, 11), (0, 11), (3, 8), (2, 10)])
    levels = Levels.build(y, graph=graph)
    scores = generator.normal(size=y.size)
    found = bind(LOSSES[loss], levels, pair_sum="direct").at(scores)
    wanted = bind(OfPhi(LOSSES[loss]), levels).at(scores)
    # A row has at most 50 pairs, each with a share of at most 1, known to some ulps.
    rounding = 50.0 * 50.0 * np.finfo(float).eps
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=0, atol=rounding)
    assert abs(found.value - wanted.value) <= rounding * y.size


@pytest.mark.parametrize("loss", ["logistic", "probit"])
@pytest.mark.parametrize("n_queries", [1, 2])
@pytest.mark.parametrize("far", [np.nan, np.inf, -1e306])
def test_box_sums_find_scores_out_of_range_themselves(loss, n_queries, far):
    """A query of boxes has no other check of its scores, whichever row and query is wrong."""
    n_rows = 6000
    levels = Levels.build(np.arange(n_rows) // 2 % 2 * 1.0, np.arange(n_rows) % n_queries)
    bound = sum_of(loss, "boxes", levels)
    scores = np.linspace(-1.0, 1.0, n_rows)
    scores[n_rows - 1] = far
    value, gradient = bound.at(scores)[:2]
    assert value == np.inf
    assert np.isnan(gradient).all()
    with pytest.raises(PairrankError, match="scale the features down"):
        bound.at(scores).curvature()
