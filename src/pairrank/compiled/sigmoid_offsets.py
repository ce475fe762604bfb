"""Sigmoidal sums over pairs of rows that lie near each other in the layout, offset by offset.

For each offset k, one loop over the rows i of a tile computes all pairs (i, i + k). Such a loop
vectorises however small queries or levels are. The later row of a pair is the preferred one.

Legend: s scores, w row weights, share = S(-d) = -phi'(d), a = exp(s - the highest score).
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.sigmoid import LOGISTIC, curvature_at, decay, share_and_cost, share_at

_TILE = 512
"""The loop over an offset runs over this many rows, whose arrays fit in the first-level cache."""
_NEAR_SPREAD = 64.0
"""Logistic scores of a tile that spread no further need no exponential per pair."""
_FACTORS = 900
"""The logarithm is taken of products of up to this many factors of at least 1/2."""


@compiled_reassociating
def _add_near(k, n, low, end, s, a, own, other, product, ramp):
    """Add the logistic gradients of the pairs (i, i + k), i < n; row weights 1.

    Shares are added to `own` at i and to `other` at i + k. `product` and `ramp` get the factor and
    the term of phi(d) = ramp - log(product).
    """
    s_j, a_j, other_j = s[k:], a[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= k) & (k < end[i])
        share = a[i] / (a[i] + a_j[i]) if paired else 0.0
        own[i] += share
        other_j[i] += share
        product[i] *= max(share, 1.0 - share)
        ramp[i] += max(s[i] - s_j[i], 0.0) if paired else 0.0


@compiled_reassociating
def _add_gradients(kind, k, n, low, end, s, w, own, other, cost):
    """Do the same for any scores, weights and loss; `cost` gets w_j phi(d)."""
    s_j, w_j, other_j = s[k:], w[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= k) & (k < end[i])
        d = s_j[i] - s[i] if paired else 0.0
        share, phi = share_and_cost(kind, d)
        weight = w_j[i] if paired else 0.0
        own[i] += weight * share
        other_j[i] += w[i] * share if paired else 0.0
        cost[i] += weight * phi


@compiled_reassociating
def _add_near_products(order, k, n, low, end, a, w, v, alone, own, other):
    """Add w_j part at i, and w_i part to `other` at i + k, of logistic pairs.

    A part is share (v_i - v_j) for order 1, phi'' (v_i - v_j) for order 2, or phi'' where `alone`
    is 1 and v is 0.
    """
    a_j, w_j, v_j, other_j = a[k:], w[k:], v[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= k) & (k < end[i])
        inverse = 1.0 / (a[i] + a_j[i]) if paired else 0.0
        share = a[i] * inverse
        factor = share if order == 1 else (a_j[i] * inverse) * share
        part = factor * (alone + v[i] - v_j[i]) if paired else 0.0
        own[i] += w_j[i] * part
        other_j[i] += w[i] * part


@compiled_reassociating
def _add_products(kind, order, k, n, low, end, s, w, v, alone, own, other):
    """Do the same for any scores and loss."""
    s_j, w_j, v_j, other_j = s[k:], w[k:], v[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= k) & (k < end[i])
        d = s_j[i] - s[i] if paired else 0.0
        factor = share_at(kind, d) if order == 1 else curvature_at(kind, d)
        part = factor * (alone + v[i] - v_j[i]) if paired else 0.0
        own[i] += w_j[i] * part
        other_j[i] += w[i] * part


@compiled_reassociating
def _exponentials(s, n, highest, a):
    """Write exp(s - highest) of n rows, and 1 after them."""
    for i in range(n):
        a[i] = decay(highest - s[i])
    a[n:] = 1.0


@compiled
def _copy(values, first, n, result):
    """Copy n values, and write zeros after them; return the least and the greatest."""
    lowest, highest = np.inf, -np.inf
    for i in range(n):
        here = values[first + i]
        result[i] = here
        lowest, highest = min(lowest, here), max(highest, here)
    result[n:] = 0.0
    return lowest, highest


@compiled
def _value_near(n, together, scale, product, ramp):
    """Return the sum of scale (ramp - log product), with one logarithm for several rows."""
    value = 0.0
    for start in range(0, n, together):
        factor, linear = 1.0, 0.0
        for i in range(start, min(start + together, n)):
            factor *= product[i]
            linear += ramp[i]
        value += scale[start % len(scale)] * (linear - math.log(factor))
    return value


@compiled
def add_offsets(kind, order, nearest, farthest, scale, values, weight, v, result):
    """Add to each row i the sum of w_i w_j k (v_i - v_j) over its pairs; return their value.

    The sums are those of `pairrank.compiled.sigmoid_pairs.add_pairs`, but all arrays are in layout
    order. nearest, farthest (n_rows,) int16: row i is paired with the rows from i + nearest[i] to
    i + farthest[i] - 1, which are preferred to it; there are none where both are 0. scale (1,) or
    (n_rows,): the factor on the pairs of a row. Costs O(rows * largest distance).
    """
    with_value = order == 1 and len(v) == 0
    alone = 0.0 if len(v) else 1.0
    sign = -1.0 if with_value or (order == 2 and len(v)) else 1.0
    stop, most = len(farthest), 0
    for i in range(stop):
        most = max(most, np.int64(farthest[i]))
    width = _TILE + most
    work, bounds = np.zeros((8, width)), np.zeros((2, _TILE), np.int64)
    s, w, own_v, a = work[0], work[1], work[2], work[3]
    own, other, product, ramp = work[4], work[5], work[6], work[7]
    w[:] = 1.0
    total, total_low = 0.0, 0.0
    for first in range(0, stop, _TILE):
        n = min(_TILE, stop - first)
        least, reach = most, 0
        for i in range(n):
            bounds[0, i], bounds[1, i] = nearest[first + i], farthest[first + i]
            least = min(least, bounds[0, i]) if bounds[1, i] else least
            reach = max(reach, bounds[1, i])
        if reach == 0:
            continue
        n_here = min(n + reach, stop - first)
        lowest, highest = _copy(values, first, n_here, s)
        if len(weight):
            w[:n_here] = weight[first : first + n_here]
            w[n_here:] = 0.0
        if len(v):
            _copy(v, first, n_here, own_v)
        near = kind == LOGISTIC and highest - lowest <= _NEAR_SPREAD
        near = near and not (with_value and len(weight))
        if near:
            _exponentials(s, n_here, highest, a)
        work[4:6] = 0.0
        product[:], ramp[:] = 1.0, 0.0
        low, end = bounds[0], bounds[1]
        for k in range(least, reach):
            if with_value and near:
                _add_near(k, n, low, end, s, a, own, other, product, ramp)
            elif with_value:
                _add_gradients(kind, k, n, low, end, s, w, own, other, ramp)
            elif near:
                _add_near_products(order, k, n, low, end, a, w, own_v, alone, own, other)
            else:
                _add_products(kind, order, k, n, low, end, s, w, own_v, alone, own, other)
        value = 0.0
        own_scale = scale[first : first + n_here] if len(scale) > 1 else scale
        if with_value and near:
            together = max(1, _FACTORS // reach) if len(scale) == 1 else 1
            value = _value_near(n, together, own_scale, product, ramp)
        elif with_value:
            for i in range(n):
                value += own_scale[i % len(own_scale)] * w[i] * ramp[i]
        new = total + value
        back = new - total
        total_low += (total - (new - back)) + (value - back)
        total = new
        for i in range(n_here):
            factor = own_scale[i if len(own_scale) > 1 else 0] * w[i]
            result[first + i] += factor * (own[i] + sign * other[i])
    return total + total_low
