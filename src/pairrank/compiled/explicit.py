"""Sums over explicit comparisons, for losses with an integer code."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sigmoid import curvatures, shares_and_costs

HINGE, SQUARED_HINGE, TUBE, SQUARED_TUBE = 2, 3, 4, 5
"""The codes beside LOGISTIC 0 and PROBIT 1; a square is a squared tube of width 0."""

BUFFER = 512


@compiled
def _beyond(code, parameter, d, wanted):
    """Return how far a margin is beyond the kink, 0 where it is not, and the sign of -phi'(d).

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

    Parameters
    ----------
    code : int
        HINGE, SQUARED_HINGE, TUBE or SQUARED_TUBE.
    parameter : float
        The hinge's margin or the tube's epsilon.
    i, j : ndarray of int32, shape (n_pairs,)
        Row i is preferred to row j.
    weight, magnitude : ndarray of shape (n_pairs,) or (0,)
        Empty where all are 1.
    scores, gradient : ndarray of shape (n_rows,)

    Notes
    -----
    The value is compensated, comparison by comparison.
    """
    squared = code in (SQUARED_HINGE, SQUARED_TUBE)
    value, value_low = 0.0, 0.0
    for pair in range(len(i)):
        wanted = magnitude[pair] if len(magnitude) else 1.0
        over, sign = _beyond(code, parameter, scores[i[pair]] - scores[j[pair]], wanted)
        w = weight[pair] if len(weight) else 1.0
        force = w * sign * (2.0 * over if squared else (1.0 if over > 0.0 else 0.0))
        gradient[i[pair]] -= force
        gradient[j[pair]] += force
        cost = w * (over * over if squared else over)
        new = value + cost
        back = new - value
        value_low += (value - (new - back)) + (cost - back)
        value = new
    return value + value_low


@compiled
def pairs_beyond(code, parameter, i, j, weight, magnitude, scores, kept_i, kept_j, kept_weight):
    """Write the comparisons beyond the kink, with their weights if they have any; count them."""
    n_kept = 0
    for pair in range(len(i)):
        wanted = magnitude[pair] if len(magnitude) else 1.0
        over, _ = _beyond(code, parameter, scores[i[pair]] - scores[j[pair]], wanted)
        kept_i[n_kept] = i[pair]
        kept_j[n_kept] = j[pair]
        if len(weight):
            kept_weight[n_kept] = weight[pair]
        n_kept += over > 0.0
    return n_kept


@compiled
def gradient_over_sigmoids(kind, i, j, weight, scores, gradient):
    """Do as `gradient_over_kinks` for LOGISTIC or PROBIT, a buffer of comparisons at a time."""
    d, share, cost = np.empty(BUFFER), np.empty(BUFFER), np.empty(BUFFER)
    value, value_low = 0.0, 0.0
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
        new = value + part
        back = new - value
        value_low += (value - (new - back)) + (part - back)
        value = new
    return value + value_low


@compiled
def derivatives_of_pairs(code, order, i, j, weight, scores, result):
    """Write each comparison's weight times phi'(d) or phi''(d) of a sigmoidal loss, (n_pairs,)."""
    d, cost = np.empty(BUFFER), np.empty(BUFFER)
    for start in range(0, len(i), BUFFER):
        n = min(BUFFER, len(i) - start)
        for k in range(n):
            d[k] = scores[i[start + k]] - scores[j[start + k]]
        if order == 2:
            curvatures(code, d[:n], result[start : start + n])
        else:
            shares_and_costs(code, d[:n], result[start : start + n], cost[:n])
            for k in range(start, start + n):
                result[k] = -result[k]
    for pair in range(len(weight)):
        result[pair] *= weight[pair]


@compiled
def laplacian_over_pairs(i, j, weight, v, result):
    """Add to `result` the weighted Laplacian M D M' of the comparisons times v, O(n_pairs)."""
    for pair in range(len(i)):
        force = v[i[pair]] - v[j[pair]]
        if len(weight):
            force *= weight[pair]
        result[i[pair]] += force
        result[j[pair]] -= force


@compiled
def influence_over_pairs(i, j, slope, v, result):
    """Add slope * (v_i - v_j) of every comparison to both its rows."""
    for pair in range(len(i)):
        force = slope[pair] * (v[i[pair]] - v[j[pair]])
        result[i[pair]] += force
        result[j[pair]] += force
