"""Hinge sums by a selection tree over the levels (Lee & Lin 2014, Section 2.4, Algorithm 2).

The rows of a query come in ascending order of score; those that violate with the current row are
inserted at their level's leaf, and the sums right of a leaf are read on the way up to the root.
Node m has the children 2m and 2m + 1, so there are no pointers. A node does not hold the sum of its
scores, as in the paper, but of their distances to the score inserted last, which are never
negative: nothing cancels, and one huge score costs the others no digits (see
`merges`). Level counting keeps one such node per level, and no tree.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.merges import excess


@compiled
def _first_leaf(n_levels):
    """Return the index of the first leaf: the power of two from n_levels on."""
    size = 1
    while size < n_levels:
        size *= 2
    return size


@compiled
def _insert(nodes, at, score, weight, moments):
    """Insert a row into one node: the weight, S, Q and the score inserted last."""
    n = nodes[at, 0]
    nodes[at, 0] = n + weight
    if moments:
        far = abs(score - nodes[at, 3])
        nodes[at, 2] += far * (nodes[at, 1] + nodes[at, 1] + n * far)
        nodes[at, 1] += n * far
        nodes[at, 3] = score


@compiled
def _read(nodes, at, score, margin, upwards, sums):
    """Add the weight of a node's rows, and the sums of their excess and of its square."""
    n, s, last = nodes[at, 0], nodes[at, 1], nodes[at, 3]
    c = excess(margin, last, score) if upwards else excess(margin, score, last)
    sums[0] += n
    sums[1] += s + n * c
    sums[2] += nodes[at, 2] + c * (s + s + n * c)


@compiled
def sums_by_sweeps(
    by_tree, ranges, scale, places, scores, level, n_levels, winner, loser, margin, squared,
    moments, sums,
):  # fmt: skip
    """Add every pair of full graphs to `sums` and return the cost; see `merges.sums_over_runs`.

    `by_tree`: by a selection tree, else by one node per level. `ranges` (n_queries, 2) are the rows
    of each query, ascending by score, at the `places` (n_rows,) int32 of the layout; `scale` is a
    factor on each query's pairs. Scores, level, winner and loser (n_rows,) are in the layout, and
    the levels of a query go from 0 to n_levels - 1. Without `moments` only values are summed,
    whatever their sign. O(rows log levels) by a tree, else O(rows * levels): two sweeps.
    """
    nodes = np.zeros((2 * _first_leaf(n_levels.max()), 4))
    found = np.zeros(3)
    value = 0.0
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        leaf = _first_leaf(n_levels[query])
        for upwards in (True, False):
            nodes[: 2 * leaf] = 0.0
            entering = at_row = low if upwards else high - 1
            step = 1 if upwards else -1
            others = winner if upwards else loser
            for _ in range(high - low):
                row = places[at_row]
                score = scores[row]
                while low <= entering < high:
                    other = scores[places[entering]]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    at = leaf + level[places[entering]]
                    while at > 0:
                        _insert(nodes, at, other, others[places[entering]], moments)
                        at = at // 2 if by_tree else 0
                    entering += step
                found[:] = 0.0
                if by_tree:
                    at = leaf + level[row]
                    while at > 1:
                        if (at % 2 == 0) == upwards:
                            _read(nodes, at ^ 1, score, margin, upwards, found)
                        at //= 2
                else:
                    first = level[row] + 1 if upwards else 0
                    for at in range(first, n_levels[query] if upwards else level[row]):
                        _read(nodes, leaf + at, score, margin, upwards, found)
                sums[1 if upwards else 0, row] += scale[query] * found[1 if squared else 0]
                if upwards and moments:
                    value += scale[query] * loser[row] * found[2 if squared else 1]
                at_row += step
    return value
