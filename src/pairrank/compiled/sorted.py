"""Scores less labels, query by query, which the sum of a tube sorts."""

from __future__ import annotations

from pairrank.compiled._jit import compiled


@compiled
def less_labels(scores, target, row_of, starts, result):
    """Write each row's score less its label, up to a constant a query; O(n_rows).

    The score nearest to zero is taken off its query's scores first: where all share an offset this
    is exact and the labels lose no digits to it, and one huge score costs the others nothing.

    Parameters
    ----------
    scores, target, result : ndarray of shape (n_all,)
        In the user's order; only the rows laid out are read and written.
    row_of : ndarray of int32, shape (n_rows,)
        The user's row at each place.
    starts : ndarray of int64, shape (n_queries + 1,)
        Where each query begins in the layout.
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
