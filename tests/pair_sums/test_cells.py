"""Cell sums against every pair: their stated errors hold for any scores, weights and graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.pair_sums import cells
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
    """Every pair of one query, one by one: its rows, margin and cost."""

    def __init__(self, terms, y, scores):
        self.i, self.j = np.nonzero(y[:, None] > y)
        self.d = scores[self.i] - scores[self.j]
        self.terms, self.n_rows = terms, y.size

    def value(self):
        return sum(c * (np.maximum(m - self.d, 0.0) ** p).sum() for m, p, c in self.terms)

    def slopes(self):
        excesses = [(margin - self.d, power, c) for margin, power, c in self.terms]
        return -sum(c * (2.0 * np.maximum(x, 0.0) if p == 2 else x > 0.0) for x, p, c in excesses)

    def gradient(self):
        n, slopes = self.n_rows, self.slopes()
        return np.bincount(self.i, slopes, n) - np.bincount(self.j, slopes, n)


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


@pytest.mark.parametrize("gap", [2.0**-20, 2.0**-31])
@pytest.mark.parametrize("power", [1, 2])
def test_stated_errors_include_the_rounding_of_tiny_excesses(gap, power):
    """All differences are exact, and the cells' sums of places are not."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2 * 1.0
    scores = np.where(y > 0.0, 1.0 - gap, 0.0) + rng.integers(0, 2**21, 2000) * 2.0**-53
    levels, terms = Levels.build(y), ((1.0, power, 1.0),)
    found = cell_sum(levels, terms).at(scores)
    every = Every(terms, y, scores)
    of_every = 2000.0 * np.finfo(float).eps * np.abs(every.slopes()).sum()
    assert abs(found.value - every.value()) <= found.error + of_every * gap
    off = np.abs(found.gradient - every.gradient()).sum()
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
    every = Every(terms, y, scores)
    over = np.maximum(1.0 - delta / 2.0 - every.d, 0.0)
    assert every.d.max() < 1.0 - delta
    assert abs(found.value - over.sum()) <= found.error
    assert np.abs(found.gradient - every.gradient()).sum() <= found.gradient_error


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
