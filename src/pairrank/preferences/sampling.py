"""Approximations of preferences: samples of rows, bands of levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.preferences._codes import count_pairs
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
    return levels.row_of[places], _restricted(levels, places, factor)


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
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


def _restricted(
    levels: Levels, places: NDArray[np.int64], factor: NDArray[np.float64] | None
) -> Levels:
    """Return the preferences among some places of the layout, renumbered in layout order."""
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
    sample = replace(
        levels,
        n_rows=places.size,
        row_of=np.arange(places.size, dtype=np.int32),
        in_order=True,
        group_start=group_start,
        group_level=levels.group_level[present],
        query_group=query_group,
        edges=edges,
        weight=weight,
        roles=None if levels.roles is None else levels.roles.at(places, factor),
        pair_scale=scale if np.ndim(scale) == 0 else np.asarray(scale)[queries],
    )
    return _standing_for(levels, sample)


def _sample_pairs(
    pairs: Pairs, n_rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.int32], Pairs]:
    drawn = np.arange(pairs.n_pairs)
    if n_rows < pairs.n_pairs:
        drawn = np.sort(generator.integers(0, pairs.n_pairs, n_rows))
    rows, places = np.unique(np.append(pairs.i[drawn], pairs.j[drawn]), return_inverse=True)
    i, j = places.astype(np.int32).reshape(2, -1)
    weight = None if pairs.weight is None else pairs.weight[drawn]
    magnitude = None if pairs.magnitude is None else pairs.magnitude[drawn]
    sample = Pairs(i, j, weight, magnitude, n_rows=rows.size)
    sample.pair_scale = pairs.total_weight / sample.pair_weight
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
    """Count the other's pairs, and scale them to the total weight of all pairs."""
    n_pairs, query_pair_weight = count_pairs(
        other.group_start, other.query_group, other.edges, other.weight, other.roles
    )
    left = float(np.sum(other.pair_scale * query_pair_weight))
    scale = other.pair_scale * (levels.total_weight / left) if left > 0 else other.pair_scale
    return replace(other, n_pairs=n_pairs, query_pair_weight=query_pair_weight, pair_scale=scale)
