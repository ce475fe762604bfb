"""Counts of preferences that scores order rightly, leave tied or order wrongly, by query.

Legend: rows lie by query, then by group (level), lowest first, as `Levels` lays them out. Every
function returns one line per query: 0 concordant (higher level, higher score), 1 tied, 2
discordant. Counts are int64 and exact without row weights; with weights they are float64 sums of
products.
"""

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sorting import sorted_segments


def count_concordant(scores, weight, group_start, query_group, edges=None):
    """Return the counts of each query, or their weights with row weights.

    Costs O(m log m), and O(rows of both ends) per edge.

    Parameters
    ----------
    scores : ndarray of shape (m,)
        Finite scores, in layout order.
    weight : ndarray of shape (m,), or None
        Row weights, in layout order.
    group_start, query_group, edges : ndarray
        As in `Levels`. Without edges, column 3 holds the pairs of rows, of any level, whose scores
        differ (what tau-b divides by).
    """
    x, places = sorted_segments(scores, group_start)
    if weight is None:
        if edges is None:
            return _count_full(x, group_start, query_group)
        return _count_edges(x, group_start, query_group, edges)
    weight = weight[places]
    if edges is None:
        return _weigh_full(x, weight, group_start, query_group)
    return _weigh_edges(x, weight, group_start, query_group, edges)


@compiled
def _copy(source, low, high, target):
    """Copy source[low:high] to the same places of target (a slice takes numba long to compile)."""
    for k in range(low, high):
        target[k] = source[k]


@compiled
def _equal_pairs(x, low, high):
    """Count the pairs of equal values in the sorted x[low:high]."""
    count, run = 0, 0
    for k in range(low + 1, high):
        run = run + 1 if x[k] == x[k - 1] else 0
        count += run
    return count


@compiled
def _merge_counting(source, low, middle, high, target):
    """Merge two sorted runs and count the pairs whose left value is greater than the right."""
    i, j, at = low, middle, low
    count = 0
    while i < middle and j < high:
        a, b = source[i], source[j]
        right = b < a
        target[at] = b if right else a
        count += (middle - i) * right
        j += right
        i += 1 - right
        at += 1
    while i < middle:
        target[at] = source[i]
        i += 1
        at += 1
    while j < high:
        target[at] = source[j]
        j += 1
        at += 1
    return count


