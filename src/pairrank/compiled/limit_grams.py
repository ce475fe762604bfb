"""Weighted sums of products of a few features, and of rows by group."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled_reassociating

_STRIP = 512
"""The products of this many rows stay in the first-level cache."""


def add_grams(columns, first, sides, start, group, gram, sums):
    """Add X' diag(a + b) X to `gram`, and the sums over groups of rows times a and b to `sums`.

    `columns` (n_features, m) is X' in C order; the n rows begin at its column `first`. `sides`
    (2, n) are a and b, `start` (n_groups + 1,) where the rows of each group begin, the first of
    which is `group` in `sums` (2, .., n_features). O(n n_features^2).
    """
    part = np.zeros_like(gram)
    _add(columns, first, np.ascontiguousarray(sides), start, group, np.empty(_STRIP), part, sums)
    gram += part
    gram += np.tril(part, -1).T


@compiled_reassociating
def _add(columns, first, sides, start, group, work, gram, sums):
    n_features, n_rows = columns.shape[0], sides.shape[1]
    for begin in range(0, n_rows, _STRIP):
        stop = min(begin + _STRIP, n_rows)
        a, b = sides[0, begin:stop], sides[1, begin:stop]
        for j in range(n_features):
            x = columns[j, first + begin : first + stop]
            for i in range(len(x)):
                work[i] = (a[i] + b[i]) * x[i]
            for k in range(j + 1):
                y = columns[k, first + begin : first + stop]
                total = 0.0
                for i in range(len(y)):
                    total += work[i] * y[i]
                gram[j, k] += total
    for g in range(len(start) - 1):
        a, b = sides[0, start[g] : start[g + 1]], sides[1, start[g] : start[g + 1]]
        for j in range(n_features):
            x = columns[j, first + start[g] : first + start[g + 1]]
            low, high = 0.0, 0.0
            for i in range(len(x)):
                low += a[i] * x[i]
                high += b[i] * x[i]
            sums[0, group + g, j] += low
            sums[1, group + g, j] += high
