"""PairIndex: draws preferences at random, in logarithmic time per pair."""

from __future__ import annotations

from typing import Any, NamedTuple

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
    The index costs O(groups + edges), with weights O(rows), of weighted Pairs O(pairs). A pair
    costs O(log(groups + edges)), with weights O(log(rows)).

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
        self._pairs: _Listed | _Laid
        if isinstance(preferences, Pairs):
            self._pairs = _Listed(preferences)
        else:
            self._pairs = _Laid(preferences)

    def draw(self, n_draws: int, generator: np.random.Generator) -> Drawn:
        """Return the preferred and the other row of each drawn pair, (n_draws,) each."""
        return self._pairs.draw(n_draws, generator)


class _Listed:
    """The entries of Pairs; a weighted one is found among the running sums of the weights."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.ends = None if pairs.weight is None else np.cumsum(pairs.weight)

    def draw(self, n_draws: int, generator: np.random.Generator) -> Drawn:
        if self.ends is None:
            numbers = generator.integers(0, self.pairs.n_pairs, n_draws)
        else:
            numbers = _in_proportion(self.ends, n_draws, generator)
        return self.pairs.i[numbers], self.pairs.j[numbers]


class _Laid:
    """Levels: a block is drawn in proportion, then one row of each of its sides.

    `won` and `lost` have the running sums of the rows' weights, from each segment's start on. A
    block's winners and its losers each are the first rows of a segment, so nothing is subtracted
    and rows of small weight keep their digits.
    """

    def __init__(self, levels: Levels) -> None:
        self.row_of, self.blocks = levels.row_of, _blocks(levels)
        winner, loser = (
            np.ones(levels.row_of.size) if side is None else side for side in levels.sides
        )
        by_group, by_query = levels.group_start, levels.query_start
        self.won = _sums_within(winner, by_group)
        self.lost = _sums_within(loser, by_query if levels.edges is None else by_group)
        blocks = self.blocks
        self.winning = blocks.first_winner + blocks.winner_segment
        self.losing = blocks.first_loser + blocks.loser_segment
        total_won = self.won[self.winning + blocks.n_winners]
        total_lost = self.lost[self.losing + blocks.n_losers]
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[blocks.query]
        self.ends = np.cumsum(scale * total_won * total_lost)

    def draw(self, n_draws: int, generator: np.random.Generator) -> Drawn:
        blocks, block = self.blocks, _in_proportion(self.ends, n_draws, generator)
        winners = (self.winning[block], blocks.n_winners[block])
        losers = (self.losing[block], blocks.n_losers[block])
        winner = blocks.first_winner[block] + _rows_in_proportion(self.won, *winners, generator)
        loser = blocks.first_loser[block] + _rows_in_proportion(self.lost, *losers, generator)
        return self.row_of[winner], self.row_of[loser]


class _Blocks(NamedTuple):
    """Ranges of the layout: each row of one range is preferred to each row of another.

    A block is an edge, or in a full graph a group over all lower groups of its query. Segments are
    what the ranges are the first rows of: groups, and for losers of a full graph queries.
    """

    query: IntArray
    winner_segment: IntArray
    first_winner: IntArray
    n_winners: IntArray
    loser_segment: IntArray
    first_loser: IntArray
    n_losers: IntArray


def _blocks(levels: Levels) -> _Blocks:
    starts, query = levels.group_start, query_of_groups(levels.query_group)
    sizes = np.diff(starts)
    if levels.edges is None:
        group, first = np.arange(sizes.size), levels.query_start[query]
        return _Blocks(query, group, starts[:-1], sizes, query, first, starts[:-1] - first)
    low, high = levels.edges.T
    return _Blocks(query[low], high, starts[high], sizes[high], low, starts[low], sizes[low])


def _sums_within(weight: FloatArray, starts: IntArray) -> FloatArray:
    """Return the running sums of each segment, beginning with 0; (n_rows + n_segments,)."""
    from pairrank.compiled.running_sums import running_sums

    forward, backward = (np.empty(weight.size + starts.size - 1) for _ in range(2))
    running_sums(np.ascontiguousarray(weight), starts[1:], forward, backward)
    return forward


def _in_proportion(
    ends: FloatArray, n_draws: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Draw places in proportion to the steps of running sums; a step of 0 is never drawn."""
    targets = _below(generator.random(n_draws), ends[-1])
    return np.searchsorted(ends, targets, side="right")


def _rows_in_proportion(
    sums: FloatArray, first: IntArray, sizes: IntArray, generator: np.random.Generator
) -> IntArray:
    """Draw a place of each range of `sums`, which are 0 at `first`, by bisection."""
    targets = _below(generator.random(first.size), sums[first + sizes])
    low, high = np.zeros_like(sizes), sizes - 1
    while (low < high).any():
        middle = (low + high) // 2
        is_above = sums[first + middle + 1] > targets
        high = np.where(is_above, middle, high)
        low = np.where(is_above, low, middle + 1)
    return low


def _below(shares: FloatArray, totals: Any) -> FloatArray:
    """Return shares in [0, 1) of totals, below the totals also after rounding."""
    return np.minimum(shares * totals, np.nextafter(totals, 0.0))
