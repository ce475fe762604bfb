"""Hinge sums over pairs of rows that lie near each other in the layout, offset by offset.

For each offset k, one loop over the rows i of a tile computes all pairs (i, i + k), as in
`pairrank.compiled.sigmoid_offsets`.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.sorted_blocks import excess

_TILE = 512
"""The loop over an offset runs over this many rows, whose arrays fit in the first-level cache."""


@compiled_reassociating
def _add_offset(k, n, low, end, margin, squared, s, x, own, other, cost):
    """Add the pairs (i, i + k), i < n, to `own` at i and to `other` at i + k, and their costs."""
    s_j, x_j, other_j = s[k:], x[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= k) & (k < end[i])
        over = excess(margin, s_j[i], s[i])
        over = over if (over > 0.0) & paired else 0.0
        unit = 1.0 if over > 0.0 else 0.0
        force = over if squared else unit
        own[i] += x_j[i] * force
        other_j[i] += x[i] * force
        cost[i] += x_j[i] * (over * over if squared else over)


@compiled
def add_hinge_offsets(ranges, scale, scores, x, margin, squared, plus, minus, result):
    """Add the pairs of near rows to `result`, and return their value.

    The sums and arguments are those of `pairrank.compiled.sorted_blocks.sums_in_blocks`, but all
    arrays are in layout order. ranges (2, n_rows) int16: row i is paired with the rows from
    i + ranges[0, i] to i + ranges[1, i] - 1, which are preferred to it; there are none where both
    are 0. scale (1,) or (n_rows,): the factor on the value of a row's pairs. Costs O(rows * largest
    range).
    """
    n_rows, most = ranges.shape[1], 0
    for i in range(n_rows):
        most = max(most, np.int64(ranges[1, i]))
    work, bounds = np.zeros((5, _TILE + most)), np.zeros((2, _TILE), np.int64)
    s, x_here, own, other, cost = work[0], work[1], work[2], work[3], work[4]
    x_here[:] = 1.0
    low, end = bounds[0], bounds[1]
    total = 0.0
    for first in range(0, n_rows, _TILE):
        n = min(_TILE, n_rows - first)
        least, reach = most, 0
        for i in range(n):
            low[i], end[i] = ranges[0, first + i], ranges[1, first + i]
            least = min(least, low[i]) if end[i] else least
            reach = max(reach, end[i])
        if reach == 0:
            continue
        n_here = min(n + reach, n_rows - first)
        for i in range(n_here):
            s[i] = scores[first + i]
        if len(x):
            for i in range(n_here):
                x_here[i] = x[first + i]
        for i in range(n_here, len(s)):
            s[i] = 0.0
        for i in range(len(s)):
            own[i] = other[i] = cost[i] = 0.0
        for k in range(least, reach):
            _add_offset(k, n, low, end, margin, squared, s, x_here, own, other, cost)
        value = 0.0
        for i in range(n):
            value += scale[first + i if len(scale) > 1 else 0] * x_here[i] * cost[i]
        total += value
        for i in range(n_here):
            result[first + i] += plus * own[i] + minus * other[i]
    return total
