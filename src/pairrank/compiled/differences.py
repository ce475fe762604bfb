"""Scores and labels as sums of differences need them: less an offset of their query."""

from __future__ import annotations

from pairrank.compiled._jit import compiled


@compiled
def centre_by_query(values, query_of, weight, query_weight, means, result):
    """Write values less their query's weighted mean to `result`; two passes, O(n_rows).

    Returns the weighted sums of squares of the subtracted means, over rows, and of the result.
    `values` and `result` (n_rows,) may be one array; `weight` is empty if all are 1; `means`
    (n_queries,) is output too.
    """
    means[:] = 0.0
    for row in range(len(values)):
        means[query_of[row]] += values[row] * weight[row] if len(weight) else values[row]
    taken_off = 0.0
    for query in range(len(means)):
        total = query_weight[query]
        means[query] = means[query] / total if total > 0.0 else 0.0
        taken_off += total * means[query] * means[query]
    square = 0.0
    for row in range(len(values)):
        left = values[row] - means[query_of[row]]
        result[row] = left
        square += left * left * weight[row] if len(weight) else left * left
    return taken_off, square


@compiled
def less_labels(scores, target, row_of, starts, result):
    """Write each row's score less its label, up to a constant per query; O(n_rows).

    The score nearest to zero is first subtracted from its query's scores: if all share an offset,
    this is exact and the labels lose no digits, and one huge score costs the others nothing.
    `scores`, `target` and `result` (n_all,) are in the user's order; only the rows of the layout
    (`row_of`, with queries from `starts`) are read and written.
    """
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        origin = scores[row_of[low]]
        for k in range(low + 1, high):
            score = scores[row_of[k]]
            origin = score if abs(score) < abs(origin) else origin
        for k in range(low, high):
            row = row_of[k]
            result[row] = (scores[row] - origin) - target[row]
