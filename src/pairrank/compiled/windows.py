"""Counts of rows of lower groups whose scores lie below a row's score, within a tolerance."""

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def _add(tree, place, value):
    """Add a value at a place of a Fenwick tree, in O(log m)."""
    place += 1
    while place < len(tree):
        tree[place] += value
        place += place & -place


@compiled
def _below(tree, place):
    """Return the sum of the values at places before `place` of a Fenwick tree, in O(log m)."""
    total = tree[0]
    while place > 0:
        total += tree[place]
        place &= place - 1
    return total


@compiled
def tied_windows(x, tolerance):
    """Return low and high: x[low[k]:high[k]] are the values within the tolerance of x[k].

    `x` (m,) is ascending. Two values are within it if their float64 difference is. Costs O(m).
    """
    low, high = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    first = stop = 0
    for k in range(len(x)):
        while x[k] - x[first] > tolerance:
            first += 1
        while stop < len(x) and x[stop] - x[k] <= tolerance:
            stop += 1
        low[k], high[k] = first, stop
    return low, high


@compiled
def sum_below(place, low, high, group_start, weight, asked):
    """Return for each row the weights of rows of lower groups below its window, and below its end.

    Rows lie by group, lowest first; `place` (m,) is a row's place in the order of the scores, low
    and high (m,) are those of `tied_windows`, by place; only rows with `asked` get sums. Returns
    (m, 2) of the type of `weight`; the second column includes the first. Costs O(m log m).
    """
    sums = np.zeros((len(place), 2), weight.dtype)
    tree = np.zeros(len(place) + 1, weight.dtype)
    for group in range(len(group_start) - 1):
        for k in range(group_start[group], group_start[group + 1]):
            if asked[k]:
                sums[k, 0] = _below(tree, low[place[k]])
                sums[k, 1] = _below(tree, high[place[k]])
        for k in range(group_start[group], group_start[group + 1]):
            if weight[k] != 0:
                _add(tree, place[k], weight[k])
    return sums
