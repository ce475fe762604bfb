"""What tube sums are made of: scores less labels, query by query, and comparisons one by one."""

from __future__ import annotations

import numpy as np

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


@compiled
def tube_over_pairs(i, j, weight, magnitude, scores, epsilon, squared, gradient):
    """Add every comparison to the gradient and return the value, O(n_pairs).

    Parameters
    ----------
    i, j : ndarray of int32, shape (n_pairs,)
        Row i is to score `magnitude` above row j.
    weight, magnitude : ndarray of shape (n_pairs,) or (0,)
        Empty where all are 1.
    scores, gradient : ndarray of shape (n_rows,)
    epsilon : float
    squared : bool
    """
    value, value_low = 0.0, 0.0
    for pair in range(len(i)):
        wanted = magnitude[pair] if len(magnitude) else 1.0
        miss = wanted - (scores[i[pair]] - scores[j[pair]])
        over = abs(miss) - epsilon
        if over > 0.0:
            w = weight[pair] if len(weight) else 1.0
            force = w * (2.0 * over if squared else 1.0)
            force = force if miss > 0.0 else -force
            gradient[i[pair]] -= force
            gradient[j[pair]] += force
            cost = w * (over * over if squared else over)
            new = value + cost
            back = new - value
            value_low += (value - (new - back)) + (cost - back)
            value = new
    return value + value_low


@compiled
def tube_costs(values, weight, starts, epsilon, squared):
    """Return, a query, the sum of w_i w_j max(0, |v_i - v_j| - epsilon)^n over its ordered pairs.

    `values` (m,) float64, sorted upwards within each query, with their `weight` (m,). One pass,
    O(m): of the rows so far below that they cost, up to `last`, it carries the weight and the sums
    of what they lie below `last`, of which nothing cancels.
    """
    result = np.zeros(len(starts) - 1)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        n, s, q, value = 0.0, 0.0, 0.0, 0.0
        last = low - 1
        for k in range(low, high):
            while last + 1 < k and (values[k] - values[last + 1]) - epsilon > 0.0:
                last += 1
                if last > low:
                    step = values[last] - values[last - 1]
                    q += step * (2.0 * s + n * step)
                    s += n * step
                n += weight[last]
            if last >= low:
                over = (values[k] - values[last]) - epsilon
                linear = s + n * over
                value += weight[k] * (q + over * (s + linear) if squared else linear)
        result[query] = 2.0 * value
    return result
