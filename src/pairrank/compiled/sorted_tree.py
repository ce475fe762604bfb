"""Hinge sums over many levels: sorted runs of groups are merged in pairs, up a binary tree."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.running_sums import running_sum
from pairrank.compiled.sorted_blocks import excess
from pairrank.compiled.sorted_edges import distance_sums, pair_gamma, pair_gradient, split


@compiled
def _copy(values, copied):
    """Copy values to the start of another array; a slice would take a second longer to compile."""
    for k in range(len(values)):
        copied[k] = values[k]


@compiled
def _with_sentinels(scores, n_a, runs):
    """Copy two adjacent runs, each between minus and plus infinity; n + 4 elements."""
    runs[0] = -np.inf
    for k in range(n_a):
        runs[1 + k] = scores[k]
    runs[n_a + 1] = np.inf
    runs[n_a + 2] = -np.inf
    for k in range(n_a, len(scores)):
        runs[3 + k] = scores[k]
    runs[len(scores) + 3] = np.inf


@compiled
def _merge(merged, n_a, margin, runs, positions, upper):
    """Find the positions of two sorted runs in one another, and merge them in place.

    Parameters
    ----------
    merged : ndarray of shape (n,)
        The scores: the lower run of n_a rows, then the upper.
    n_a : int
    margin : float
    runs : ndarray of shape (n + 4,)
        Gets the lower run from 1 on, the upper from n_a + 3 on.
    positions : ndarray of int32, shape (n,)
        Gets the q(j) of the lower run, then the p(i) of the upper; see
        `pairrank.compiled.sorted_edges`.
    upper : ndarray of bool, shape (n,)
        Gets whether each merged row is of the upper run.

    Notes
    -----
    O(n), 4 ns per row: no branch to mispredict, and both merges go from both ends at once, so that
    a processor has four chains of steps to work on instead of one. Unsigned indices spare numba's
    check for negative ones.
    """
    n = len(merged)
    _with_sentinels(merged, n_a, runs)
    one, three = np.uint64(1), np.uint64(3)
    p, q = one, np.uint64(n_a)
    first_b = np.uint64(n_a + 3)
    i, j = first_b, np.uint64(n + 2)
    from_a, from_b, last_a, last_b = p, i, q, j
    for k in range((n + 1) // 2):
        violates = np.uint64(excess(margin, runs[i], runs[p]) > 0.0)
        positions[i - three if violates else p - one] = np.int32(
            p - one if violates else i - first_b
        )
        i += violates
        p += one - violates
        of_a, of_b = runs[from_a], runs[from_b]
        take = np.uint64(of_b < of_a)
        merged[k] = of_b if take else of_a
        upper[k] = take
        from_b += take
        from_a += one - take
        if 2 * k + 1 == n:
            break
        violates = np.uint64(excess(margin, runs[j], runs[q]) > 0.0)
        positions[q - one if violates else j - three] = np.int32(
            j - first_b + one if violates else q
        )
        q -= violates
        j -= one - violates
        of_a, of_b = runs[last_a], runs[last_b]
        take = np.uint64(of_b < of_a)
        merged[n - 1 - k] = of_a if take else of_b
        upper[n - 1 - k] = one - take
        last_a -= take
        last_b -= one - take


@compiled
def _carry(merged, n_a, upper, runs):
    """Bring values of two runs into their merged order, in place; `runs` is scratch."""
    n = len(merged)
    _copy(merged, runs)
    one, p, q = np.uint64(1), np.uint64(0), np.uint64(n_a)
    for k in range(n):
        take = np.uint64(upper[k])
        merged[k] = runs[q if take else p]
        q += take
        p += one - take


@compiled
def gradient_over_tree(
    nodes, scale, sorted_scores, weight, margin, squared, starts, positions, upper, work, gradient
):
    """Add every pair across the merges of the tree to the gradient and return the value.

    Parameters
    ----------
    nodes : ndarray of int64, shape (n_nodes, 4)
        The merges, children first: the first row of the lower run, the first of the upper run, the
        end, and the query.
    scale : ndarray of shape (n_queries,)
        The factor of each query's value.
    sorted_scores, weight : ndarray of shape (n_rows,)
        Leaves sorted by score; `weight` is empty if all are 1.
    margin : float
    squared : bool
    starts : ndarray of int64, shape (n_nodes,)
    positions, upper : ndarray of int32 and of bool
        Get the positions and the order of merge e from starts[e] on; see `_merge`.
    work : ndarray of shape (6, n_rows + 4 or more)
        Scratch.
    gradient : ndarray of shape (n_rows,)
        As in `sums_in_blocks`, on return in the order of whole queries sorted by score.

    Notes
    -----
    O(rows log levels), 10 ns per row and level of the tree.
    """
    value = 0.0
    for_a = 3 if squared else 2
    scores, carried, runs, sums = work[0], work[1][: len(weight)], work[2], work[3:]
    _copy(sorted_scores, scores)
    _copy(weight, carried)
    for node in range(len(nodes)):
        low, middle, high = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        n_a, n, start = middle - low, high - low, starts[node]
        merged_order = upper[start : start + n]
        _merge(scores[low:high], n_a, margin, runs, positions[start : start + n], merged_order)
        a, b = runs[1 : n_a + 1], runs[n_a + 3 : n + 3]
        weight_a = carried[low:middle] if len(weight) else carried
        weight_b = carried[middle:high] if len(weight) else carried
        sums_a, sums_b = sums[:for_a, :n_a], sums[: for_a - 1, n_a:n]
        distance_sums(a, weight_a, True, sums_a)
        distance_sums(b, weight_b, False, sums_b)
        end_of_a, first_of_b = split(positions, start, n_a, n - n_a)
        grad_a, grad_b = gradient[low:middle], gradient[middle:high]
        value += scale[nodes[node, 3]] * pair_gradient(
            a, b, weight_b, end_of_a, first_of_b, margin, squared, sums_a, sums_b, grad_a, grad_b
        )
        _carry(gradient[low:high], n_a, merged_order, runs)
        if len(weight):
            _carry(carried[low:high], n_a, merged_order, runs)
    return value


@compiled
def gamma_over_tree(
    nodes, sorted_scores, x, margin, found, starts, positions, upper, plus, minus, work, gamma
):
    """Add each row's sum of x over the rows that it violates with, across the merges of the tree.

    `found` says that `positions` and `upper` are already known; else they are found and written.
    `x` and `gamma` are brought into the merged order too.
    """
    scores, runs, forward, backward = work[0], work[1], work[2], work[3]
    if not found:
        _copy(sorted_scores, scores)
    for node in range(len(nodes)):
        low, middle, high = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        n_a, n, start = middle - low, high - low, starts[node]
        merged_order = upper[start : start + n]
        if not found:
            _merge(scores[low:high], n_a, margin, runs, positions[start : start + n], merged_order)
        running_sum(x[low:middle], True, backward)
        running_sum(x[middle:high], False, forward)
        end_of_a, first_of_b = split(positions, start, n_a, n - n_a)
        pair_gamma(
            end_of_a,
            first_of_b,
            backward,
            forward,
            plus,
            minus,
            gamma[low:middle],
            gamma[middle:high],
        )
        _carry(x[low:high], n_a, merged_order, runs)
        _carry(gamma[low:high], n_a, merged_order, runs)
