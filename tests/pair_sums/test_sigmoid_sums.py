"""Sigmoidal pair sums against the double loop: every route, loss, label kind, graph and weight."""

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions import SigmoidalSums, logistic, preferences_of, probit, sigmoidal_sums
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.losses import Logistic, Probit, Raykar
from pairrank.pair_sums import bind, direct_queries, sigmoid_schedule
from pairrank.preferences import Levels, Pairs
from strategies import Problem, problems, scores_of

ROUNDING = 1e-14
"""Of the weight of the pairs: several times what is promised for the exact sums."""

LOSSES = {"logistic": Logistic(), "probit": Probit()}
DEFINITIONS = {"logistic": logistic(), "probit": probit()}
ROUTES = ("auto", "spans", "boxes", "beaulieu", "direct")
"""Those of a user, and "spans": "auto" where a series over one interval costs nothing."""


def serves(route: str, loss: str) -> bool:
    return not (route == "beaulieu" and loss == "logistic")


EVERY = [(route, loss) for route in ROUTES for loss in LOSSES if serves(route, loss)]


def sum_over(loss: Any, levels: Levels, route: str, eps: float = 1e-6) -> Any:
    if route != "spans":
        return bind(loss, levels, pair_sum=route, eps=eps)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SPANNED_ROW", "SPANNED_LEVEL"):
            patch.setattr(sigmoid_schedule, name, (1e-9, 1e-9))
        return bind(loss, levels, eps=eps)


def levels_of(problem: Problem, reduction: str = "sum") -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        levels = Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )
    return levels.reduced(reduction) if levels.n_pairs else levels


def scale_of_rows(levels: Levels) -> np.ndarray:
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    return levels.from_layout(np.repeat(scale, np.diff(levels.query_start)))


def pairs_of(problem: Problem) -> list[tuple]:
    """Return the preferences among rows of positive weight: what weighs nothing is not there."""
    y, qid, weight = problem.y, problem.qid, problem.weight
    kept = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    found = preferences_of(y[kept], None if qid is None else qid[kept], problem.graph)
    return [(kept[i], kept[j]) for i, j in found]


def double_loop(problem: Problem, loss: str, levels: Levels) -> SigmoidalSums:
    pairs = pairs_of(problem)
    scale = scale_of_rows(levels)
    return sigmoidal_sums(
        pairs, problem.scores, DEFINITIONS[loss], problem.v, problem.weight, lambda i: scale[i]
    )


def assert_within(found: Any, wanted: Any, allowed: Any) -> None:
    error = np.abs(np.asarray(found) - wanted)
    assert (error <= allowed).all(), (found, wanted, error / allowed)


def assert_matches(bound: Any, scores: np.ndarray, v: np.ndarray, wanted: SigmoidalSums) -> None:
    """Compare everything that a sum tells with the double loop."""
    eps = bound.error / wanted.pair_weight if wanted.pair_weight else 0.0
    size = wanted.value + wanted.pair_weight
    value, gradient = bound.at(scores)[:2]
    assert_within(value, wanted.value, eps * wanted.pair_weight + ROUNDING * size)
    assert_within(gradient, wanted.gradient, (eps + ROUNDING) * wanted.row_weight)
    curvature = bound.at(scores).curvature()
    allowed = max(eps, 1e-6 if eps else 0.0) + ROUNDING
    assert_within(curvature.matvec(v), wanted.product, allowed * wanted.reach)
    assert_within(curvature.matmat(v[np.newaxis])[0], wanted.product, allowed * wanted.reach)
    assert_within(curvature.diagonal(), wanted.diagonal, allowed * wanted.row_weight)
    influence = bound.influence(scores, np.stack((v, 2.0 * v)))
    assert_within(influence[0], wanted.influence, allowed * wanted.reach)
    assert_within(influence[1], 2.0 * wanted.influence, 2.0 * allowed * wanted.reach)


@pytest.mark.parametrize(("route", "loss"), EVERY)
@given(
    problem=problems(),
    reduction=st.sampled_from(("sum", "rows", "query")),
    eps=st.sampled_from((1e-3, 1e-6, 1e-10, 1e-13)),
)
@settings(max_examples=60)
def test_levels_equal_the_double_loop(route, loss, problem, reduction, eps):
    levels = levels_of(problem, reduction)
    bound = sum_over(LOSSES[loss], levels, route, eps)
    assert_matches(bound, problem.scores, problem.v, double_loop(problem, loss, levels))


