"""Hinges and tubes over a crossing query by cells: moments per level and cell are merged."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks.crossing_queries import MomentQuery, OwnRows
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._bound import Terms, links_of, range_of
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

IntArray = NDArray[np.int64]

MOST_ENTRIES = 1 << 22
"""A table has at most about so many entries per moment: cells are wider where it would have more.

Of 5 levels it holds 800,000 cells, which is 100 MB."""
FINER, FINEST = 16, 256
"""`sharpen` divides the cells' width by 16, and by up to 256: 16,384 or 65,536 cells per margin."""
_LARGEST = 1e150
_TAIL = 1e-3
"""Cells are as many as asked for between these quantiles of the scores."""


class Extent(NamedTuple):
    """How far scores lie apart, and the greatest of them."""

    spread: float
    largest: float

    @classmethod
    def of(cls, scores: FloatArray) -> Extent:
        """Measure some scores; residuals should be centred by query."""
        if not scores.size or not np.isfinite(scores).all():
            return cls(0.0, 0.0)
        low, high = np.quantile(scores, (_TAIL, 1.0 - _TAIL))
        return cls(float(high - low), float(np.abs(scores).max()))


def cells_per_unit(extent: Extent, margins: FloatArray, cells: float, most: float) -> float:
    """Return 1/h, a power of two, for the cells of scores of this extent.

    `cells` is their number per positive margin, `most` that of all cells. Where no margin is
    positive, the scores are some margins wide. NaN for scores whose squares would overflow.
    """
    if extent.largest > _LARGEST:
        return float("nan")
    margin = float(margins.max())
    limits = [LARGEST_CELL / 16.0 / max(extent.largest, abs(margin), 1e-280)]
    if extent.spread > 0.0:
        limits.append(most / extent.spread)
        if not margin > 0.0:
            limits.append(4 * MARGINS_PER_SPREAD * cells / extent.spread)
    elif not margin > 0.0:
        limits.append(1.0)
    per_h = 2.0 ** np.floor(np.log2(min(limits)))
    return float(min(per_h, 2.0 ** np.ceil(np.log2(cells / margin))) if margin > 0.0 else per_h)


@dataclass(eq=False)
class CellMoments:
    """The moments of some rows by side, code and cell, (S, C, B, 3); B cells at `position`.

    Cells are numbered absolutely: cell c holds the scores from c h to (c + 1) h. There are none
    where the scores of a block fit no grid.
    """

    position: IntArray
    moments: FloatArray | None
    additions: float
    """The most additions that an entry may be made of: its rounding is relative to them."""

    def merged(self, other: CellMoments) -> CellMoments:
        """Return the moments of both sets of rows."""
        if self.moments is None or other.moments is None:
            return CellMoments(self.position[:0], None, 0.0)
        position = np.union1d(self.position, other.position)
        moments = self.moments
        if position.size > self.position.size:
            moments = np.zeros((*moments.shape[:2], position.size, 3))
            moments[:, :, _places_in(position, self.position)] = self.moments
        moments[:, :, _places_in(position, other.position)] += other.moments
        return CellMoments(position, moments, max(self.additions, other.additions) + 1.0)


class CellsOfLevels:
    r"""The sum of `pairrank.pair_sums.piecewise.PiecewiseSum` over one crossing query.

    For differences (no levels) it is the sum over all rows of the query with themselves, of scores
    less labels: a tube is a hinge of margin -epsilon (`pairrank.pair_sums.piecewise`).

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
        self.terms, self.query, self.finer, self.per_h = terms, query, 1, 1.0

    def placed(self, extent: Extent) -> CellsOfLevels:
        """Return the same sum with cells for scores of an extent, such as that of a sample."""
        placed = copy.copy(self)
        cells = cells_per_margin(is_smooth(self.terms)) * self.finer
        most = MOST_ENTRIES // (2 * self.query.n_codes)
        placed.per_h = cells_per_unit(extent, term_arrays(self.terms)[0], cells, most)
        return placed

    def summary(self, rows: OwnRows) -> CellMoments:
        """Return the moments of these rows; O(rows + cells)."""
        scores, weight = _placed(self.query, rows), _sides(rows)
        low, high = range_of(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            fits = 16.0 * max(abs(low), abs(high)) * self.per_h < LARGEST_CELL
        grid = windowed_grid(scores, low, high, self.per_h, MOST_ENTRIES) if fits else None
        if grid is None:
            return CellMoments(np.empty(0, dtype=np.int64), None, 0.0)
        unit = _unit(self.query, rows, weight)
        moments = UnitSum(unit, term_arrays(self.terms), scores, grid).moments()
        additions = float(scores.size if weight.size else moments[..., 0].max())
        return CellMoments(grid.position, moments, additions)

    def finish(self, merged: CellMoments) -> CellTable:
        """Return value, errors and each cell's polynomial; O(levels cells)."""
        smooth = is_smooth(self.terms)
        if merged.moments is None:
            nothing = merged.position[:0]
            return CellTable(self, nothing, np.empty((0, 3)), np.inf, 0.0, 0.0)
        weights = merged.moments[..., 0]
        table, sums = sweep_moments(
            merged.moments,
            _links(self.query),
            Grid(self.per_h, merged.position, 0, 0),
            term_arrays(self.terms),
            self.query.scale,
            merged.additions,
        )
        table[~merged.moments.any(axis=-1)] = 0.0
        return CellTable(
            self, merged.position, table, *stated(sums, smooth), weights.copy() if smooth else None
        )

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
    return rows.weight if len(rows.weight) else NO_WEIGHT


