"""How cell sums divide the rows: units that share a grid, and what is left to exact sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.bands import Links, borders_of, by_user, links_of, within_bands
from pairrank.preferences import Levels

LEAST_ROWS = 20_000
"""Smaller queries are summed exactly."""
ROWS_PER_BAND = 128
"""Levels of fewer rows are merged into bands; under an order graph they are summed exactly."""
ENTRIES_PER_ROW, SMALL_TABLE = 0.6, 1 << 15
"""A table has at most so many entries per row, or as many as a small table."""
_NO_WEIGHT = np.empty((1, 0))


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
