"""Cell sums against every pair: their stated errors hold for any scores, weights and graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions import preferences_of
from pairrank.pair_sums import cells
from pairrank.pair_sums.cells import make_grid
from pairrank.pair_sums.piecewise import PiecewiseSum
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

TERMS = {
    "squared hinge": ((1.0, 2, 1.0),),
    "hinge": ((1.0, 1, 1.0),),
    "margin 0.7": ((0.7, 2, 1.0),),
    "no margin": ((0.0, 1, 1.0),),
    "Huberised hinge": ((1.0, 2, 0.25), (-1.0, 2, -0.25)),
}


@pytest.fixture(autouse=True)
def every_query_is_large(monkeypatch):
    """Let cells serve queries of any size, with bands of a few rows."""
    monkeypatch.setattr(cells, "LEAST_ROWS", 2)
    monkeypatch.setattr(cells, "ROWS_PER_BAND", 3)
    monkeypatch.setattr(cells, "SMALL_TABLE", 1 << 20)


def cell_sum(levels, terms):
    return PiecewiseSum(levels, terms, by_cells=True)


def exact_sum(levels, terms):
    return PiecewiseSum(levels, terms, by_cells=False)


class Every:
    """Every pair, one by one: its rows, weight, margin and cost."""

    def __init__(self, terms, levels, y, qid, graph, weight, scores):
        pairs = np.array(preferences_of(y, qid, graph), dtype=np.int64).reshape(-1, 2)
        self.i, self.j = pairs.T
        scale = np.zeros(len(y))
        of_query = np.broadcast_to(levels.pair_scale, levels.n_queries)
        scale[levels.row_of] = np.repeat(of_query, np.diff(levels.query_start))
        weight = np.ones(len(y)) if weight is None else weight
        self.weight = weight[self.i] * weight[self.j] * scale[self.i]
        self.d = scores[self.i] - scores[self.j]
        self.terms, self.n_rows = terms, len(y)

    def phi(self, order):
        total = np.zeros(self.d.size)
        for margin, power, c in self.terms:
            over = np.maximum(margin - self.d, 0.0)
            inside = self.d < margin
            if order == 0:
                total += c * over**power
            elif order == 1:
                total -= c * (2.0 * over if power == 2 else inside)
            else:
                total += c * (2.0 * inside if power == 2 else 0.0)
        return total

    def value(self):
        return float((self.weight * self.phi(0)).sum())

    def size(self):
        """Return the sum of absolute contributions, which rounding is measured by."""
        size = sum(abs(c) * np.maximum(m - self.d, 0.0) ** p for m, p, c in self.terms)
        return float((self.weight * size).sum())

    def gradient(self):
        slope = self.weight * self.phi(1)
        return self._at_ends(slope)

    def product(self, v):
        return self._at_ends(self.weight * self.phi(2) * (v[self.i] - v[self.j]))

    def _at_ends(self, values):
        n = self.n_rows
        return np.bincount(self.i, values, n) - np.bincount(self.j, values, n)


@pytest.mark.parametrize("name", ["squared hinge", "hinge"])
@pytest.mark.parametrize("size", [15_000, 30_000])
def test_stated_errors_hold_where_cells_are_widened(name, size, monkeypatch):
    """Scores far apart need more cells than a table may have: the error grows, and is stated."""
    rng = np.random.default_rng(size)
    y, scores = rng.permutation(300) * 1.0, 5.0 * rng.normal(size=300)
    levels, terms = Levels.build(y), TERMS[name]
    fine = cell_sum(levels, terms).at(scores)
    monkeypatch.setattr(cells, "SMALL_TABLE", size)
    found = cell_sum(levels, terms).at(scores)
    assert found.error > 2.0 * fine.error
    every = Every(terms, levels, y, None, "full", None, scores)
    rounding = 4.0 * (300 + 4096) * np.finfo(float).eps
    assert abs(found.value - every.value()) <= found.error + rounding * every.size()
    off = np.abs(found.gradient - every.gradient()).sum()
    assert off <= found.gradient_error + rounding * np.abs(every.phi(1)).sum()


def test_the_stated_error_is_not_far_above_the_true_one():
    """It adds up the pairs in doubt; true errors cancel like the square root of their count."""
    values, slopes, in_doubt = [], [], []
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1000, 1400))
        y = rng.integers(0, 4, n).astype(float)
        scores = rng.normal(size=n)
        levels = Levels.build(y)
        found = cell_sum(levels, TERMS["squared hinge"])
        by_cells = found.at(scores)
        exact = exact_sum(levels, TERMS["squared hinge"]).at(scores)
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


def test_curvatures_count_a_share_of_the_pairs_at_the_margin_without_bias():
    """Half the excess that is possible is positive: (1 + f)/2 of pairs K apart, f/2 of K + 1."""
    rng = np.random.default_rng(0)
    y, scores = np.arange(3000) % 2 * 1.0, rng.uniform(0.0, 2.0, 3000)
    terms = TERMS["margin 0.7"]
    found = cell_sum(Levels.build(y), terms).at(scores).curvature()
    d = scores[y > 0.0][:, None] - scores[y == 0.0][None, :]
    cell = np.floor(128.0 * scores)  # 0.7 is 89.6 cells
    apart = cell[y > 0.0][:, None] - cell[y == 0.0][None, :]
    for distance in (89.0, 90.0):
        assert (apart == distance).sum() > 1000
    least = min((apart == 89.0).sum(), (apart == 90.0).sum())
    counted, exact = 0.5 * y @ found.matvec(y), (d < 0.7).sum()
    assert abs(counted - exact) <= 0.2 * least
    losers = 1.0 - y  # they count the same pairs
    assert 0.5 * losers @ found.matvec(losers) == pytest.approx(counted, rel=1e-12)
    assert -0.5 * losers @ found.matvec(y) == pytest.approx(counted, rel=1e-12)


def test_squares_just_beyond_the_margin_cost_nothing():
    """A fit of their excess is below 0 there; the sum of squares is not."""
    levels, terms = Levels.build(np.array([0.0, 1.0, 0.0, 1.0])), TERMS["squared hinge"]
    scores = np.array([0.0, 1.0, 0.0, 1.0]) + 0.3 / 64.0 * np.array([0.0, 1.0, 0.0, 1.0])
    found = cell_sum(levels, terms).at(scores)
    assert found.value == 0.0
    assert found.error > 0.0


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_stated_errors_include_the_rounding_of_excesses_far_below_a_cell(gap):
    """Moments keep digits relative to a cell, so a sum of tiny excesses loses digits."""
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], 150)
    scores = np.where(y > 0.0, 1.0 - gap, 0.0) + 0.1 * gap * rng.random(300)
    levels, terms = Levels.build(y), TERMS["squared hinge"]
    found = cell_sum(levels, terms).at(scores)
    every = Every(terms, levels, y, None, "full", None, scores)
    excess = np.maximum(1.0 - every.d, 0.0)
    of_differences = 4.0 * np.finfo(float).eps * (every.weight * excess).sum()
    assert abs(found.value - every.value()) <= found.error + of_differences


@pytest.mark.parametrize("gap", [2.0**-20, 2.0**-31])
@pytest.mark.parametrize("power", [1, 2])
def test_stated_errors_of_gradients_include_the_rounding_of_tiny_excesses(gap, power):
    """All differences are exact, and the cells' sums of places are not."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2 * 1.0
    scores = np.where(y > 0.0, 1.0 - gap, 0.0) + rng.integers(0, 2**21, 2000) * 2.0**-53
    levels, terms = Levels.build(y), ((1.0, power, 1.0),)
    found = cell_sum(levels, terms).at(scores)
    every = Every(terms, levels, y, None, "full", None, scores)
    off = np.abs(found.gradient - every.gradient()).sum()
    of_every = 2000.0 * np.finfo(float).eps * np.abs(every.phi(1)).sum()
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
    every = Every(terms, levels, y, None, "full", None, scores)
    over = every.weight * np.maximum(1.0 - delta / 2.0 - every.d, 0.0)
    assert every.d.max() < 1.0 - delta
    assert abs(found.value - over.sum()) <= found.error
    assert np.abs(found.gradient - every.gradient()).sum() <= found.gradient_error


