"""Mean absolute differences of sorted values."""

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def absolute_differences(values, weight, starts):
    """Return, a query, the sum of w_i w_j |v_i - v_j| over all ordered pairs; O(m).

    `values` (m,) float64, sorted upwards within each query, with their `weight` (m,). Every gap
    between neighbours counts once for each pair that it separates, so nothing cancels.
    """
    result = np.zeros(len(starts) - 1)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        total = 0.0
        for k in range(low, high):
            total += weight[k]
        below, result_here = 0.0, 0.0
        for k in range(low, high - 1):
            below += weight[k]
            result_here += (values[k + 1] - values[k]) * below * max(total - below, 0.0)
        result[query] = 2.0 * result_here
    return result
