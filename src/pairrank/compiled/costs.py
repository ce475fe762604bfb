"""Costs of misranked pairs and of residuals beyond a tube, by one pass over sorted rows."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def _merge(scores, labels, weight, low, middle, high, spare, split, squared):
    """Merge two runs sorted by score; return the cost of their misranked pairs.

    No label of the lower run is above `split`, none of the upper below it, so that what a pair
    costs, (s_a - s_b) + (y_b - y_a), is a sum of terms that are never negative: the merge goes
    from the top, and S and Q sum (s_a - s_p) + (split - y_a) and its square over the lower rows
    above the upper row b, of which p is the last.
    """
    for k in range(low, high):
        spare[0, k] = scores[k]
        spare[1, k] = labels[k]
        spare[2, k] = weight[k]
    i, j = middle - 1, high - 1
    lowest = spare[0, middle - 1]
    n, s, q, value = 0.0, 0.0, 0.0, 0.0
    for at in range(high - 1, low - 1, -1):
        if j < middle or (i >= low and spare[0, i] > spare[0, j]):
            step = lowest - spare[0, i]
            q += step * (2.0 * s + n * step)
            s += n * step
            own = spare[2, i]
            rest = split - spare[1, i]
            q += own * rest * rest
            s += own * rest
            n += own
            lowest = spare[0, i]
            taken = i
            i -= 1
        else:
            if n > 0.0:
                over = (lowest - spare[0, j]) + (spare[1, j] - split)
                linear = s + n * over
                value += spare[2, j] * (q + over * (s + linear) if squared else linear)
            taken = j
            j -= 1
        scores[at] = spare[0, taken]
        labels[at] = spare[1, taken]
        weight[at] = spare[2, taken]
    return value


@compiled
def misranked_costs(scores, labels, weight, starts, magnitude, squared):
    """Return per query the sum of w_i w_j cost over the ordered pairs that are misranked.

    Parameters
    ----------
    scores, labels, weight : ndarray of shape (m,)
        Rows by query, by label within it, and by score among equal labels; all overwritten.
    starts : ndarray of int64, shape (n_queries + 1,)
        Where each query begins.
    magnitude : bool
        A pair costs the error of its difference of scores, else this difference itself.
    squared : bool
        Its cost is squared.

    Notes
    -----
    O(m log m). Pairs of equal labels or of equal scores are not counted.
    """
    result = np.zeros(len(starts) - 1)
    spare = np.empty((3, len(scores)))
    splits = labels.copy()
    if not magnitude:
        labels[:] = 0.0
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        value, width = 0.0, 1
        while width < high - low:
            for start in range(low, high - width, 2 * width):
                middle = start + width
                value += _merge(
                    scores,
                    labels,
                    weight,
                    start,
                    middle,
                    min(middle + width, high),
                    spare,
                    splits[middle] if magnitude else 0.0,
                    squared,
                )
            width *= 2
        result[query] = 2.0 * value
    return result


@compiled
def tube_costs(values, weight, starts, epsilon, squared):
    """Return per query the sum of w_i w_j max(0, |v_i - v_j| - epsilon)^n over its ordered pairs.

    `values` (m,) float64 ascend within each query; `weight` (m,). One pass, O(m), keeps the weight
    of the rows that cost, up to `last`, and the sums of their distances to `last`: none cancels.
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
