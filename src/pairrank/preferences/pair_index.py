"""PairIndex: draws preferences at random, in logarithmic time per pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.preferences._codes import query_of_groups
from pairrank.preferences.levels import Levels
from pairrank.preferences.pairs import Pairs

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Drawn = tuple[NDArray[np.int32], NDArray[np.int32]]


class PairIndex:
    """Draws pairs (winner, loser) of preferences, independently and with replacement.

    A pair's probability is its weight, times the `pair_scale` of its query, divided by the total.
    So a mean over drawn pairs, each counted once, estimates the weighted mean over all pairs.

    Parameters
    ----------
    preferences : Levels or Pairs
        With at least one preference; Pairs must be bound to their rows (see `Pairs.bound`).

    Attributes
    ----------
    n_pairs : int
        The number of preferences of positive weight.
    total_weight : float
        Their total weight, `pair_scale` included.

    Notes
    -----
    The index costs O(rows + edges), of Pairs O(pairs). A pair costs O(log(rows + edges)), of Pairs
    O(log(pairs)).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.preferences import Levels, PairIndex
    >>> index = PairIndex(Levels.build(np.array([0.0, 2.0, 1.0])))
    >>> winners, losers = index.draw(1000, np.random.default_rng(0))
    >>> sorted(set(zip(winners.tolist(), losers.tolist())))
    [(1, 0), (1, 2), (2, 0)]
    """

    def __init__(self, preferences: Levels | Pairs) -> None:
        preferences.require_pairs()
        self.n_pairs = preferences.n_pairs
        self.total_weight = preferences.total_weight
        self._rows_of: Callable[[NDArray[np.intp], np.random.Generator], Drawn]
        if isinstance(preferences, Pairs):
            i, j, weight = preferences.i, preferences.j, preferences.weight
            self._rows_of = lambda entries, _: (i[entries], j[entries])
            self._ends = np.cumsum(np.ones(i.size) if weight is None else weight)
        else:
            self._rows_of, self._ends = _blocks(preferences)

    def draw(self, n_draws: int, generator: np.random.Generator) -> Drawn:
        """Return the preferred and the other row of each drawn pair, (n_draws,) each."""
        targets = _below(generator.random(n_draws), self._ends[-1])
        return self._rows_of(np.searchsorted(self._ends, targets, side="right"), generator)


class _Ranges:
    """Ranges of the layout, from which rows are drawn in proportion to their weights.

    A range is the first rows of a segment, and the running sums of weights begin anew in each
    segment. So nothing is subtracted, and rows of small weight keep their digits.
    """

    def __init__(
        self,
        weight: FloatArray | None,
        starts: IntArray,
        segment: NDArray[np.integer],
        sizes: IntArray,
    ) -> None:
        from pairrank.compiled.running_sums import running_sums

        n_rows = int(starts[-1])
        weight = np.ones(n_rows) if weight is None else np.ascontiguousarray(weight)
        self.sums, backward = (np.empty(n_rows + starts.size - 1) for _ in range(2))
        running_sums(weight, starts[1:], self.sums, backward)
        self.first, self.sizes = starts[segment], sizes
        self.start = self.first + segment
        self.totals = self.sums[self.start + sizes]

    def draw(self, ranges: NDArray[np.intp], generator: np.random.Generator) -> IntArray:
        """Return a place of the layout from each of some ranges, by bisection."""
        targets = _below(generator.random(ranges.size), self.totals[ranges])
        start, high = self.start[ranges], self.sizes[ranges] - 1
        low = np.zeros_like(high)
        while (low < high).any():
            middle = (low + high) // 2
            is_above = self.sums[start + middle + 1] > targets
            high = np.where(is_above, middle, high)
            low = np.where(is_above, low, middle + 1)
        return self.first[ranges] + low


def _blocks(
    levels: Levels,
) -> tuple[Callable[[NDArray[np.intp], np.random.Generator], Drawn], FloatArray]:
    """Return what draws a pair of rows from each of some blocks, and the blocks' running weights.

    Each row of a block's first range is preferred to each row of its second one. A block is an
    edge, or in a full graph a group over all lower groups of its query.
    """
    starts, query = levels.group_start, query_of_groups(levels.query_group)
    sizes, (winner, loser) = np.diff(starts), levels.sides
    if levels.edges is None:
        n_lower = starts[:-1] - levels.query_start[query]
        winners = _Ranges(winner, starts, np.arange(sizes.size), sizes)
        losers = _Ranges(loser, levels.query_start, query, n_lower)
    else:
        low, high = levels.edges.T
        query = query[low]
        winners = _Ranges(winner, starts, high, sizes[high])
        losers = _Ranges(loser, starts, low, sizes[low])
    row_of, scale = levels.row_of, np.broadcast_to(levels.pair_scale, levels.n_queries)[query]

    def rows_of(blocks: NDArray[np.intp], generator: np.random.Generator) -> Drawn:
        first = winners.draw(blocks, generator)
        return row_of[first], row_of[losers.draw(blocks, generator)]

    return rows_of, np.cumsum(scale * winners.totals * losers.totals)


def _below(shares: FloatArray, totals: Any) -> FloatArray:
    """Return shares in [0, 1) of totals, below the totals also after rounding."""
    return np.minimum(shares * totals, np.nextafter(totals, 0.0))
