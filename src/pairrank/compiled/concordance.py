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
    if edges is None:
        spare = np.empty_like(x), np.empty_like(win), np.empty_like(lose)
        runs = np.empty(len(group_start), np.int64)
        _merge_groups(x, win, lose, group_start, query_group, *spare, runs, sums)
    else:
        _join_groups(x, win, lose, group_start, query_group, edges, sums)
    return sums


@compiled
def _copy(source, low, high, target):
    """Copy source[low:high] to the same places of target (a slice takes numba long to compile)."""
    for k in range(low, high):
        target[k] = source[k]


@compiled
def _merge(x, win, lose, low, middle, high, to_x, to_win, to_lose, sums):
    """Merge two runs sorted by x, the lower levels on the left, and add their pairs to `sums`.

    before: weight of the left rows below the last left value taken; equal: of those equal to it.
    """
    i, j = low, middle
    before = equal = taken_right = win[low] - win[low]
    last = np.nan
    for at in range(low, high):
        if j >= high or (i < middle and x[i] <= x[j]):
            own = lose[i]
            if x[i] == last:
                equal += own
            else:
                before += equal
                equal = own
                last = x[i]
            sums[2] += own * taken_right
            k = i
            i += 1
        else:
            own = win[j]
            if x[j] == last:
                sums[0] += own * before
                sums[1] += own * equal
            else:
                sums[0] += own * (before + equal)
            taken_right += own
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
                _merge(*source, runs[k], runs[k + 1], runs[k + 2], *target, sums[query])
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
def _join_groups(x, win, lose, group_start, query_group, edges, sums):
    """Sum the pairs of the groups that `edges` (n_edges, 2) join: low group, high group.

    Rows are sorted by x within each group; edges are sorted by low group.
    """
    query = 0
    for edge in range(len(edges)):
        lower, higher = edges[edge, 0], edges[edge, 1]
        while query_group[query + 1] <= lower:
            query += 1
        low, high = group_start[lower], group_start[lower + 1]
        total = lose[low:high].sum()
        below, reached = low, low
        before = equal = up_to = total - total
        for k in range(group_start[higher], group_start[higher + 1]):
            if below == reached or x[below] < x[k]:
                while below < high and x[below] < x[k]:
                    before += lose[below]
                    below += 1
                up_to, equal, reached = before, total - total, below
                while reached < high and x[reached] == x[k]:
                    equal += lose[reached]
                    up_to += lose[reached]
                    reached += 1
            sums[query, 0] += win[k] * before
            sums[query, 1] += win[k] * equal
            sums[query, 2] += win[k] * (total - up_to)


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
