"""Sums over explicit comparisons, a buffer of them at a time, for losses with an integer code."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT, curvatures, shares_and_costs

HINGE, SQUARED_HINGE, TUBE, SQUARED_TUBE = 2, 3, 4, 5
"""The codes beside LOGISTIC and PROBIT; a square is a squared tube of width 0."""

BUFFER = 512


@compiled
def _fill(code, parameter, d, wanted, slope, cost):
    """Write -phi'(d) and phi(d) of every margin.

    `parameter` is the hinge's margin or the tube's epsilon. Excess is margin - d in exactly this
    order, as in all sums of hinges: they agree at the kink.
    """
    if code in (LOGISTIC, PROBIT):
        shares_and_costs(code, d, slope, cost)
        return
    for k in range(len(d)):
        if code in (HINGE, SQUARED_HINGE):
            over, sign = parameter - d[k], 1.0
        else:
            miss = wanted[k] - d[k]
            over, sign = abs(miss) - parameter, (1.0 if miss > 0.0 else -1.0)
        over = over if over > 0.0 else 0.0
        if code in (SQUARED_HINGE, SQUARED_TUBE):
            slope[k] = 2.0 * sign * over
            cost[k] = over * over
        else:
            slope[k] = sign if over > 0.0 else 0.0
            cost[k] = over


@compiled
def gradient_over_pairs(code, parameter, i, j, weight, magnitude, scores, gradient):
    """Add every comparison to the gradient and return the value, O(n_pairs).

    Parameters
    ----------
    code : int
        LOGISTIC, PROBIT, HINGE, SQUARED_HINGE, TUBE or SQUARED_TUBE.
    parameter : float
        The hinge's margin or the tube's epsilon.
    i, j : ndarray of int32, shape (n_pairs,)
        Row i is preferred to row j.
    weight, magnitude : ndarray of shape (n_pairs,) or (0,)
        Empty where all are 1.
    scores, gradient : ndarray of shape (n_rows,)

    Notes
    -----
    Sums are compensated, comparison by comparison, or buffer by buffer for sigmoids, whose costs
    are all positive.
    """
    d, slope, cost, wanted = np.empty(BUFFER), np.empty(BUFFER), np.empty(BUFFER), np.ones(BUFFER)
    by_buffer = code in (LOGISTIC, PROBIT)
    value, value_low = 0.0, 0.0
    for start in range(0, len(i), BUFFER):
        n = min(BUFFER, len(i) - start)
        for k in range(n):
            d[k] = scores[i[start + k]] - scores[j[start + k]]
        if len(magnitude):
            for k in range(n):
                wanted[k] = magnitude[start + k]
        _fill(code, parameter, d[:n], wanted[:n], slope[:n], cost[:n])
        part = 0.0
        for k in range(n):
            if slope[k] == 0.0 and cost[k] == 0.0:
                continue
            w = weight[start + k] if len(weight) else 1.0
            force = w * slope[k]
            gradient[i[start + k]] -= force
            gradient[j[start + k]] += force
            part += w * cost[k]
            if not by_buffer or k == n - 1:
                new = value + part
                back = new - value
                value_low += (value - (new - back)) + (part - back)
                value = new
                part = 0.0
        value_low += part
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
