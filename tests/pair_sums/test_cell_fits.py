"""Errors of cells: the polynomials of pairs at the margin, and the rounding of many rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pairrank.pair_sums import cells
from pairrank.pair_sums.cells import fit
from pairrank.pair_sums.piecewise import PiecewiseSum
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

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


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_pairs_of_the_worst_excess_attain_the_stated_errors(part, apart, power, monkeypatch):
    """The margin ends `part` of a cell beyond 64 or 256 cells; all pairs are `apart` beyond it."""
    monkeypatch.setattr(cells, "LEAST_ROWS", 2)
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
        found = PiecewiseSum(levels, terms, by_cells=True).at(scores)
        exact = PiecewiseSum(levels, terms, by_cells=False).at(scores)
        if is_value:
            true, stated = abs(found.value - exact.value), found.error
        else:
            true, stated = np.abs(found.gradient - exact.gradient).sum(), found.gradient_error
        assert 0.98 * stated <= true <= stated * (1.0 + 1e-9)


SCORE = 0.1 / 64.0
"""A place within its cell that no sum of places represents."""


def checked(y, scores, weight, power, exact):
    """The value is off by rounding alone: the error states it, and a plane stays below."""
    terms = ((1.0, power, 1.0),)
    levels = Levels.build(y, sample_weight=weight)
    found = PiecewiseSum(levels, terms, by_cells=True).at(scores)
    off = Fraction(found.value) - exact
    assert abs(off) <= found.error <= 1e-10 * exact
    if power == 1:
        assert off <= 0
    return found


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("weight", [None, 0.1])
def test_errors_include_the_rounding_of_many_additions_to_a_cell(weight, power, monkeypatch):
    """Repeated additions of one number round in one direction."""
    monkeypatch.setattr(cells, "LEAST_ROWS", 2)
    n = 100_000
    y, scores = np.repeat([0.0, 1.0], n), np.full(2 * n, SCORE)
    scores[n:] -= 1.0
    pair = Fraction(1 if weight is None else weight) ** 2
    excess = 1 - (Fraction(scores[-1]) - Fraction(scores[0]))
    exact = n * n * pair * excess**power
    checked(y, scores, None if weight is None else np.full(2 * n, weight), power, exact)
