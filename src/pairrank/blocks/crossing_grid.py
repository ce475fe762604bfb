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
    window_of,
    windowed_grid,
)

IntArray = NDArray[np.int64]

_MOST_SHIFT = 52
_NARROWEST = 2.0**1000
"""The largest 1/h."""


def most_cells(margins: FloatArray, cells: float, most: int) -> int:
    """Return how many cells may hold scores before cells are made wider.

    `cells` is their number per margin, `most` that of all cells. Where no margin is positive, none
    gives a width: then cells are as narrow as this number allows. It is a number of cells that
    hold scores, not a range of scores, so that a few scores far away cost a few cells.
    """
    return most if margins.max() > 0.0 else min(most, int(4 * MARGINS_PER_SPREAD * cells))


def block_grid(scores: FloatArray, margins: FloatArray, cells: float, most: int) -> Grid | None:
    """Return the grid of a block's scores, (n,) at least one; None where no grid fits them.

    `cells` is their number per margin, as for `cells_per_score`: where a margin is positive, their
    width does not depend on the scores. Else the cells of few rows are as narrow as can be, those
    of many rows about as narrow as `CellMoments.limited` leaves them. The grid has at most about
    `most` cells.
    """
    low, high = range_of(scores)
    furthest = max(abs(low), abs(high))
    if not np.isfinite(16.0 * furthest):  # a window would end beyond the largest number
        return None
    if margins.max() > 0.0:
        per_h = cells_per_score(low, high, margins, cells)
    else:
        largest = max(furthest, -float(margins.max())) or 1.0
        per_h = float(2.0 ** (np.ceil(np.log2(min(LARGEST_CELL / largest, _NARROWEST))) - 1.0))
        start, stop = window_of(scores, low, high)
        few = most // 4
        if scores.size > few and stop > start:
            per_h = min(per_h, float(2.0 ** np.floor(np.log2(few / (stop - start)))))
    if not np.isfinite(per_h) or furthest * per_h >= LARGEST_CELL:
        return None
    grid = windowed_grid(scores, low, high, per_h, most)
    while grid is None:
        per_h *= 0.5
        grid = windowed_grid(scores, low, high, per_h, most)
    return grid


def _needed_shift(position: IntArray, most: int) -> int:
    """Return the least k such that cells 2^k times as wide are at most `most`."""

    def fits(shift: int) -> bool:
        return bool(np.count_nonzero(np.diff(position >> shift)) < most)

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

    @classmethod
    def without_grid(cls) -> CellMoments:
        """Return what stands for scores that fit no grid."""
        return cls(float("nan"), np.empty(0, dtype=np.int64), np.empty((0, 3)), 0.0, 0)

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
        """Return the moments in at most `most` cells."""
        shift = _needed_shift(self.position, self.most)
        return self._shifted(shift) if shift else self

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
        return CellMoments(self.per_h, position, moments, self.additions, self.most)


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
