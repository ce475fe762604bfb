"""Exact sigmoidal sums over pairs of rows near each other in the layout, by their distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled.layout import gather, scatter_add
from pairrank.compiled.sigmoid_offsets import add_offsets
from pairrank.pair_sums.near_pairs import IntArray, Partners, ranges_of
from pairrank.pair_sums.near_tiles import tiles_of
from pairrank.pair_sums.sigmoid_pairs import NONE, StatelessSum
from pairrank.preferences import Levels

ROWS_A_BLOCK = 1 << 14
"""Threads share the rows in blocks of about so many, where no pair crosses the borders."""


class OffsetSum(StatelessSum):
    """The pairs of rows with near ones, in loops over many rows however small groups are.

    `scale` is a factor on all pairs, (1,), or has one per group of `partners`, (n_groups,), that is
    equal for groups with a pair in common.

    Costs O(rows * largest distance), about half of it for queries: `costs.LANE_DISTANCE`. The
    rounding is that of `JobSum`. Memory is 12 bytes per row, 8 more for weights, and 8 more where
    scales differ.
    """

    def __init__(self, levels: Levels, kind: int, partners: Partners, scale: FloatArray) -> None:
        self._kind = kind
        self.tiles = tiles_of(ranges_of(levels, partners, scale))
        place = self.tiles.place
        self._row_of = levels.row_of[place]
        self._weight = NONE if levels.weight is None else levels.weight[place]
        bounds = self.tiles.bounds
        self.blocks = _blocks(bounds)
        farthest = self.tiles.distances[1]
        reach = np.maximum.reduceat(farthest, bounds[:, 0]) if len(bounds) else bounds[:, 0]
        self._bounds = np.column_stack((bounds, reach))

    def add(self, order: int, scores: FloatArray, v: FloatArray, result: FloatArray) -> float:
        """Add the sums of `Derivative`; see `StatelessSum.add`."""

        def add_block(block: slice) -> float:
            bounds = self._bounds[block]
            own_bounds = bounds - [*3 * (bounds[0, 0],), 0, 0]
            here = slice(bounds[0, 0], bounds[-1, 1])
            rows, scale, weight = self._row_of[here], self.tiles.scale, self._weight
            nearest, farthest = self.tiles.distances
            sums = np.zeros(rows.size)
            value = add_offsets(
                self._kind, order, own_bounds, nearest[here], farthest[here],
                scale[here] if scale.size > 1 else scale, _laid(scores, rows),
                weight[here] if weight.size else weight, _laid(v, rows) if v.size else v, sums,
            )  # fmt: skip
            scatter_add(sums, rows, result)
            return float(value)

        return sum(threads.run(add_block, self.blocks))


def _laid(values: FloatArray, rows: NDArray[np.int32]) -> FloatArray:
    laid = np.empty(rows.size)
    gather(values, rows, laid)
    return laid


def _blocks(bounds: IntArray) -> list[slice]:
    """Return blocks of tiles with about `ROWS_A_BLOCK` rows that no pair leaves."""
    closed = np.flatnonzero(bounds[:, 1] == bounds[:, 2])
    if not closed.size:
        return []
    done = bounds[closed, 1]
    at = np.searchsorted(done, np.arange(ROWS_A_BLOCK, done[-1] + ROWS_A_BLOCK, ROWS_A_BLOCK))
    borders = np.unique(closed[np.minimum(at, closed.size - 1)] + 1).tolist()
    return list(map(slice, [0, *borders[:-1]], borders))
