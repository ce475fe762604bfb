"""Cell sums: units of rows that share a grid, their moments, and what is read from tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import cells as compiled
from pairrank.pair_sums.bands import Links, borders_of, by_user, links_of, within_bands
from pairrank.pair_sums.cell_grid import Grid
from pairrank.pair_sums.cell_tables import (
    Sums,
    TermArrays,
    by_side,
    partner_sums,
    sweep_moments,
)
from pairrank.preferences import Levels

LEAST_ROWS = 20_000
"""Smaller queries are summed exactly."""
ROWS_PER_BAND = 128
"""Levels of fewer rows are merged into bands; under an order graph they are summed exactly."""
ENTRIES_PER_ROW, SMALL_TABLE = 0.6, 1 << 15
"""A table has at most so many entries per row, or as many as a small table."""
_NO_WEIGHT = np.empty((1, 0))
ROWS_PER_BLOCK = 1 << 17
"""Threads share blocks of about so many rows."""
MOST_TABLES = 16
"""So many tables of moments exist at a time: blocks of rows that are merged in order."""
ROWS_PER_ENTRY = (4, 16)
"""So many rows per entry of a table make a second table, and each further one, cheap to merge."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Rows, of the user's, with codes that are compared through one grid of cells.

    `code` is (n,), `weight` as `weight_of_sides` returns it. `links` says which codes are preferred
    to which, see `compiled.cells`. `scale` multiplies every pair.
    """

    rows: slice | NDArray[np.int32]
    code: NDArray[np.int32]
    weight: FloatArray
    n_codes: int
    links: Links
    scale: float

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return self.code.size

    @property
    def most_cells(self) -> int:
        """The number of cells beyond which a pass over the table costs more than the rows."""
        most = max(int(ENTRIES_PER_ROW * self.n_rows), SMALL_TABLE)
        return max(most // self.n_codes, 2)

    @contextmanager
    def adding_to(self, result: FloatArray) -> Iterator[FloatArray]:
        """Lend an array of values per row of this unit, to be added to `result`.

        Yields
        ------
        ndarray of shape (..., n) for `result` of shape (..., n_rows)
        """
        if isinstance(self.rows, slice):
            yield result[..., self.rows]
            return
        values = np.zeros((*result.shape[:-1], self.n_rows))
        yield values
        result[..., self.rows] += values


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


def _large(levels: Levels) -> NDArray[np.bool_]:
    """Return which queries are summed by cells."""
    rows = np.diff(levels.query_start)
    enough = rows >= LEAST_ROWS
    if levels.edges is not None:
        enough &= rows >= ROWS_PER_BAND * np.diff(levels.query_group)
    return np.asarray(enough & (levels.query_pair_weight > 0.0))


def weight_of_sides(levels: Levels) -> FloatArray:
    """Return the weights of rows as winners and as losers, (2, n_kept), in the layout's order.

    Without weights by role they have one side, (1, n_kept); (1, 0) where all weigh 1.
    """
    if levels.roles is not None:
        return np.stack(levels.roles)
    return _NO_WEIGHT if levels.weight is None else levels.weight[np.newaxis]


def divide(levels: Levels) -> tuple[list[Unit], Levels | None]:
    """Return the units of the large queries, and the preferences that no unit holds.

    Successive small levels are merged into bands; the pairs within a band are left over.
    """
    large = _large(levels)
    if not large.any():
        return [], levels if levels.n_pairs else None
    borders = borders_of(levels, large, ROWS_PER_BAND)
    weight, scales = weight_of_sides(levels), np.broadcast_to(levels.pair_scale, levels.n_queries)
    units = []
    for query in np.flatnonzero(large).tolist():
        first, last = levels.query_group[query : query + 2]
        bands = borders[slice(*np.searchsorted(borders, (first, last + 1)))]
        start = levels.group_start[bands]
        here, n_codes = slice(start[0], start[-1]), bands.size - 1
        code = np.repeat(np.arange(n_codes, dtype=np.int32), np.diff(start))
        rows, (code, *sides) = by_user(levels.row_of[here], code, *weight[:, here])
        edges = levels.edges
        if edges is not None:
            edges = edges[slice(*np.searchsorted(edges[:, 0], (first, last)))] - first
        links = links_of(edges, n_codes)
        units.append(Unit(rows, code, np.stack(sides), n_codes, links, float(scales[query])))
    rest = within_bands(levels, large, borders)
    return units, rest if rest.n_pairs else None
