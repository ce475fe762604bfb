"""Counting sorts that lay rows out by query and level."""

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def counting_order(keys, n_keys, order):
    """Return the stable order of rows by key, in O(m + n_keys).

    `keys` (m,) int32 is by row; `order` (m,) int32 is the order to start from, or has length 0.
    """
    starts = np.zeros(n_keys + 1, np.int64)
    for row in range(len(keys)):
        starts[keys[row] + 1] += 1
    for key in range(n_keys):
        starts[key + 1] += starts[key]
    result = np.empty(len(keys), np.int32)
    if len(order) == 0:
        for row in range(len(keys)):
            key = keys[row]
            result[starts[key]] = row
            starts[key] += 1
    else:
        for at in range(len(order)):
            row = order[at]
            key = keys[row]
            result[starts[key]] = row
            starts[key] += 1
    return result


@compiled
def gather(values, rows, out):
    """Write the values of rows, out[k] = values[rows[k]]."""
    for k in range(len(rows)):
        out[k] = values[rows[k]]


@compiled
def scatter(values, rows, ranges, factor, out):
    """Write factor * values[k] to out[rows[k]] for k in the ranges (n, 2)."""
    for at in range(len(ranges)):
        for k in range(ranges[at, 0], ranges[at, 1]):
            out[rows[k]] = factor * values[k]
