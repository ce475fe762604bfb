"""The pairs beside the boxes: within small levels, and between small levels, one by one."""

from __future__ import annotations

import numpy as np

from pairrank.sums._jit import compiled
from pairrank.sums.sigmoids import bend, cost, sigmoid

GRADIENT, PRODUCT, DIAGONAL, INFLUENCE = 0, 1, 2, 3
"""What is asked for."""
_STRETCH = 2048
"""So many rows are fetched before their pairs are looked at: then the waits overlap."""


@compiled
def between(kind, asked, edges, row_of, scores, weight, v, factor, result):
    """Add the pairs of edges to `result` (n_all,); return the sum of factor * weights * phi.

    Parameters
    ----------
    kind : int
        The loss; see `pairrank.sums.sigmoids`.
    asked : int
        GRADIENT, PRODUCT (with v), DIAGONAL of the Hessian, or INFLUENCE: w phi' (v_a - v_b) for
        both rows.
    edges : ndarray of int64, shape (n_edges, 4)
        First and last + 1 place of the low rows in the layout, then of the high ones.
    row_of, weight : ndarray of int32 and of float64
        The layout; weights empty where all are 1.
    scores, v, result : ndarray of shape (n_all,)
        In the user's order.
    factor : float

    Notes
    -----
    Costs O(pairs), some ten nanoseconds each.
    """
    value = 0.0
    for edge in range(len(edges)):
        for high in range(edges[edge, 2], edges[edge, 3]):
            a = row_of[high]
            w_a = factor * weight[high] if len(weight) else factor
            own = 0.0
            for low in range(edges[edge, 0], edges[edge, 1]):
                b = row_of[low]
                w = w_a * weight[low] if len(weight) else w_a
                d = scores[a] - scores[b]
                if asked == GRADIENT:
                    value += w * cost(kind, d)
                    force = -w * sigmoid(kind, -d)
                elif asked == INFLUENCE:
                    force = -w * sigmoid(kind, -d) * (v[a] - v[b])
                else:
                    force = w * bend(kind, d)
                    if asked == PRODUCT:
                        force *= v[a] - v[b]
                own += force
                result[b] += -force if asked <= PRODUCT else force
            result[a] += own
    return value


@compiled
def within(kind, asked, groups, row_of, scores, weight, v, factor, result):
    """Take from `result` what the pairs within small levels put there; return their sum of e.

    `groups` (n_groups, 2) are places of the layout; e(d) = phi(d) + d/2, each pair once. For the
    gradient each row loses w S of the others, for the influence w S (v_i - v_j), of products and
    the diagonal what the Hessian would have there. The rest as for `between`.
    """
    longest = _STRETCH
    for group in range(len(groups)):
        longest = max(longest, groups[group, 1] - groups[group, 0])
    s, q, x, y = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    value = 0.0
    first = 0
    while first < len(groups):
        last, n = first, 0
        while last < len(groups) and n + groups[last, 1] - groups[last, 0] <= longest:
            for place in range(groups[last, 0], groups[last, 1]):
                row = row_of[place]
                s[n] = scores[row]
                x[n] = v[row] if len(v) else 0.0
                q[n] = weight[place] if len(weight) else 1.0
                y[n] = 0.0
                n += 1
            last += 1
        n = 0
        for group in range(first, last):
            size = groups[group, 1] - groups[group, 0]
            for a in range(n, n + size):
                for b in range(n, a):
                    value += _take_pair(kind, asked, s, factor * (q[a] * q[b]), x, a, b, y)
            n += size
        n = 0
        for group in range(first, last):
            for place in range(groups[group, 0], groups[group, 1]):
                result[row_of[place]] += y[n]
                n += 1
        first = last
    return value


@compiled
def _take_pair(kind, asked, s, w, x, a, b, y):
    """Take one pair from the rows a and b; return w e(d) where the gradient is asked for."""
    d = s[a] - s[b]
    if asked in (GRADIENT, INFLUENCE):
        less = sigmoid(kind, -abs(d))
        more = 1.0 - less
        share = more if d >= 0.0 else less
        if asked == GRADIENT:
            y[a] -= w * share
            y[b] -= w * (1.0 - share)
            return w * (cost(kind, abs(d)) + 0.5 * abs(d))
        y[a] -= w * share * (x[a] - x[b])
        y[b] -= w * (1.0 - share) * (x[b] - x[a])
        return 0.0
    force = w * bend(kind, d)
    if asked == PRODUCT:
        force *= x[a] - x[b]
    y[a] -= force
    y[b] += force if asked == PRODUCT else -force
    return 0.0
