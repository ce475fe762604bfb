"""Hinges and tubes over a crossing query by cells: moments per level and cell are merged."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import CrossingRows, Finished
from pairrank.pair_sums._bound import Terms, range_of
from pairrank.pair_sums.cells import (
    LARGEST_CELL,
    MARGINS_PER_SPREAD,
    NO_WEIGHT,
    Grid,
    Unit,
    UnitSum,
    cells_per_margin,
    grid_of_table,
    partner_sums,
    sweep_moments,
    windowed_grid,
)
from pairrank.pair_sums.piecewise import is_smooth, stated, term_arrays

if TYPE_CHECKING:
    from pairrank.blocks.crossing import MomentQuery

IntArray = NDArray[np.int64]

MOST_ENTRIES = 1 << 22
"""A table has at most about so many entries per moment: cells are wider where it would have more.

Of 5 levels it holds 800,000 cells, which is 100 MB."""
FINER, FINEST = 16, 256
"""`sharpen` divides the cells' width by 16, and by up to 256: 16,384 or 65,536 cells per margin."""
_LARGEST = 1e150
_TAIL = 1e-3
"""Cells are as many as asked for between these quantiles of the scores."""


def extent_of(scores: FloatArray, centred: FloatArray) -> tuple[float, float]:
    """Return how far most centred scores lie apart, and the greatest absolute value of all.

    `centred` are scores less labels and less means of queries for differences, else the scores.
    Zeros where they are not finite.
    """
    both = np.abs(np.concatenate((scores, centred)))
    if not both.size or not np.isfinite(both).all():
        return 0.0, 0.0
    low, high = np.quantile(centred, (_TAIL, 1.0 - _TAIL))
    return float(high - low), float(both.max())


def cells_per_unit(
    spread: float, largest: float, margins: FloatArray, cells: float, most: float
) -> float:
    """Return 1/h, a power of two, for the cells of scores of an extent; see `extent_of`.

    `cells` is their number per positive margin, `most` that of all cells. Where no margin is
    positive, the scores are some margins wide. NaN for scores whose squares would overflow.
    """
    if largest > _LARGEST:
        return float("nan")
    margin = float(margins.max())
    limits = [LARGEST_CELL / 16.0 / max(largest, abs(margin), 1e-280)]
    if spread > 0.0:
        limits.append(most / spread)
        if not margin > 0.0:
            limits.append(4 * MARGINS_PER_SPREAD * cells / spread)
    elif not margin > 0.0:
        limits.append(1.0)
    per_h = 2.0 ** np.floor(np.log2(min(limits)))
    return float(min(per_h, 2.0 ** np.ceil(np.log2(cells / margin))) if margin > 0.0 else per_h)


@dataclass(eq=False)
class CellSums:
    """Sums over some rows by side, code and cell, (S, C, B, ...); B cells at `position`.

    Cells are numbered absolutely: cell c holds the scores from c h to (c + 1) h. There are none
    where the scores of a block fit no grid.
    """

    position: IntArray
    sums: FloatArray | None
    additions: float = 0.0
    """The most additions that an entry may be made of: its rounding is relative to them."""

    def merged(self, other: CellSums) -> CellSums:
        """Return the sums over both sets of rows; may write into these."""
        if self.sums is None or other.sums is None:
            return CellSums(self.position[:0], None)
        position = np.union1d(self.position, other.position)
        sums = self.sums
        if position.size > self.position.size:
            sums = np.zeros((*sums.shape[:2], position.size, *sums.shape[3:]))
            sums[:, :, _places_in(position, self.position)] = self.sums
        sums[:, :, _places_in(position, other.position)] += other.sums
        return CellSums(position, sums, max(self.additions, other.additions) + 1.0)


