"""Cell sums against every pair: their stated errors hold for any scores, weights and graph."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import LOSSES, assert_within, random_problem, with_events
from pairrank.pair_sums import bind, cells
from pairrank.pair_sums.cells import fit
from pairrank.pair_sums.piecewise import PiecewiseSum
from pairrank.preferences import Levels, OrderGraph
from strategies import Problem, problems, problems_with_roles
from sum_table import double_loop, levels_of, sum_of

pytestmark = pytest.mark.numeric


@pytest.fixture(autouse=True)
def every_query_is_large(monkeypatch):
    """Let cells serve queries of any size, with bands of a few rows."""
    for constant, value in {"LEAST_ROWS": 2, "ROWS_PER_BAND": 3, "SMALL_TABLE": 1 << 20}.items():
        monkeypatch.setattr(cells, constant, value)


@pytest.fixture
def own_tables(every_query_is_large, monkeypatch):
    """Give queries the tables and bands of large ones."""
    for constant, value in {"ROWS_PER_BAND": 128, "SMALL_TABLE": 1 << 15}.items():
        monkeypatch.setattr(cells, constant, value)


def cell_sum(levels, terms):
    return PiecewiseSum(levels, terms, by_cells=True)


def exact_sum(levels, terms):
    return PiecewiseSum(levels, terms, by_cells=False)


def every_pair(terms, y, scores):
    """Return every pair's margin and slope of one query, and the gradient, pair by pair."""
    i, j = np.nonzero(y[:, None] > y)
    d = scores[i] - scores[j]
    excesses = [(margin - d, power, c) for margin, power, c in terms]
    slopes = -sum(c * (2.0 * np.maximum(x, 0.0) if p == 2 else x > 0.0) for x, p, c in excesses)
    return d, slopes, np.bincount(i, slopes, y.size) - np.bincount(j, slopes, y.size)


def test_the_stated_error_is_not_far_above_the_true_one():
    """It adds up the pairs in doubt; true errors cancel like the square root of their count."""
    values, slopes, in_doubt, terms = [], [], [], ((1.0, 2, 1.0),)
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1000, 1400))
        y = rng.integers(0, 4, n).astype(float)
        scores = rng.normal(size=n)
        levels = Levels.build(y)
        by_cells = cell_sum(levels, terms).at(scores)
        exact = exact_sum(levels, terms).at(scores)
        values.append(by_cells.error / abs(by_cells.value - exact.value))
        off = np.abs(by_cells.gradient - exact.gradient).sum()
        slopes.append(by_cells.gradient_error / off)
        cell = np.floor(scores * 64.0)
        apart = cell[:, None] - cell[None, :]
        in_doubt.append(((y[:, None] > y[None, :]) & (apart == 64.0)).sum())
    assert min(in_doubt) >= 1000
    assert min(values) >= 1.0
    assert min(slopes) >= 1.0
    assert np.median(values) <= 100.0
    assert np.median(slopes) <= 100.0


@pytest.mark.parametrize("gap", [2.0**-20, 2.0**-31])
@pytest.mark.parametrize("power", [1, 2])
def test_stated_errors_include_the_rounding_of_tiny_excesses(gap, power):
    """All differences are exact, and the cells' sums of places are not."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2 * 1.0
    scores = np.where(y > 0.0, 1.0 - gap, 0.0) + rng.integers(0, 2**21, 2000) * 2.0**-53
    levels, terms = Levels.build(y), ((1.0, power, 1.0),)
    found = cell_sum(levels, terms).at(scores)
    d, slopes, gradient = every_pair(terms, y, scores)
    value = (np.maximum(1.0 - d, 0.0) ** power).sum()
    of_every = 2000.0 * np.finfo(float).eps * np.abs(slopes).sum()
    assert abs(found.value - value) <= found.error + of_every * gap
    off = np.abs(found.gradient - gradient).sum()
    assert off <= found.gradient_error + of_every
    assert found.gradient_error <= 1e-10 * y.size**2


@pytest.mark.parametrize("delta", [2.0**-25, 2.0**-30])
def test_stated_errors_include_the_rounding_of_terms_that_cancel(delta):
    """The sum of a Huberised hinge is far below those of its two terms."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2 * 1.0
    scores = rng.integers(-30, 30, 300) - 60.0 * y
    terms = ((1.0, 2, 0.5 / delta), (1.0 - delta, 2, -0.5 / delta))
    levels = Levels.build(y)
    found = cell_sum(levels, terms).at(scores)
    d, _, gradient = every_pair(terms, y, scores)
    over = np.maximum(1.0 - delta / 2.0 - d, 0.0)
    assert d.max() < 1.0 - delta
    assert abs(found.value - over.sum()) <= found.error
    assert np.abs(found.gradient - gradient).sum() <= found.gradient_error