@pytest.mark.parametrize("loss", LOSSES)
@given(problem=problems(), reduction=st.sampled_from(("sum", "rows")))
@settings(max_examples=60)
def test_explicit_pairs_equal_the_double_loop(loss, problem, reduction):
    levels = levels_of(problem, reduction)
    i, j = np.array(pairs_of(problem), int).reshape(-1, 2).T
    n_rows = problem.scores.size
    pairs = Pairs(i, j, n_rows=n_rows).bound(
        n_rows, qid=problem.qid, sample_weight=problem.weight, reduction=reduction
    )
    bound = bind(LOSSES[loss], pairs, pair_sum="auto", eps=1e-3)
    assert bound.error == 0.0
    assert not bound.sharpen()
    if levels.n_pairs:
        assert_matches(bound, problem.scores, problem.v, double_loop(problem, loss, levels))
    else:
        value, gradient = bound.at(problem.scores)[:2]
        assert value == 0.0
        assert not gradient.any()
        assert not bound.at(problem.scores).curvature().matvec(problem.v).any()


@pytest.mark.parametrize("route", ROUTES)
@given(problem=problems(), eps=st.sampled_from((1e-3, 1e-9)))
@settings(max_examples=40)
def test_raykar_joins_one_value_with_another_gradient(route, problem, eps):
    levels = levels_of(problem, "rows")
    bound = sum_over(Raykar(), levels, route, eps)
    followed = double_loop(problem, "probit", levels)
    reported = double_loop(problem, "logistic", levels).value
    assert_matches(bound, problem.scores, problem.v, followed._replace(value=reported))


def random_problem(
    n_rows: int, n_levels: int, *, queries: int = 1, weighted: bool = False, kind: str = "normal"
) -> Problem:
    generator = np.random.default_rng(n_rows + n_levels)
    y = generator.integers(0, n_levels, n_rows) * 1.0
    qid = generator.integers(0, queries, n_rows) if queries > 1 else None
    weight = generator.exponential(size=n_rows) if weighted else None
    v = generator.normal(size=n_rows)
    return Problem(y, qid, "full", weight, scores_of(kind, n_rows, generator), v)