class CrossingCells:
    r"""The sum of `pairrank.pair_sums.piecewise.PiecewiseSum` over one crossing query.

    For differences it is the sum over all rows of the query with themselves, of scores less labels:
    a tube is a hinge of margin -epsilon (`pairrank.pair_sums.piecewise`).

    The width of cells follows from the largest margin, or from the extent of some of the scores
    (see `placed`), and is the same in all blocks. A summary has the cells of a window that follows
    from quantiles, and those of the rows outside of it, so its size does not depend on the number
    of rows.

    Value and errors are computed as there, from the weight of the pairs at the margin's distance.
    For squared hinges the gradient's error falls with the square of the cells' width. It is about
    1e-7 of the gradient at first, and below 1e-9 once `sharpen` returns False, unless many pairs
    lie exactly at a margin. Scores that are not finite, or from 2^52 cells on, give the value
    infinity.
    """

    def __init__(self, terms: Terms, query: MomentQuery) -> None:
        self.terms, self.query, self.finer, self.per_h = term_arrays(terms), query, 1, 1.0
        self.smooth = is_smooth(terms)

    def placed(self, spread: float, largest: float) -> CrossingCells:
        """Return the same sum with cells for scores of an extent, such as that of a sample."""
        placed = copy.copy(self)
        cells = cells_per_margin(self.smooth) * self.finer
        most = MOST_ENTRIES // (2 * self.query.n_codes)
        placed.per_h = cells_per_unit(spread, largest, self.terms[0], cells, most)
        return placed

    def summary(self, rows: CrossingRows) -> CellSums:
        """Return the moments (S, C, B, 3) of these rows; O(rows + cells)."""
        scores = rows.scores
        low, high = range_of(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            fits = 16.0 * max(abs(low), abs(high)) * self.per_h < LARGEST_CELL
        grid = windowed_grid(scores, low, high, self.per_h, MOST_ENTRIES) if fits else None
        if grid is None:
            return CellSums(np.empty(0, dtype=np.int64), None)
        moments = self._unit_sum(rows, grid).moments()
        additions = float(scores.size if len(rows.weight) else moments[..., 0].max())
        return CellSums(grid.position, moments, additions)

    def finish(self, merged: CellSums) -> Finished:
        """Return value, errors and each cell's polynomial, (S, C, B, 3); O(levels cells)."""
        if merged.sums is None:
            return Finished(self, None, np.inf)
        grid = Grid(self.per_h, merged.position, 0, 0)
        table, sums = sweep_moments(
            merged.sums, self.query.links, grid, self.terms, self.query.scale, merged.additions
        )
        table[~merged.sums.any(axis=-1)] = 0.0
        return Finished(self, (merged.position, table), *stated(sums, self.smooth))

    def entries(self, rows: CrossingRows, sums: tuple[IntArray, FloatArray] | None) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        if sums is None:
            return np.full(rows.scores.size, np.nan)
        position, table = sums
        weight = rows.weight if len(rows.weight) else NO_WEIGHT
        result = np.zeros((1, rows.scores.size))
        self.at(rows, position).read(table, weight, result)
        return result[0]

    def curvature(self, merged: CellSums) -> CellCurvature:
        """Return the Hessian of the pairs that are counted in."""
        assert merged.sums is not None, "sums are asked for their curvature at finite scores"
        weights = np.ascontiguousarray(merged.sums[..., 0])
        return CellCurvature(self, merged.position, self.partners(merged.position, weights))

    def sharpen(self) -> bool:
        """Divide the cells' width by 16, twice; then False."""
        if self.finer >= FINEST:
            return False
        self.finer *= FINER
        return True

    def partners(self, position: IntArray, totals: FloatArray) -> FloatArray:
        """Return the sums of the totals of each cell's partners that are counted in, (S, C, B)."""
        return partner_sums(totals, self.query.links, Grid(self.per_h, position, 0, 0), self.terms)

    def at(self, rows: CrossingRows, position: IntArray) -> UnitSum:
        """Return the rows in the cells of a merged table."""
        grid = grid_of_table(self.per_h, position, rows.scores)
        assert grid is not None, "a table is given the scores that its summaries had"
        return self._unit_sum(rows, grid)

    def _unit_sum(self, rows: CrossingRows, grid: Grid) -> UnitSum:
        query, weight = self.query, rows.weight if len(rows.weight) else NO_WEIGHT
        own = slice(0, rows.scores.size)
        unit = Unit(own, rows.code, weight, query.n_codes, query.links, query.scale)
        return UnitSum(unit, self.terms, rows.scores, grid)


@dataclass(frozen=True, eq=False)
class CellCurvature:
    """The Hessian by the cells of a table; `own` (S, C, B) is what a row's own value multiplies."""

    made_by: CrossingCells
    position: IntArray
    own: FloatArray

    def summary(self, rows: CrossingRows) -> CellSums:
        """Return the sums (S, C, B) of the rows' weighted values."""
        weighted = rows.residual * (rows.weight if len(rows.weight) else np.ones((1, 1)))
        return CellSums(self.position, self.made_by.at(rows, self.position).totals(weighted))

    def finish(self, merged: CellSums) -> Finished:
        """Return the sums of each cell's partners."""
        assert merged.sums is not None
        return Finished(self, self.made_by.partners(self.position, merged.sums))

    def entries(self, rows: CrossingRows, sums: FloatArray) -> FloatArray:
        """Return own sums times values, less the sums of the partners' values; O(rows)."""
        values, placed = rows.residual, self.made_by.at(rows, self.position)
        own, partners = np.zeros((2, len(sums), values.size))
        placed.read(self.own, NO_WEIGHT, own)
        placed.read(sums, NO_WEIGHT, partners)
        result = own * values - partners
        return np.asarray((rows.weight * result).sum(axis=0) if len(rows.weight) else result[0])


def _places_in(position: IntArray, some: IntArray) -> slice | IntArray:
    """Return where some of the cells are, as a slice where they are together."""
    places = np.searchsorted(position, some)
    if some.size and places[-1] - places[0] == some.size - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places
