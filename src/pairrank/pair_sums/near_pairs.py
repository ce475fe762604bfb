"""Which rows near each other in the layout are paired: positions of partners, group by group.

Position arrays have one entry per group of a range of groups. Row i of a group is paired with the
rows at the positions from max(begin, i + 1) to end - 1 of the layout, which are preferred to it.
Groups without pairs have begin = end = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

LARGEST_OFFSETS = (24, 12)
"""The largest offset between paired rows for logistic and for probit. Pairs further apart are
summed by jobs, which lose less where most offsets of a row are no pairs."""


class Partners(NamedTuple):
    """The rows that the rows of some groups are paired with."""

    first: int
    """The first group."""
    begin: IntArray
    end: IntArray


class Ranges(NamedTuple):
    """The partners of each row of a stretch of the layout, by their distance."""

    rows: slice
    """The stretch: the rows of the groups of some `Partners`, and all their partners."""
    distances: NDArray[np.int16]
    """(2, n): the first distance of each row, and the last + 1; both 0 where it has no partner."""
    scale: FloatArray
    """The factor on a row's pairs, (n,), or on all, (1,)."""


def ranges_of(levels: Levels, partners: Partners, scale: FloatArray) -> Ranges:
    """Return the partners by row; `scale` has one factor per group of `partners`, or one; O(rows).

    The factor must be equal for groups with a pair in common.
    """
    first, begin, end = partners
    starts = levels.group_start[first : first + begin.size + 1]
    rows = slice(int(starts[0]), max(int(starts[-1]), int(end.max())))
    sizes = np.diff(starts)
    sizes[-1] += rows.stop - starts[-1]
    """Rows after these groups, which may be partners, count to the last one, but have none."""
    place = np.arange(rows.start, rows.stop)
    paired = np.repeat(begin < end, sizes) & (place < starts[-1])
    distances = np.zeros((2, place.size), dtype=np.int16)
    distances[0, paired] = np.maximum(np.repeat(begin, sizes) - place, 1)[paired]
    distances[1, paired] = (np.repeat(end, sizes) - place)[paired]
    return Ranges(rows, distances, np.repeat(scale, sizes) if scale.size > 1 else scale)


def scale_by_group(levels: Levels, partners: Partners) -> FloatArray:
    """Return the scale of the pairs of each group, or of all, (n_groups,) or (1,)."""
    scale = np.atleast_1d(np.asarray(levels.pair_scale, dtype=np.float64))
    if scale.size == 1:
        return scale
    of_groups = np.repeat(scale, np.diff(levels.query_group))
    return of_groups[partners.first : partners.first + partners.begin.size]


def partners_in_queries(levels: Levels, queries: IntArray) -> Partners:
    """Return the partners of all rows under the full graph, in the chosen queries only."""
    n_groups = np.diff(levels.query_group)
    chosen = np.zeros(levels.n_queries, dtype=bool)
    chosen[queries] = True
    last = np.repeat(levels.group_start[levels.query_group[1:]], n_groups)
    begin = levels.group_start[1:]
    member = np.repeat(chosen, n_groups) & (begin < last)
    return Partners(0, np.where(member, begin, 0), np.where(member, last, 0))


def partners_in_groups(levels: Levels, groups: IntArray) -> Partners:
    """Return the partners of all rows within the chosen groups, which ascend."""
    first = int(groups[0])
    begin, end = np.zeros((2, int(groups[-1]) + 1 - first), dtype=np.int64)
    begin[groups - first] = levels.group_start[groups]
    end[groups - first] = levels.group_start[groups + 1]
    return Partners(first, begin, end)


def partners_by_edges(
    levels: Levels, edges: IntArray, largest: int
) -> tuple[Partners, NDArray[np.bool_]]:
    """Return the partners by those edges (low, high group) that join near rows, and their mask.

    The edges of a low group are taken if they lead to successive later groups, with offsets between
    rows of at most `largest`.
    """
    if not len(edges):
        return Partners(0, *np.zeros((2, 0), dtype=np.int64)), np.zeros(0, dtype=bool)
    low, high = edges.T
    first = int(low.min())
    n_groups = int(low.max()) + 1 - first
    nearest, farthest = np.full(n_groups, levels.group_level.size), np.full(n_groups, -1)
    np.minimum.at(nearest, low - first, high)
    np.maximum.at(farthest, low - first, high)
    count = np.bincount(low - first, minlength=n_groups)
    here = np.arange(first, first + n_groups)
    near = (count > 0) & (nearest > here) & (farthest - nearest + 1 == count)
    end = levels.group_start[farthest + 1]
    near &= end - levels.group_start[here] <= largest + 1
    begin = levels.group_start[np.minimum(nearest, levels.group_level.size)]
    return Partners(first, np.where(near, begin, 0), np.where(near, end, 0)), near[low - first]
