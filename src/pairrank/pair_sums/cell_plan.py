"""How cell sums divide the rows: units that share a grid, bands of levels, parts of bands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels
from pairrank.preferences._codes import count_pairs
from pairrank.preferences.ordering import scattered

IntArray = NDArray[np.int64]
Links = tuple[IntArray, IntArray, IntArray, IntArray]
"""Which codes are preferred to which; see `compiled.cells`."""

LEAST_ROWS = 20_000
"""Smaller queries are summed exactly."""
ROWS_PER_LEVEL = 64
"""Queries of fewer rows per level of a graph are summed exactly: no table of cells would fit."""
FEW_LEVELS = 256
"""Up to so many levels share one grid; more are cut into bands."""
MIN_BANDS, MOST_BANDS, ROWS_PER_BAND = 4, 1024, 8000
"""A query has at least and at most so many bands, between them one for so many rows."""
COARSER = 16
"""How much wider the cells are within bands, which have far fewer pairs than there are in all."""
COARSER_OF_FEW, FEW_ROWS = 4, 1 << 17
"""The same below so many rows, where the errors of the rows average out less."""
EXACT_ROWS = 64
"""Bands are cut into parts of about so many rows, whose pairs are summed one by one."""
CELLS_PER_ROW = 1
"""A grid of more entries of its table per row takes more memory than exact sums."""
CELLS_PER_FEW_ROWS, SMALL_TABLE = 8, 1 << 19
"""So many entries per row cost less time than exact sums; a table of so many is small."""
CELLS_PER_ROW_OF_BANDS = 4
ROWS_PER_BLOCK = 1 << 17
"""Threads share blocks of about so many rows."""
_NO_WEIGHT = np.empty((1, 0))
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Unit:
    """Rows, of the user's, with codes that are compared through one grid of cells.

    `code` is (n,), `weight` as `weight_of_sides` returns it. `links` says which codes are preferred
    to which, see `compiled.cells`. `scale` multiplies every pair. `in_order`: codes ascend.
    """

    rows: slice | NDArray[np.int32]
    code: NDArray[np.int32]
    weight: FloatArray
    n_codes: int
    links: Links
    scale: float
    in_order: bool = False

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return self.code.size

    @property
    def most_cells(self) -> int:
        """The number of cells beyond which exact sums take less memory."""
        most = max(CELLS_PER_ROW * self.n_rows, min(CELLS_PER_FEW_ROWS * self.n_rows, SMALL_TABLE))
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


@dataclass(frozen=True, eq=False)
class Bands:
    """Bands of parts of rows, in the layout's order, whose parts are compared within each band.

    `bands` (n, 2) holds the first and last + 1 part of each, `part_start` the first row of each
    part, `scale` (n,) a factor on a band's pairs. Cells are `coarser` times as wide as those of the
    units, and wider where a table would have more than `cells_per_row` entries per row; where
    `coarser` is 0, every pair is computed. `blocks` are the runs of bands that threads share.
    """

    bands: IntArray
    part_start: IntArray
    scale: FloatArray
    coarser: int
    cells_per_row: int
    blocks: list[slice]


@dataclass(frozen=True, eq=False)
class Plan:
    """The parts of a cell sum: units, bands, and the preferences that neither holds.

    The second of the bands are parts of the first: runs of groups, every pair of which is computed.
    """

    units: list[Unit]
    bands: list[Bands]
    rest: Levels | None


def _large(levels: Levels, least_rows: int | None = None) -> IntArray:
    """Return the queries that are summed by cells."""
    rows = np.diff(levels.query_start)
    enough = rows >= (LEAST_ROWS if least_rows is None else least_rows)
    if levels.edges is not None:
        enough &= rows >= ROWS_PER_LEVEL * np.diff(levels.query_group)
    return np.flatnonzero(enough & (levels.query_pair_weight > 0.0))


def weight_of_sides(levels: Levels) -> FloatArray:
    """Return the weights of rows as winners and as losers, (2, n_kept), in the layout's order.

    Without weights by role they have one side, (1, n_kept); (1, 0) where all weigh 1.
    """
    if levels.roles is not None:
        return np.stack(levels.roles)
    return _NO_WEIGHT if levels.weight is None else levels.weight[np.newaxis]


def has_large_queries(levels: Levels, least_rows: int | None = None) -> bool:
    """Whether some query is large enough that cells cost less than sorting."""
    return _large(levels, least_rows).size > 0


def has_many_levels(levels: Levels) -> bool:
    """Whether some query has bands, so that rows must be in the layout's order."""
    if levels.edges is not None:
        return False
    return bool((np.diff(levels.query_group)[_large(levels)] > FEW_LEVELS).any())


