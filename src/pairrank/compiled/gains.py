"""Discounted gains of ranked lists: NDCG at one position and averaged over all."""

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def _spread_over_ties(scores, gains, low, high):
    """Give the rows of equal score their mean gain, which is the expected value of each."""
    start = low
    while start < high:
        stop, total = start, 0.0
        while stop < high and scores[stop] == scores[start]:
            total += gains[stop]
            stop += 1
        if stop - start > 1:
            for k in range(start, stop):
                gains[k] = total / (stop - start)
        start = stop


@compiled
def discounted_gains(scores, gains, ideal, starts, discount, cutoff, mean):
    """Return each query's NDCG@cutoff, or the mean of NDCG@k over k = 1..l; NaN without a gain.

    `scores` (m,) float64 ascend within each query; their `gains` (m,) are overwritten; `ideal` (m,)
    are the ascending gains; `discount` (longest query,). O(m).
    """
    result = np.full(len(starts) - 1, np.nan)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        if high == low or ideal[high - 1] <= 0.0:
            continue
        _spread_over_ties(scores, gains, low, high)
        depth = high - low if mean else min(cutoff, high - low)
        reached, best, total = 0.0, 0.0, 0.0
        for k in range(depth):
            reached += gains[high - 1 - k] * discount[k]
            best += ideal[high - 1 - k] * discount[k]
            total += reached / best
        result[query] = total / depth if mean else reached / best
    return result
