"""Discounted gains of ranked lists: NDCG, and sums over positions, with expected values at ties."""

import numpy as np

from pairrank.compiled._jit import compiled


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
