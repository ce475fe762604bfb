"""The pairs within small groups, which sums over all rows of a query have in excess."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled._lane_series import LANES
from pairrank.compiled.tied_groups import tied_sums
from pairrank.pair_sums.profiles import DERIVATIVE, EVEN, Profile, at_zero
from pairrank.pair_sums.sigmoid_pairs import NONE, batches
from pairrank.pair_sums.span_tables import LEAST, short_tables
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

ROWS_A_TILE, LEAST_LANES = 4096, 64
"""A tile has about so many rows, of at least so many groups if there are enough.

Its lanes are an odd number of vectors: with a power of two, rows of one lane would share few lines
of the first-level cache.
"""
LONGER = 8
"""The longest group of a tile has at most 1/8 more rows than the shortest."""
ROWS_A_BATCH = 1 << 15
"""Threads share the tiles in batches of about so many rows."""
_NO_TABLES = np.empty((0, 0, 0))


class TiedGroups:
    """Sums over the pairs of rows of one group, for some groups of at least two rows.

    Row i of a group gets `factor` w_i times the sum of w_j K(s_i - s_j) over the other rows j,
    where K is S for order 1 and phi'' for order 2. The value is the sum of w_i w_j e over the pairs
    (e(d) = phi(d) + d/2).

    eps (n_groups,) by order: a row's sum may be off by so much times the weight of its group, the
    value by half as much times the square of that weight. So a group that is a small part of its
    query needs few terms. Groups for which a series would cost more are summed pair by pair, with
    the rounding of `JobSum`.

    Costs O(rows * terms) or less. Memory is 4 bytes per row, and 8 more with weights; derivatives
    take 16 bytes per row. All are up to 8 times as large where fewer than 8 groups have about the
    same size.
    """

    def __init__(
        self, levels: Levels, kind: int, factor: float, groups: IntArray, eps: dict[int, FloatArray]
    ) -> None:
        self.kind, self.factor = kind, factor
        sizes = np.diff(levels.group_start)[groups]
        order = np.argsort(sizes, kind="stable")
        start, sizes = levels.group_start[groups[order]], sizes[order]
        borders = _borders(sizes)
        longest = sizes[borders[1:] - 1]
        lanes = -(-np.diff(borders) // LANES) * LANES
        ends, lane = np.cumsum(lanes * longest), np.cumsum(lanes)
        self._tiles = np.column_stack((ends - lanes * longest, lane - lanes, lanes, longest))
        self._sizes = np.zeros(lane[-1], dtype=np.int64)
        self._eps = {n: np.minimum.reduceat(each[order], borders[:-1]) for n, each in eps.items()}
        place = np.empty(ends[-1], dtype=np.int64)
        for tile, low, high in zip(self._tiles.tolist(), borders[:-1], borders[1:], strict=True):
            first, lane, n_lanes, longest = tile
            self._sizes[lane : lane + high - low] = sizes[low:high]
            rows = slice(first, first + n_lanes * longest)
            place[rows] = _places(start[low:high], sizes[low:high], n_lanes).reshape(-1)
        self._rows = levels.row_of[place].view(np.uint32)
        self._weight = NONE if levels.weight is None else levels.weight[place]
        self._batches = batches(np.prod(self._tiles[:, 2:], axis=1), ROWS_A_BATCH)

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the value."""
        return self.add(1, scores, gradient, value_of=(EVEN[self.kind],))

    def derivative(self, order: int, scores: FloatArray) -> TiedDerivative:
        """Return the sums of this order; the scores must not change."""
        held = np.empty(self._rows.size), np.empty(self._rows.size)
        self.add(order, scores, NONE, held=held)
        return TiedDerivative(self, order, scores, held)

    def add(
        self,
        order: int,
        scores: FloatArray,
        result: FloatArray,
        *,
        v: FloatArray = NONE,
        held: tuple[FloatArray, FloatArray] = (NONE, NONE),
        value_of: tuple[Profile, ...] = (),
    ) -> float:
        """Do what `pairrank.compiled.tied_groups.tied_sums` does."""
        profiles = (DERIVATIVE[order][self.kind], *value_of)
        tables, lost = short_tables(profiles)
        even = tables[1] if value_of else _NO_TABLES
        zeros = np.array([at_zero(each) for each in (*profiles, *profiles)[:2]])

        def add_batch(batch: slice) -> float:
            return float(
                tied_sums(
                    self.kind, order, self._tiles[batch], self._sizes, self._eps[order][batch],
                    self._rows, self._weight, scores, v, LEAST, lost, tables[0], even, zeros,
                    self.factor, *held, result,
                )
            )  # fmt: skip

        return sum(threads.run(add_batch, self._batches))


class TiedDerivative:
    """The sums of a `TiedGroups` at fixed scores; those without v are known."""

    def __init__(
        self, owner: TiedGroups, order: int, scores: FloatArray, held: tuple[FloatArray, FloatArray]
    ) -> None:
        self._owner, self._order, self._scores, self._held = owner, order, scores, held

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of K (v_i - v_j)."""
        self._owner.add(self._order, self._scores, result, v=v, held=self._held)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of K."""
        self._owner.add(self._order, self._scores, result)


def _borders(sizes: IntArray) -> IntArray:
    """Return where tiles of groups begin and end; the sizes of groups ascend."""
    borders = [0]
    while borders[-1] < sizes.size:
        shortest = int(sizes[borders[-1]])
        last = np.searchsorted(sizes, shortest + shortest // LONGER, side="right")
        n_lanes = LANES * (max(LEAST_LANES, ROWS_A_TILE // shortest) // LANES | 1)
        borders.append(min(borders[-1] + n_lanes, int(last)))
    return np.array(borders)


def _places(start: IntArray, sizes: IntArray, n_lanes: int) -> IntArray:
    """Return the places of a tile's rows in the layout, (longest, n_lanes).

    Groups repeat their first row. Lanes without a group repeat that of the first group.
    """
    place = np.full((sizes[-1], n_lanes), start[0])
    row = np.arange(sizes[-1])[:, np.newaxis]
    place[:, : sizes.size] = start + np.where(row < sizes, row, 0)
    return place
