"""How cell sums divide the rows: units that share a grid, bands of levels, exact groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels
from pairrank.preferences._codes import count_pairs

IntArray = NDArray[np.int64]

LEAST_ROWS = 20_000
"""Smaller queries are summed exactly."""
FEW_LEVELS = 256
"""Up to so many levels share one grid; more are cut into so many bands."""
MIN_BANDS, ROWS_PER_BAND = 4, 2048
"""A query has at least so many bands, and no more than one for so many rows."""
PARTS_PER_BAND = (64, 20)
"""How many parts a band has in the first tier, and a part of that in the second."""
COARSER = (16, 64)
"""How much wider the cells are in the two tiers."""
EXACT_ROWS = 32
"""Parts of about so few rows are not cut further: their pairs are summed exactly."""
CELLS_PER_ROW = 2
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
    """

    rows: slice | NDArray[np.int32]
    code: NDArray[np.int32]
    weight: FloatArray
    n_codes: int
    ranges: IntArray
    below: dict[int, IntArray]
    above: dict[int, IntArray]
    scale: float

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        rows = self.rows
        return rows.stop - rows.start if isinstance(rows, slice) else rows.size

    @property
    def most_cells(self) -> int:
        """The number of cells beyond which exact sums cost less."""
        return max(CELLS_PER_ROW * self.n_rows // self.n_codes, 2)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """Return a value per row of the user's at this unit's rows."""
        return values[self.rows]

    @contextmanager
    def adding_to(self, result: FloatArray) -> Iterator[FloatArray]:
        """Lend an array of one value per row of this unit, to be added to `result`.

        Yields
        ------
        ndarray of shape (n,)
        """
        if isinstance(self.rows, slice):
            yield result[self.rows]
            return
        values = np.zeros(self.n_rows)
        yield values
        result[self.rows] += values

    @staticmethod
    def linked(values: FloatArray, links: dict[int, IntArray]) -> Iterator[tuple[int, FloatArray]]:
        """Pair each code that has links with the sum of the values linked to it.

        Yields
        ------
        int, ndarray
        """
        for code, others in links.items():
            yield code, values[others].sum(axis=0)


@dataclass(frozen=True, eq=False)
class Tier:
    """Bands of parts of rows, in the layout's order, whose parts are compared within each band.

    Attributes
    ----------
    bands : int64 array of shape (n_bands, 2)
        The first part, and the last + 1.
    part_start : int64 array of shape (n_parts + 1,)
        The first row of each part.
    scale : float64 array of shape (n_bands,)
        A factor on every pair of a band.
    coarser : int
        How much wider the cells are than at the top.
    """

    bands: IntArray
    part_start: IntArray
    scale: FloatArray
    coarser: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The parts of a cell sum: units, tiers, and the preferences that neither holds."""

    units: list[Unit]
    tiers: list[Tier]
    parts: Tier | None
    """What is left of bands: every pair is computed; `part_start` is where groups begin."""
    rest: Levels | None


def _large(levels: Levels) -> IntArray:
    """Return the queries that are summed by cells."""
    enough = np.diff(levels.query_start) >= LEAST_ROWS
    return np.flatnonzero(enough & (levels.query_pair_weight > 0.0))


def has_large_queries(levels: Levels) -> bool:
    """Whether some query is large enough that cells cost less than sorting."""
    return _large(levels).size > 0


def has_many_levels(levels: Levels) -> bool:
    """Whether some query has bands, so that rows must be in the layout's order."""
    if levels.edges is not None:
        return False
    return bool((np.diff(levels.query_group)[_large(levels)] > FEW_LEVELS).any())


def divide(levels: Levels) -> Plan:
    """Divide the rows; those of queries of more than 256 levels must be in the layout's order."""
    large = _large(levels)
    if not large.size:
        return Plan([], [], None, levels if levels.n_pairs else None)
    units = []
    begins = np.zeros(levels.group_level.size + 1, dtype=bool)
    begins[levels.query_group] = True
    cut: list[tuple[float, IntArray]] = []
    scales = np.broadcast_to(levels.pair_scale, levels.n_queries)
    for query in large.tolist():
        first, last = levels.query_group[query : query + 2].tolist()
        scale = float(scales[query])
        n_levels = last - first
        of_level = np.arange(n_levels, dtype=np.int64)
        if levels.edges is not None:
            units.append(_linked_unit(levels, first, last, scale))
        elif n_levels <= FEW_LEVELS:
            units.append(_unit(levels, first, last, of_level, scale))
        else:
            rows = int(levels.group_start[last] - levels.group_start[first])
            n_bands = max(MIN_BANDS, min(FEW_LEVELS, rows // ROWS_PER_BAND))
            bands = _cut(levels, first, last, n_bands)
            band_of = np.repeat(np.arange(bands.size - 1), np.diff(bands))
            units.append(_unit(levels, first, last, band_of, scale))
            cut.append((scale, bands))
        begins[first:last] = True
    tiers = []
    for parts, coarser in zip(PARTS_PER_BAND, COARSER, strict=True):
        tier, cut = _tier(levels, cut, parts, coarser)
        if tier is not None:
            tiers.append(tier)
    last_parts = _parts(levels, cut)
    return Plan(units, tiers, last_parts, _rest(levels, large, np.flatnonzero(begins)))


def _tier(
    levels: Levels, cut: list[tuple[float, IntArray]], n_parts: int, coarser: int
) -> tuple[Tier | None, list[tuple[float, IntArray]]]:
    """Cut each run of groups into parts; return the tier and the borders of its parts."""
    bands, scales, part_start, finer = [], [], [], []
    n_before = 0
    for scale, borders in cut:
        parts = _cut_each(levels, borders, n_parts)
        places = n_before + np.searchsorted(parts, borders)
        bands.append(np.column_stack((places[:-1], places[1:])))
        scales.append(np.full(borders.size - 1, scale))
        finer.append((scale, parts))
        part_start.append(levels.group_start[parts])
        n_before += parts.size
    if not bands:
        return None, finer
    several = np.concatenate(bands)
    kept = several[:, 1] - several[:, 0] > 1
    starts = np.concatenate(part_start)
    return Tier(several[kept], starts, np.concatenate(scales)[kept], coarser), finer


def _cut_each(levels: Levels, borders: IntArray, n_parts: int) -> IntArray:
    """Return the borders, in groups, of at most n parts of each band between `borders`."""
    starts = levels.group_start
    first, rows = starts[borders[:-1]], np.diff(starts[borders])
    counts = np.maximum(np.minimum(n_parts, rows // EXACT_ROWS), 1)
    band = np.repeat(np.arange(counts.size), counts)
    within = np.arange(band.size) - (np.cumsum(counts) - counts)[band]
    wanted = first[band] + within * (rows / counts)[band]
    return np.unique(np.concatenate((np.searchsorted(starts, wanted), borders)))


def _parts(levels: Levels, cut: list[tuple[float, IntArray]]) -> Tier | None:
    """Return the runs of groups that are cut no further, as bands of groups."""
    if not cut:
        return None
    runs = np.concatenate([np.column_stack((at[:-1], at[1:])) for _, at in cut])
    scale = np.concatenate([np.full(at.size - 1, scale) for scale, at in cut])
    kept = runs[:, 1] - runs[:, 0] > 1
    return Tier(runs[kept], levels.group_start, scale[kept], 0)


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
    scale: float,
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
    n_codes = int(code_of_group[-1]) + 1
    return Unit(rows, code, weight, n_codes, np.array([[0, n_codes]]), {}, {}, scale)


def _linked_unit(levels: Levels, first: int, last: int, scale: float) -> Unit:
    """Return a unit of a query under a graph that is not full."""
    unit = _unit(levels, first, last, np.arange(last - first, dtype=np.int64), scale)
    assert levels.edges is not None
    low_bound, high_bound = np.searchsorted(levels.edges[:, 0], [first, last])
    low, high = (levels.edges[low_bound:high_bound] - first).T
    below = {int(code): low[high == code] for code in np.unique(high)}
    above = {int(code): high[low == code] for code in np.unique(low)}
    return replace(unit, ranges=_NO_RANGES, below=below, above=above)


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
