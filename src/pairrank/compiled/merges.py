"""Hinge sums over a list of merges of two runs of rows sorted by score, and pair by pair.

A pair (i over j) has the margin d = s_i - s_j and the excess m - d. It costs its excess, or with
`squared` f (2 excess - f), f = min(excess, width), where the excess is positive: the square, which
goes on as a line beyond `width`. Pair by pair within runs of groups is fastest for small queries.

Let a be the scores of the less preferred rows and b those of the preferred, both ascending. Row b_i
violates with the rows a_p, p >= p(i), and row a_j with b_q, q < q(j): one merge finds p and q. The
excess of the pair (i, p + k) is (margin - (b_i - a_p)) + (a_(p+k) - a_p), two terms that are never
negative, so that sums over k split without cancellation, whatever the offset or the largest score:

    sum excess   = S_p + n c,              S_p = sum over k of (a_(p+k) - a_p),
    sum excess^2 = Q_p + 2 c S_p + n c^2,  Q_p = sum over k of (a_(p+k) - a_p)^2,

with n = n_a - p and c = margin - (b_i - a_p). S and Q follow from their successors by adding what
is not negative; the additions are compensated, so the error does not grow with the rows.

Many levels form a tree: a node's rows, sorted by score, are split into the rows of its lower and of
its upper half, which stay sorted. So each node is one merge of its halves, parents first.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.layout import add, gather


@compiled
def find_positions(a, b, margin, end_of_a, first_of_b):
    """Write q(j) of each less preferred row and p(i) of each preferred one, O(n_a + n_b)."""
    n_a, n_b = len(a), len(b)
    p = 0
    i = 0
    while i < n_b and p < n_a:
        first_of_b[i] = p
        end_of_a[p] = i
        violates = excess(margin, b[i], a[p]) > 0.0
        i += violates
        p += not violates
    for k in range(i, n_b):
        first_of_b[k] = n_a
    for k in range(p, n_a):
        end_of_a[k] = n_b


@compiled
def _split(order, middle, spare):
    """Move the places before `middle` to the front, in their order, and so the others behind."""
    n_low = n_high = 0
    for k in range(len(order)):
        place = order[k]
        is_high = place >= middle
        order[n_low] = place
        spare[n_high] = place
        n_low += not is_high
        n_high += is_high
    for k in range(n_high):
        order[n_low + k] = spare[k]


@compiled
def find_merges(merges, starts, scores, margin, order, places, positions, line, spare):
    """Write the rows of every merge, and their positions in one another.

    A merge (n_merges, 6) has the first place and the end of the lower run and of the upper, the
    query, and whether both are the halves of a node that is to be split. Its rows begin at
    starts[k] in `places` and `positions`, int32: those of the lower run, then of the upper.
    `scores` (n_rows,) are in the layout. `order` (n_rows,) int32 has the places of each run sorted
    by score, or those of each root of a tree, and is changed. `line` and `spare` int32, as long as
    the longest merge, are scratch.
    """
    for k in range(len(merges)):
        low, low_end, high, high_end = merges[k, 0], merges[k, 1], merges[k, 2], merges[k, 3]
        if merges[k, 5]:
            _split(order[low:high_end], low_end, spare)
        n_a, n = low_end - low, low_end - low + high_end - high
        here = places[starts[k] : starts[k] + n]
        for at in range(n_a):
            here[at] = order[low + at]
        for at in range(n - n_a):
            here[n_a + at] = order[high + at]
        gather(scores, here, line)
        found = positions[starts[k] : starts[k] + n]
        find_positions(line[:n_a], line[n_a:n], margin, found[:n_a], found[n_a:])


@compiled
def distance_sums(scores, weight, from_top, squared, counts, sums, squares):
    """Write the weight of the rows summed, S, and if squared Q.

    The rows summed are those above a row and itself (from_top), or those below it and itself.
    """
    n, n_rest, s, s_rest, q, q_rest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    last = len(scores) - 1
    for k in range(len(scores)):
        at = last - k if from_top else k
        if k > 0:
            step = abs(scores[at] - scores[at + 1 if from_top else at - 1])
            moment = (n + n_rest) * step
            if squared:
                total = s + s_rest
                q, q_rest = add(q, q_rest, step * (total + total + moment))
            s, s_rest = add(s, s_rest, moment)
        n, n_rest = add(n, n_rest, weight[at])
        counts[at] = n + n_rest
        sums[at] = s + s_rest
        if squared:
            squares[at] = q + q_rest


@compiled
def sums_over_merges(
    merges,
    starts,
    places,
    positions,
    scale,
    scores,
    winner,
    loser,
    margin,
    squared,
    running,
    sums,
):
    """Add all pairs of the merges to `sums` as `sums_over_runs` does; return the cost.

    Costs O(rows) per merge. `running` (5, or 4 if not squared, longest half or more) is scratch.
    There is no `width`.
    """
    value, rest = 0.0, 0.0
    score, weight, counts, distances = running[0], running[1], running[2], running[3]
    squares = running[-1]
    for k in range(len(merges)):
        n_a = merges[k, 1] - merges[k, 0]
        n = n_a + merges[k, 3] - merges[k, 2]
        here, found = places[starts[k] : starts[k] + n], positions[starts[k] : starts[k] + n]
        c = scale[merges[k, 4]]
        gather(scores, here[:n_a], score)
        gather(loser, here[:n_a], weight)
        distance_sums(score[:n_a], weight[:n_a], True, squared, counts, distances, squares)
        for i in range(n_a, n):
            p, row = found[i], here[i]
            if p < n_a:
                near = excess(margin, scores[row], score[p])
                linear = distances[p] + counts[p] * near
                sums[0, row] += c * (linear if squared else counts[p])
                cost = squares[p] + near * (distances[p] + linear) if squared else linear
                value, rest = add(value, rest, c * winner[row] * cost)
        n_b = n - n_a
        gather(scores, here[n_a:], score)
        gather(winner, here[n_a:], weight)
        distance_sums(score[:n_b], weight[:n_b], False, False, counts, distances, squares)
        for j in range(n_a):
            q, row = found[j] - 1, here[j]
            if q >= 0:
                near = excess(margin, score[q], scores[row])
                one = distances[q] + counts[q] * near if squared else counts[q]
                sums[1, row] += c * one
    return value + rest


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

    A run (n_runs, 5) has its first and last + 1 group, the first and last + 1 of its `edges`
    (low group, high group), and its query, whose pairs are multiplied by `scale`. First edge -1:
    every group is preferred to all lower ones of the run. `scores`, `winner` and `loser` (n_rows,)
    are in the layout; the latter are what a row weighs in the sums of the rows that it wins
    against, and of those that it loses to. Not `squared`, a pair counts 1 where its excess is
    positive and at most `width`.

    Line 0 of `sums` (2, n_rows) gets f or 1 of the pairs of each winner, times the loser's value,
    line 1 that of each loser, times the winner's value. The cost weighs a pair by both values.
    O(pairs), a third of a nanosecond each.
    """
    total = 0.0
    of_winners, of_losers = sums[0], sums[1]
    for run in range(len(runs)):
        first, last, c = runs[run, 0], runs[run, 1], scale[runs[run, 4]]
        full = runs[run, 2] < 0
        for block in range(last - first if full else runs[run, 3] - runs[run, 2]):
            if full:
                low, low_end, high = group_start[first], group_start[first + block], first + block
            else:
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
