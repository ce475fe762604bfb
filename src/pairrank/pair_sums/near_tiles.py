"""Tiles of rows that are paired with near ones: stretches of the layout, one by one or in lanes.

A stretch is a run of rows of the layout that no pair leaves, such as a query. Many short stretches
share a tile: row p of its stretch number l is at place p * stride + l, where the stride is the
number of stretches. Rows at distance d within their stretches are then d * stride places apart.
A stretch that would fill a tile has tiles for itself and keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.near_pairs import IntArray, Ranges

ROWS_A_TILE = 1024
"""The largest number of rows of a tile: its arrays fit in the second-level cache."""


class Tiles(NamedTuple):
    """The rows that are paired, in the order of their tiles."""

    bounds: IntArray
    """(n_tiles, 4), as `pairrank.compiled.sigmoid_offsets.add_offsets` describes them."""
    place: NDArray[np.int32]
    """The rows' places in the layout, (n,). Shorter stretches of a tile repeat their first row."""
    distances: NDArray[np.int16]
    """(2, n): the first distance of each row, and the last + 1; both 0 where it has no partner."""
    scale: FloatArray
    """The factor on a row's pairs, (n,), or on all, (1,)."""


def tiles_of(ranges: Ranges) -> Tiles:
    """Return the paired rows of a range of the layout; costs O(rows + stretches log stretches)."""
    reached = np.arange(ranges.distances.shape[1]) + ranges.distances[1]
    start, size = _stretches(reached)
    by_size = np.argsort(size, kind="stable")
    start, size = start[by_size], size[by_size]
    bounds, places = [np.empty((0, 4), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    is_row, first = [np.empty(0, dtype=bool)], 0
    for begin, end in _runs(size):
        row = np.arange(size[end - 1])[:, np.newaxis]
        exists = row < size[begin:end]
        place = (start[begin:end] + np.where(exists, row, 0)).ravel()
        last = first + place.size
        if end - begin == 1:
            bounds.append(_cut(reached[place] - place[0], first))
        else:
            bounds.append(np.array([(first, last, last, end - begin)]))
        places.append(place)
        is_row.append(exists.ravel())
        first = last
    place = np.concatenate(places)
    distances, scale = ranges.distances[:, place] * np.concatenate(is_row), ranges.scale
    own_scale = scale[place] if scale.size > 1 else scale
    laid = (ranges.rows.start + place).astype(np.int32)
    return Tiles(np.concatenate(bounds), laid, distances, own_scale)


def _stretches(reached: IntArray) -> tuple[IntArray, IntArray]:
    """Return where stretches begin, and their sizes; row i has pairs with rows below reached[i]."""
    crossed = np.maximum.accumulate(reached)
    end = np.flatnonzero(crossed <= np.arange(1, crossed.size + 1)) + 1
    size = np.diff(end, prepend=0)
    return (end - size)[size > 1], size[size > 1]


def _runs(size: IntArray) -> Iterator[tuple[int, int]]:
    """Return the runs of stretches that share a tile; their sizes ascend."""
    begin = 0
    while begin < size.size:
        sizes = size[begin : begin + ROWS_A_TILE // int(size[begin])]
        fits = np.arange(1, sizes.size + 1) * sizes <= ROWS_A_TILE
        end = begin + max(1, int(np.count_nonzero(fits)))
        yield begin, end
        begin = end


def _cut(reached: IntArray, first: int) -> IntArray:
    """Return the tiles of one stretch, whose first row is at place `first` of the tiles."""
    begin = np.arange(0, reached.size, ROWS_A_TILE)
    last = np.minimum(begin + ROWS_A_TILE, reached.size)
    stop = np.maximum(np.maximum.reduceat(reached, begin), last)
    return np.column_stack((first + begin, first + last, first + stop, np.ones_like(begin)))