def all_pairs(problem: Problem, levels: Levels, loss: str) -> SigmoidalSums:
    """Return what `double_loop` does under the full graph, by whole matrices."""
    y, w, s, v = problem.y, problem.weight, problem.scores, problem.v
    pairs = (y[:, None] > y).astype(float) * scale_of_rows(levels)[:, None]
    if problem.qid is not None:
        pairs *= problem.qid[:, None] == problem.qid
    if w is not None:
        pairs *= np.outer(w, w)
    d = np.subtract.outer(s, s)
    slope, bend = (pairs * LOSSES[loss].phi(d, order=order) for order in (1, 2))
    change = np.subtract.outer(v, v)
    hessian, pull = bend * change, slope * change
    sizes = pairs * (np.abs(v)[:, None] + np.abs(v))
    return SigmoidalSums(
        float((pairs * LOSSES[loss].phi(d)).sum()),
        by_row(slope, -slope),
        by_row(hessian, -hessian),
        by_row(bend, bend),
        by_row(pull, pull),
        float(pairs.sum()),
        by_row(pairs, pairs),
        by_row(sizes, sizes),
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
    bound = sum_over(LOSSES[loss], levels, route, 1e-9)
    assert_matches(bound, problem.scores, problem.v, all_pairs(problem, levels, loss))


@pytest.mark.parametrize("n_levels", [3, 200])
@pytest.mark.parametrize(("route", "loss"), EVERY)
def test_gradient_and_curvature_are_the_differences(route, loss, n_levels):
    problem = random_problem(400, n_levels, queries=3)
    bound = sum_over(LOSSES[loss], levels_of(problem, "rows"), route, 1e-12)
    step = 1e-4
    (below, down), (above, up) = (
        bound.at(problem.scores + side * step * problem.v)[:2] for side in (-1, 1)
    )
    slope = bound.at(problem.scores)[1] @ problem.v
    assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-5)
    product = bound.at(problem.scores).curvature().matvec(problem.v)
    assert (up - down) / (2 * step) == pytest.approx(product, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("n_levels", [2, 6, 700])
@pytest.mark.parametrize(("route", "loss"), EVERY)
def test_order_of_rows_does_not_matter(route, loss, n_levels):
    problem = random_problem(700, n_levels, queries=4)
    order = np.random.default_rng(1).permutation(700)
    shuffled = problem._replace(
        y=problem.y[order], qid=problem.qid[order], scores=problem.scores[order], v=problem.v[order]
    )
    (value, gradient), (again, moved) = (
        sum_over(LOSSES[loss], levels_of(each), route).at(each.scores)[:2]
        for each in (problem, shuffled)
    )
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(moved, gradient[order], rtol=0, atol=1e-12 * 700)


@pytest.mark.parametrize(("route", "loss"), EVERY)
def test_scores_that_are_no_numbers_are_worth_infinity(route, loss):
    problem = random_problem(60, 3)
    bound = sum_over(LOSSES[loss], levels_of(problem), route)
    pairs = Pairs([0, 1], [2, 3], n_rows=60).bound(60)
    for bad in (np.nan, np.inf, -np.inf):
        scores = problem.scores.copy()
        scores[7] = bad
        for each in (bound, bind(LOSSES[loss], pairs)):
            value, gradient = each.at(scores)[:2]
            assert value == np.inf
            assert np.isnan(gradient).all()


@pytest.mark.parametrize(("route", "loss"), EVERY)
def test_far_scores_stay_finite(route, loss):
    problem = random_problem(60, 3)
    bound = sum_over(LOSSES[loss], levels_of(problem), route)
    value, gradient = bound.at(1e300 * problem.scores)[:2]
    assert 0.0 < value < np.inf
    assert np.isfinite(gradient).all()
    product = bound.at(1e300 * problem.scores).curvature().matvec(problem.v)
    assert np.isfinite(product).all()


@pytest.mark.parametrize(("route", "loss"), [each for each in EVERY if each[0] != "direct"])
def test_sharpening_lowers_eps_a_hundredfold_to_a_least(route, loss):
    problem = random_problem(3000, 3)
    levels = levels_of(problem)
    bound = sum_over(LOSSES[loss], levels, route, 1e-2)
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


@pytest.mark.parametrize("route", ["auto", "boxes", "beaulieu"])
def test_raykar_sharpens_both_its_sums(route):
    problem = random_problem(3000, 3)
    bound = sum_over(Raykar(), levels_of(problem), route, 1e-2)
    before = bound.error
    assert bound.sharpen()
    assert bound.error == pytest.approx(1e-2 * before)
    assert bound.reported.eps == bound.followed.eps == pytest.approx(1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_each_query_goes_where_it_costs_less(loss):
    sizes = np.array([5, 20, 5000, 100, 20_000, 500])
    y = np.random.default_rng(0).integers(0, 4, sizes.sum()) * 1.0
    levels = Levels.build(y, np.repeat(np.arange(6), sizes))
    bound = bind(LOSSES[loss], levels)
    assert bound._queries["direct"].tolist() == [0, 1]
    assert bound._queries["spans"].tolist() == [3, 5]
    assert bound._queries["boxes"].tolist() == [2, 4]
    assert bound.error == pytest.approx(1e-6 * levels.total_weight)
    only_small = bind(LOSSES[loss], Levels.build(y[:25], np.repeat([0, 1], sizes[:2])))
    assert only_small.error == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_that_spread_too_far_for_one_interval_go_otherwise(loss):
    sizes = (60, 60, 3000)
    generator = np.random.default_rng(3)
    y = generator.integers(0, 3, sum(sizes)) * 1.0
    levels = Levels.build(y, np.repeat(np.arange(3), sizes))
    bound = sum_over(LOSSES[loss], levels, "spans")
    assert bound._queries["spans"].tolist() == [0, 1, 2]
    exact = sum_over(LOSSES[loss], levels, "direct")
    v, weight = generator.normal(size=y.size), np.add(*levels.wins_and_losses())
    for spread in ([1.0, 100.0, 100.0], [100.0, 1.0, 100.0]):
        scores = generator.normal(size=y.size) * np.repeat(spread, sizes)
        value, gradient = bound.at(scores)[:2]
        wanted, wanted_gradient = exact.at(scores)[:2]
        assert abs(value - wanted) <= bound.error
        assert_within(gradient, wanted_gradient, 1e-6 * weight)
        products = [each.at(scores).curvature().matvec(v) for each in (bound, exact)]
        assert_within(products[0], products[1], 1e-6 * weight * 2.0 * np.abs(v).max())
        asked = [each.influence(scores, v[np.newaxis])[0] for each in (bound, exact)]
        assert_within(asked[0], asked[1], 1e-6 * weight * 2.0 * np.abs(v).max())


def test_an_exact_sum_cannot_be_sharpened():
    problem = random_problem(60, 3)
    bound = bind(Logistic(), levels_of(problem), pair_sum="direct", eps=1e-2)
    assert bound.error == 0.0
    assert not bound.sharpen()
    assert not bind(Raykar(), levels_of(problem), pair_sum="direct").sharpen()


@pytest.mark.parametrize("route", ["spans", "boxes", "direct"])
def test_results_and_curvatures_are_the_callers(route):
    problem = random_problem(300, 4, queries=3)
    bound = sum_over(Logistic(), levels_of(problem), route)
    scores, kept_scores = problem.scores.copy(), problem.scores
    value, gradient = bound.at(scores)[:2]
    kept = gradient.copy()
    curvature = bound.at(scores).curvature()
    product = curvature.matvec(problem.v)
    pulls = bound.influence(scores, problem.v[np.newaxis])
    scores *= -2.0
    bound.at(scores)
    fresh = sum_over(Logistic(), levels_of(problem), route).influence(scores, problem.v[np.newaxis])
    np.testing.assert_array_equal(bound.influence(scores, problem.v[np.newaxis]), fresh)
    np.testing.assert_array_equal(bound.influence(kept_scores, problem.v[np.newaxis]), pulls)
    np.testing.assert_array_equal(gradient, kept)
    np.testing.assert_array_equal(curvature.matvec(problem.v), product)
    assert bound.at(problem.scores)[0] == value


def test_scores_of_another_length_are_refused():
    problem = random_problem(60, 3)
    bound = bind(Probit(), levels_of(problem))
    pairs = bind(Probit(), Pairs([0, 1], [2, 3], n_rows=60).bound(60))
    for each in (bound, pairs):
        with pytest.raises(PairrankError, match=r"shape \(59,\), but"):
            each.at(problem.scores[1:])
        with pytest.raises(PairrankError, match=r"shape \(59,\), but"):
            each.influence(problem.scores, problem.v[np.newaxis, 1:])


@pytest.mark.parametrize("graph", ["full", "chain"])
def test_work_in_batches_adds_up_to_the_same(graph, monkeypatch):
    """Between batches an interrupt is seen; a query of very many pairs is several of them."""
    problem = random_problem(900, 4, queries=3, weighted=True)._replace(graph=graph)
    levels = levels_of(problem, "rows")
    whole = bind(Logistic(), levels, pair_sum="direct")
    monkeypatch.setattr(direct_queries, "PAIRS_AT_ONCE", 8_000)
    parts = bind(Logistic(), levels, pair_sum="direct")
    assert len(parts._direct._batches) > 4
    value, gradient = whole.at(problem.scores)[:2]
    again, other = parts.at(problem.scores)[:2]
    assert again == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(other, gradient, rtol=0, atol=1e-13 * np.abs(gradient).max())
    product, same = (each.at(problem.scores).curvature().matvec(problem.v) for each in (whole, parts))
    np.testing.assert_allclose(same, product, rtol=0, atol=1e-13 * np.abs(product).max())


def test_a_long_chain_of_few_pairs_is_one_piece_of_work(monkeypatch):
    """Each piece looks at every row of its query, so that many would cost the rows squared."""
    monkeypatch.setattr(direct_queries, "PAIRS_AT_ONCE", 20_000)
    levels = Levels.build(np.arange(2000.0), graph="chain")
    (part,) = bind(Logistic(), levels, pair_sum="direct")._parts
    assert len(part._jobs.rows) == 1


def test_labels_without_a_preference_sum_to_nothing():
    levels = Levels.build(np.zeros(4))
    for route in ROUTES:
        bound = sum_over(Probit(), levels, route)
        value, gradient = bound.at(np.arange(4.0))[:2]
        assert value == 0.0
        assert not gradient.any()
        assert not bound.at(np.arange(4.0)).curvature().diagonal().any()
        assert bound.error == 0.0


def test_records_are_frozen_and_equal():
    assert Logistic() == Logistic() != Probit()
    with pytest.raises(dataclasses.FrozenInstanceError):
        Logistic().margin = 1.0
