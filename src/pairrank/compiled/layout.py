"""Rows by query and group: places, gathers, running sums, offsets, and joined groups."""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def gather(values, rows, out):
    """Write the values of rows, out[k] = values[rows[k]]."""
    for k in range(len(rows)):
        out[k] = values[rows[k]]


@compiled
def _find(values, low, high, wanted):
    """Return the place of a value in the ascending values[low:high], or -1."""
    place = low + np.searchsorted(values[low:high], wanted)
    return place if place < high and values[place] == wanted else -1


@compiled
def joined_groups(group_level, query_group, above_start, above, edges):
    """Write the (low group, high group) that a graph joins, ascending, and return their number.

    `group_level` (n_groups,) int32 ascends within each query, whose groups begin at `query_group`.
    `above` has the levels above each level, ascending, from above_start[level] on. `edges` (n, 2)
    are filled from the start; of length 0 they are counted only. Costs O(k log n) for each group,
    where k is the smaller, n the larger of the groups of its query and the levels above its level.
    """
    n_edges = 0
    for query in range(len(query_group) - 1):
        first, last = query_group[query], query_group[query + 1]
        for low in range(first, last):
            start, stop = above_start[group_level[low]], above_start[group_level[low] + 1]
            by_level = stop - start < last - first
            for k in range(start if by_level else first, stop if by_level else last):
                if by_level:
                    high = _find(group_level, first, last, above[k])
                else:
                    high = k if _find(above, start, stop, group_level[k]) >= 0 else -1
                if high >= 0:
                    if len(edges):
                        edges[n_edges, 0] = low
                        edges[n_edges, 1] = high
                    n_edges += 1
    return n_edges


@compiled
def add(total, rest, term):
    """Add a term to total + rest, where `rest` sums the rounding errors (Knuth's TwoSum)."""
    new = total + term
    back = new - total
    return new, rest + ((total - (new - back)) + (term - back))


@compiled
def running_sum(x, from_top, sums):
    """Write the sum of the first k elements to sums[k], or from the top of all but these."""
    n = len(x)
    total, rest = 0.0, 0.0
    sums[n if from_top else 0] = 0.0
    for k in range(n):
        total, rest = add(total, rest, x[n - 1 - k if from_top else k])
        sums[n - 1 - k if from_top else k + 1] = total + rest


@compiled
def running_sums(x, ends, forward, backward):
    """Write the `running_sum` of each group in both directions.

    `ends` (n_groups,) tells where groups end. `forward` and `backward` (n_rows + n_groups,) have
    one element more per group than it has rows.
    """
    start = 0
    for group in range(len(ends)):
        low, high = start + group, ends[group] + group + 1
        running_sum(x[start : ends[group]], False, forward[low:high])
        running_sum(x[start : ends[group]], True, backward[low:high])
        start = ends[group]


@compiled
def _add_scaled(to_best, total, best, value):
    """Return (best, total) of two sums, each relative to exp(best)."""
    if best > to_best:
        return best, total * math.exp(to_best - best) + value
    if best == to_best:
        return to_best, total + value
    return to_best, total + value * math.exp(best - to_best)


@compiled
def join_groups(upwards, query_group, edges, best, sums, joined_best, joined):
    """Sum over the lower groups of each group (upwards), or over the higher ones.

    A group's sum is sums * exp(best), both (n_groups,); the output `joined_best` and `joined` mean
    the same, without a group -infinity and 0. Groups are joined by `edges` (n_edges, 2), as (low
    group, high group), and with all others of their query by `query_group`; one of both is empty.
    Costs O(groups + edges), two exponentials each.
    """
    joined_best[:] = -np.inf
    joined[:] = 0.0
    for edge in range(len(edges)):
        group, other = edges[edge, 1], edges[edge, 0]
        if not upwards:
            group, other = other, group
        joined_best[group], joined[group] = _add_scaled(
            joined_best[group], joined[group], best[other], sums[other]
        )
    for query in range(len(query_group) - 1):
        low, high = query_group[query], query_group[query + 1]
        for k in range(1, high - low):
            group = low + k if upwards else high - 1 - k
            other = group - 1 if upwards else group + 1
            joined_best[group], joined[group] = _add_scaled(
                joined_best[other], joined[other], best[other], sums[other]
            )


@compiled
def centre_by_query(values, query_of, weight, query_weight, means, result):
    """Write values less their query's weighted mean to `result`; two passes, O(n_rows).

    Returns the weighted sums of squares of the subtracted means, over rows, and of the result.
    `values` and `result` (n_rows,) may be one array; `means` (n_queries,) is output too.
    """
    means[:] = 0.0
    for row in range(len(values)):
        means[query_of[row]] += values[row] * weight[row]
    taken_off = 0.0
    for query in range(len(means)):
        total = query_weight[query]
        means[query] = means[query] / total if total > 0.0 else 0.0
        taken_off += total * means[query] * means[query]
    square = 0.0
    for row in range(len(values)):
        left = values[row] - means[query_of[row]]
        result[row] = left
        square += left * left * weight[row]
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
