"""Stated errors of cell sums include rounding: sums over rows of one score, in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pairrank.pair_sums import cells
from pairrank.pair_sums.piecewise import PiecewiseSum
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

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
