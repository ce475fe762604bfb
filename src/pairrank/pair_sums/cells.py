"""Cell sums: piecewise polynomial losses over all pairs, in time linear in the rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pairrank import threads
from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature, PairSum
from pairrank.compiled import cell_bands, cell_parts
from pairrank.compiled import cells as compiled
from pairrank.pair_sums._bound import as_scores, no_curvature, range_of
from pairrank.pair_sums.cell_curvature import CellCurvature
from pairrank.pair_sums.cell_grid import (
    Grid,
    cells_per_margin,
    cells_per_score,
    make_grid,
)
from pairrank.pair_sums.cell_layout import InLayout
from pairrank.pair_sums.cell_plan import (
    ROWS_PER_BLOCK,
    Bands,
    Plan,
    Unit,
    divide,
    has_many_levels,
    weight_of_sides,
)
from pairrank.pair_sums.cell_tables import (
    Sums,
    TermArrays,
    Terms,
    by_side,
    is_smooth,
    partner_sums,
    squares_of,
    stated,
    sweep_moments,
    term_arrays,
    with_rounding,
)
from pairrank.preferences import Levels

FINER, FINEST = 4, 16
"""`sharpen` divides the width of a cell by 4, twice; more cells would add more rounding."""
CACHED_ENTRIES = 40_000
"""A table of moments of so many entries, 1 MB, fits into the cache of one processor."""
WIDER = (2.0, 4.0)
"""So many times wider are the cells of a table of mixed levels that does not fit."""
MOST_TABLES = 16
"""So many tables of moments exist at a time: blocks of rows that are merged in order."""
ROWS_PER_ENTRY = (4, 16)
"""So many rows per entry of a table make a second table, and each further one, cheap to merge."""


class CellSum:
    r"""The sum of :math:`\sum_k c_k \max(0, m_k - d)^{p_k}`, p = 1 or 2, over `Levels`.

    Scores fall into cells of width h, and per level and cell the moments (sum w, sum w t,
    sum w t^2) of the places t are kept. With m = (K + f) h, 0 <= f < 1, pairs of cells up to K
    apart are counted in, others are not. Running sums over cells and levels then give each cell a
    polynomial whose value at t is the gradient. Only pairs exactly K and K + 1 cells apart can be
    on either side of the margin. Their max(0, m - d) is replaced by a polynomial of both places,
    `compiled.cell_sweeps.fit`, which is off by a known part of h at most. Their weights are known,
    so the error is computed with the sum. `terms` are (m, p, c). `exact` returns the
    same sum by sorting: for pairs that no unit holds, for scores that no grid fits, and once
    `sharpen` asks for it.

    Where all powers are 1 and all factors positive, the plane through value and gradient lies below
    the sum at any scores, since a subset of the pairs with their m - d does; the value is lowered
    by its rounding. Rows with weights by role have two tables of moments, as winners and as losers.

    O(rows + cells levels). With labels as many as rows the rows are cut into bands of labels, the
    bands into parts of about 64 rows, whose pairs are summed exactly. Memory: 4 bytes per row,
    and 28 more for rows that are not in order. Blocks of rows are added to tables of their own,
    which are merged in order, so the bits do not depend on the number of threads.
    """

    error = 0.0
    """Evaluations compute their own errors."""

    least_rows: int | None = None
    """Smaller queries are summed exactly; None: the usual number."""

    def __init__(self, levels: Levels, terms: Terms, exact: Callable[[Levels], PairSum]) -> None:
        self.levels = levels
        self._exact_of = exact
        self.plan = divide(levels, self.least_rows)
        rest = self.plan.rest
        self.rest = exact(rest) if rest is not None and self.plan.units else None
        self.terms = term_arrays(terms)
        self.smooth = is_smooth(terms)
        self.finer = 1.0
        self.is_exact = not self.plan.units

    @functools.cached_property
    def _weight(self) -> FloatArray:
        return weight_of_sides(self.levels)

    @functools.cached_property
    def _exact(self) -> PairSum:
        return self._exact_of(self.levels)

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores, which must not change."""
        scores = as_scores(scores, self.levels.n_rows)
        states = None if self.is_exact else self._states(scores)
        if states is None:
            return self._exact.at(scores)
        self.__dict__.pop("_exact", None)  # its buffers take more memory than the cells
        whole = self.plan.units[0].n_rows == scores.size
        gradient = np.empty(scores.size) if whole else np.zeros(scores.size)
        found = [state.gradient(gradient, whole and state is states[0]) for state in states]
        value, error, gradient_error = stated(np.sum(found, axis=0).tolist(), self.smooth)
        if self.rest is not None:
            rest = self.rest.at(scores)
            value += rest.value
            gradient += rest.gradient
        curvature: Callable[[], MultipleCurvature] = no_curvature
        if self.smooth:
            curvature = functools.partial(CellCurvature, self.levels, self.rest, scores, states)
        return Evaluated(value, gradient, error, curvature, gradient_error)

    def curvature_at(self, scores: FloatArray) -> MultipleCurvature:
        """Return the curvature at the scores, in half of the time that `at` takes."""
        scores = as_scores(scores, self.levels.n_rows)
        states = None if self.is_exact else self._states(scores)
        if states is None:
            return self._exact.at(scores).curvature()
        return CellCurvature(self.levels, self.rest, scores, states)

    def sharpen(self) -> bool:
        """Divide the cells' width by 4, again by 4, then sum exactly; False where it is exact.

        The error of a squared hinge's gradient falls with the square of the width, that of a
        hinge's with the width alone: so a hinge's cells are divided by 16 at once. The plan's
        memory is released where it is of no more use.
        """
        if self.is_exact:
            return False
        self.finer *= FINER if self.smooth else FINEST
        self.is_exact = self.finer > FINEST
        if self.is_exact:
            self.plan, self.rest = Plan([], [], None), None
        return True

    def _states(self, scores: FloatArray) -> list[UnitSum | _BandSum] | None:
        """Return the sums of all parts at the scores; None if no grid fits."""
        units = [(unit, scores[unit.rows]) for unit in self.plan.units]
        ranges = [range_of(own) for _, own in units]
        low, high = np.transpose(ranges)
        width = (float(low.min()), float(high.max()), self.terms[0])
        per_h = cells_per_score(*width, cells_per_margin(self.smooth) * self.finer)
        if np.isnan(per_h):
            return None
        states: list[UnitSum | _BandSum] = []
        for (unit, own), ends in zip(units, ranges, strict=True):
            grid = self._grid(unit, own, ends, per_h)
            if grid is None:
                return None
            states.append(UnitSum(unit, self.terms, own, grid))
        for bands in self.plan.bands:
            states.append(_BandSum(bands, self.terms, scores, per_h, self._weight))
        return states

    def _grid(
        self, unit: Unit, scores: FloatArray, ends: tuple[float, float], per_h: float
    ) -> Grid | None:
        """Return the cells of a unit's scores; None if no grid fits.

        If rows of all levels follow one another, a table larger than a processor's own cache gets
        cells up to 4 times as wide, until `sharpen` asks for narrow ones.
        """
        grid = make_grid(scores, *ends, per_h, unit.most_cells)
        if self.smooth and self.finer == 1.0 and not unit.in_order:
            most = CACHED_ENTRIES // (unit.n_codes * len(unit.weight))
            for wider in WIDER:
                if grid and grid.position.size > most:
                    grid = make_grid(scores, *ends, per_h / wider, unit.most_cells)
        return grid


