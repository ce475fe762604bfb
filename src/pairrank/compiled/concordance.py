"""Counts of preferences that scores order rightly, leave tied or order wrongly, by query.

Legend: rows lie by query, then by group (level), lowest first, as `Levels` lays them out. Every
function returns one line per query: 0 concordant (higher level, higher score), 1 tied, 2
discordant. Counts are int64 and exact without row weights; with weights they are float64 sums of
products. `win` and `lose` (m,) are the weights of rows in the pairs that they win and lose.
"""

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sorting import sorted_segments


def count_concordant(scores, weight, group_start, query_group, edges=None, loser_weight=None):
    """Return the counts of each query, or their weights with row weights, (n_queries, 3).

    All rows are in layout order; groups and edges are those of `Levels`. A pair weighs the weight
    of its winner times that of its loser, which is `loser_weight` if that is given; without
    weights pairs are counted. Costs O(m log m), and with edges O(rows of both ends) per edge.
    """
    x, places = sorted_segments(scores, group_start)
    win = np.ones(x.size, dtype=np.int64) if weight is None else weight[places]
    lose = win if loser_weight is None else loser_weight[places]
    sums = np.zeros((len(query_group) - 1, 3), win.dtype)
    spare = np.empty_like(x), np.empty_like(win), np.empty_like(lose)
    if edges is None:
        runs = np.empty(len(group_start), np.int64)
        _merge_groups(x, win, lose, group_start, query_group, *spare, runs, sums)
    else:
        _merge_edges(x, win, lose, group_start, query_group, edges, *spare, sums)
    return sums


@compiled
def _copy(source, low, high, target):
    """Copy source[low:high] to the same places of target (a slice takes numba long to compile)."""
    for k in range(low, high):
        target[k] = source[k]


@compiled
def _merge(x, win, lose, low, low_end, high, high_end, to_x, to_win, to_lose, sums):
    """Merge two runs sorted by x, that of lower levels first, and add their pairs to `sums`.

    The merged rows begin where the first run does. before: weight of the lower rows below the last
    value taken from them; equal: of those equal to it.
    """
    i, j, start = low, high, min(low, high)
    before = equal = taken_high = win[low] - win[low]
    last = np.nan
    for at in range(start, start + low_end - low + high_end - high):
        if j >= high_end or (i < low_end and x[i] <= x[j]):
            own = lose[i]
            if x[i] == last:
                equal += own
            else:
                before += equal
                equal = own
                last = x[i]
            sums[2] += own * taken_high
            k = i
            i += 1
        else:
            own = win[j]
            if x[j] == last:
                sums[0] += own * before
                sums[1] += own * equal
            else:
                sums[0] += own * (before + equal)
            taken_high += own
            k = j
            j += 1
        to_x[at], to_win[at], to_lose[at] = x[k], win[k], lose[k]


@compiled
def _merge_groups(
    x, win, lose, group_start, query_group, spare_x, spare_win, spare_lose, runs, sums
):
    """Sum the pairs of different groups of each query, by merging groups in pairs.

    `x`, `win` and `lose` (m,) are sorted by x within each group, and are overwritten; the spare
    arrays (m,) and `runs` (n_groups + 1,) are scratch. Allocated here they take numba long.
    """
    for query in range(len(sums)):
        first = query_group[query]
        n_runs = query_group[query + 1] - first
        for k in range(n_runs + 1):
            runs[k] = group_start[first + k]
        high = runs[n_runs]
        source, target = (x, win, lose), (spare_x, spare_win, spare_lose)
        while n_runs > 1:
            for k in range(0, n_runs - 1, 2):
                middle = runs[k + 1]
                _merge(*source, runs[k], middle, middle, runs[k + 2], *target, sums[query])
                runs[k // 2] = runs[k]
            if n_runs % 2:
                start = runs[n_runs - 1]
                _copy(source[0], start, high, target[0])
                _copy(source[1], start, high, target[1])
                _copy(source[2], start, high, target[2])
                runs[n_runs // 2] = start
            n_runs = (n_runs + 1) // 2
            runs[n_runs] = high
            source, target = target, source


@compiled
def _merge_edges(
    x, win, lose, group_start, query_group, edges, spare_x, spare_win, spare_lose, sums
):
    """Sum the pairs of the groups that `edges` (n_edges, 2) join: low group, high group.

    Rows are sorted by x within each group; edges are sorted by low group.
    """
    query = 0
    for edge in range(len(edges)):
        low, high = edges[edge, 0], edges[edge, 1]
        while query_group[query + 1] <= low:
            query += 1
        ends = group_start[low], group_start[low + 1], group_start[high], group_start[high + 1]
        _merge(x, win, lose, *ends, spare_x, spare_win, spare_lose, sums[query])