def _unit(query: MomentQuery, rows: OwnRows, weight: FloatArray) -> Unit:
    n_rows = rows.scores.size
    code = np.ascontiguousarray(query.codes(rows))
    return Unit(slice(0, n_rows), code, weight, query.n_codes, _links(query), query.scale)


def _at_table(made_by: CellsOfLevels, rows: OwnRows, position: IntArray) -> UnitSum:
    """Return the rows in the cells of a merged table."""
    scores = _placed(made_by.query, rows)
    grid = grid_of_table(made_by.per_h, position, scores)
    if grid is None:
        raise PairrankError(
            f"scores of crossing query {made_by.query.query} lie outside of those that were "
            "summed: give a table the scores that its summaries had"
        )
    unit = _unit(made_by.query, rows, _sides(rows))
    return UnitSum(unit, term_arrays(made_by.terms), scores, grid)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Each cell's polynomial of its rows' gradients, (S, C, B, 3)."""

    made_by: CellsOfLevels
    position: IntArray
    table: FloatArray
    value: float
    error: float
    gradient_error: float
    weights: FloatArray | None = field(default=None, repr=False)
    """The weights in the cells (S, C, B), for the Hessian; not sent to the blocks."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "weights": None}

    def entries(self, rows: OwnRows) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        if not self.position.size:
            return np.full(rows.scores.size, np.nan)
        result = np.zeros((1, rows.scores.size))
        _at_table(self.made_by, rows, self.position).read(self.table, _sides(rows), result)
        return result[0]

    def curvature(self) -> CellCurvature:
        """Return the Hessian of the pairs that are counted in."""
        if self.weights is None:
            raise PairrankError("scores that fit no grid have no curvature")
        return CellCurvature(
            self.made_by, self.position, _partners(self.made_by, self.position, self.weights)
        )


def _partners(made_by: CellsOfLevels, position: IntArray, totals: FloatArray) -> FloatArray:
    """Return the sums of the totals of each cell's partners that are counted in, (S, C, B)."""
    grid = Grid(made_by.per_h, position, 0, 0)
    return partner_sums(totals, _links(made_by.query), grid, term_arrays(made_by.terms))


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

    made_by: CellsOfLevels
    position: IntArray
    own: FloatArray

    def summary(self, rows: OwnRows) -> CellTotals:
        """Return the sums of the rows' weighted values."""
        assert rows.values is not None
        weighted = rows.values * (rows.weight if len(rows.weight) else np.ones((1, 1)))
        placed = _at_table(self.made_by, rows, self.position)
        return CellTotals(placed.totals(np.ascontiguousarray(weighted)))

    def finish(self, merged: CellTotals) -> CellProduct:
        """Return the sums of each cell's partners."""
        return CellProduct(self, _partners(self.made_by, self.position, merged.totals))


@dataclass(frozen=True, eq=False)
class CellProduct:
    """A product: own sums times values, less the sums of the partners' values."""

    curvature: CellCurvature
    sums: FloatArray

    def entries(self, rows: OwnRows) -> FloatArray:
        """Return the rows' products; O(rows)."""
        made, values = self.curvature, rows.values
        assert values is not None
        placed = _at_table(made.made_by, rows, made.position)
        own, partners = np.zeros((2, len(self.sums), values.size))
        placed.read(made.own, NO_WEIGHT, own)
        placed.read(self.sums, NO_WEIGHT, partners)
        result = own * values - partners
        return np.asarray((rows.weight * result).sum(axis=0) if len(rows.weight) else result[0])


def _places_in(position: IntArray, some: IntArray) -> slice | IntArray:
    """Return where some of the cells are, as a slice where they are together."""
    if some.size:
        first, last = (int(at) for at in np.searchsorted(position, some[[0, -1]]))
        if last - first == some.size - 1:
            return slice(first, last + 1)
    return np.searchsorted(position, some)
