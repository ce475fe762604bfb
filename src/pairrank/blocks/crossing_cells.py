"""Hinges and tubes over a crossing query by cells: moments per level and cell are merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks.crossing_grid import CellMoments, block_grid, most_cells
from pairrank.blocks.crossing_parts import OwnRows
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.bands import links_of
from pairrank.pair_sums.cell_grid import Grid, cells_per_margin, grid_of_table
from pairrank.pair_sums.cell_plan import Unit
from pairrank.pair_sums.cell_tables import (
    Terms,
    is_smooth,
    partner_sums,
    stated,
    sweep_moments,
    term_arrays,
)
from pairrank.pair_sums.cells import UnitSum

MOST_ENTRIES = 1 << 22
"""A table has at most about so many entries per moment: cells are wider where it would have more.

Of 5 levels it holds 800,000 cells, which is 100 MB."""
FINER, FINEST = 16, 256
"""`sharpen` divides the cells' width by 16, and by up to 256: 16,384 or 65,536 cells per margin."""
_NO_WEIGHT = np.empty((1, 0))


class CellsOfLevels:
    r"""The sum of `pairrank.pair_sums.piecewise.PiecewiseSum` over one crossing query.

    For differences (no levels) it is the sum over all rows of the query with themselves, of scores
    less labels: a tube is a hinge of margin -epsilon (`pairrank.pair_sums.tubes`).

    The width of cells follows from the largest margin, and is the same in all blocks. Where no
    margin is positive, cells are as narrow as a number of cells that hold scores allows: blocks
    begin with narrow ones, and a merge makes them wider. A summary has the cells of a window that
    follows from quantiles, and those of the rows outside of it, so its size does not depend on the
    number of rows.

    Value and errors are computed as there, from the weight of the pairs at the margin's distance.
    For squared hinges the gradient's error falls with the square of the cells' width. It is about
    1e-7 of the gradient at first, and below 1e-9 once `sharpen` returns False, unless many pairs
    lie exactly at a margin. Scores that are not finite, or from 2^52 cells on, give the value
    infinity.
    """

    def __init__(self, terms: Terms, query: MomentQuery) -> None:
        self.terms, self.query, self.finer = terms, query, 1

    def summary(self, index: int, rows: OwnRows) -> CellMoments:
        """Return the moments of these rows; O(rows + cells)."""
        scores, weight = _placed(self.query, rows), _sides(rows)
        margins = term_arrays(self.terms)[0]
        entries = max(MOST_ENTRIES // (self.query.n_codes * len(weight)), 2)
        cells, finer = cells_per_margin(is_smooth(self.terms)), self.finer

        def limit(finer: int) -> int:
            return most_cells(margins, cells * finer, entries)

        with np.errstate(over="ignore", invalid="ignore"):
            grid = block_grid(scores, margins, cells * finer, limit(finer))
            while grid is None and finer > 1:  # scores may be too large for narrow cells only
                finer //= FINER
                grid = block_grid(scores, margins, cells * finer, limit(finer))
        if grid is None:
            return CellMoments.without_grid()
        unit = _unit(self.query, rows, weight)
        moments = UnitSum(unit, term_arrays(self.terms), scores, grid).moments()
        additions = float(scores.size if weight.size else moments[..., 0].max())
        most = limit(finer)
        return CellMoments(grid.per_h, grid.position, moments, additions, most).limited()

    def finish(self, merged: CellMoments) -> CellTable:
        """Return value, errors and each cell's polynomial; O(levels cells)."""
        smooth = is_smooth(self.terms)
        if not merged.is_valid:
            return CellTable.infinite(self.query, self.terms)
        merged = merged.with_zero()
        grid = Grid(merged.per_h, merged.position, 0, 0)
        weights = merged.moments[..., 0]
        table, sums = sweep_moments(
            merged.moments,
            _links(self.query),
            grid,
            term_arrays(self.terms),
            self.query.scale,
            merged.additions,
        )
        value, error, gradient_error = stated(sums, smooth)
        if merged.per_h >= 1.0:  # else a cell without moments may be read, see `with_zero`
            table[~merged.moments.any(axis=-1)] = 0.0
        return CellTable(
            self.query, self.terms, merged.per_h, merged.position, table,
            value, error, gradient_error, weights.copy() if smooth else None,
        )  # fmt: skip

    def sharpen(self) -> bool:
        """Divide the cells' width by 16, twice; then False."""
        if self.finer >= FINEST:
            return False
        self.finer *= FINER
        return True


def _links(query: MomentQuery) -> Any:
    """Return the links between codes; a query of differences is linked with itself."""
    edges = query.edges if query.levels.size else np.zeros((1, 2), dtype=np.int64)
    return links_of(edges, query.n_codes)


def _placed(query: MomentQuery, rows: OwnRows) -> FloatArray:
    """Return what falls into cells: scores, or scores less labels for differences."""
    return rows.scores if query.levels.size else rows.scores - rows.label


def _sides(rows: OwnRows) -> FloatArray:
    """Return the weights (S, n), or (1, 0) where all rows weigh 1."""
    return rows.weight if len(rows.weight) else _NO_WEIGHT


def codes_of(query: MomentQuery, level: NDArray[np.int32], n_rows: int) -> NDArray[np.int32]:
    """Return the rows' codes, (n_rows,): the places of their levels among the query's."""
    levels = query.levels
    if not levels.size:
        return np.zeros(n_rows, dtype=np.int32)
    if int(levels[-1]) == levels.size - 1:
        return np.ascontiguousarray(level, dtype=np.int32)
    code_of = np.zeros(int(levels[-1]) + 1, dtype=np.int32)
    code_of[levels] = np.arange(levels.size, dtype=np.int32)
    return np.asarray(code_of[level])


def _unit(query: MomentQuery, rows: OwnRows, weight: FloatArray) -> Unit:
    n_rows = rows.scores.size
    code = codes_of(query, rows.level, n_rows)
    return Unit(slice(0, n_rows), code, weight, query.n_codes, _links(query), query.scale)


def _at_table(
    query: MomentQuery, terms: Terms, rows: OwnRows, per_h: float, position: NDArray[np.int64]
) -> UnitSum:
    """Return the rows in the cells of a merged table."""
    scores = _placed(query, rows)
    grid = grid_of_table(per_h, position, scores)
    if grid is None:
        raise PairrankError(
            f"scores of crossing query {query.query} lie outside of those that were summed: give "
            "a table the scores that its summaries had"
        )
    return UnitSum(_unit(query, rows, _sides(rows)), term_arrays(terms), scores, grid)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Each cell's polynomial of its rows' gradients, (S, C, B, 3)."""

    query: MomentQuery
    terms: Terms
    per_h: float
    position: NDArray[np.int64]
    table: FloatArray
    value: float
    error: float
    gradient_error: float
    weights: FloatArray | None = field(default=None, repr=False)
    """The weights in the cells (S, C, B), for the Hessian; not sent to the blocks."""

    @classmethod
    def infinite(cls, query: MomentQuery, terms: Terms) -> CellTable:
        """Return the table for scores that fit no grid."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(query, terms, np.nan, nothing, np.empty((0, 3)), np.inf, 0.0, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "weights": None}

    def gradient(self, index: int, rows: OwnRows) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        if not self.per_h > 0.0:
            return np.full(rows.scores.size, np.nan)
        result = np.empty(rows.scores.size)
        placed = _at_table(self.query, self.terms, rows, self.per_h, self.position)
        placed.read(self.table, result, True)
        return result

    def curvature(self) -> CellCurvature:
        """Return the Hessian of the pairs that are counted in."""
        if self.weights is None:
            raise PairrankError("scores that fit no grid have no curvature")
        grid = Grid(self.per_h, self.position, 0, 0)
        own = partner_sums(self.weights, _links(self.query), grid, term_arrays(self.terms))
        return CellCurvature(self.query, self.terms, self.per_h, self.position, own)


@dataclass(eq=False)
class CellTotals:
    """Sums of values by side, code and cell of a table, (S, C, B)."""

    totals: FloatArray

    def merged(self, other: CellTotals) -> CellTotals:
        """Return the sums over both sets of rows."""
        self.totals += other.totals
        return self


@dataclass(frozen=True, eq=False)
class CellCurvature:
    """The Hessian by the cells of a table; `own` (S, C, B) is what a row's own value multiplies."""

    query: MomentQuery
    terms: Terms
    per_h: float
    position: NDArray[np.int64]
    own: FloatArray

    def summary(self, index: int, rows: OwnRows, values: FloatArray) -> CellTotals:
        """Return the sums of the rows' weighted values."""
        placed = _at_table(self.query, self.terms, rows, self.per_h, self.position)
        weighted = rows.weight * values if len(rows.weight) else values[np.newaxis]
        return CellTotals(placed.totals(np.ascontiguousarray(weighted)))

    def finish(self, merged: CellTotals) -> CellProduct:
        """Return the sums of each cell's partners."""
        grid = Grid(self.per_h, self.position, 0, 0)
        sums = partner_sums(merged.totals, _links(self.query), grid, term_arrays(self.terms))
        return CellProduct(self, sums)


@dataclass(frozen=True, eq=False)
class CellProduct:
    """A product: own sums times values, less the sums of the partners' values."""

    curvature: CellCurvature
    sums: FloatArray

    def product(self, index: int, rows: OwnRows, values: FloatArray) -> FloatArray:
        """Return the rows' entries; O(rows)."""
        made = self.curvature
        placed = _at_table(made.query, made.terms, rows, made.per_h, made.position)
        own, partners = np.zeros((2, len(self.sums), values.size))
        placed.read_sums(made.own, own)
        placed.read_sums(self.sums, partners)
        result = own * values - partners
        return np.asarray((rows.weight * result).sum(axis=0) if len(rows.weight) else result[0])
