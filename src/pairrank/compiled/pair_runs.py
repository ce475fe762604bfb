"""Hinge sums pair by pair within runs of groups, the fastest way for small queries.

A pair (i over j) has the margin d = s_i - s_j and the excess m - d. It costs its excess, or with
`squared` f (2 excess - f), f = min(excess, width), where the excess is positive: the square, which
goes on as a line beyond `width`.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating


@compiled
def excess(margin, high, low):
    """Return margin - (high - low) in exactly this order: a pair violates where it is above 0.

    Every algorithm evaluates the margin so, and none may reassociate it: they agree at the kink.
    """
    return margin - (high - low)


@compiled_reassociating
def _add_row(i, low, end, x, scores, values, margin, squared, width, sums):
    """Add one winner's pairs with the rows low .. end; return its own sum, and its cost."""
    score, own, cost = scores[i], 0.0, 0.0
    for j in range(np.uint64(low), np.uint64(end)):
        over = excess(margin, score, scores[j])
        over = over if over > 0.0 else 0.0
        if squared:
            force = over if over < width else width
            gain = force * (2.0 * over - force)
        else:
            force = 1.0 if (over > 0.0) & (over <= width) else 0.0
            gain = over
        own += values[j] * force
        sums[j] += x * force
        cost += values[j] * gain
    return own, cost


@compiled
def sums_over_runs(
    runs, edges, group_start, scale, scores, winner, loser, margin, squared, width, sums
):
    """Add all pairs within runs of groups to `sums`, pair by pair; return the cost.

    Parameters
    ----------
    runs : ndarray of int64, shape (n_runs, 5)
        The first and last + 1 group of a run, the first and last + 1 of its edges, and its query.
        First edge -1: every group is preferred to all lower ones of the run.
    edges : ndarray of int64, shape (n_edges, 2)
        (low group, high group).
    group_start : ndarray of int64
    scale : ndarray of shape (n_queries,)
        A factor on each query's pairs.
    scores, winner, loser : ndarray of shape (n_rows,)
        In the order of the layout: scores, and what a row weighs in the sums of the rows that it
        loses to, and of those that it wins against: `winner` in those of its losers.
    margin, squared, width : float, bool, float
        See above; not `squared`, a pair counts 1 where its excess is positive and at most `width`.
    sums : ndarray of shape (2, n_rows)
        Gets f or 1 of the pairs of each row, times the loser's value in the winner's line 0, and
        times the winner's value in the loser's line 1.

    Notes
    -----
    O(pairs), a third of a nanosecond each. The cost weighs a pair by both its values.
    """
    total = 0.0
    of_winners, of_losers = sums[0], sums[1]
    for run in range(len(runs)):
        first, last, c = runs[run, 0], runs[run, 1], scale[runs[run, 4]]
        full = runs[run, 2] < 0
        for block in range(last - first if full else runs[run, 3] - runs[run, 2]):
            low, low_end, high = group_start[first], group_start[first + block], first + block
            if not full:
                group, high = edges[runs[run, 2] + block, 0], edges[runs[run, 2] + block, 1]
                low, low_end = group_start[group], group_start[group + 1]
            for i in range(group_start[high], group_start[high + 1]):
                x = c * winner[i]
                own, cost = _add_row(
                    i, low, low_end, x, scores, loser, margin, squared, width, of_losers
                )
                of_winners[i] += c * own
                total += x * cost
    return total
