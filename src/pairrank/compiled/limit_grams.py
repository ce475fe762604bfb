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
    n_features, n_rows = columns.shape
    part = np.zeros_like(gram)
    by_group = np.zeros((len(start) - 1, n_features, 2))
    _add(columns.reshape(-1)[first:], n_rows, sides, start, np.empty(_STRIP), part, by_group)
    gram += part
    gram += np.tril(part, -1).T
    sums[:, group : group + len(by_group)] += by_group.transpose(2, 0, 1)


@compiled_reassociating
def _add(flat, stride, sides, start, work, gram, sums):
    n_rows, n_features = sides.shape[1], gram.shape[0]
    for begin in range(0, n_rows, _STRIP):
        a, b = sides[0, begin:], sides[1, begin:]
        size = min(_STRIP, n_rows - begin)
        for j in range(n_features):
            x = flat[begin + j * stride :]
            for i in range(size):
                work[i] = (a[i] + b[i]) * x[i]
            for k in range(j + 1):
                y = flat[begin + k * stride :]
                total = 0.0
                for i in range(size):
                    total += work[i] * y[i]
                gram[j, k] += total
    for g in range(len(start) - 1):
        begin = start[g]
        a, b = sides[0, begin:], sides[1, begin:]
        for j in range(n_features):
            x = flat[begin + j * stride :]
            low, high = 0.0, 0.0
            for i in range(start[g + 1] - begin):
                low += a[i] * x[i]
                high += b[i] * x[i]
            sums[g, j, 0], sums[g, j, 1] = low, high
