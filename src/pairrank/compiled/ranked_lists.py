"""Metrics of ranked lists, and gains at their positions, with expected values at ties.

Rows of equal key are in random order, all orders equally likely. A group of n such rows, r of them
relevant, starts after `first` rows.
"""

import numpy as np

from pairrank.compiled._jit import compiled

_NEGLIGIBLE = 1e-18
"""A rest of this share of a sum is left out: far less than the sum's own rounding."""

_TINY = 1e-280
"""A mean below it is treated as 0: its product with _NEGLIGIBLE could underflow."""


@compiled
def _end_of_group(keys, start, high):
    stop = start + 1
    while stop < high and keys[stop] == keys[start]:
        stop += 1
    return stop


@compiled
def average_precisions(keys, relevant, starts, cutoff):
    """Return each query's expected average precision at `cutoff`; NaN without a relevant row.

    `keys` (m,) float64 ascend within each query, best first; `relevant` (m,) bool. The row at place
    j of a group is relevant with probability r/n, and then (j - 1)(r - 1)/(n - 1) of the rows
    before it in the group are relevant on average. O(m).
    """
    result = np.full(len(starts) - 1, np.nan)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        above, total, start = 0.0, 0.0, low
        while start < high:
            stop = _end_of_group(keys, start, high)
            n, r = stop - start, 0.0
            for k in range(start, stop):
                r += relevant[k]
            if r > 0.0:
                step = (r - 1.0) / (n - 1.0) if n > 1 else 0.0
                first, reached = start - low, 0.0
                for j in range(min(n, cutoff - first)):
                    reached += (above + 1.0 + j * step) / (first + j + 1.0)
                total += reached * (r / n)
            above += r
            start = stop
        if above > 0.0:
            result[query] = total / above
    return result


@compiled
def reciprocal_ranks(keys, relevant, starts, cutoff):
    """Return each query's expected reciprocal rank of the first relevant row, 0 after `cutoff`.

    `keys` (m,) float64 ascend within each query, best first; `relevant` (m,) bool. The first
    relevant row of a group is at place 1 with probability r/n, and from place j to j + 1 the
    probability changes by the factor (n - j - r + 1)/(n - j). NaN without a relevant row. O(m).
    """
    result = np.full(len(starts) - 1, np.nan)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        start = low
        while start < high:
            stop = _end_of_group(keys, start, high)
            n, r = stop - start, 0.0
            for k in range(start, stop):
                r += relevant[k]
            if r > 0.0:
                first, chance, reached = start - low, r / n, 0.0
                for j in range(1, min(n, cutoff - first) + 1):
                    reached += chance / (first + j)
                    if j < n:
                        chance *= (n - j - r + 1.0) / (n - j)
                result[query] = reached
                break
            start = stop
    return result


@compiled
def _depth_of_group(mean, n):
    """Return after how many places of a group the rest of `_stop_at_ties` is negligible.

    The probability that no row before place j + 1 satisfies is at most (1 - mean)^j, by
    Maclaurin's inequality; the first place alone contributes `mean`.
    """
    if mean < _TINY:
        return n
    needed = np.log(_NEGLIGIBLE * mean) / np.log1p(-mean)
    return n if needed >= n else int(needed) + 1


@compiled
def _stop_at_ties(satisfied, n, mean, first, depth):
    """Return the expected sum over places j <= depth of P(the user stops at j)/(first + j).

    `satisfied` (r,) are the probabilities R of the rows that can satisfy, of the n rows of a group.
    passes[j] is the probability that the first j places do not satisfy, and stops[j] that place j
    is the first that does. With one more row, which is equally likely at each of s places, both
    are sums of positive terms.
    """
    depth = min(depth, _depth_of_group(mean, n))
    passes, stops = np.zeros(depth + 1), np.zeros(depth + 1)
    s = n - len(satisfied)
    passes[: min(s, depth) + 1] = 1.0
    for chance in satisfied:
        s += 1
        for j in range(min(s, depth), 0, -1):
            here = j / s
            stops[j] = (
                (1.0 - here) * stops[j]
                + (j - 1) / s * (1.0 - chance) * stops[j - 1]
                + chance / s * passes[j - 1]
            )
            passes[j] = (1.0 - here) * passes[j] + here * (1.0 - chance) * passes[j - 1]
    total = 0.0
    for j in range(1, depth + 1):
        total += stops[j] / (first + j)
    return total


@compiled
def cascades(keys, chances, starts, cutoff):
    """Return each query's expected reciprocal rank at which a user stops, 0 after `cutoff`.

    `keys` (m,) float64 ascend within each query, best first; `chances` (m,), in [0, 1), are the
    probabilities that a row satisfies the user, who then stops. NaN where all are 0. O(m), and for
    a group of n tied rows O(r min(n, cutoff, log(1/mean)/mean)), where r rows can satisfy and
    `mean` is the mean of their chances over the n rows.
    """
    result = np.full(len(starts) - 1, np.nan)
    satisfied = np.empty(len(keys))
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        arrives, total, found, start = 1.0, 0.0, False, low
        while start < high:
            stop = _end_of_group(keys, start, high)
            n, r, mean, leaves = stop - start, 0, 0.0, 1.0
            for k in range(start, stop):
                if chances[k] > 0.0:
                    satisfied[r] = chances[k]
                    r += 1
                    mean += chances[k] / n
                    leaves *= 1.0 - chances[k]
            first = start - low
            if r > 0:
                found = True
                if first < cutoff:
                    reached = _stop_at_ties(satisfied[:r], n, mean, first, cutoff - first)
                    total += arrives * reached
            arrives *= leaves
            start = stop
        if found:
            result[query] = total
    return result


@compiled
def _spread_over_ties(keys, gains, low, high):
    """Give the rows of equal key their mean gain, which is the expected value of each."""
    start = low
    while start < high:
        stop, total = start, 0.0
        while stop < high and keys[stop] == keys[start]:
            total += gains[stop]
            stop += 1
        if stop - start > 1:
            for k in range(start, stop):
                gains[k] = total / (stop - start)
        start = stop


@compiled
def discounted_gains(keys, gains, ideal, starts, discount, cutoff, mean):
    """Return each query's NDCG@cutoff, or the mean of NDCG@k over k = 1..l; NaN without a gain.

    `keys` (m,) float64 ascend within each query, best first; their `gains` (m,) are overwritten;
    `ideal` (m,) are the descending gains; `discount` (longest query,). O(m).
    """
    result = np.full(len(starts) - 1, np.nan)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        if high == low or ideal[low] <= 0.0:
            continue
        _spread_over_ties(keys, gains, low, high)
        depth = high - low if mean else min(cutoff, high - low)
        reached, best, total = 0.0, 0.0, 0.0
        for k in range(depth):
            reached += gains[low + k] * discount[k]
            best += ideal[low + k] * discount[k]
            total += reached / best
        result[query] = total / depth if mean else reached / best
    return result


@compiled
def sums_over_positions(keys, gains, starts, factors):
    """Return each query's expected sum over positions i <= len(factors) of gains times factors.

    `keys` (m,) float64 ascend within each query; their `gains` (m,) are overwritten. NaN for a
    query without a gain. O(m).
    """
    result = np.full(len(starts) - 1, np.nan)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        _spread_over_ties(keys, gains, low, high)
        total, every = 0.0, 0.0
        for k in range(high - low):
            every += gains[low + k]
            if k < len(factors):
                total += gains[low + k] * factors[k]
        if every > 0.0:
            result[query] = total
    return result
