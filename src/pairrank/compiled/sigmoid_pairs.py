"""Sigmoidal sums over explicit comparisons, a buffer of them at a time."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.exponentials import decay, log_one_plus, mills_ratio, normal_density
from pairrank.compiled.sigmoids import LOGISTIC, PROBIT_SCALE

BUFFER = 512


@compiled_reassociating
def _shares_and_costs(kind, d, share, cost):
    """Write S(-d) and phi(d) of every margin."""
    for k in range(len(d)):
        x = abs(d[k])
        if kind == LOGISTIC:
            e = decay(x)
            share[k] = (e if d[k] >= 0.0 else 1.0) / (1.0 + e)
            cost[k] = log_one_plus(e) + max(-d[k], 0.0)
        else:
            x = PROBIT_SCALE * x
            density = normal_density(x)
            tail = density * mills_ratio(x)
            share[k] = tail if d[k] >= 0.0 else 1.0 - tail
            cost[k] = (density - min(x, 64.0) * tail) * (1.0 / PROBIT_SCALE) + max(-d[k], 0.0)


@compiled_reassociating
def _bends(kind, d, bend):
    """Write phi''(d) of every margin."""
    for k in range(len(d)):
        x = abs(d[k])
        if kind == LOGISTIC:
            e = decay(x)
            large = 1.0 / (1.0 + e)
            bend[k] = e * large * large
        else:
            bend[k] = PROBIT_SCALE * normal_density(PROBIT_SCALE * x)


@compiled
def gradient_over_pairs(kind, i, j, weight, scores, gradient):
    """Add every comparison to the gradient and return the value, O(n_pairs).

    Parameters
    ----------
    kind : int
        LOGISTIC or PROBIT.
    i, j : ndarray of int32, shape (n_pairs,)
        Row i is preferred to row j.
    weight : ndarray of shape (n_pairs,) or (0,)
        Empty where all are 1.
    scores, gradient : ndarray of shape (n_rows,)
    """
    d, share, cost = np.empty(BUFFER), np.empty(BUFFER), np.empty(BUFFER)
    value, value_low = 0.0, 0.0
    for start in range(0, len(i), BUFFER):
        n = min(BUFFER, len(i) - start)
        for k in range(n):
            d[k] = scores[i[start + k]] - scores[j[start + k]]
        _shares_and_costs(kind, d[:n], share[:n], cost[:n])
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
def bends_of_pairs(kind, i, j, weight, scores, result):
    """Write each comparison's weight times phi''(d) to `result`, (n_pairs,)."""
    d = np.empty(BUFFER)
    for start in range(0, len(i), BUFFER):
        n = min(BUFFER, len(i) - start)
        for k in range(n):
            d[k] = scores[i[start + k]] - scores[j[start + k]]
        _bends(kind, d[:n], result[start : start + n])
    for pair in range(len(weight)):
        result[pair] *= weight[pair]


@compiled
def influence_over_pairs(kind, i, j, weight, scores, v, result):
    """Add weight * phi'(d) (v_i - v_j) of every comparison to both its rows."""
    d, share, cost = np.empty(BUFFER), np.empty(BUFFER), np.empty(BUFFER)
    for start in range(0, len(i), BUFFER):
        n = min(BUFFER, len(i) - start)
        for k in range(n):
            d[k] = scores[i[start + k]] - scores[j[start + k]]
        _shares_and_costs(kind, d[:n], share[:n], cost[:n])
        for k in range(n):
            first, second = i[start + k], j[start + k]
            w = weight[start + k] if len(weight) else 1.0
            force = w * share[k] * (v[first] - v[second])
            result[first] -= force
            result[second] -= force
