"""Values centred by query, for sums of squared differences."""

from __future__ import annotations

from pairrank.compiled._jit import compiled


@compiled
def centre_by_query(values, query_of, weight, query_weight, means, result):
    """Write values less their query's weighted mean to `result`; two passes, O(n_rows).

    Returns the weighted sums of squares of the means, one a row, and of what is left.

    Parameters
    ----------
    values, result : ndarray of shape (n_rows,)
        They may be one array.
    query_of : ndarray of int32, shape (n_rows,)
    weight : ndarray of shape (n_rows,) or (0,)
        Empty where all are 1.
    query_weight, means : ndarray of shape (n_queries,)
        The means are written.
    """
    means[:] = 0.0
    if len(weight):
        for row in range(len(values)):
            means[query_of[row]] += weight[row] * values[row]
    else:
        for row in range(len(values)):
            means[query_of[row]] += values[row]
    taken_off = 0.0
    for query in range(len(means)):
        total = query_weight[query]
        means[query] = means[query] / total if total > 0.0 else 0.0
        taken_off += total * means[query] * means[query]
    square = 0.0
    if len(weight):
        for row in range(len(values)):
            left = values[row] - means[query_of[row]]
            result[row] = left
            square += weight[row] * left * left
    else:
        for row in range(len(values)):
            left = values[row] - means[query_of[row]]
            result[row] = left
            square += left * left
    return taken_off, square
