"""Batches of RankNet: every pair, whole queries or comparisons in turn, or pairs at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.preferences import Levels, PairIndex, Pairs
from pairrank.preferences._codes import count_pairs
from pairrank.preferences.sampling import ranges

IntArray = NDArray[np.int64]


class Batch(NamedTuple):
    """Preferences among some rows, renumbered; their sum times `factor` estimates the whole."""

    rows: NDArray[np.int32] | None
    """The training rows; None: all of them."""
    preferences: Levels | Pairs
    factor: float


def whole(preferences: Levels | Pairs) -> Batch:
    """Return every preference as one batch, with the rows that are kept."""
    if isinstance(preferences, Pairs):
        rows = np.unique(np.append(preferences.i, preferences.j))
        if rows.size == preferences.n_rows:
            return Batch(None, preferences, 1.0)
        return _among_pairs(preferences, np.arange(preferences.n_pairs), 1.0)
    if preferences.row_of.size == preferences.n_rows:
        return Batch(None, preferences, 1.0)
    every = np.arange(preferences.n_queries)
    return _Queries(preferences).batch(every, 1.0)


def shuffled(
    preferences: Levels | Pairs, batch_size: int, generator: np.random.Generator
) -> Iterator[list[Batch] | Iterator[Batch]]:
    """Yield the batches of each epoch: whole queries, of Pairs comparisons, in random order.

    The sums of an epoch's batches, times their factors, add up to as many sums over all pairs as
    there are batches.
    """
    queries = None if isinstance(preferences, Pairs) else _Queries(preferences)
    count = preferences.n_pairs if isinstance(preferences, Pairs) else preferences.n_queries
    parts = max(1, round(count / batch_size))
    while True:
        order = np.array_split(generator.permutation(count), parts)
        if isinstance(preferences, Pairs):
            yield (_among_pairs(preferences, part, float(parts)) for part in order)
        else:
            assert queries is not None
            yield (queries.batch(np.sort(part), float(parts)) for part in order)


def sampled(
    preferences: Levels | Pairs, batch_size: int, n_rows: int, generator: np.random.Generator
) -> Iterator[Iterator[Batch]]:
    """Yield the batches of each epoch: as many random pairs as rows, in parts of `batch_size`.

    Pairs are drawn in proportion to their weight, so that each drawn one counts alike.
    """
    index = PairIndex(preferences)
    n_steps = max(1, round(n_rows / batch_size))
    scale = preferences.total_weight / batch_size
    while True:
        yield (_drawn(index, batch_size, scale, generator) for _ in range(n_steps))


def _drawn(
    index: PairIndex, batch_size: int, scale: float, generator: np.random.Generator
) -> Batch:
    winner, loser = index.draw(batch_size, generator)
    rows, pairs = _renumbered(winner, loser)
    return Batch(rows, pairs, scale)


def _renumbered(
    i: NDArray[np.int32], j: NDArray[np.int32], weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int32], Pairs]:
    rows, places = np.unique(np.append(i, j), return_inverse=True)
    i, j = places.astype(np.int32).reshape(2, -1)
    return rows, Pairs(i, j, weight, n_rows=rows.size)


def _among_pairs(pairs: Pairs, places: NDArray[np.intp], factor: float) -> Batch:
    """Return the batch of some comparisons."""
    weight = None if pairs.weight is None else pairs.weight[places]
    rows, among = _renumbered(pairs.i[places], pairs.j[places], weight)
    among.pair_scale = pairs.pair_scale
    return Batch(rows, among, factor)


class _Queries:
    """Cuts queries out of levels, in time linear in their rows, groups and edges."""

    def __init__(self, levels: Levels) -> None:
        self.levels = levels
        self.edge_start = (
            None if levels.edges is None else levels.edges[:, 0].searchsorted(levels.query_group)
        )

    def batch(self, queries: NDArray[np.intp], factor: float) -> Batch:
        """Return the batch of some queries."""
        levels = self.levels
        first, stop = levels.query_group[queries], levels.query_group[queries + 1]
        groups, query_group = ranges(first, stop), _running(stop - first)
        starts = levels.group_start
        group_start = _running(starts[groups + 1] - starts[groups])
        places = ranges(starts[first], starts[stop])
        edges = None
        if self.edge_start is not None:
            assert levels.edges is not None
            bounds = self.edge_start[queries], self.edge_start[queries + 1]
            moved = np.repeat(query_group[:-1] - first, bounds[1] - bounds[0])
            edges = levels.edges[ranges(*bounds)] + moved[:, None]
        weight = None if levels.weight is None else levels.weight[places]
        roles = None if levels.roles is None else levels.roles.at(places)
        scale = levels.pair_scale
        if np.ndim(scale):
            scale = np.asarray(scale)[queries]
        n_pairs, of_queries = count_pairs(group_start, query_group, edges, weight, roles)
        among = Levels(
            places.size, np.arange(places.size, dtype=np.int32), True, levels.labels, group_start,
            levels.group_level[groups], query_group, edges, weight, scale, n_pairs, of_queries,
            roles,
        )  # fmt: skip
        return Batch(levels.row_of[places], among, factor)


def _running(sizes: IntArray) -> IntArray:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
