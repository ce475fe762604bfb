"""Hinges and tubes over crossing queries by cells: moments per class and cell are merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import CrossingRows
from pairrank.blocks.groups import CrossingQueries
from pairrank.pair_sums._bound import Terms, links_of, range_of
from pairrank.pair_sums.cells import (
    LARGEST_CELL,
    NO_WEIGHT,
    Grid,
    Unit,
    UnitSum,
    cells_per_margin,
    grid_of_table,
    sweep_moments,
    windowed_grid,
)
from pairrank.pair_sums.piecewise import is_smooth, stated, term_arrays

IntArray = NDArray[np.int64]
Tables = dict[int, tuple[IntArray, FloatArray] | None]
"""Each query's cells and their polynomials, (S, C, B, 3); None where scores fit no grid."""

MOST_ENTRIES = 1 << 22
"""A table has at most about so many entries per moment: cells are wider where it would have more.

Of 5 levels it holds 800,000 cells, which is 100 MB."""
FINER, MOST_SHARPNESS = 16, 2
"""Each of two sharpenings divides the cells' width by 16."""
_LARGEST = 1e150
_TAIL = 1e-3
"""Cells are as many as asked for between these quantiles of the scores."""
_MARGINS_PER_SPREAD = 64
"""Where no margin is positive, the scores are as many margins wide: more than in memory."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Moments of some rows of a query by side, class and cell, (S, C, B, 3); cells at `position`.

    Cells are numbered absolutely: cell c holds the scores from c h to (c + 1) h. None where scores
    fit no grid.
    """

    position: IntArray
    moments: FloatArray | None
    additions: float = 0.0
    """The most additions that an entry may be made of: its rounding is relative to them."""

    def merged(self, other: Cells) -> Cells:
        """Return the moments of both sets of rows; may write into these."""
        if self.moments is None or other.moments is None:
            return Cells(self.position[:0], None)
        position, moments = np.union1d(self.position, other.position), self.moments
        if position.size > self.position.size:
            moments = np.zeros((*moments.shape[:2], position.size, 3))
            moments[:, :, np.searchsorted(position, self.position)] = self.moments
        moments[:, :, np.searchsorted(position, other.position)] += other.moments
        return Cells(position, moments, max(self.additions, other.additions) + 1.0)


@dataclass(frozen=True, eq=False)
class CellSums:
    """The moments of some rows by query."""

    by_query: dict[int, Cells]

    def merged(self, other: CellSums) -> CellSums:
        """Return the moments of both sets of rows; may write into these."""
        own = self.by_query
        for query, cells in other.by_query.items():
            own[query] = own[query].merged(cells) if query in own else cells
        return self


