"""Hinge sums over many levels: sorted runs of groups merged pair by pair, the flat tree."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sorted_blocks import excess
from pairrank.compiled.sorted_edges import pair_gradient

_STACK = 256


@compiled
def build_leaves(group_start, first, last, leaf_rows, leaves):
    """Cut groups into leaves: runs of groups of few rows, or one large group; return their number.

    `leaves` (n, 2) gets the first and the last + 1 group of each; empty, they are only counted.
    """
    n_leaves = 0
    group = first
    while group < last:
        end = group + 1
        limit = group_start[group] + leaf_rows
        while end < last and group_start[end + 1] <= limit:
            end += 1
        if len(leaves):
            leaves[n_leaves, 0] = group
            leaves[n_leaves, 1] = end
        n_leaves += 1
        group = end
    return n_leaves


@compiled
def build_nodes(starts, nodes):
    """List the merges of adjacent runs, children first, halved by rows; n_leaves - 1 of them.

    `starts` (n_leaves + 1,) are the rows where leaves begin; `nodes` (n_leaves - 1, 3) gets the
    first row, the first of the upper half and the end.
    """
    stack = np.empty((_STACK, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, len(starts) - 1, -1, 0
    size = 1
    n_nodes = 0
    while size > 0:
        low, high = stack[size - 1, 0], stack[size - 1, 1]
        if high - low < 2:
            size -= 1
            continue
        if stack[size - 1, 3] == 2:
            nodes[n_nodes, 0] = starts[low]
            nodes[n_nodes, 1] = starts[stack[size - 1, 2]]
            nodes[n_nodes, 2] = starts[high]
            n_nodes += 1
            size -= 1
            continue
        if stack[size - 1, 3] == 0:
            half = (starts[low] + starts[high]) // 2
            middle = low + np.searchsorted(starts[low : high + 1], half)
            if middle > low + 1 and half - starts[middle - 1] < starts[middle] - half:
                middle -= 1
            middle = max(low + 1, min(middle, high - 1))
            stack[size - 1, 2] = middle
            stack[size, 0], stack[size, 1] = low, middle
        else:
            stack[size, 0], stack[size, 1] = stack[size - 1, 2], high
        stack[size - 1, 3] += 1
        stack[size, 3] = 0
        size += 1


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
def merge_scores(scores, low, middle, high, margin, runs, positions, upper):
    """Find the positions of two sorted runs in one another, and merge them in place.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        The lower run from `low` to `middle`, the upper from there to `high`.
    low, middle, high : int
    margin : float
    runs : ndarray of shape (high - low + 4,)
        Gets the lower run from 1 on, the upper from middle - low + 3 on.
    positions : ndarray of int32
        Gets the q(j) of the lower run, then the p(i) of the upper; see
        `pairrank.compiled.sorted_edges`.
    upper : ndarray of bool
        Gets whether each merged row is of the upper run.

    Notes
    -----
    O(high - low), 4 ns a row: no branch to mispredict, and both merges go from both ends at once,
    so that a processor has four chains of steps to work on and not one. Unsigned indices spare
    numba's look at negative ones.
    """
    n_a, n = middle - low, high - low
    merged = scores[low:high]
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
def carry(values, low, middle, high, upper, runs):
    """Bring values of two runs into their merged order, in place; `runs` is scratch."""
    n = high - low
    merged = values[low:high]
    for k in range(n):
        runs[k] = merged[k]
    one, p, q = np.uint64(1), np.uint64(0), np.uint64(middle - low)
    for k in range(n):
        take = np.uint64(upper[k])
        merged[k] = runs[q if take else p]
        q += take
        p += one - take


@compiled
def plan_tree(nodes, starts, scores, margin, runs, positions, upper):
    """Merge all the way up, keeping positions and orders of node e from starts[e] on.

    `scores` (n_rows,) hold sorted leaves, and afterwards sorted queries. O(rows) a level of the
    tree, 4 ns each.
    """
    for node in range(len(nodes)):
        low, middle, high = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        start = starts[node]
        merge_scores(scores, low, middle, high, margin, runs, positions[start:], upper[start:])


@compiled
def gradient_over_tree(
    nodes,
    scale,
    scores,
    weight,
    margin,
    squared,
    work,
    runs,
    positions,
    upper,
    gradient,
):
    """Add every pair across the merges of the tree to the gradient and return the value.

    Parameters
    ----------
    nodes : ndarray of int64, shape (n_nodes, 3)
        From `build_nodes`.
    scale : ndarray of shape (n_nodes,)
        What a node's value is multiplied by.
    scores, weight : ndarray of shape (n_rows,)
        Leaves sorted by score; on return whole queries are. `weight` is empty where all are 1.
    margin : float
    squared : bool
    work : ndarray of shape (5, longest run)
    runs, positions, upper : ndarray of float64, int32 and bool
        Scratch for the longest node (four more in `runs`).
    gradient : ndarray of shape (n_rows,)
        As in `gradient_in_blocks`, on return in the order of whole queries sorted by score.

    Notes
    -----
    O(rows log levels), 10 ns a row and level of the tree.
    """
    value = 0.0
    for node in range(len(nodes)):
        low, middle, high = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        n_a, n = middle - low, high - low
        merge_scores(scores, low, middle, high, margin, runs, positions, upper)
        value += scale[node] * pair_gradient(
            runs[1 : n_a + 1],
            runs[n_a + 3 : n + 3],
            weight[low:middle] if len(weight) else weight,
            weight[middle:high] if len(weight) else weight,
            positions[n_a:n],
            positions[:n_a],
            margin,
            squared,
            True,
            work,
            gradient[low:middle],
            gradient[middle:high],
        )
        carry(gradient, low, middle, high, upper, runs)
        if len(weight):
            carry(weight, low, middle, high, upper, runs)
    return value


@compiled
def gamma_over_tree(nodes, starts, scores, margin, plus, minus, runs, positions, upper, x, gamma):
    """Add each row's sum of x over the rows it violates with, across the merges of the tree.

    With `starts`, positions and orders are those of `plan_tree`; with `starts` empty they are found
    anew from `scores`, which are merged. `x` and `gamma` are carried along.
    """
    planned = len(starts) > 0
    for node in range(len(nodes)):
        low, middle, high = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        start = starts[node] if planned else 0
        place, order = positions[start:], upper[start:]
        if not planned:
            merge_scores(scores, low, middle, high, margin, runs, place, order)
        n_a = middle - low
        total, total_low = 0.0, 0.0
        runs[n_a] = 0.0
        for k in range(n_a - 1, -1, -1):
            term = x[low + k]
            new = total + term
            back = new - total
            total_low += (total - (new - back)) + (term - back)
            total = new
            runs[k] = total + total_low
        for k in range(n_a, high - low):
            gamma[low + k] += minus * runs[place[k]]
        total, total_low = 0.0, 0.0
        runs[0] = 0.0
        for k in range(high - middle):
            term = x[middle + k]
            new = total + term
            back = new - total
            total_low += (total - (new - back)) + (term - back)
            total = new
            runs[k + 1] = total + total_low
        for k in range(n_a):
            gamma[low + k] += plus * runs[place[k]]
        carry(x, low, middle, high, order, runs)
        carry(gamma, low, middle, high, order, runs)