class UnitSum:
    """The sums of one unit at its own scores, by its grid of cells."""

    def __init__(self, unit: Unit, terms: TermArrays, scores: FloatArray, grid: Grid) -> None:
        self.unit, self.terms, self.scores, self.grid = unit, terms, scores, grid
        self._shape = (len(unit.weight), unit.n_codes, grid.position.size)
        self._blocks = threads.blocks(unit.n_rows, ROWS_PER_BLOCK)

    def gradient(self, gradient: FloatArray, is_first: bool) -> Sums:
        """Set or add the rows' gradients, (n_rows,) in the user's order; return the sums."""
        unit, moments = self.unit, self.moments()
        fullest = unit.n_rows if unit.weight.size else float(moments[..., 0].max())
        table, sums = sweep_moments(moments, unit.links, self.grid, self.terms, unit.scale, fullest)
        self.read(table, gradient, is_first)
        return sums

    def moments(self) -> FloatArray:
        """Return the moments of the cells, (S, C, B, 3)."""
        unit, place, own = self.unit, self.grid.place, self.scores

        def add(rows: slice) -> FloatArray:
            moments = np.zeros((*self._shape, 3))
            compiled.add_rows(
                own[rows], unit.code[rows], unit.weight[:, rows], *place, *compiled.chunk(),
                by_side(moments),
            )  # fmt: skip
            return moments

        return self._merged(add)

    def read(self, table: FloatArray, gradient: FloatArray, is_first: bool) -> None:
        """Set or add the rows' gradients, (n_rows,), from a swept table (S, C, B, 3)."""
        unit, place, own = self.unit, self.grid.place, self.scores
        with unit.adding_to(gradient) as out:
            threads.run(
                lambda rows: compiled.read_rows(
                    own[rows], unit.code[rows], unit.weight[:, rows], unit.scale, *place,
                    *compiled.chunk(), by_side(table), is_first, out[rows],
                ),
                self._blocks,
            )  # fmt: skip

    def add_partners(self, values: FloatArray, result: FloatArray) -> None:
        """Add 2 c times the sum of the values of each row's partners that are counted in.

        Both are (S, n_rows): values as winners and as losers, sums over losers and over winners.
        """
        totals = self.totals(values[:, self.unit.rows])
        self.read_sums(partner_sums(totals, self.unit.links, self.grid, self.terms), result)

    def totals(self, values: FloatArray) -> FloatArray:
        """Return the sums of the own rows' values (S, n) by code and cell, (S, C, B)."""
        unit, place, own = self.unit, self.grid.place, self.scores

        def add(rows: slice) -> FloatArray:
            table = np.zeros(self._shape)
            compiled.add_values(
                own[rows], unit.code[rows], values[:, rows], *place, *compiled.chunk(),
                by_side(table),
            )  # fmt: skip
            return table

        return self._merged(add)

    def read_sums(self, sums: FloatArray, result: FloatArray) -> None:
        """Add the entries of each row's code and cell in `sums` (S, C, B) to `result`."""
        unit, grid, own = self.unit, self.grid, self.scores
        with unit.adding_to(result) as out:
            threads.run(
                lambda rows: compiled.read_values(
                    own[rows],
                    unit.code[rows],
                    unit.scale,
                    *grid.place,
                    *compiled.chunk(),
                    by_side(sums),
                    out[:, rows],
                ),
                self._blocks,
            )  # fmt: skip

    def _merged(self, add: Callable[[slice], FloatArray]) -> FloatArray:
        """Return the sum of the tables of blocks of rows, as many as are cheap to merge."""
        n_rows, n_entries = self.unit.n_rows, math.prod(self._shape)
        second, further = ROWS_PER_ENTRY
        n_tables = max(min(2, n_rows // (second * n_entries)), n_rows // (further * n_entries))
        n_tables = max(1, int(min(n_tables, MOST_TABLES, n_rows // ROWS_PER_BLOCK)))
        n_tables = 1 << (n_tables.bit_length() - 1)
        tables = threads.run(add, threads.blocks(n_rows, -(-n_rows // n_tables)))
        for table in tables[1:]:
            tables[0] += table
        return tables[0]


class _BandSum:
    """The sums of the pairs within bands at some scores, by cells or pair by pair."""

    def __init__(
        self,
        bands: Bands,
        terms: TermArrays,
        scores: FloatArray,
        per_h: float,
        weight: FloatArray,
    ) -> None:
        self.bands, self.terms, self.scores, self.weight = bands, terms, scores, weight
        self._grid = (per_h / bands.coarser, bands.cells_per_row) if bands.coarser else ()

    def gradient(self, gradient: FloatArray, is_first: bool) -> Sums:
        """Add the rows' gradients, (n_rows,); return the sums."""

        def add(block: slice) -> tuple[float, float, float, float, float]:
            start, scale = self.bands.part_start, self.bands.scale[block]
            which = (self.scores, self.weight, self.bands.bands[block], start, scale)
            if not self._grid:
                value = cell_parts.gradient_of_parts(*which, *self.terms, gradient)
                return value, 0.0, 0.0, 0.0, 0.0
            return cell_bands.gradient_of_bands(*which, *self._grid, *self.terms, gradient)

        found = np.reshape(threads.run(add, self.bands.blocks), (-1, 5))
        return with_rounding(found.sum(axis=0), self.scores.size / max(len(self.bands.bands), 1))

    def add_partners(self, values: FloatArray, result: FloatArray) -> None:
        """Add 2 c times the sum of the values of each row's partners that are counted in."""
        how = squares_of(self.terms)

        def add(block: slice) -> None:
            start, scale = self.bands.part_start, self.bands.scale[block]
            which = (self.scores, values, self.bands.bands[block], start, scale)
            if self._grid:
                cell_bands.partners_of_bands(*which, *self._grid, *how, result)
            else:
                cell_parts.partners_of_parts(*which, *how, result)

        threads.run(add, self.bands.blocks)


def cell_sum(
    levels: Levels, terms: Terms, exact: Callable[[Levels], PairSum]
) -> CellSum | InLayout:
    """Return the cell sum of a loss over levels, see `CellSum`."""
    if levels.in_order or not has_many_levels(levels):
        return CellSum(levels, terms, exact)
    n_kept = levels.row_of.size
    laid = replace(levels, n_rows=n_kept, row_of=np.arange(n_kept, dtype=np.int32), in_order=True)
    return InLayout(levels, CellSum(laid, terms, exact))
