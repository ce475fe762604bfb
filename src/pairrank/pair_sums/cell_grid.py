"""The cells of a cell sum: their width, and the numbers of those that hold scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import cells as compiled

CELLS_PER_MARGIN, CELLS_PER_HINGE = 64, 256
"""Cells per margin at first, of powers 2 and 1: of power 2 the relative error of the gradient is
about 1e-7 for a million rows, more for few."""
MARGINS_PER_SPREAD = 16
"""Where no margin is positive, the scores are as many margins wide."""
LARGEST_CELL = 2.0**52
_SAMPLE = 4096
_TAIL = 0.01
"""The part of a sample on each side that may lie far from the rest."""
_FEW_OUTSIDE = 16


@dataclass(frozen=True)
class Grid:
    """Cells of width 1/per_h; `position` has their numbers, contiguous from first to last."""

    per_h: float
    position: NDArray[np.int64]
    first: int
    last: int

    @property
    def place(self) -> tuple[float, NDArray[np.int64], int, int]:
        """What compiled functions need to find the cell of a score."""
        return self.per_h, self.position, self.first, self.last


def cells_per_margin(smooth: bool) -> int:
    """Return how many cells a margin has at first; `smooth`: whether all powers are 2."""
    return CELLS_PER_MARGIN if smooth else CELLS_PER_HINGE


def cells_per_score(low: float, high: float, margins: FloatArray, cells: float) -> float:
    """Return 1/h, a power of two: about `cells` per positive margin, else over the scores.

    NaN where the scores from low to high are not finite, or too large for cells of their size.
    """
    margin, spread = margins.max(), high - low
    if not np.isfinite(spread):
        return float("nan")
    per_h = 2.0 ** np.ceil(np.log2(cells / margin)) if margin > 0.0 else np.inf
    if not margin > 0.0 and spread > 0.0:
        per_spread = MARGINS_PER_SPREAD * cells / spread
        most = LARGEST_CELL / -margin if margin < 0.0 else np.inf
        per_h = 2.0 ** np.floor(np.log2(min(per_spread, most)))
    if not 0.0 < per_h < np.inf:
        per_h = 1.0
    fits = max(abs(low), abs(high)) * per_h < LARGEST_CELL
    return float(per_h) if fits else float("nan")


def make_grid(scores: FloatArray, low: float, high: float, per_h: float, most: int) -> Grid | None:
    """Return the cells of width 1/per_h that hold the scores; None if more than `most`.

    Rows far from the others get cells of their own, so that they do not stretch the grid.
    """
    start, stop = int(np.floor(low * per_h)), int(np.floor(high * per_h)) + 1
    if stop - start <= most:
        return Grid(per_h, np.arange(start, stop), 0, stop - start - 1)
    return _grid_with_outsiders(scores, per_h, most)


def _grid_with_outsiders(scores: FloatArray, per_h: float, most: int) -> Grid | None:
    """Return a contiguous window of cells around most rows, and the cells of the rows beyond.

    The window holds the middle of a sample of the rows, and as much again on each side.
    """
    sample = scores[:: max(1, scores.size // _SAMPLE)] * per_h
    low, middle, high = np.floor(np.quantile(sample, (_TAIL, 0.5, 1.0 - _TAIL))).astype(np.int64)
    slack = high - low + 1
    start = int(max(low - slack, middle - most // 4))
    stop = int(min(high + slack, middle + most // 4))
    outside = compiled.cells_outside(scores, per_h, start, stop, scores.size // _FEW_OUTSIDE)
    if outside.size > scores.size // _FEW_OUTSIDE:
        return None
    outside = np.unique(outside)
    below = outside[outside < start]
    if outside.size > most // 2:
        return None
    position = np.concatenate((below, np.arange(start, stop), outside[outside >= stop]))
    return Grid(per_h, position, below.size, below.size + stop - start - 1)
