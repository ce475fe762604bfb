"""Sums over queries that cross blocks against every pair, for any split of the rows."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks_definition import Crossed, EveryPair, cut_levels
from pairrank.blocks.crossing import crossing_sum, merged_summaries
from pairrank.losses import (
    Hinge,
    HuberisedHinge,
    Logistic,
    ModifiedHuber,
    Probit,
    Raykar,
    SquaredHinge,
)
from pairrank.pair_sums import bind
from pairrank.preferences import Levels
from strategies import Problem, problems, problems_with_roles, scores_of

pytestmark = [
    pytest.mark.numeric,
    pytest.mark.filterwarnings("ignore:the order graph names labels"),
]

HINGES = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "margin 0.7": SquaredHinge(0.7),
    "no margin": Hinge(0.0),
    "Huberised hinge": HuberisedHinge(0.5),
    "modified Huber": ModifiedHuber(),
}
SIGMOIDS = {"logistic": Logistic(), "probit": Probit(), "raykar": Raykar()}
FITS = 2.0**40
"""Scores up to this fit every grid of these losses."""
UNIT = float(np.finfo(float).eps)
any_problem = st.one_of(problems(), problems_with_roles())
seeds = st.integers(0, 2**32 - 1)


def built(problem):
    return Levels.build(
        problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight,
        winner_weight=problem.winner, loser_weight=problem.loser,
    )  # fmt: skip


def without_dropped(problem):
    """Return the problem without rows that weigh nothing, and its scaled levels."""
    kept = np.sort(built(problem).row_of)
    problem = Problem(
        *(
            each[kept] if isinstance(each, np.ndarray) else each
            for each in problem  # a graph, or None
        )
    )
    levels = built(problem)
    return problem, levels.reduced("query") if levels.n_pairs else levels


def crossed(loss, problem, levels, seed, eps=1e-9):
    rng = np.random.default_rng(seed)
    cut, queries = cut_levels(levels, int(rng.integers(1, 7)), rng)
    return Crossed(crossing_sum(loss, queries, eps), cut)


@pytest.mark.parametrize("name", HINGES)
@given(problem=any_problem, seed=seeds)
def test_stated_errors_of_cells_hold_for_every_problem(name, problem, seed):
    problem, levels = without_dropped(problem)
    if not levels.n_pairs:
        return
    largest = np.abs(problem.scores).max()
    sums = crossed(HINGES[name], problem, levels, seed)
    found, gradient = sums.at(problem.scores)
    if not np.isfinite(found.value):
        assert largest > FITS
        return
    check_cells(HINGES[name], EveryPair(problem, levels), found, gradient, largest)


def check_cells(loss, every, found, gradient, largest):
    terms = loss.family.terms
    value_size, slope_size = every.sizes(terms)
    cells = sum(part.position.size for part in found.parts.values())
    rounding = 4.0 * (every.n_rows + cells + 4096) * UNIT
    assert abs(found.value - every.value(loss)) <= found.error + rounding * value_size
    off = np.abs(gradient - every.gradient(loss)).sum()
    kinks = 2.0 * every.at_kinks(terms, largest)
    assert off <= found.gradient_error + rounding * slope_size + kinks


@pytest.mark.parametrize("eps", [1e-4, 1e-13])
@pytest.mark.parametrize("name", SIGMOIDS)
@given(problem=any_problem, seed=seeds)
def test_stated_errors_of_boxes_hold_for_every_problem(name, eps, problem, seed):
    problem, levels = without_dropped(problem)
    if not levels.n_pairs:
        return
    loss, every = SIGMOIDS[name], EveryPair(problem, levels)
    found, gradient = crossed(loss, problem, levels, seed, eps).at(problem.scores)
    weight = float(every.weight.sum())
    # Rounding: 1e-13 of the weights, and of the terms, which grow with the margins.
    allowed = found.error + 1e-13 * (weight + float((every.weight * np.abs(every.d)).sum()))
    assert abs(found.value - every.value(loss)) <= allowed
    assert found.error <= eps * weight * (1.0 + 1e-12)
    off = np.abs(gradient - every.gradient(loss)).sum()
    assert off <= found.gradient_error + 2e-13 * weight * max(1, every.n_rows)


@pytest.mark.parametrize("name", [*HINGES, *SIGMOIDS])
@given(problem=any_problem, seed=seeds)
def test_products_with_the_hessian_by_two_passes(name, problem, seed):
    """Exact but for the pairs within a cell of a margin; of sigmoids to 1e-6."""
    loss = {**HINGES, **SIGMOIDS}[name]
    problem, levels = without_dropped(problem)
    if not levels.n_pairs or not loss.smooth or not np.abs(problem.scores).max() < FITS:
        return
    every, v = EveryPair(problem, levels), problem.v
    product = crossed(loss, problem, levels, seed).product(problem.scores, v)
    span = every.weight * (np.abs(v[every.i]) + np.abs(v[every.j]))
    allowed = 1e-12 * span.sum()
    if name in SIGMOIDS:
        allowed += 4.0 * 1e-6 * float((every.weight * np.ptp(v)).sum())
    for margin, _, c in loss.family.terms if name in HINGES else ():
        wide = 4.0 / 256.0 * abs(margin)
        near = np.abs(margin - every.d) <= wide + 4.0 * UNIT * np.abs(problem.scores).max()
        if margin == 0.0 or np.abs(problem.scores).max() > 1e4:
            return  # The width follows from the scores, or from the limit on cells.
        allowed += 4.0 * abs(c) * 2.0 * float(span[near].sum())
    assert np.abs(product - every.product(loss, v)).sum() <= allowed


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e306])
@pytest.mark.parametrize("name", ["squared hinge", "hinge", "logistic"])
def test_scores_that_no_table_fits_give_infinity(name, bad):
    loss = {**HINGES, **SIGMOIDS}[name]
    rng = np.random.default_rng(0)
    problem = Problem(np.arange(90.0) % 3, None, "full", None, rng.normal(size=90), np.ones(90))
    problem, levels = without_dropped(problem)
    sums = crossed(loss, problem, levels, 2)
    problem.scores[50] = bad
    found, gradient = sums.at(problem.scores)
    assert found.value == np.inf
    assert np.isnan(gradient).all()


@pytest.mark.parametrize(("name", "least"), [("squared hinge", 1e-9), ("Huberised hinge", 2e-9)])
def test_sharpened_cells_state_a_small_relative_error(name, least):
    """Of two terms that cancel, the rounding of both counts."""
    rng = np.random.default_rng(0)
    n = 20_000
    y = rng.integers(0, 5, n) * 1.0
    problem = Problem(y, None, "full", None, rng.normal(size=n) + 0.3 * y, y)
    problem, levels = without_dropped(problem)
    sums = crossed(HINGES[name], problem, levels, 3)
    wanted = bind(HINGES[name], levels, pair_sum="direct").at(problem.scores)
    size = np.abs(wanted.gradient).sum()
    errors = []
    while True:
        found, gradient = sums.at(problem.scores)
        errors.append(found.gradient_error / size)
        assert np.abs(gradient - wanted.gradient).sum() <= (errors[-1] + 1e-11) * size
        assert abs(found.value - wanted.value) <= found.error + 1e-12 * wanted.value
        if not sums.sum.sharpen():
            break
    assert errors[-1] <= least
    assert all(later <= 0.05 * earlier for earlier, later in pairwise(errors))


@pytest.mark.parametrize("name", SIGMOIDS)
def test_sharpened_boxes_reach_1e_13(name):
    rng = np.random.default_rng(0)
    n = 3000
    y = rng.integers(0, 4, n) * 1.0
    problem = Problem(y, None, "chain", None, rng.normal(size=n) + y, y)
    problem, levels = without_dropped(problem)
    sums = crossed(SIGMOIDS[name], problem, levels, 3, 1e-3)
    wanted = bind(SIGMOIDS[name], levels, pair_sum="direct").at(problem.scores)
    n_sharper = 0
    while sums.sum.sharpen():
        n_sharper += 1
    assert n_sharper in (5, 6)  # 1e-3 times 0.01^5 may round up.
    found, gradient = sums.at(problem.scores)
    assert found.error <= 1.01e-13 * levels.total_weight
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    assert np.abs(gradient - wanted.gradient).sum() <= 1e-12 * np.abs(wanted.gradient).sum()


@pytest.mark.parametrize("name", ["squared hinge", "no margin", "logistic"])
def test_merges_are_associative_and_one_order_gives_the_same_bits(name):
    loss = {**HINGES, **SIGMOIDS}[name]
    rng = np.random.default_rng(0)
    n = 500
    y = rng.integers(0, 3, n) * 1.0
    problem = Problem(y, None, "full", None, scores_of("clusters", n, rng), y)
    problem, levels = without_dropped(problem)
    cut, queries = cut_levels(levels, 8, rng)
    crossed_sum = Crossed(crossing_sum(loss, queries), cut)
    total = crossed_sum.placed(problem.scores)
    parts = [pickle.dumps(part) for part in crossed_sum.summaries(problem.scores)]

    def merged(order):
        found = pickle.loads(parts[order[0]])
        for k in order[1:]:
            found = merged_summaries(found, pickle.loads(parts[k]))
        return total.finish(found)

    orders = [list(range(8)), list(range(7, -1, -1)), [3, 1, 4, 0, 5, 7, 2, 6]]
    values = [merged(order).totals.value for order in orders]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    assert merged(orders[0]).totals.value == values[0]


def test_cells_that_are_too_many_are_made_wider_and_their_error_is_stated(monkeypatch):
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(0, 3, n) * 1.0
    problem = Problem(y, None, "full", None, 3.0 * rng.normal(size=n), y)
    problem, levels = without_dropped(problem)
    sums = crossed(SquaredHinge(), problem, levels, 5)
    fine, _ = sums.at(problem.scores)
    monkeypatch.setattr("pairrank.blocks.crossing_cells.MOST_ENTRIES", 6 * 100)
    found, gradient = sums.at(problem.scores)
    assert found.parts[0].position.size <= 100 < fine.parts[0].position.size
    assert found.error > 10.0 * fine.error
    largest = np.abs(problem.scores).max()
    check_cells(SquaredHinge(), EveryPair(problem, levels), found, gradient, largest)


def test_a_pickled_copy_is_small_and_has_no_compiled_functions():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 50_000) * 1.0
    problem, levels = without_dropped(Problem(y, None, "full", None, y, y))
    for loss in (SquaredHinge(), Logistic()):
        sums = crossed(loss, problem, levels, 0)
        sums.at(problem.scores)
        assert len(pickle.dumps(sums.sum)) < 2000
        assert b"numba" not in pickle.dumps(sums.summaries(problem.scores))
