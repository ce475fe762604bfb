"""Cells that blocks share: each block's own grid, and tables of moments that align in a merge.

Cells are numbered absolutely, cell c holds the scores from c h to (c + 1) h, and h is a power of
two. So tables of one h add where their cells have the same number, and cells of width h are merged
into cells of 2^k h without a rounding of their borders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums._bound import range_of
from pairrank.pair_sums.cell_grid import (
    LARGEST_CELL,
    MARGINS_PER_SPREAD,
    Grid,
    cells_per_score,
)

IntArray = NDArray[np.int64]

WINDOWS = ((0.01, 2.06), (0.1, 3.74), (0.25, 7.1))
"""A quantile, and the multiple of its distance from the median that a window extends to.

For normal scores each is 4.8 standard deviations: 2 rows in a million lie beyond, which get cells
of their own. The first whose window has few enough cells is taken, so that up to a quarter of the
rows on each side may be far away.
"""
_SLACK = 1.0 / 8.0
"""A window ends at most this part of the scores' range beyond the outermost score."""
_SAMPLE = 1 << 14
_EMPTY_CELLS = 4
"""A window, whose cells need no search, has at most so many cells per row or cell of inner rows."""
_TAIL, _OUTER = 0.01, 8
"""All but this part of the weight on each side is that of inner rows. Scores with long tails are in
up to 8 times as many cells as the inner rows alone."""
_MOST_SHIFT = 52
_NARROWEST = 2.0**1000
"""The largest 1/h."""


