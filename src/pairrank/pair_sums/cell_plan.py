"""How cell sums divide the rows: units that share a grid, and what is left to exact sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels
from pairrank.preferences._codes import count_pairs, scattered

IntArray = NDArray[np.int64]
Links = tuple[IntArray, IntArray, IntArray, IntArray]
"""Which codes are preferred to which; see `compiled.cells`."""

LEAST_ROWS = 20_000
"""Smaller queries are summed exactly."""
ROWS_PER_BAND = 128
"""Levels of fewer rows are merged into bands; under an order graph they are summed exactly."""
ENTRIES_PER_ROW, SMALL_TABLE = 0.6, 1 << 15
"""A table has at most so many entries per row, or as many as a small table."""
_NO_WEIGHT = np.empty((1, 0))
_NONE = np.empty(0, dtype=np.int64)


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


def _large(levels: Levels) -> IntArray:
    """Return the queries that are summed by cells."""
    rows = np.diff(levels.query_start)
    enough = rows >= LEAST_ROWS
    if levels.edges is not None:
        enough &= rows >= ROWS_PER_BAND * np.diff(levels.query_group)
    return np.flatnonzero(enough & (levels.query_pair_weight > 0.0))


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
    if not large.size:
        return [], levels if levels.n_pairs else None
    units = []
    begins = np.zeros(levels.group_level.size + 1, dtype=bool)
    begins[levels.query_group] = True
    scales = np.broadcast_to(levels.pair_scale, levels.n_queries)
    weight = weight_of_sides(levels)
    for query in large.tolist():
        first, last = levels.query_group[query : query + 2].tolist()
        bands = np.arange(first, last + 1)
        if levels.edges is None:
            bands = _cut(levels, first, last)
        code = np.repeat(np.arange(bands.size - 1, dtype=np.int32), np.diff(bands))
        units.append(_unit(levels, weight, first, last, code, float(scales[query])))
        begins[bands] = True
    return units, _rest(levels, large, np.flatnonzero(begins))


def _cut(levels: Levels, first: int, last: int) -> IntArray:
    """Return the borders, in groups, of bands of about `ROWS_PER_BAND` rows, or of one level."""
    starts = levels.group_start[first : last + 1]
    wanted = np.linspace(starts[0], starts[-1], -((starts[0] - starts[-1]) // ROWS_PER_BAND) + 1)
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
    return Unit(rows, code, weight, int(code_of_group[-1]) + 1, links, scale)


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
    """Return the preferences among small queries, and within the bands of large ones.

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
