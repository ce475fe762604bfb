"""The cells of a cell sum: their width, and the numbers of those that hold scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums._bound import range_of

CELLS_PER_MARGIN, CELLS_PER_HINGE = 64, 256
"""Cells per margin at first, of powers 2 and 1: of power 2 the relative error of the gradient is
about 1e-7 for a million rows, more for few."""
MARGINS_PER_SPREAD = 16
"""Where no margin is positive, the scores are as many margins wide."""
LARGEST_CELL = 2.0**52
_SAMPLE = 4096
_TAIL, _EXTENT = 0.1, 3.74
"""A window extends from the median to so many times the distance of these quantiles of a sample:
for normal scores 4.8 standard deviations, beyond which 2 rows in a million lie."""
_SLACK = 1.0 / 8.0
_EMPTY_CELLS = 4
"""A contiguous range has at most so many cells per row."""


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


def window_of(
    scores: FloatArray, low: float, high: float, slack: float = _SLACK
) -> tuple[float, float]:
    """Return a window around most of some scores from low to high.

    It follows from quantiles, so that it is as wide for many rows as for few, and ends at most
    `slack` of the range beyond the outermost score.
    """
    sample = scores[:: max(1, scores.size // _SAMPLE)]
    below, middle, above = (float(q) for q in np.quantile(sample, (_TAIL, 0.5, 1.0 - _TAIL)))
    least, most = low - slack * (high - low), high + slack * (high - low)
    return (
        max(least, middle - _EXTENT * (middle - below)),
        min(most, middle + _EXTENT * (above - middle)),
    )


def make_grid(scores: FloatArray, low: float, high: float, per_h: float, most: int) -> Grid | None:
    """Return the cells of width 1/per_h for scores from low to high; None if more than `most`.

    Where the range has too many cells, or several per row, they are those of a window around most
    rows, which need no search, and those of the rows beyond.
    """
    first, last = int(np.floor(low * per_h)), int(np.floor(high * per_h))
    if last - first < min(most, _EMPTY_CELLS * scores.size):
        return Grid(per_h, np.arange(first, last + 1), 0, last - first)
    start, stop = window_of(scores, low, high)
    first, last = int(np.floor(start * per_h)), int(np.floor(stop * per_h))
    widest = max(1, min(most // 2, _EMPTY_CELLS * scores.size))
    if last - first >= widest:
        middle = (first + last) // 2
        first, last = middle - widest // 2, middle + (widest - 1) // 2
    beyond = scores[(scores < first / per_h) | (scores >= (last + 1) / per_h)]
    outside = np.unique(np.floor(beyond * per_h).astype(np.int64))
    if outside.size + last - first >= most:
        return None
    below = outside[outside < first]
    position = np.concatenate((below, np.arange(first, last + 1), outside[outside > last]))
    return Grid(per_h, position, below.size, below.size + last - first)


def grid_of_table(per_h: float, position: NDArray[np.int64], scores: FloatArray) -> Grid | None:
    """Return the merged cells as a grid whose contiguous part has the scores' median.

    None where a score lies outside: then the scores are not those that were summed.
    """
    low, high = range_of(scores)
    first, last = np.floor(low * per_h), np.floor(high * per_h)
    if not (position[0] <= first and last <= position[-1]):
        return None
    middle = np.floor(np.median(scores[:: max(1, scores.size // _SAMPLE)]) * per_h)
    at = min(int(np.searchsorted(position, middle)), position.size - 1)
    gaps = np.flatnonzero(np.diff(position) > 1)
    run = int(np.searchsorted(gaps, at))
    start = int(gaps[run - 1]) + 1 if run else 0
    stop = int(gaps[run]) if run < gaps.size else position.size - 1
    return Grid(per_h, position, start, stop)
