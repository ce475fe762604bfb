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
    cells_per_score,
    grid_of_table,
    sweep_moments,
    windowed_grid,
)
from pairrank.pair_sums.piecewise import is_smooth, stated, term_arrays

IntArray = NDArray[np.int64]
Tables = dict[int, tuple[IntArray, FloatArray]]
"""The cells and their polynomials, (S, C, B, 3), of each query whose scores fit a grid."""

MOST_ENTRIES = 1 << 22
"""A table has at most about so many entries per moment: cells are wider where it would have more.

Of 5 levels it holds 800,000 cells, which is 100 MB."""
FINER, MOST_SHARPNESS = 16, 2
"""Each of two sharpenings divides the cells' width by 16."""
_LARGEST, _LARGEST_FIT = 1e150, LARGEST_CELL / 32.0
_TAIL = 1e-3
"""Cells are as many as asked for between these quantiles of the scores."""
_FINER_WITHOUT_MARGIN = 4
"""Cells are so many times finer than in memory where no margin is positive."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Moments of some rows of a query by side, class and cell, (S, C, B, 3); cells at `position`.

    Cells are numbered absolutely: cell c holds the scores from c h to (c + 1) h.
    """

    position: IntArray
    moments: FloatArray
    additions: float
    """The most additions that an entry may be made of: its rounding is relative to them."""

    def merged(self, other: Cells) -> Cells:
        """Return the moments of both sets of rows; may write into these."""
        position, moments = np.union1d(self.position, other.position), self.moments
        if position.size > self.position.size:
            moments = np.zeros((*moments.shape[:2], position.size, 3))
            moments[:, :, np.searchsorted(position, self.position)] = self.moments
        moments[:, :, np.searchsorted(position, other.position)] += other.moments
        return Cells(position, moments, max(self.additions, other.additions) + 1.0)


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

    def summary(self, rows: CrossingRows) -> dict[int, Cells | None]:
        """Return the moments of these rows by query; O(rows + cells)."""
        parts = self._parts(rows)
        return {query: self._cells(query, unit, scores) for query, unit, scores in parts}

    def finish(self, merged: dict[int, Cells | None]) -> tuple[FloatArray, Tables]:
        """Return the totals and each cell's polynomial; O(levels cells)."""
        totals = np.zeros(3)
        tables: Tables = {}
        for query, cells in sorted(merged.items()):
            if cells is None:
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
        for query, unit, scores in self._parts(rows):
            if query not in table:
                result[:, unit.rows] = np.nan
                continue
            position, polynomials = table[query]
            grid = grid_of_table(self.per_h[query], position, scores)
            UnitSum(unit, self.terms, scores, grid).read(polynomials, unit.weight, result)
        return result[0]

    def _parts(self, rows: CrossingRows) -> Iterator[tuple[int, Unit, FloatArray]]:
        """Yield the number, the rows and the scores of each query that has a pair."""
        for at in np.flatnonzero(self.queries.scale[rows.query] > 0.0).tolist():
            query, own = int(rows.query[at]), slice(*rows.start[at : at + 2].tolist())
            first, edges, n_codes = self.queries.classes(query)
            code, links = rows.code[own] - np.int32(first), links_of(edges, n_codes)
            weight = rows.weight[:, own] if len(rows.weight) else NO_WEIGHT
            scale = float(self.queries.scale[query])
            yield query, Unit(own, code, weight, n_codes, links, scale), rows.scores[own]

    def _cells(self, query: int, unit: Unit, scores: FloatArray) -> Cells | None:
        """Return the moments of a query's rows; None where scores fit no grid."""
        (low, high), per_h = range_of(scores), self.per_h[query]
        largest = max(abs(low), abs(high))
        fits = largest < _LARGEST and 16.0 * largest * per_h < LARGEST_CELL
        grid = windowed_grid(scores, low, high, per_h, MOST_ENTRIES) if fits else None
        if grid is None:
            return None
        moments = UnitSum(unit, self.terms, scores, grid).moments()
        additions = float(unit.n_rows if unit.weight.size else moments[..., 0].max())
        return Cells(grid.position, moments, additions)


def cells_per_unit(
    scores: FloatArray, margins: FloatArray, cells: float, most: IntArray
) -> FloatArray:
    """Return 1/h of each query, powers of two, from scores that are like those to come.

    `cells` is their number per positive margin, `most` that of all cells of a query.
    """
    low, high, largest = 0.0, 0.0, abs(float(margins.max()))
    if scores.size and np.isfinite(scores).all():
        low, high = np.quantile(scores, (_TAIL, 1.0 - _TAIL)).tolist()
        largest = max(largest, float(abs(scores).max()))
    finer = 1 if margins.max() > 0.0 else _FINER_WITHOUT_MARGIN
    with np.errstate(divide="ignore", over="ignore"):
        wanted = cells_per_score(low, high, margins, finer * cells)
        limit = np.minimum(most / np.float64(high - low), _LARGEST_FIT / max(largest, 1e-280))
        return np.fmin(wanted, np.exp2(np.floor(np.log2(limit))))
