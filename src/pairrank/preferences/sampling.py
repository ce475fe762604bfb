"""Samples of rows, bands of levels, and pairs that are drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences._codes import query_of_groups
from pairrank.preferences.levels import Levels
from pairrank.preferences.pairs import Pairs

_FEW_QUERIES = 30
"""A sample of fewer queries than this is drawn within the queries instead."""


def draw_sample(
    preferences: Levels | Pairs, n_rows: int, generator: np.random.Generator
) -> tuple[NDArray[Any], Levels | Pairs]:
    """Draw about `n_rows` rows; return them and the preferences among them.

    The sample's pair scale is raised so that its pair sum estimates the sum over all pairs. Of
    `Levels`, whole queries are drawn where the sample would hold many queries. Otherwise rows are
    drawn within each query and level, one from each stretch of the layout; a larger share of rare
    levels is drawn, and their rows weigh less. Of `Pairs`, comparisons are drawn with their rows.
    Costs O(sample + groups).
    """
    if isinstance(preferences, Pairs):
        return _sample_pairs(preferences, n_rows, generator)
    levels = preferences
    n_kept, factor = levels.row_of.size, None
    if n_rows >= n_kept / 2:
        places = np.arange(n_kept)
    elif levels.n_queries * n_rows / n_kept >= _FEW_QUERIES:
        places = _whole_queries(levels, n_rows, generator)
    else:
        places, factor = _rows_by_group(levels, n_rows, generator)
    return levels.row_of[places], _standing_for(levels, restricted(levels, places, factor))


def _whole_queries(
    levels: Levels, n_rows: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    start = levels.query_start
    order = generator.permutation(levels.n_queries)
    enough = int(np.searchsorted(np.cumsum(np.diff(start)[order]), n_rows)) + 1
    drawn = np.sort(order[:enough])
    return ranges(start[drawn], start[drawn + 1])


def _rows_by_group(
    levels: Levels, n_rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    sizes = np.diff(levels.group_start)
    n_kept = levels.row_of.size
    if sizes.size > n_rows / 8:
        return _one_a_stretch(np.zeros(1), np.array([n_kept]), np.array([n_rows]), generator), None
    even = n_rows * sizes / n_kept
    least = np.minimum(sizes, n_rows / (4 * sizes.size))
    drawn = np.minimum(np.ceil(np.maximum(even, least)), sizes).astype(np.int64)
    places = _one_a_stretch(levels.group_start[:-1], sizes, drawn, generator)
    if (drawn <= 1.1 * even + 1).all():
        return places, None
    kept = np.diff(np.searchsorted(places, levels.group_start))
    return places, np.repeat(sizes / np.maximum(kept, 1), kept)


def _one_a_stretch(
    starts: NDArray[Any],
    sizes: NDArray[np.int64],
    drawn: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw one place from each of `drawn` equal stretches of every range; ascending, distinct."""
    counter = ranges(np.zeros_like(drawn), drawn)
    width = np.repeat(sizes / drawn, drawn)
    offset = np.floor((counter + generator.random(counter.size)) * width)
    last = np.repeat(sizes - 1, drawn)
    places = np.repeat(starts, drawn).astype(np.int64) + np.minimum(offset, last).astype(np.int64)
    return np.unique(places) if (np.diff(places) <= 0).any() else places


def ranges(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate arange(start, stop) over the ranges."""
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def restricted(
    levels: Levels, places: NDArray[Any], factor: NDArray[np.float64] | None = None
) -> Levels:
    """Return the preferences among ascending places of the layout, renumbered in layout order."""
    bounds = np.searchsorted(places, levels.group_start)
    present = np.flatnonzero(np.diff(bounds))
    query_group = np.searchsorted(present, levels.query_group)
    queries = np.flatnonzero(np.diff(query_group))
    query_group = np.append(query_group[queries], present.size)
    group_start = np.append(bounds[present], places.size)
    edges = levels.edges
    if edges is not None:
        number = np.full(levels.group_level.size, -1, dtype=np.int64)
        number[present] = np.arange(present.size)
        edges = number[edges]
        edges = edges[(edges >= 0).all(axis=1)]
    weight, scale = None if levels.weight is None else levels.weight[places], levels.pair_scale
    if factor is not None:
        weight = factor if weight is None else weight * factor
    return replace(
        levels,
        n_rows=places.size,
        row_of=np.arange(places.size, dtype=np.int32),
        group_start=group_start,
        group_level=levels.group_level[present],
        query_group=query_group,
        edges=edges,
        weight=weight,
        roles=None if levels.roles is None else levels.roles.at(places, factor),
        pair_scale=scale if np.ndim(scale) == 0 else np.asarray(scale)[queries],
    )


def _sample_pairs(
    pairs: Pairs, n_rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.int32], Pairs]:
    drawn = np.arange(pairs.n_pairs)
    if n_rows < pairs.n_pairs:
        drawn = np.sort(generator.integers(0, pairs.n_pairs, n_rows))
    rows, sample = renumbered(pairs, drawn)
    sample.pair_scale = pairs.total_weight / sample.pair_weight
    return rows, sample


def renumbered(pairs: Pairs, drawn: NDArray[Any]) -> tuple[NDArray[np.int32], Pairs]:
    """Return the rows of some comparisons, and these comparisons among them."""
    sample = pairs.select(drawn)
    rows, places = np.unique(np.append(sample.i, sample.j), return_inverse=True)
    sample.i, sample.j = places.astype(np.int32).reshape(2, -1)
    sample.n_rows = rows.size
    return rows, sample


def merge_levels(levels: Levels, n_bands: int) -> Levels:
    """Merge neighbouring levels into bands of about equal size; O(groups + levels).

    The full graph over the bands approximates the one over the levels: its pairs are scaled up.
    """
    sizes = np.bincount(levels.group_level, np.diff(levels.group_start), levels.labels.size)
    middle = np.cumsum(sizes) - sizes / 2
    band = (middle * (n_bands / max(1, levels.row_of.size))).astype(np.int32)[levels.group_level]
    starts_query = np.zeros(band.size, dtype=bool)
    starts_query[levels.query_group[:-1]] = True
    first = np.flatnonzero(starts_query | (np.diff(band, prepend=-1) != 0))
    merged = replace(
        levels,
        group_start=np.append(levels.group_start[first], levels.row_of.size),
        group_level=band[first],
        query_group=np.searchsorted(first, levels.query_group),
    )
    return _standing_for(levels, merged)


def _standing_for(levels: Levels, other: Levels) -> Levels:
    """Scale the other's pairs to the total weight of all pairs."""
    left = other.total_weight
    scale = other.pair_scale * (levels.total_weight / left) if left > 0 else other.pair_scale
    return replace(other, pair_scale=scale)


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
        from pairrank.compiled.layout import running_sums

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