def divide(levels: Levels, least_rows: int | None = None) -> Plan:
    """Divide the rows; those of queries of more than 256 levels must be in the layout's order.

    Queries of at least `least_rows` rows are summed by cells.
    """
    large = _large(levels, least_rows)
    if not large.size:
        return Plan([], [], levels if levels.n_pairs else None)
    units = []
    begins = np.zeros(levels.group_level.size + 1, dtype=bool)
    begins[levels.query_group] = True
    cut: list[tuple[float, IntArray]] = []
    scales = np.broadcast_to(levels.pair_scale, levels.n_queries)
    weight = weight_of_sides(levels)
    for query in large.tolist():
        first, last = levels.query_group[query : query + 2].tolist()
        scale = float(scales[query])
        code = np.arange(last - first, dtype=np.int32)
        if levels.edges is None and last - first > FEW_LEVELS:
            rows = int(levels.group_start[last] - levels.group_start[first])
            n_bands = max(MIN_BANDS, min(MOST_BANDS, rows // ROWS_PER_BAND))
            bands = _cut(levels, first, last, n_bands)
            code = np.repeat(np.arange(bands.size - 1, dtype=np.int32), np.diff(bands))
            cut.append((scale, bands))
        units.append(_unit(levels, weight, first, last, code, scale))
        begins[first:last] = True
    rest = _rest(levels, large, np.flatnonzero(begins))
    return Plan(units, _bands(levels, cut) if cut else [], rest)


def _bands(levels: Levels, cut: list[tuple[float, IntArray]]) -> list[Bands]:
    """Return the bands of parts, and the parts that have several groups."""
    bands, parts, scales, of_parts = [], [], [], []
    n_before = 0
    for scale, borders in cut:
        at = _cut_each(levels, borders)
        places = n_before + np.searchsorted(at, borders)
        bands.append(np.column_stack((places[:-1], places[1:])))
        parts.append(at)
        scales.append(np.full(borders.size - 1, scale))
        of_parts.append(np.full(at.size - 1, scale))
        n_before += at.size
    runs = np.concatenate([np.column_stack((at[:-1], at[1:])) for at in parts])
    starts = levels.group_start
    coarser = COARSER_OF_FEW if levels.row_of.size < FEW_ROWS else COARSER
    return [
        _several(np.concatenate(bands), starts[np.concatenate(parts)], scales, coarser),
        _several(runs, starts, of_parts, 0),
    ]


def _several(
    bands: IntArray, part_start: IntArray, scales: list[FloatArray], coarser: int
) -> Bands:
    """Return the bands that have several parts."""
    kept = bands[:, 1] - bands[:, 0] > 1
    bands, scale = bands[kept], np.concatenate(scales)[kept]
    rows = np.cumsum(part_start[bands[:, 1]] - part_start[bands[:, 0]])
    n_blocks = -(-int(rows[-1]) // ROWS_PER_BLOCK) if rows.size else 0
    borders = np.searchsorted(rows, np.arange(1, n_blocks) * ROWS_PER_BLOCK)
    ends = np.unique(np.concatenate(([0], borders, [len(bands)]))).tolist()
    blocks = [slice(*each) for each in pairwise(ends)]
    return Bands(bands, part_start, scale, coarser, CELLS_PER_ROW_OF_BANDS, blocks)


def _cut_each(levels: Levels, borders: IntArray) -> IntArray:
    """Return the borders, in groups, of the parts of each band between `borders`."""
    starts = levels.group_start
    first, rows = starts[borders[:-1]], np.diff(starts[borders])
    counts = np.maximum(rows // EXACT_ROWS, 1)
    band = np.repeat(np.arange(counts.size), counts)
    within = np.arange(band.size) - (np.cumsum(counts) - counts)[band]
    wanted = first[band] + within * (rows / counts)[band]
    return np.unique(np.concatenate((np.searchsorted(starts, wanted), borders)))


def _cut(levels: Levels, first: int, last: int, n_parts: int) -> IntArray:
    """Return the borders, in groups, of at most n parts of about as many rows each."""
    starts = levels.group_start[first : last + 1]
    wanted = np.linspace(starts[0], starts[-1], n_parts + 1)
    return np.unique(first + np.searchsorted(starts, wanted)).astype(np.int64)


def _unit(
    levels: Levels,
    weight: FloatArray,
    first: int,
    last: int,
    code_of_group: NDArray[np.int32],
    scale: float,
) -> Unit:
    """Return a unit over the rows of the groups first to last - 1, in the user's order."""
    borders = levels.group_start[first : last + 1]
    start, stop = int(borders[0]), int(borders[-1])
    row_of = levels.row_of[start:stop]
    code = np.repeat(code_of_group, np.diff(borders))
    weight = weight[:, start:stop]
    low, high = int(row_of.min()), int(row_of.max())
    rows: slice | NDArray[np.int32]
    if high - low + 1 == row_of.size:
        rows, place = slice(low, high + 1), row_of - np.int32(low) if low else row_of
        code = scattered(code, place)
        weight = scattered(weight, place) if weight.size else weight
    else:
        order = np.argsort(row_of, kind="stable")
        rows, code = row_of[order], code[order]
        weight = weight[:, order] if weight.size else weight
    links = _links(levels, first, last)
    return Unit(rows, code, weight, int(code_of_group[-1]) + 1, links, scale, levels.in_order)


def _links(levels: Levels, first: int, last: int) -> Links:
    """Return which of the groups first to last - 1 are preferred to which."""
    if levels.edges is None:
        return links_of(None, last - first)
    borders = np.searchsorted(levels.edges[:, 0], [first, last])
    return links_of(levels.edges[slice(*borders)] - first, last - first)


def links_of(edges: IntArray | None, n_codes: int) -> Links:
    """Return the links of edges (low code, high code), (n, 2); None: every pair of codes."""
    if edges is None:
        return _NONE, _NONE, _NONE, _NONE
    low, high = edges.T
    found = []
    for own, others in ((high, low), (low, high)):
        start = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=n_codes))))
        found += [start, np.ascontiguousarray(others[np.argsort(own, kind="stable")])]
    return found[0], found[1], found[2], found[3]


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
    n_pairs, weight = count_pairs(
        levels.group_start, query_group, edges, levels.weight, levels.roles
    )
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
