"""Cell sums of one unit: moments of its rows by code and cell, and what is read from tables."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import cells as compiled
from pairrank.pair_sums.cell_grid import Grid
from pairrank.pair_sums.cell_plan import Unit
from pairrank.pair_sums.cell_tables import (
    Sums,
    TermArrays,
    by_side,
    partner_sums,
    sweep_moments,
)

ROWS_PER_BLOCK = 1 << 17
"""Threads share blocks of about so many rows."""
MOST_TABLES = 16
"""So many tables of moments exist at a time: blocks of rows that are merged in order."""
ROWS_PER_ENTRY = (4, 16)
"""So many rows per entry of a table make a second table, and each further one, cheap to merge."""


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
