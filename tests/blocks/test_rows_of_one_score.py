"""Rows of one score are one row per level: errors that are stated hold for millions of weights."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pairrank.blocks.crossing_boxes import BoxedLevels
from pairrank.blocks.crossing_cells import CellsOfLevels
from pairrank.blocks.crossing_parts import OwnRows, gradient_of_levels, grouped
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.losses import Logistic

N_ROWS = 600_000


def rows_of(weight):
    level = (np.arange(N_ROWS) % 2).astype(np.int32)
    weights = np.full((1, N_ROWS), weight)
    return OwnRows(np.zeros(N_ROWS), np.zeros(N_ROWS, np.int32), level, np.empty(0), weights)


QUERY = MomentQuery(0, N_ROWS, 2, levels=np.array([0, 1], np.int32))


@pytest.mark.parametrize("weight", [0.1, 0.7])
@pytest.mark.parametrize("power", [1, 2])
def test_the_error_of_cells_holds_and_a_hinge_stays_below_its_sum(power, weight):
    part = CellsOfLevels(((1.0, power, 1.0),), QUERY)
    table = part.finish(part.summary(0, grouped(rows_of(weight))))
    wanted = Fraction(weight) ** 2 * (N_ROWS // 2) ** 2
    assert abs(Fraction(table.value) - wanted) <= table.error
    if power == 1:
        assert Fraction(table.value) <= wanted


@pytest.mark.parametrize("weight", [0.1, 0.7])
def test_boxes_keep_their_digits(weight):
    rows = rows_of(weight)
    part = BoxedLevels(Logistic().family, QUERY, 1e-13)
    table = part.finish(part.summary(0, grouped(rows)))
    wanted = math.log(2.0) * weight**2 * (N_ROWS // 2) ** 2
    assert table.value == pytest.approx(wanted, rel=1e-13)
    gradient = gradient_of_levels(table, 0, rows)
    expected = 0.5 * weight**2 * (N_ROWS // 2) * np.where(rows.level == 1, -1.0, 1.0)
    np.testing.assert_allclose(gradient, expected, rtol=2e-13)
