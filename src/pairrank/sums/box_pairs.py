"""The pairs beside the boxes: within small levels, and between small levels, one by one."""

from __future__ import annotations

from pairrank.sums._jit import compiled
from pairrank.sums.sigmoids import bend, cost, sigmoid

GRADIENT, PRODUCT, DIAGONAL, INFLUENCE = 0, 1, 2, 3
"""What is asked for."""


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
    value = 0.0
    for group in range(len(groups)):
        for here in range(groups[group, 0], groups[group, 1]):
            a = row_of[here]
            w_a = factor * weight[here] if len(weight) else factor
            own = 0.0
            for there in range(groups[group, 0], here):
                b = row_of[there]
                w = w_a * weight[there] if len(weight) else w_a
                d = scores[a] - scores[b]
                if asked == GRADIENT:
                    value += w * (cost(kind, abs(d)) + 0.5 * abs(d))
                    own -= w * sigmoid(kind, d)
                    result[b] -= w * sigmoid(kind, -d)
                elif asked == INFLUENCE:
                    own -= w * sigmoid(kind, d) * (v[a] - v[b])
                    result[b] -= w * sigmoid(kind, -d) * (v[b] - v[a])
                else:
                    force = w * bend(kind, d)
                    if asked == PRODUCT:
                        force *= v[a] - v[b]
                    own -= force
                    result[b] += force if asked == PRODUCT else -force
            result[a] += own
    return value
