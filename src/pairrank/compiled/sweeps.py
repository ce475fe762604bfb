"""Hinge sums by a selection tree over the levels (Lee & Lin 2014, Section 2.4, Algorithm 2).

The rows of a query come in ascending order of score; those that violate with the row at hand are
inserted at their level's leaf, and the sums right of a leaf are read on the way up to the root.
Node m has the children 2m and 2m + 1, so there are no pointers. A node does not hold the sum of its
scores, as in the paper, but of their distances to the score inserted last, none negative: nothing
cancels, and one huge score costs the others no digits (see `pairrank.compiled.sorted_edges`).
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sorted_blocks import excess


@compiled
def _first_leaf(n_levels):
    """Return the index of the first leaf: the power of two from n_levels on."""
    size = 1
    while size < n_levels:
        size *= 2
    return size


@compiled
def gradient_by_selection_tree(
    ranges, scale, scores, level, n_levels, weight, margin, squared, gradient
):
    """Add every pair of full graphs to the gradient and return the value.

    Parameters
    ----------
    ranges : ndarray of int64, shape (n_queries, 2)
        The rows of each query, ascending by score.
    scale : ndarray of shape (n_queries,)
        What a query's value is multiplied by.
    scores, level, weight : ndarray of shape (n_rows,)
        `weight` is empty where all are 1.
    n_levels : ndarray of int64, shape (n_queries,)
        The levels of a query's rows go from 0 to n_levels - 1.
    margin : float
    squared : bool
    gradient : ndarray of shape (n_rows,)
        As in `gradient_in_blocks`, in the order of `scores`.

    Notes
    -----
    O(rows log levels): two sweeps with an insertion and a reading a row.
    """
    node = np.zeros((2 * _first_leaf(n_levels.max()), 4))
    value = 0.0
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        leaf = _first_leaf(n_levels[query])
        for upwards in (True, False):
            node[: 2 * leaf] = 0.0
            entering = low if upwards else high - 1
            step = 1 if upwards else -1
            row = entering
            for _ in range(high - low):
                score = scores[row]
                while low <= entering < high:
                    other = scores[entering]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    at = leaf + level[entering]
                    while at > 0:
                        n = node[at, 0]
                        if n > 0.0:
                            far = abs(other - node[at, 3])
                            node[at, 2] += far * (node[at, 1] + node[at, 1] + n * far)
                            node[at, 1] += n * far
                        node[at, 0] = n + (weight[entering] if len(weight) else 1.0)
                        node[at, 3] = other
                        at //= 2
                    entering += step
                count, linear, square = 0.0, 0.0, 0.0
                at = leaf + level[row]
                while at > 1:
                    if (at % 2 == 0) == upwards:
                        beside = at ^ 1
                        n = node[beside, 0]
                        if n > 0.0:
                            last = node[beside, 3]
                            c = (
                                excess(margin, last, score)
                                if upwards
                                else excess(margin, score, last)
                            )
                            s = node[beside, 1]
                            count += n
                            linear += s + n * c
                            square += node[beside, 2] + c * (s + s + n * c)
                    at //= 2
                force = linear if squared else count
                gradient[row] += force if upwards else -force
                if upwards:
                    w = weight[row] if len(weight) else 1.0
                    value += scale[query] * w * (square if squared else linear)
                row += step
    return value


@compiled
def gamma_by_selection_tree(ranges, scores, level, n_levels, x, margin, plus, minus, gamma):
    """Add to `gamma` each row's sum of x over the rows it violates with; see `gamma_in_blocks`."""
    node = np.zeros(2 * _first_leaf(n_levels.max()))
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        leaf = _first_leaf(n_levels[query])
        for upwards in (True, False):
            node[: 2 * leaf] = 0.0
            factor = plus if upwards else minus
            entering = low if upwards else high - 1
            step = 1 if upwards else -1
            row = entering
            for _ in range(high - low):
                score = scores[row]
                while low <= entering < high:
                    other = scores[entering]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    at = leaf + level[entering]
                    while at > 0:
                        node[at] += x[entering]
                        at //= 2
                    entering += step
                total = 0.0
                at = leaf + level[row]
                while at > 1:
                    if (at % 2 == 0) == upwards:
                        total += node[at ^ 1]
                    at //= 2
                gamma[row] += factor * total
                row += step


@compiled
def gradient_by_counting(ranges, scale, scores, level, n_levels, weight, margin, squared, gradient):
    """Add every pair of full graphs to the gradient and return the value.

    The parameters are those of `gradient_by_selection_tree`.
    """
    held = np.zeros((n_levels.max(), 4))
    value = 0.0
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        n_held = n_levels[query]
        for upwards in (True, False):
            held[:n_held] = 0.0
            entering = low if upwards else high - 1
            step = 1 if upwards else -1
            row = entering
            for _ in range(high - low):
                score = scores[row]
                while low <= entering < high:
                    other = scores[entering]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    at = level[entering]
                    n = held[at, 0]
                    if n > 0.0:
                        far = abs(other - held[at, 3])
                        held[at, 2] += far * (held[at, 1] + held[at, 1] + n * far)
                        held[at, 1] += n * far
                    held[at, 0] = n + (weight[entering] if len(weight) else 1.0)
                    held[at, 3] = other
                    entering += step
                count, linear, square = 0.0, 0.0, 0.0
                first = level[row] + 1 if upwards else 0
                for at in range(first, n_held if upwards else level[row]):
                    n = held[at, 0]
                    if n > 0.0:
                        last = held[at, 3]
                        c = excess(margin, last, score) if upwards else excess(margin, score, last)
                        s = held[at, 1]
                        count += n
                        linear += s + n * c
                        square += held[at, 2] + c * (s + s + n * c)
                force = linear if squared else count
                gradient[row] += force if upwards else -force
                if upwards:
                    w = weight[row] if len(weight) else 1.0
                    value += scale[query] * w * (square if squared else linear)
                row += step
    return value


@compiled
def gamma_by_counting(ranges, scores, level, n_levels, x, margin, plus, minus, gamma):
    """Add to `gamma` each row's sum of x over the rows it violates with; see `gamma_in_blocks`."""
    held = np.zeros(n_levels.max())
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        n_held = n_levels[query]
        for upwards in (True, False):
            held[:n_held] = 0.0
            factor = plus if upwards else minus
            entering = low if upwards else high - 1
            step = 1 if upwards else -1
            row = entering
            for _ in range(high - low):
                score = scores[row]
                while low <= entering < high:
                    other = scores[entering]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    held[level[entering]] += x[entering]
                    entering += step
                total = 0.0
                first = level[row] + 1 if upwards else 0
                for at in range(first, n_held if upwards else level[row]):
                    total += held[at]
                gamma[row] += factor * total
                row += step