class CrossingCells:
    r"""A `CrossingSum` as `pairrank.pair_sums.piecewise.PiecewiseSum`, by query.

    For differences it is the sum over all rows of a query with themselves, of scores less labels: a
    tube is a hinge of margin -epsilon (`pairrank.pair_sums.piecewise`).

    The width of cells follows from the largest margin, or from the spread of some of the scores,
    and is the same in all blocks. A summary's size does not depend on the number of rows. For
    squared hinges the gradient's error is about 1e-7 of the gradient at first, and below 1e-9 at
    the greatest `sharpness`, unless many pairs lie exactly at a margin. Scores that are not finite,
    or from 2^52 cells on, give the value infinity.
    """

    def __init__(
        self, terms: Terms, queries: CrossingQueries, sharpness: int, scores: FloatArray
    ) -> None:
        self.terms, self.queries, self.smooth = term_arrays(terms), queries, is_smooth(terms)
        cells = cells_per_margin(self.smooth) * FINER**sharpness
        most = MOST_ENTRIES // (2 * np.diff(queries.start))
        self.per_h = cells_per_unit(scores, self.terms[0], cells, most)

    def summary(self, rows: CrossingRows) -> CellSums:
        """Return the moments of these rows; O(rows + cells)."""
        return CellSums({query: self._cells(query, part) for query, _, part in self._parts(rows)})

    def finish(self, merged: CellSums) -> tuple[FloatArray, Tables]:
        """Return the totals and each cell's polynomial; O(levels cells)."""
        totals = np.zeros(3)
        tables: Tables = {}
        for query, cells in sorted(merged.by_query.items()):
            tables[query] = None
            if cells.moments is None:
                totals[0] = np.inf
                continue
            grid = Grid(self.per_h[query], cells.position, 0, 0)
            scale = float(self.queries.scale[query])
            links = links_of(*self.queries.classes(query)[1:])
            table, sums = sweep_moments(
                cells.moments, links, grid, self.terms, scale, cells.additions
            )
            totals += stated(sums, self.smooth)
            tables[query] = cells.position, table
        return totals, tables

    def entries(self, rows: CrossingRows, table: Tables) -> FloatArray:
        """Return the rows' gradients; O(rows)."""
        result = np.zeros((1, rows.scores.size))
        for query, own, part in self._parts(rows):
            found = table[query]
            if found is None:
                result[:, own] = np.nan
                continue
            grid = grid_of_table(self.per_h[query], found[0], part.scores)
            assert grid is not None, "a table is given the scores that its summaries had"
            unit = self._unit_sum(query, part, grid)
            unit.read(found[1], unit.unit.weight, result[:, own])
        return result[0]

    def _parts(self, rows: CrossingRows) -> Iterator[tuple[int, slice, CrossingRows]]:
        """Yield the number, the places and the rows of each query that has a pair."""
        for at in np.flatnonzero(self.queries.scale[rows.query] > 0.0).tolist():
            own = slice(*rows.start[at : at + 2].tolist())
            part = rows._replace(
                scores=rows.scores[own], code=rows.code[own], weight=rows.weight[:, own]
            )
            yield int(rows.query[at]), own, part

    def _cells(self, query: int, rows: CrossingRows) -> Cells:
        scores, per_h = rows.scores, self.per_h[query]
        low, high = range_of(scores)
        largest = max(abs(low), abs(high))
        fits = largest < _LARGEST and 16.0 * largest * per_h < LARGEST_CELL
        grid = windowed_grid(scores, low, high, per_h, MOST_ENTRIES) if fits else None
        if grid is None:
            return Cells(np.empty(0, dtype=np.int64), None)
        moments = self._unit_sum(query, rows, grid).moments()
        additions = float(scores.size if len(rows.weight) else moments[..., 0].max())
        return Cells(grid.position, moments, additions)

    def _unit_sum(self, query: int, rows: CrossingRows, grid: Grid) -> UnitSum:
        first, edges, n_codes = self.queries.classes(query)
        weight = rows.weight if len(rows.weight) else NO_WEIGHT
        own, scale = slice(0, rows.scores.size), float(self.queries.scale[query])
        unit = Unit(
            own, rows.code - np.int32(first), weight, n_codes, links_of(edges, n_codes), scale
        )
        return UnitSum(unit, self.terms, rows.scores, grid)


def cells_per_unit(
    scores: FloatArray, margins: FloatArray, cells: float, most: IntArray
) -> FloatArray:
    """Return 1/h of each query, powers of two, from scores that are like those to come.

    `cells` is their number per positive margin, `most` that of all cells of a query. Where no
    margin is positive, the scores are some margins wide.
    """
    margin, spread, largest = float(margins.max()), 0.0, abs(float(margins.max()))
    if scores.size and np.isfinite(scores).all():
        spread = float(np.diff(np.quantile(scores, (_TAIL, 1.0 - _TAIL)))[0])
        largest = max(largest, float(abs(scores).max()))
    with np.errstate(divide="ignore", over="ignore"):
        limit = np.minimum(most / np.float64(spread), LARGEST_CELL / 32.0 / max(largest, 1e-280))
        if margin > 0.0:
            wanted = np.exp2(np.ceil(np.log2(cells / margin)))
        else:
            wanted = _MARGINS_PER_SPREAD * cells / np.float64(spread) if spread > 0.0 else 1.0
        return np.asarray(np.exp2(np.floor(np.log2(np.minimum(wanted, limit)))))
