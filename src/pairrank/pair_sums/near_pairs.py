"""Which rows near each other in the layout are paired: positions of partners, group by group.

Position arrays have one entry per group of a range of groups. Row i of a group is paired with the
rows at the positions from max(begin, i + 1) to end - 1 of the layout, which are preferred to it.
Groups without pairs have begin = end = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