def window_of(
    scores: FloatArray, low: float, high: float, slack: float = _SLACK
) -> list[tuple[float, float]]:
    """Return the windows of some scores from low to high, wide ones first.

    They follow from quantiles, so that they are as wide for many rows as for few.
    """
    sample = scores[:: max(1, scores.size // _SAMPLE)]
    middle = float(np.median(sample))
    least, most = low - slack * (high - low), high + slack * (high - low)
    windows = []
    for share, factor in WINDOWS:
        below, above = np.quantile(sample, (share, 1.0 - share))
        start, stop = middle - factor * (middle - below), middle + factor * (above - middle)
        windows.append((max(least, float(start)), min(most, float(stop))))
    return windows


def most_used(margins: FloatArray, cells: float, most: int) -> int:
    """Return how many cells the inner rows may be in before cells are made wider.

    `cells` is their number per margin, `most` that of all cells. Where no margin is positive, none
    gives a width: then cells are as narrow as this number allows. It is a number of cells that
    hold scores, not a range of scores, so that a few scores far away cost a few cells.
    """
    return most if margins.max() > 0.0 else min(most, int(MARGINS_PER_SPREAD * cells) // 2)


def block_grid(scores: FloatArray, margins: FloatArray, cells: float, most: int) -> Grid | None:
    """Return the grid of a block's scores, (n,) at least one; None where no grid fits them.

    `cells` is their number per margin, as for `cells_per_score`: where a margin is positive, their
    width does not depend on the scores. Else the cells of few rows are as narrow as can be, those
    of many rows about as narrow as `CellMoments.limited` leaves them. The grid has at most about
    `most` cells.
    """
    low, high = range_of(scores)
    if not np.isfinite(high - low) or not np.isfinite(max(-low, high) * (1.0 + 2.0 * _SLACK)):
        return None
    windows = window_of(scores, low, high)
    furthest, n_empty = max(abs(low), abs(high)), _EMPTY_CELLS * scores.size
    if margins.max() > 0.0:
        per_h = cells_per_score(low, high, margins, cells)
    else:
        used = most_used(margins, cells, most)
        per_h = _narrow_cells(scores, windows, max(furthest, -float(margins.max())), used)
        n_empty = 0 if scores.size <= _OUTER * used else _EMPTY_CELLS * used
    if not np.isfinite(per_h) or furthest * per_h >= LARGEST_CELL:
        return None
    first, last = _first_that_fits(windows, per_h, max(1, min(most // 2, n_empty)))
    outside = _outside(scores, per_h, first, last)
    shift = _needed_shift(first, last, outside, most)
    if shift:
        per_h, first, last = per_h * 2.0**-shift, first >> shift, last >> shift
        outside = _outside(scores, per_h, first, last)
    below = outside[outside < first]
    position = np.concatenate((below, np.arange(first, last + 1), outside[outside > last]))
    return Grid(per_h, position, below.size, below.size + last - first)


def _narrow_cells(
    scores: FloatArray, windows: list[tuple[float, float]], furthest: float, used: int
) -> float:
    """Return 1/h, a power of two, of cells that are about as narrow as `used` of them allow.

    The cells of few rows are as narrow as can be. For more rows the width follows from a sample,
    and the narrowest window has a limited number of cells.
    """
    most = min(LARGEST_CELL / (furthest or 1.0), _NARROWEST)
    finest = float(2.0 ** (np.ceil(np.log2(most)) - 1.0))
    if scores.size <= _OUTER * used:
        return finest
    sample = np.sort(scores[:: max(1, scores.size // _SAMPLE)])
    few = min(used, sample.size // 4)
    cells = np.floor(sample * finest).astype(np.int64)
    shift = _shift_for_rows(cells, np.ones(cells.size), few)
    per_h = finest * min(1.0, 2.0**-shift * (used // few))
    widths = [stop - start for start, stop in windows if stop > start]
    if widths:
        per_h = min(per_h, _EMPTY_CELLS * used / min(widths))
    return float(2.0 ** np.floor(np.log2(per_h)))


def _shift_for_rows(position: IntArray, weight: FloatArray, used: int) -> int:
    """Return the least k such that rows are in few enough cells 2^k times as wide.

    The inner rows are in at most `used` cells, all in at most 8 times as many.
    """
    below = np.cumsum(weight)
    inner = position[(below > _TAIL * below[-1]) & (below - weight < (1.0 - _TAIL) * below[-1])]
    return max(_needed_shift(0, -1, inner, used), _needed_shift(0, -1, position, _OUTER * used))


def _first_that_fits(
    windows: list[tuple[float, float]], per_h: float, most: int
) -> tuple[int, int]:
    """Return the first and last cell of the first window of few enough cells.

    If none has, they are `most` cells around the middle of the last window.
    """
    for start, stop in windows:
        first, last = int(np.floor(start * per_h)), int(np.floor(stop * per_h))
        if last - first < most:
            return first, last
    middle = (first + last) // 2
    return middle - most // 2, middle + (most - 1) // 2


def _outside(scores: FloatArray, per_h: float, first: int, last: int) -> IntArray:
    """Return the distinct cells of the scores outside the cells first to last, ascending."""
    beyond = scores[(scores < first / per_h) | (scores >= (last + 1) / per_h)]
    return np.unique(np.floor(beyond * per_h).astype(np.int64))


def _needed_shift(first: int, last: int, outside: IntArray, most: int) -> int:
    """Return the least k such that cells 2^k times as wide are at most `most`.

    They are those from first to last and those of `outside`, ascending.
    """

    def fits(shift: int) -> bool:
        window = (last >> shift) - (first >> shift) + 1
        changes = np.diff(outside >> shift)
        return bool(window + np.count_nonzero(changes) + (outside.size > 0) <= most)

    low, high = -1, 0
    while high < _MOST_SHIFT and not fits(high):
        low, high = high, min(2 * high + 1, _MOST_SHIFT)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@dataclass(eq=False)
class CellMoments:
    """The moments of some rows by side, code and cell, (S, C, B, 3); B cells at `position`.

    `per_h` is NaN where the scores of a block fit no grid; then there are no moments.
    """

    per_h: float
    position: IntArray
    moments: FloatArray
    additions: float
    """The most additions that an entry may be made of: its rounding is relative to them."""
    most: int
    """The number of cells beyond which they are made wider."""
    used: int
    """The number of cells with inner rows beyond which they are made wider."""

    @classmethod
    def without_grid(cls) -> CellMoments:
        """Return what stands for scores that fit no grid."""
        return cls(float("nan"), np.empty(0, dtype=np.int64), np.empty((0, 3)), 0.0, 0, 0)

    @property
    def is_valid(self) -> bool:
        """Whether all scores fit the grid."""
        return self.per_h > 0.0

    def merged(self, other: CellMoments) -> CellMoments:
        """Return the moments of both sets of rows, in the wider cells of the two."""
        additions = max(self.additions, other.additions) + 1.0
        if not (self.is_valid and other.is_valid):
            return CellMoments.without_grid()
        per_h = min(self.per_h, other.per_h)
        first, second = self.widened(per_h), other.widened(per_h)
        first._add(second)
        first.additions = additions
        first.used = max(first.used, second.used)
        return first.limited()

    def widened(self, per_h: float) -> CellMoments:
        """Return the same moments in cells of width 1/per_h, at least as wide as these."""
        result = self
        while result.per_h > per_h:
            shift = min(_MOST_SHIFT, round(float(np.log2(result.per_h) - np.log2(per_h))))
            result = result._shifted(shift)
        return result

    def _shifted(self, shift: int) -> CellMoments:
        """Return the moments in cells 2^shift as wide."""
        position = self.position >> shift
        offset = (self.position - (position << shift)).astype(np.float64)
        narrower = 2.0**-shift
        m0, m1, m2 = np.moveaxis(self.moments, -1, 0)
        placed = np.stack(
            (
                m0,
                narrower * (m1 + offset * m0),
                narrower**2 * (m2 + offset * (2.0 * m1 + offset * m0)),
            ),
            axis=-1,
        )
        position, start = np.unique(position, return_index=True)
        moments = np.add.reduceat(placed, start, axis=2)
        together = float(np.diff(start, append=self.position.size).max())
        return CellMoments(
            self.per_h * narrower,
            position,
            moments,
            self.additions + together,
            self.most,
            self.used,
        )

    def _add(self, other: CellMoments) -> None:
        """Add the moments of cells of the same width."""
        position = union(self.position, other.position)
        if position.size > self.position.size:
            moments = np.zeros((*self.moments.shape[:2], position.size, 3))
            moments[:, :, _places_in(position, self.position)] = self.moments
            self.position, self.moments = position, moments
        self.moments[:, :, _places_in(self.position, other.position)] += other.moments

    def limited(self) -> CellMoments:
        """Return the moments in at most `most` cells, and the inner rows in at most `used`."""
        result = self
        if self.position.size > self.most:
            result = self._shifted(_needed_shift(0, -1, self.position, self.most))
        if result.position.size <= self.used:
            return result
        weight = result.moments[..., 0].sum(axis=(0, 1))
        held = weight > 0.0
        shift = _shift_for_rows(result.position[held], weight[held], self.used)
        return result._shifted(shift) if shift else result

    def with_zero(self) -> CellMoments:
        """Return the moments with a cell 0 beside cell -1, where cells are wider than 1.

        A negative score so small that it is -0.0 in units of the cells is read from cell 0, though
        it was added to cell -1 of narrower ones.
        """
        if self.per_h >= 1.0 or -1 not in self.position or 0 in self.position:
            return self
        at = int(np.searchsorted(self.position, 0))
        moments = np.insert(self.moments, at, 0.0, axis=2)
        position = np.insert(self.position, at, 0)
        return CellMoments(self.per_h, position, moments, self.additions, self.most, self.used)


def union(first: NDArray, second: NDArray) -> NDArray:
    """Return the distinct numbers of two ascending arrays, ascending; O(n)."""
    both = np.concatenate((first, second))
    both.sort(kind="stable")  # two runs are merged in one step
    return both[np.concatenate(([True], both[1:] != both[:-1]))] if both.size else both


def _places_in(position: IntArray, some: IntArray) -> slice | IntArray:
    """Return where some of the cells are, as a slice where they are together."""
    if some.size:
        first, last = (int(at) for at in np.searchsorted(position, some[[0, -1]]))
        if last - first == some.size - 1:
            return slice(first, last + 1)
    return np.searchsorted(position, some)


def grid_of_table(per_h: float, position: IntArray, scores: FloatArray) -> Grid | None:
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