@given(seed=st.integers(0, 2**32 - 1), margin=st.sampled_from((1.0, 0.7, 0.0, -0.1)))
def test_planes_of_the_hinge_lie_below_it(seed, margin):
    rng = np.random.default_rng(seed)
    n = 60
    y = rng.integers(0, 3, n).astype(float)
    here, there = rng.normal(size=(2, n))
    levels, terms = Levels.build(y), ((margin, 1, 1.0),)
    plane = cell_sum(levels, terms).at(here)
    value = exact_sum(levels, terms).at(there).value
    below = plane.value + plane.gradient @ (there - here)
    assert below <= value + 1e-12 * n * n


WITHIN = np.linspace(-1.0, 1.0, 4001)[1:-1]


def off_by(e, power):
    """Return the excesses x, how much the fits are off there, and what is stated."""
    (v1, v2, s0, s1, s2), of_value, of_slope = fit(e, power)
    x = e + WITHIN
    over = np.maximum(x, 0.0)
    value = v1 * x + v2 * x * x - over**power
    slope = s0 + s1 * x + s2 * x * x - (2.0 * over if power == 2 else x > 0.0)
    return x, value, slope, of_value, of_slope


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("e", np.linspace(-1.0, 1.0, 41)[:-1])
def test_fits_are_off_by_what_is_stated(e, power):
    """4,000 places reach 97% of the largest error of a parabola, and all of a step's."""
    _, value, slope, of_value, of_slope = off_by(e, power)
    assert 0.97 * of_value <= np.abs(value).max() <= of_value + 1e-15
    assert 0.97 * of_slope <= np.abs(slope).max() <= of_slope + 1e-15
    if power == 2:  # no worse than to count all of the pairs, or none
        assert of_value <= (1.0 - abs(e)) ** 2
        assert of_slope <= 2.0 * (1.0 - abs(e))


@pytest.mark.usefixtures("own_tables")
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_pairs_of_the_worst_excess_attain_the_stated_errors(part, apart, power):
    """The margin ends `part` of a cell beyond 64 or 256 cells; all pairs are `apart` beyond it."""
    per_h = 64 if power == 2 else 256
    terms = (((per_h + part) / per_h, power, 1.0),)
    y = np.arange(60) % 2 * 1.0
    levels = Levels.build(y)
    x, value, slope, *_ = off_by(part - apart, power)
    costs = np.maximum(x, 0.0) ** power + value >= 0.0  # Sums of squares are not below 0.
    for off, is_value in ((np.where(costs, value, 0.0), True), (slope, False)):
        away = x[np.abs(off).argmax()] - (part - apart)
        loser, winner = max(away, 0.0), max(-away, 0.0)
        scores = np.where(y > 0.0, per_h + apart + winner, loser) / per_h
        found = cell_sum(levels, terms).at(scores)
        exact = exact_sum(levels, terms).at(scores)
        if is_value:
            true, stated = abs(found.value - exact.value), found.error
        else:
            true, stated = np.abs(found.gradient - exact.gradient).sum(), found.gradient_error
        assert 0.98 * stated <= true <= stated * (1.0 + 1e-9)


@pytest.mark.usefixtures("own_tables")
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("weight", [None, 0.1])
def test_errors_include_the_rounding_of_many_additions_to_a_cell(weight, power):
    """Repeated additions of one number round in one direction."""
    n = 100_000
    # Within its cell, the score has a place that no sum of places represents.
    y, scores = np.repeat([0.0, 1.0], n), np.full(2 * n, 0.1 / 64.0)
    scores[n:] -= 1.0
    pair = Fraction(1 if weight is None else weight) ** 2
    excess = 1 - (Fraction(scores[-1]) - Fraction(scores[0]))
    exact = n * n * pair * excess**power
    weights = None if weight is None else np.full(2 * n, weight)
    levels, terms = Levels.build(y, sample_weight=weights), ((1.0, power, 1.0),)
    found = cell_sum(levels, terms).at(scores)
    off = Fraction(found.value) - exact
    assert abs(off) <= found.error <= 1e-10 * exact
    assert power == 2 or off <= 0, "a plane stays below"