@compiled
def _count_full(x, group_start, query_group):
    """Count the pairs of different groups of each query, by merging groups.

    `x` (m,) float64 holds the scores, sorted within each group, and is overwritten.
    """
    buffer = np.empty_like(x)
    n_queries = len(query_group) - 1
    counts = np.zeros((n_queries, 4), np.int64)
    runs = np.empty(len(group_start), np.int64)
    for query in range(n_queries):
        first = query_group[query]
        n_runs = query_group[query + 1] - first
        pairs, inside = 0, 0
        for k in range(n_runs + 1):
            runs[k] = group_start[first + k]
        low, high = runs[0], runs[n_runs]
        for k in range(n_runs):
            pairs += (runs[k + 1] - runs[k]) * (runs[k] - low)
            inside += _equal_pairs(x, runs[k], runs[k + 1])
        source, target = x, buffer
        discordant = 0
        while n_runs > 1:
            for k in range(0, n_runs - 1, 2):
                discordant += _merge_counting(source, runs[k], runs[k + 1], runs[k + 2], target)
                runs[k // 2] = runs[k]
            if n_runs % 2:
                _copy(source, runs[n_runs - 1], high, target)
                runs[n_runs // 2] = runs[n_runs - 1]
            n_runs = (n_runs + 1) // 2
            runs[n_runs] = high
            source, target = target, source
        equal = _equal_pairs(source, low, high)
        counts[query, 0] = pairs - discordant - (equal - inside)
        counts[query, 1] = equal - inside
        counts[query, 2] = discordant
        counts[query, 3] = (high - low) * (high - low - 1) // 2 - equal
    return counts


@compiled
def _count_edges(x, group_start, query_group, edges):
    """Count the pairs of the groups that `edges` (n_edges, 2) join: low group, high group.

    `x` (m,) float64 holds the scores, sorted within each group; edges are sorted by low group.
    """
    counts = np.zeros((len(query_group) - 1, 3), np.int64)
    query = 0
    for edge in range(len(edges)):
        lower, higher = edges[edge, 0], edges[edge, 1]
        while query_group[query + 1] <= lower:
            query += 1
        low, high = group_start[lower], group_start[lower + 1]
        below, reached = low, low
        for k in range(group_start[higher], group_start[higher + 1]):
            while below < high and x[below] < x[k]:
                below += 1
            reached = max(reached, below)
            while reached < high and x[reached] == x[k]:
                reached += 1
            counts[query, 0] += below - low
            counts[query, 1] += reached - below
            counts[query, 2] += high - reached
    return counts


@compiled
def _merge_weighing(source, weight, low, middle, high, target, weight_target, sums):
    """Merge two sorted runs with their weights and add their pairs to `sums`.

    before: weight of the left rows below the last left value taken; equal: of those equal to it.
    """
    i, j = low, middle
    before, equal, taken_right = 0.0, 0.0, 0.0
    last = np.nan
    for at in range(low, high):
        if j >= high or (i < middle and source[i] <= source[j]):
            value, own = source[i], weight[i]
            if value == last:
                equal += own
            else:
                before += equal
                equal = own
                last = value
            sums[2] += own * taken_right
            i += 1
        else:
            value, own = source[j], weight[j]
            if value == last:
                sums[0] += own * before
                sums[1] += own * equal
            else:
                sums[0] += own * (before + equal)
            taken_right += own
            j += 1
        target[at] = value
        weight_target[at] = own


@compiled
def _weight_of_differing(x, weight, low, high):
    """Sum the weight of the pairs of different values in the sorted x[low:high]."""
    total, before, run = 0.0, 0.0, 0.0
    for k in range(low, high):
        if k > low and x[k] != x[k - 1]:
            before += run
            run = 0.0
        run += weight[k]
        total += weight[k] * before
    return total


@compiled
def _weigh_full(x, weight, group_start, query_group):
    """Sum pair weights as `_count_full` counts pairs; `x` and `weight` (m,) are overwritten."""
    buffer, weight_buffer = np.empty_like(x), np.empty_like(x)
    n_queries = len(query_group) - 1
    sums = np.zeros((n_queries, 4))
    runs = np.empty(len(group_start), np.int64)
    for query in range(n_queries):
        first = query_group[query]
        n_runs = query_group[query + 1] - first
        for k in range(n_runs + 1):
            runs[k] = group_start[first + k]
        low, high = runs[0], runs[n_runs]
        source, target, mates, mates_target = x, buffer, weight, weight_buffer
        while n_runs > 1:
            for k in range(0, n_runs - 1, 2):
                start, middle, stop = runs[k], runs[k + 1], runs[k + 2]
                _merge_weighing(
                    source, mates, start, middle, stop, target, mates_target, sums[query]
                )
                runs[k // 2] = start
            if n_runs % 2:
                start = runs[n_runs - 1]
                _copy(source, start, high, target)
                _copy(mates, start, high, mates_target)
                runs[n_runs // 2] = start
            n_runs = (n_runs + 1) // 2
            runs[n_runs] = high
            source, target = target, source
            mates, mates_target = mates_target, mates
        sums[query, 3] = _weight_of_differing(source, mates, low, high)
    return sums


@compiled
def _weigh_edges(x, weight, group_start, query_group, edges):
    """Sum pair weights as `_count_edges` counts pairs."""
    sums = np.zeros((len(query_group) - 1, 3))
    query = 0
    for edge in range(len(edges)):
        lower, higher = edges[edge, 0], edges[edge, 1]
        while query_group[query + 1] <= lower:
            query += 1
        low, high = group_start[lower], group_start[lower + 1]
        total = 0.0
        for k in range(low, high):
            total += weight[k]
        below, reached = low, low
        before, equal, up_to = 0.0, 0.0, 0.0
        for k in range(group_start[higher], group_start[higher + 1]):
            if below == reached or x[below] < x[k]:
                while below < high and x[below] < x[k]:
                    before += weight[below]
                    below += 1
                up_to, equal, reached = before, 0.0, below
                while reached < high and x[reached] == x[k]:
                    equal += weight[reached]
                    up_to += weight[reached]
                    reached += 1
            sums[query, 0] += weight[k] * before
            sums[query, 1] += weight[k] * equal
            sums[query, 2] += weight[k] * (total - up_to)
    return sums


@compiled
def weigh_pairs(scores, i, j, weight, query_of, n_queries):
    """Sum the weights of explicit pairs, row i[k] preferred to row j[k], by the query of i[k].

    `i` and `j` (n_pairs,) int32; `weight` (n_pairs,) float64 or of length 0: 1 each; `query_of`
    (n_rows,) int32 or of length 0: one query. Costs O(n_pairs).
    """
    sums = np.zeros((n_queries, 3))
    for k in range(len(i)):
        query = query_of[i[k]] if len(query_of) else 0
        own = weight[k] if len(weight) else 1.0
        a, b = scores[i[k]], scores[j[k]]
        sums[query, 0 if a > b else (1 if a == b else 2)] += own
    return sums
