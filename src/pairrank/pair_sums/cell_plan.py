"""How cell sums divide the rows: units that share a grid, bands of levels, exact groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels
from pairrank.preferences._counts import count_pairs

IntArray = NDArray[np.int64]

LEAST_ROWS = 20_000
"""Smaller queries are summed exactly."""
FEW_LEVELS = 256
"""Up to so many levels share one grid."""
MOST_BANDS = 256
"""More levels are cut into so many bands, whose own pairs have wider cells."""
LEVELS_IN_TABLES = 2048
"""Up to so many levels have tables of their own; of more, the rows of a band are laid out."""
COARSER, COARSER_IN_TABLES = 16, 4
"""How much wider the cells are within bands: of laid out rows, and of levels with tables."""
EXACT_ROWS = 128
"""Groups of neighbouring levels of about so many rows are summed exactly."""
_CELLS_PER_ROW = 2
_NO_WEIGHT = np.empty(0)
_NO_RANGES = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Unit:
    """Rows with codes that are compared through one grid of cells.

    Attributes
    ----------
    rows : slice or int32 array
        The user's rows.
    code : int32 array of shape (n,) or (0,)
        Each row's code; empty where there is one.
    weight : float64 array of shape (n,) or (0,)
    n_codes : int
    ranges : int64 array of shape (n_ranges, 2)
        Codes [first, last) of which every higher one is preferred to every lower one.
    below, above : dict of int to int64 array
        The codes that a code is preferred to, or that are preferred to it, under other graphs.
    scale : float
        A factor on every pair.
    coarser : int
        How much wider the cells are than at the top.
    """

    rows: slice | NDArray[np.int32]
    code: NDArray[np.int32]
    weight: FloatArray
    n_codes: int
    ranges: IntArray
    below: dict[int, IntArray]
    above: dict[int, IntArray]
    scale: float
    coarser: int = 1

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        rows = self.rows
        return rows.stop - rows.start if isinstance(rows, slice) else rows.size

    @property
    def most_cells(self) -> int:
        """The number of cells beyond which exact sums cost less."""
        return max(_CELLS_PER_ROW * self.n_rows // self.n_codes, 2)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """Return a value per row of the user's at this unit's rows."""
        return values[self.rows]

    @contextmanager
    def adding_to(self, result: FloatArray) -> Iterator[FloatArray]:
        """Yield an array to add to, one value per row of this unit."""
        if isinstance(self.rows, slice):
            yield result[self.rows]
            return
        values = np.zeros(self.n_rows)
        yield values
        result[self.rows] += values

    @staticmethod
    def linked(values: FloatArray, links: dict[int, IntArray]) -> Iterator[tuple[int, FloatArray]]:
        """Yield each code that has links, and the sum of the values of the codes linked to it."""
        for code, others in links.items():
            yield code, values[others].sum(axis=0)


def divide(levels: Levels) -> tuple[list[Unit], Levels | None]:
    """Return the units of the large queries, and the preferences that no unit holds, if any."""
    large = np.flatnonzero((np.diff(levels.query_start) >= LEAST_ROWS) & _with_pairs(levels))
    if not large.size:
        return [], levels if levels.n_pairs else None
    units: list[Unit] = []
    cuts = [levels.query_group]
    for query in large.tolist():
        first, last = levels.query_group[query : query + 2].tolist()
        made, exact_cuts = _of_query(levels, query, first, last)
        units += made
        cuts.append(exact_cuts)
    return units, _rest(levels, large, np.unique(np.concatenate(cuts)))


def _with_pairs(levels: Levels) -> NDArray[np.bool_]:
    return levels.query_pair_weight > 0.0


def _of_query(levels: Levels, query: int, first: int, last: int) -> tuple[list[Unit], IntArray]:
    """Return the units of one query, and where the groups that are summed exactly begin."""
    scale = float(np.broadcast_to(levels.pair_scale, levels.n_queries)[query])
    n_levels = last - first
    every = np.arange(first, last, dtype=np.int64)
    of_level = np.arange(n_levels, dtype=np.int64)
    if levels.edges is not None:
        return [_linked_unit(levels, first, last, scale)], every
    if n_levels <= FEW_LEVELS:
        return [_unit(levels, first, last, of_level, [(0, n_levels)], scale)], every
    n_rows = int(levels.group_start[last] - levels.group_start[first])
    bands = _cut(levels, first, last, min(MOST_BANDS, max(int(np.sqrt(n_levels)), 8)))
    band_of = np.repeat(np.arange(bands.size - 1), np.diff(bands))
    units = [_unit(levels, first, last, band_of, [(0, bands.size - 1)], scale)]
    inner = [(a - first, b - first) for a, b in pairwise(bands.tolist()) if b - a > 1]
    if n_levels <= LEVELS_IN_TABLES and n_rows >= LEAST_ROWS * n_levels // 64:
        units.append(_unit(levels, first, last, of_level, inner, scale, COARSER_IN_TABLES))
        return units, every
    exact = [every[:1]]
    for a, b in inner:
        low, high = first + a, first + b
        rows = int(levels.group_start[high] - levels.group_start[low])
        parts = _cut(levels, low, high, max(rows // EXACT_ROWS, 1))
        exact.append(parts[:-1])
        if parts.size > 2:
            units.append(_laid_out(levels, parts, scale))
    exact.append(bands[:-1])
    return units, np.unique(np.concatenate(exact))


def _cut(levels: Levels, first: int, last: int, n_parts: int) -> IntArray:
    """Return the borders, in groups, of at most n parts of about as many rows each."""
    starts = levels.group_start[first : last + 1]
    wanted = np.linspace(starts[0], starts[-1], n_parts + 1)
    return np.unique(first + np.searchsorted(starts, wanted)).astype(np.int64)


def _unit(
    levels: Levels,
    first: int,
    last: int,
    code_of_group: IntArray,
    ranges: list[tuple[int, int]],
    scale: float,
    coarser: int = 1,
) -> Unit:
    """Return a unit over the rows of the groups first to last - 1, in the user's order."""
    start, stop = int(levels.group_start[first]), int(levels.group_start[last])
    row_of = levels.row_of[start:stop]
    by_place = np.repeat(
        code_of_group.astype(np.int32), np.diff(levels.group_start[first : last + 1])
    )
    weight = _NO_WEIGHT if levels.weight is None else levels.weight[start:stop]
    rows: slice | NDArray[np.int32]
    low, high = int(row_of.min()), int(row_of.max())
    if high - low + 1 == row_of.size:
        rows = slice(low, high + 1)
        code = np.empty_like(by_place)
        code[row_of - np.int32(low)] = by_place
        if weight.size:
            by_row = np.empty_like(weight)
            by_row[row_of - np.int32(low)] = weight
            weight = by_row
    else:
        order = np.argsort(row_of, kind="stable")
        rows, code = row_of[order], by_place[order]
        weight = weight[order] if weight.size else weight
    compared = np.array(ranges, dtype=np.int64).reshape(-1, 2)
    n_codes = int(code_of_group[-1]) + 1
    return Unit(rows, code, weight, n_codes, compared, {}, {}, scale, coarser)