@pytest.mark.parametrize("scale", [1.0, 1e200], ids=["cells", "no cells fit"])
@pytest.mark.parametrize("n_levels", [3, 2000])
def test_a_curvature_needs_no_gradient(n_levels, scale):
    rng = np.random.default_rng(1)
    levels = Levels.build(rng.integers(0, n_levels, 2000).astype(float))
    terms = TERMS["squared hinge"]
    found = cell_sum(levels, terms)
    scores, v = scale * rng.normal(size=2000), rng.normal(size=2000)
    wanted = found.at(scores).curvature()
    alone = found.curvature_at(scores)
    assert np.array_equal(alone.matvec(v), wanted.matvec(v))
    assert np.array_equal(alone.diagonal(), wanted.diagonal())


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_scores_that_no_grid_fits_are_summed_by_sorting(bad):
    y = np.arange(100.0) % 3
    scores = np.linspace(-1.0, 1.0, 100)
    scores[5] = bad
    levels, terms = Levels.build(y), TERMS["hinge"]
    found = cell_sum(levels, terms).at(scores)
    wanted = exact_sum(levels, TERMS["hinge"]).at(scores)
    assert found.value == wanted.value or (np.isnan(found.value) and np.isnan(wanted.value))
    np.testing.assert_array_equal(found.gradient, wanted.gradient)


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


@pytest.mark.parametrize("place", [0, 17])
def test_far_scores_do_not_widen_the_table(place):
    """The window has at most three times the range of the other rows, each far row one cell."""
    scores, per_h = np.random.default_rng(0).normal(size=50_000), 256.0
    ends = np.floor(np.array([scores.min(), scores.max()]) * per_h)
    scores[[place, 99]] = 1e6, -3e7
    grid = make_grid(scores, scores.min(), scores.max(), per_h, scores.size)
    assert grid is not None
    assert set(np.floor(scores * per_h).astype(np.int64)) <= set(grid.position)
    assert grid.position.size <= 3 * (np.ptp(ends) + 1) + 2 + 2
