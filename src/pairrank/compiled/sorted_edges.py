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

from pairrank.compiled._jit import compiled
from pairrank.compiled.running_sums import add, running_sums
from pairrank.compiled.sorted_blocks import excess


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
def distance_sums(scores, weight, from_top, lines):
    """Write the number or weight of the rows summed, S if there are two lines, Q if three.

    The rows summed are those above a row and itself (from_top), or those below it and itself.
    """
    with_sums, squared = len(lines) > 1, len(lines) > 2
    counts, sums, squares = lines[0], lines[1 if with_sums else 0], lines[2 if squared else 0]
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
        if len(weight):
            n, n_rest = add(n, n_rest, weight[at])
        else:
            n += 1.0
        if with_sums:
            sums[at] = s + s_rest
        if squared:
            squares[at] = q + q_rest
        counts[at] = n + n_rest


@compiled
def pair_gradient(
    a, b, weight_b, end_of_a, first_of_b, margin, squared, sums_a, sums_b, grad_a, grad_b
):
    """Add the pairs of two sorted groups to their gradients; return the value.

    Parameters
    ----------
    a, b : ndarray of shape (n_a,) and (n_b,)
        Ascending scores of the less preferred and of the preferred rows.
    weight_b : ndarray of shape (n_b,) or (0,)
        Empty if all are 1.
    end_of_a, first_of_b : ndarray of int32
        From `find_positions`.
    sums_a, sums_b : ndarray of shape (2, n_a) and (1, n_b), if squared (3, n_a) and (2, n_b)
        Lines n, S and Q of `distance_sums`, of a from its top, and of b from its bottom.
    grad_a, grad_b : ndarray
        As in `sums_in_blocks`.
    """
    n_a = len(a)
    value, rest = 0.0, 0.0
    counts, sums, squares = sums_a[0], sums_a[1], sums_a[2 if squared else 1]
    for i in range(len(b)):
        p = first_of_b[i]
        if p < n_a:
            c = excess(margin, b[i], a[p])
            linear = sums[p] + counts[p] * c
            grad_b[i] -= linear if squared else counts[p]
            cost = squares[p] + c * (sums[p] + linear) if squared else linear
            value, rest = add(value, rest, weight_b[i] * cost if len(weight_b) else cost)
    counts, sums = sums_b[0], sums_b[1 if squared else 0]
    for j in range(n_a):
        q = end_of_a[j] - 1
        if q >= 0:
            n = counts[q]
            grad_a[j] += sums[q] + n * excess(margin, b[q], a[j]) if squared else n
    return value + rest


@compiled
def pair_gamma(end_of_a, first_of_b, backward_a, forward_b, plus, minus, gamma_a, gamma_b):
    """Add to each row of two sorted groups the sum of x over the rows that it violates with.

    `backward_a` and `forward_b` are `running_sums` of x; `plus` and `minus` as in `sums_in_blocks`.
    """
    for i in range(len(gamma_b)):
        gamma_b[i] += minus * backward_a[first_of_b[i]]
    for j in range(len(gamma_a)):
        gamma_a[j] += plus * forward_b[end_of_a[j]]


@compiled
def split(values, start, n_a, n_b):
    """Return the parts of two groups, which stand one after the other."""
    middle = start + n_a
    return values[start:middle], values[middle : middle + n_b]


@compiled
def gradient_over_edges(
    edges, scale, group_start, scores, weight, margin, squared, starts, positions, summed, work,
    gradient,
):  # fmt: skip
    """Add every pair of the edges to the gradient and return the value, O(rows) per edge.

    Parameters
    ----------
    edges : ndarray of int64, shape (n_edges, 3)
        (low group, high group, query).
    scale : ndarray of shape (n_queries,)
        The factor of each query's value.
    group_start : ndarray of int64
    scores, weight, gradient : ndarray of shape (n_rows,)
        Each group ascending; `weight` is empty if all are 1.
    margin : float
    squared : bool
    starts, positions : ndarray of int64 and of int32
        Gets the positions of edge e from starts[e] on, of its low group first.
    summed : ndarray of bool, shape (2, n_groups)
        All False; which groups' `distance_sums` are there.
    work : ndarray of shape (3 or more, n_rows or more), if squared (5 or more, n_rows or more)
        Scratch.
    """
    value = 0.0
    for_a = 3 if squared else 2
    for edge in range(len(edges)):
        group, other = edges[edge, 0], edges[edge, 1]
        low, low_end = group_start[group], group_start[group + 1]
        high, high_end = group_start[other], group_start[other + 1]
        end_of_a, first_of_b = split(positions, starts[edge], low_end - low, high_end - high)
        a, b = scores[low:low_end], scores[high:high_end]
        weight_a = weight[low:low_end] if len(weight) else weight
        weight_b = weight[high:high_end] if len(weight) else weight
        sums_a, sums_b = work[:for_a, low:low_end], work[for_a : 2 * for_a - 1, high:high_end]
        if not summed[0, group]:
            distance_sums(a, weight_a, True, sums_a)
            summed[0, group] = True
        if not summed[1, other]:
            distance_sums(b, weight_b, False, sums_b)
            summed[1, other] = True
        find_positions(a, b, margin, end_of_a, first_of_b)
        value += scale[edges[edge, 2]] * pair_gradient(
            a,
            b,
            weight_b,
            end_of_a,
            first_of_b,
            margin,
            squared,
            sums_a,
            sums_b,
            gradient[low:low_end],
            gradient[high:high_end],
        )
    return value


@compiled
def gamma_over_edges(
    edges, group_start, scores, x, margin, found, starts, positions, plus, minus, work, gamma
):
    """Add to `gamma` each row's sum of x over the rows that it violates with, O(rows) per edge.

    `found` says that `positions` already holds the positions; else they are found and written.
    `work` has two lines or more of n_rows + n_groups. The rest as in `gradient_over_edges` and
    `pair_gamma`.
    """
    forward, backward = work[0], work[1]
    running_sums(x, group_start[1:], forward, backward)
    for edge in range(len(edges)):
        group, other = edges[edge, 0], edges[edge, 1]
        low, low_end = group_start[group], group_start[group + 1]
        high, high_end = group_start[other], group_start[other + 1]
        end_of_a, first_of_b = split(positions, starts[edge], low_end - low, high_end - high)
        if not found:
            find_positions(scores[low:low_end], scores[high:high_end], margin, end_of_a, first_of_b)
        pair_gamma(
            end_of_a,
            first_of_b,
            backward[low + group : low_end + group + 1],
            forward[high + other : high_end + other + 1],
            plus,
            minus,
            gamma[low:low_end],
            gamma[high:high_end],
        )