def _linked_unit(levels: Levels, first: int, last: int, scale: float) -> Unit:
    """Return a unit of a query under a graph that is not full."""
    unit = _unit(levels, first, last, np.arange(last - first, dtype=np.int64), [], scale)
    assert levels.edges is not None
    low_bound, high_bound = np.searchsorted(levels.edges[:, 0], [first, last])
    low, high = (levels.edges[low_bound:high_bound] - first).T
    below = {int(code): low[high == code] for code in np.unique(high)}
    above = {int(code): high[low == code] for code in np.unique(low)}
    return replace(unit, below=below, above=above)


def _laid_out(levels: Levels, parts: IntArray, scale: float) -> Unit:
    """Return a unit over the rows of neighbouring groups, in the layout's order."""
    starts = levels.group_start[parts]
    start, stop = int(starts[0]), int(starts[-1])
    code = np.repeat(np.arange(parts.size - 1, dtype=np.int32), np.diff(starts))
    weight = _NO_WEIGHT if levels.weight is None else levels.weight[start:stop]
    return Unit(
        levels.row_of[start:stop], code, weight, parts.size - 1,
        np.array([[0, parts.size - 1]], dtype=np.int64), {}, {}, scale, COARSER,
    )  # fmt: skip


def _rest(levels: Levels, large: IntArray, query_group: IntArray) -> Levels | None:
    """Return the preferences among small queries, and within the groups summed exactly.

    `query_group` has the first groups of both, and the end.
    """
    parent = np.searchsorted(levels.query_group, query_group[:-1], side="right") - 1
    edges = levels.edges
    if edges is not None:
        query_of = np.searchsorted(levels.query_group, edges[:, 0], side="right") - 1
        edges = edges[~np.isin(query_of, large)]
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[parent]
    n_pairs, weight = count_pairs(levels.group_start, query_group, edges, levels.weight)
    if not n_pairs:
        return None
    return replace(
        levels,
        query_group=query_group,
        edges=edges,
        pair_scale=np.ascontiguousarray(scale, dtype=np.float64),
        n_pairs=n_pairs,
        query_pair_weight=weight,
    )
