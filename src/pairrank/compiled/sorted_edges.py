"""Hinge sums between two sorted groups of rows, and over a list of pairs of groups.

Let a be the scores of the less preferred rows and b those of the preferred, both ascending. Row b_i
violates with the rows a_p, p >= p(i), and row a_j with b_q, q < q(j): one merge finds p and q. The
excess of the pair (i, p + k) is (margin - (b_i - a_p)) + (a_(p+k) - a_p), two terms that are never
negative, so that sums over k split without cancellation, whatever the offset or the largest score:

    sum excess   = S_p + n c,              S_p = sum over k of (a_(p+k) - a_p),
    sum excess^2 = Q_p + 2 c S_p + n c^2,  Q_p = sum over k of (a_(p+k) - a_p)^2,

with n = n_a - p and c = margin - (b_i - a_p). S and Q follow from their successors by adding what
is not negative; the additions are compensated, so the error does not grow with the rows.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sorted_blocks import excess


@compiled
def find_positions(a, b, margin, first_of_b, end_of_a):
    """Write p(i) of each preferred row and q(j) of each less preferred one, O(n_a + n_b)."""
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
def _suffix_sums(a, weight, squared, sums, squares, counts):
    """Write S_p, if squared Q_p, if weighted the weight of the rows from p on; by TwoSum."""
    weighted = len(weight) > 0
    n, n_low, s, s_low, q, q_low = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    last = len(a) - 1
    for p in range(last, -1, -1):
        if p < last:
            step = a[p + 1] - a[p]
            count = n + n_low
            moment = count * step
            if squared:
                total = s + s_low
                term = step * (total + total + moment)
                new = q + term
                back = new - q
                q_low += (q - (new - back)) + (term - back)
                q = new
            new = s + moment
            back = new - s
            s_low += (s - (new - back)) + (moment - back)
            s = new
        if weighted:
            w = weight[p]
            new = n + w
            back = new - n
            n_low += (n - (new - back)) + (w - back)
            n = new
        else:
            n += 1.0
        sums[p] = s + s_low
        if squared:
            squares[p] = q + q_low
        if weighted:
            counts[p] = n + n_low


@compiled
def _prefix_sums(b, weight, sums, counts):
    """Write R_q = sum over k <= q of (b_q - b_k), if weighted the weight of the rows up to q."""
    weighted = len(weight) > 0
    n, n_low, s, s_low = 0.0, 0.0, 0.0, 0.0
    for q in range(len(b)):
        if q > 0:
            moment = (n + n_low) * (b[q] - b[q - 1])
            new = s + moment
            back = new - s
            s_low += (s - (new - back)) + (moment - back)
            s = new
        if weighted:
            w = weight[q]
            new = n + w
            back = new - n
            n_low += (n - (new - back)) + (w - back)
            n = new
        else:
            n += 1.0
        sums[q] = s + s_low
        if weighted:
            counts[q] = n + n_low


@compiled
def pair_gradient(
    a, b, weight_a, weight_b, first_of_b, end_of_a, margin, squared, fresh, work, grad_a, grad_b
):
    """Add the pairs of two sorted groups to their gradients; return the value.

    Parameters
    ----------
    a, b : ndarray of shape (n_a,) and (n_b,)
        Ascending scores of the less preferred and of the preferred rows.
    weight_a, weight_b : ndarray
        Their weights; empty where all are 1.
    first_of_b, end_of_a : ndarray of int32
        From `find_positions`.
    margin : float
    squared : bool
    fresh : bool
        False where `work` still holds the sums of the same `a`.
    work : ndarray of shape (5, max(n_a, n_b))
        Scratch, of which the last two lines are for weights, and stay untouched without.
    grad_a, grad_b : ndarray
        As in `gradient_in_blocks`.
    """
    sums, squares, counts = work[0], work[2], work[3]
    if fresh:
        _suffix_sums(a, weight_a, squared, sums, squares, counts)
    _prefix_sums(b, weight_b, work[1], work[4])
    n_a = len(a)
    weighted = len(weight_b) > 0
    value, value_low = 0.0, 0.0
    for i in range(len(b)):
        p = first_of_b[i]
        if p < n_a:
            c = excess(margin, b[i], a[p])
            n = counts[p] if weighted else np.float64(n_a - p)
            s = sums[p]
            linear = s + n * c
            if squared:
                grad_b[i] -= linear
                cost = squares[p] + c * (s + linear)
            else:
                grad_b[i] -= n
                cost = linear
            if weighted:
                cost *= weight_b[i]
            new = value + cost
            back = new - value
            value_low += (value - (new - back)) + (cost - back)
            value = new
    sums, counts = work[1], work[4]
    for j in range(n_a):
        q = end_of_a[j] - 1
        if q >= 0:
            n = counts[q] if weighted else np.float64(q + 1)
            grad_a[j] += sums[q] + n * excess(margin, b[q], a[j]) if squared else n
    return value + value_low


@compiled
def running_sums(x, ends, forward, backward):
    """Write the sums of x up to each row, and from each row on, each group of rows by itself.

    `forward` and `backward` (n_rows + n_groups,) hold an element more a group than it has rows, so
    that a position is an index: element 0 of `forward` and the last one of `backward` are 0.
    """
    start = 0
    for group in range(len(ends)):
        end = ends[group]
        at = start + group
        up, up_low, down, down_low = 0.0, 0.0, 0.0, 0.0
        n = end - start
        forward[at] = 0.0
        backward[at + n] = 0.0
        for k in range(n):
            term = x[start + k]
            new = up + term
            back = new - up
            up_low += (up - (new - back)) + (term - back)
            up = new
            forward[at + k + 1] = up + up_low
            term = x[end - 1 - k]
            new = down + term
            back = new - down
            down_low += (down - (new - back)) + (term - back)
            down = new
            backward[at + n - 1 - k] = down + down_low
        start = end


@compiled
def positions_over_edges(edges, group_start, scores, margin, starts, positions):
    """Find the positions of every edge; those of edge e stand at starts[e], of `low` first."""
    for edge in range(len(edges)):
        low, low_end = group_start[edges[edge, 0]], group_start[edges[edge, 0] + 1]
        high, high_end = group_start[edges[edge, 1]], group_start[edges[edge, 1] + 1]
        middle = starts[edge] + low_end - low
        find_positions(
            scores[low:low_end],
            scores[high:high_end],
            margin,
            positions[middle : middle + high_end - high],
            positions[starts[edge] : middle],
        )


@compiled
def gradient_over_edges(
    edges, scale, group_start, scores, weight, margin, squared, starts, positions, work, gradient
):
    """Add every pair of the edges to the gradient and return the value, O(rows) an edge.

    Parameters
    ----------
    edges : ndarray of int64, shape (n_edges, 2)
        (low group, high group), sorted by low.
    scale : ndarray of shape (n_edges,)
        What an edge's value is multiplied by.
    group_start : ndarray of int64
    scores, weight, gradient : ndarray of shape (n_rows,)
        Each group ascending; `weight` is empty where all are 1.
    margin : float
    squared : bool
    starts, positions : ndarray of int64 and of int32
        From `positions_over_edges`; with `starts` empty they are found anew, in `positions`.
    work : ndarray of shape (5, longest group)
    """
    value = 0.0
    last = -1
    for edge in range(len(edges)):
        low, low_end = group_start[edges[edge, 0]], group_start[edges[edge, 0] + 1]
        high, high_end = group_start[edges[edge, 1]], group_start[edges[edge, 1] + 1]
        start = starts[edge] if len(starts) else 0
        middle = start + low_end - low
        end_of_a = positions[start:middle]
        first_of_b = positions[middle : middle + high_end - high]
        a, b = scores[low:low_end], scores[high:high_end]
        if len(starts) == 0:
            find_positions(a, b, margin, first_of_b, end_of_a)
        weight_a = weight[low:low_end] if len(weight) else weight
        weight_b = weight[high:high_end] if len(weight) else weight
        value += scale[edge] * pair_gradient(
            a,
            b,
            weight_a,
            weight_b,
            first_of_b,
            end_of_a,
            margin,
            squared,
            edges[edge, 0] != last,
            work,
            gradient[low:low_end],
            gradient[high:high_end],
        )
        last = edges[edge, 0]
    return value


@compiled
def gamma_over_edges(
    edges,
    group_start,
    scores,
    forward,
    backward,
    margin,
    starts,
    positions,
    plus,
    minus,
    gamma,
):
    """Add to `gamma` each row's sum of x over the rows it violates with, O(rows) an edge.

    `forward` and `backward` are the `running_sums` of x; `plus` and `minus` as in
    `gamma_in_blocks`, the rest as in `gradient_over_edges`.
    """
    for edge in range(len(edges)):
        group, other = edges[edge, 0], edges[edge, 1]
        low, low_end = group_start[group], group_start[group + 1]
        high, high_end = group_start[other], group_start[other + 1]
        start = starts[edge] if len(starts) else 0
        middle = start + low_end - low
        end_of_a = positions[start:middle]
        first_of_b = positions[middle : middle + high_end - high]
        if len(starts) == 0:
            find_positions(scores[low:low_end], scores[high:high_end], margin, first_of_b, end_of_a)
        sums = backward[low + group : low_end + group + 1]
        gamma_b = gamma[high:high_end]
        for i in range(len(gamma_b)):
            gamma_b[i] += minus * sums[first_of_b[i]]
        sums = forward[high + other : high_end + other + 1]
        gamma_a = gamma[low:low_end]
        for j in range(len(gamma_a)):
            gamma_a[j] += plus * sums[end_of_a[j]]
