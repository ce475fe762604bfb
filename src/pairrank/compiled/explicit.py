"""Sums over explicit comparisons, for losses with an integer code."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.layout import add
from pairrank.compiled.sigmoid import shares_and_costs

HINGE, SQUARED_HINGE, TUBE, SQUARED_TUBE = 2, 3, 4, 5
"""The codes beside LOGISTIC 0 and PROBIT 1; a square is a squared tube of width 0."""

BUFFER = 512


@compiled
def _beyond(code, parameter, d, wanted):
    """Return the distance of a margin beyond the kink, else 0, and the sign of -phi'(d).

    Excess is margin - d in exactly this order, as in all sums of hinges: they agree at the kink.
    """
    if code <= SQUARED_HINGE:
        over = parameter - d
        return (over if over > 0.0 else 0.0), 1.0
    miss = wanted - d
    over = abs(miss) - parameter
    return (over if over > 0.0 else 0.0), (1.0 if miss > 0.0 else -1.0)


@compiled
def gradient_over_kinks(code, parameter, i, j, weight, magnitude, scores, gradient):
    """Add every comparison to the gradient of a hinge or tube; return the value, O(n_pairs).

    `parameter` is the hinge's margin or the tube's epsilon. Row i[k] is preferred to row j[k];
    `weight` and `magnitude` (n_pairs,) are empty if all are 1. The value is compensated.
    """
    squared = code in (SQUARED_HINGE, SQUARED_TUBE)
    value, rest = 0.0, 0.0
    for pair in range(len(i)):
        wanted = magnitude[pair] if len(magnitude) else 1.0
        over, sign = _beyond(code, parameter, scores[i[pair]] - scores[j[pair]], wanted)
        w = weight[pair] if len(weight) else 1.0
        force = w * sign * (2.0 * over if squared else (1.0 if over > 0.0 else 0.0))
        gradient[i[pair]] -= force
        gradient[j[pair]] += force
        cost = w * (over * over if squared else over)
        value, rest = add(value, rest, cost)
    return value + rest


@compiled
def gradient_over_sigmoids(kind, i, j, weight, scores, gradient):
    """Like `gradient_over_kinks`, for LOGISTIC or PROBIT, by buffers of comparisons."""
    d, share, cost = np.empty(BUFFER), np.empty(BUFFER), np.empty(BUFFER)
    value, rest = 0.0, 0.0
    for start in range(0, len(i), BUFFER):
        n = min(BUFFER, len(i) - start)
        for k in range(n):
            d[k] = scores[i[start + k]] - scores[j[start + k]]
        shares_and_costs(kind, d[:n], share[:n], cost[:n])
        part = 0.0
        for k in range(n):
            w = weight[start + k] if len(weight) else 1.0
            force = w * share[k]
            gradient[i[start + k]] -= force
            gradient[j[start + k]] += force
            part += w * cost[k]
        value, rest = add(value, rest, part)
    return value + rest


@compiled
def laplacian_product(i, j, weight, v, result):
    """Add the Laplacian M D M' of the comparisons times v; `weight` (n_pairs,), empty: 1 each."""
    for pair in range(len(i)):
        w = weight[pair] if len(weight) else 1.0
        change = w * (v[i[pair]] - v[j[pair]])
        result[i[pair]] += change
        result[j[pair]] -= change
