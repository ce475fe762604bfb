"""Stochastic gradient steps on pairs of rows: a step costs the entries of its two rows.

The weights are scale * v and the sum of the weights after each step, times its share, is
total + running * v - past, so that neither the penalty nor the average touches every feature.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled

HINGE, SQUARED_HINGE, LOGISTIC, PROBIT = range(4)

_PROBIT_SCALE = math.sqrt(3.0) / math.pi
CURVATURES = (1.0, 2.0, 0.25, _PROBIT_SCALE / math.sqrt(2.0 * math.pi))
"""The largest second derivative of each loss; the hinge, which has none, counts as 1."""
_LEAST_SCALE = 1e-3
"""The sum of weights loses as many digits as the scale falls by between two calls of `settle`."""


@compiled
def step_length(loss, margin, d, square, rate):
    """Return the multiple of x_i - x_j that a step of this rate adds to the weights.

    d is w'(x_i - x_j) and `square` |x_i - x_j|^2. The rate is divided by 1 + rate * square *
    curvature, and the hinge's step ends at its kink, so that no step leaps over the minimum for
    this pair.
    """
    if loss == HINGE:
        return max(0.0, min(rate, (margin - d) / square))
    if loss == SQUARED_HINGE:
        slope = 2.0 * max(0.0, margin - d)
    elif loss == LOGISTIC:
        slope = 1.0 / (1.0 + math.exp(d))
    else:
        slope = 0.5 * math.erfc(_PROBIT_SCALE / math.sqrt(2.0) * d)
    return slope / (1.0 / rate + CURVATURES[loss] * square)


@compiled
def settle(v, past, total, scale, running):
    """Put scale and running sum into the weights v and the total of weights."""
    for j in range(v.size):
        total[j] += running * v[j] - past[j]
        v[j] *= scale
        past[j] = 0.0


@compiled
def take_steps(
    data, indices, indptr, winners, losers, loss, margin, rates, shrinkage, shares, v, total
):
    """Take a step per pair on CSR rows; v becomes the last weights.

    Step k has rates[k], multiplies the weights by shrinkage[k] and adds shares[k] times the weights
    after it to `total`.
    """
    size = v.size
    work, past = np.zeros(size), np.zeros(size)
    places, difference = np.empty(size, dtype=np.int64), np.empty(size)
    scale, running = 1.0, 0.0
    for k in range(winners.size):
        for end, sign in ((winners[k], 1.0), (losers[k], -1.0)):
            for at in range(indptr[end], indptr[end + 1]):
                work[indices[at]] += sign * data[at]
        count, d, square = 0, 0.0, 0.0
        for end in (winners[k], losers[k]):
            for at in range(indptr[end], indptr[end + 1]):
                j = indices[at]
                gap = work[j]
                if gap != 0.0:
                    work[j] = 0.0
                    places[count], difference[count] = j, gap
                    count += 1
                    d += gap * v[j]
                    square += gap * gap
        d *= scale
        scale *= shrinkage[k]
        if scale < _LEAST_SCALE:
            settle(v, past, total, scale, running)
            scale, running = 1.0, 0.0
        if square > 0.0:
            change = step_length(loss, margin, d, square, rates[k]) / scale
            if change != 0.0:
                before = change * running
                for at in range(count):
                    v[places[at]] += change * difference[at]
                    past[places[at]] += before * difference[at]
        running += shares[k] * scale
    settle(v, past, total, scale, running)