SIZES = (20, 130, 1, 12, 100, 15)
"""Of 40 rows on, a query has cells."""
GRAPHS = {
    "full": "full",
    "chain": "chain",
    "two further": OrderGraph([(low * 1.0, low + 2.0) for low in range(38)]),
}


@pytest.mark.parametrize("n_levels", [4, 20])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", ["squared_hinge", "hinge of margin 0.3"])
def test_small_and_large_queries_add_up(name, graph, n_levels, monkeypatch):
    """Every query has a scale of its own; some have bands of levels."""
    for constant, value in {"LEAST_ROWS": 40, "SMALL_TABLE": 1 << 15}.items():
        monkeypatch.setattr(cells, constant, value)
    rng = np.random.default_rng(n_levels)
    n = sum(SIZES)
    order = rng.permutation(n)
    y, scores, v = rng.integers(0, n_levels, n) * 1.0, rng.normal(size=n), rng.normal(size=n)
    qid, weight = np.repeat(np.arange(len(SIZES)), SIZES)[order], rng.exponential(size=n)
    problem = Problem(y, qid, GRAPHS[graph], weight, scores, v)
    levels = levels_of(problem, "query")
    assert np.unique(levels.pair_scale).size > 4
    bound = bind(LOSSES[name].loss, levels, pair_sum="cells")
    found, wanted = bound.at(scores), double_loop(problem, LOSSES[name].definition, levels)
    assert 0.0 < found.error <= 1e-2 * wanted.value
    assert abs(found.value - wanted.value) <= found.error + 1e-12 * wanted.value_size
    off = np.abs(found.gradient - wanted.gradient)
    assert off.sum() <= found.gradient_error + 1e-12 * wanted.gradient_size.sum()
    small = np.isin(qid, np.flatnonzero(np.array(SIZES) < 40))
    assert (off[small] <= 1e-12 * wanted.gradient_size[small]).all()
    if LOSSES[name].loss.smooth:
        product = np.abs(found.curvature().matvec(v) - wanted.product)
        assert (product[small] <= 1e-12 * wanted.product_size[small]).all()
        diagonal = np.abs(found.curvature().diagonal() - wanted.diagonal)
        assert (diagonal[small] <= 1e-12 * wanted.diagonal[small]).all()
        assert np.linalg.norm(product) <= 0.05 * np.linalg.norm(wanted.product)


def assert_stated_error(found, wanted):
    rounding = 1e-12 * wanted.value_size
    assert abs(found.value - wanted.value) <= found.error + rounding
    off = np.abs(found.gradient - wanted.gradient).sum()
    assert off <= found.gradient_error + 1e-12 * wanted.gradient_size.sum()


@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "hinge of margin 0.3"])
@given(
    problem=st.one_of(problems(), problems_with_roles()),
    reduction=st.sampled_from(("sum", "rows", "query")),
)
def test_cells_state_their_error_for_every_problem(name, problem, reduction):
    scores = problem.scores
    if not np.abs(scores).max(initial=0.0) < 1e100:
        problem = problem._replace(scores=scores / np.abs(scores).max())
    # A slope of 1 at a kink may be counted in or out by rounding.
    problem = problem._replace(scores=problem.scores + 1e-9 * np.arange(scores.size))
    levels = levels_of(problem, reduction)
    bound = sum_of(name, "cells", levels)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_stated_error(bound.at(problem.scores), wanted)


@pytest.mark.parametrize("n_levels", [2, 300])
@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "modified_huber"])
def test_cells_are_sharpened_to_the_exact_sum(name, n_levels):
    problem = with_events(random_problem(300, n_levels, queries=3, weighted=True))
    levels = levels_of(problem, "rows")
    bound = sum_of(name, "cells", levels)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    found = bound.at(problem.scores)
    assert found.error > 0.0
    assert_stated_error(found, wanted)
    if LOSSES[name].loss.smooth:
        curvature = found.curvature()
        off = curvature.matvec(problem.v) - wanted.product
        assert np.linalg.norm(off) <= 0.05 * np.linalg.norm(wanted.product)
        off = curvature.diagonal() - wanted.diagonal
        assert np.linalg.norm(off) <= 0.05 * np.linalg.norm(wanted.diagonal)
    errors = [found.error]
    while bound.sharpen():
        errors.append(bound.at(problem.scores).error)
    assert len(errors) == (4 if LOSSES[name].loss.smooth else 3)
    assert max(errors[1:]) < errors[0]
    exact = bound.at(problem.scores)
    assert exact.error == 0.0
    assert_within(exact.gradient, wanted.gradient, 1e-12 * wanted.gradient_size)
