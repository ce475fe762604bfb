"""Rough cell sums of samples: wide cells over few bands of levels, for step lengths."""

from __future__ import annotations

import math

from pairrank._protocols import FloatArray
from pairrank.pair_sums.cell_grid import Grid, make_grid
from pairrank.pair_sums.cell_plan import Unit
from pairrank.pair_sums.cells import CellSum
from pairrank.pair_sums.plan import LEAST_ROUGH_ROWS

COARSER = 16
"""How much wider the cells are than those of a precise sum."""
MOST_CELLS = 512
"""Cells are widened by twos until there are at most so many."""


class RoughCellSum(CellSum):
    """A `CellSum` with cells wide enough for a sample of a few thousand rows."""

    least_rows = LEAST_ROUGH_ROWS

    def _grid(
        self, unit: Unit, scores: FloatArray, ends: tuple[float, float], per_h: float
    ) -> Grid | None:
        per_h /= COARSER
        low, high = ends
        while math.floor(high * per_h) - math.floor(low * per_h) >= MOST_CELLS:
            per_h /= 2.0
        return make_grid(scores, low, high, per_h, MOST_CELLS)
