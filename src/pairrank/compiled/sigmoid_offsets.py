"""Sigmoidal sums over pairs of rows that lie near each other in the layout, distance by distance.

For each distance, one loop over the rows i of a tile computes all pairs (i, i + k), where k is the
distance times the tile's stride. Such a loop vectorises however small queries or levels are. The
later row of a pair is the preferred one.

A tile with stride 1 has a stretch of the layout. A tile with a larger stride has many short
stretches, one in each lane: row p of the stretch of lane l is at p * stride + l. Its loops compute
no pairs of rows of different stretches.

Legend: s scores, w row weights, share = S(-d) = -phi'(d), a = exp(s - the highest score).
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled._lane_series import LANES
from pairrank.compiled.extremes import ends
from pairrank.compiled.sigmoid import LOGISTIC, curvature_at, decay, share_and_cost, share_at

_NEAR_SPREAD = 64.0
"""Logistic scores of a tile that spread no further need no exponential per pair."""
_FACTORS = 900
"""The logarithm is taken of products of up to this many factors of at least 1/2."""


@compiled_reassociating
def _add_near(distance, k, n, low, end, s, a, own, other, product, ramp):
    """Add the logistic gradients of the pairs (i, i + k), i < n; row weights 1.

    Shares are added to `own` at i and to `other` at i + k. `product` and `ramp` get the factor and
    the term of phi(d) = ramp - log(product).
    """
    s_j, a_j, other_j = s[k:], a[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= distance) & (distance < end[i])
        share = a[i] / (a[i] + a_j[i]) if paired else 0.0
        own[i] += share
        other_j[i] += share
        product[i] *= max(share, 1.0 - share)
        ramp[i] += max(s[i] - s_j[i], 0.0) if paired else 0.0


@compiled_reassociating
def _add_gradients(kind, distance, k, n, low, end, s, w, own, other, cost):
    """Do the same for any scores, weights and loss; `cost` gets w_j phi(d)."""
    s_j, w_j, other_j = s[k:], w[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= distance) & (distance < end[i])
        share, phi = share_and_cost(kind, s_j[i] - s[i])
        weight = w_j[i] if paired else 0.0
        own[i] += weight * share
        other_j[i] += w[i] * share if paired else 0.0
        cost[i] += weight * phi


@compiled_reassociating
def _add_near_products(order, distance, k, n, low, end, a, w, v, alone, own, other):
    """Add w_j part at i, and w_i part to `other` at i + k, of logistic pairs.

    A part is share (v_i - v_j) for order 1, phi'' (v_i - v_j) for order 2, or phi'' where `alone`
    is 1 and v is 0.
    """
    a_j, w_j, v_j, other_j = a[k:], w[k:], v[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= distance) & (distance < end[i])
        inverse = 1.0 / (a[i] + a_j[i]) if paired else 0.0
        share = a[i] * inverse
        factor = share if order == 1 else (a_j[i] * inverse) * share
        part = factor * (alone + v[i] - v_j[i]) if paired else 0.0
        own[i] += w_j[i] * part
        other_j[i] += w[i] * part


@compiled_reassociating
def _add_products(kind, order, distance, k, n, low, end, s, w, v, alone, own, other):
    """Do the same for any scores and loss."""
    s_j, w_j, v_j, other_j = s[k:], w[k:], v[k:], other[k:]
    for i in range(n):
        paired = (low[i] <= distance) & (distance < end[i])
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
def _spread(s, n, lanes):
    """Return the greatest of n scores, and its difference to the least; fill the last vector."""
    whole = (n + LANES - 1) // LANES * LANES
    for i in range(n, whole):
        s[i] = s[0]
    lowest, highest = ends(s[:whole], lanes)
    return highest, highest - lowest


@compiled
def _widen(distances, result):
    """Copy int16 distances to int64, which loops over float64 compare faster."""
    for i in range(len(distances)):
        result[i] = distances[i]


@compiled_reassociating
def _weighted_sum(scale, w, cost, n):
    total = 0.0
    if len(scale) == 1:
        for i in range(n):
            total += w[i] * cost[i]
        return scale[0] * total
    for i in range(n):
        total += scale[i] * (w[i] * cost[i])
    return total


@compiled_reassociating
def _add_own(scale, w, sign, own, other, result):
    """Add the sums of a tile's rows, which are `own` plus or minus `other`, to the result."""
    if len(scale) == 1:
        for i in range(len(result)):
            result[i] += (scale[0] * w[i]) * (own[i] + sign * other[i])
    else:
        for i in range(len(result)):
            result[i] += (scale[i] * w[i]) * (own[i] + sign * other[i])


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
def add_offsets(kind, order, tiles, nearest, farthest, scale, values, weight, v, result):
    """Add to each row i the sum of w_i w_j k (v_i - v_j) over its pairs; return their value.

    The sums are those of `pairrank.compiled.sigmoid_pairs.add_pairs`, but all arrays are in the
    order of the tiles.

    tiles (n_tiles, 5) int64: the first row, the last + 1, the last + 1 with all rows that these are
    paired with, the stride, and the largest of `farthest`. nearest, farthest (n_rows,) int16: row i
    is paired with the rows from i + nearest[i] * stride to i + (farthest[i] - 1) * stride, which
    are preferred to it; there are none where both are 0. scale (1,) or (n_rows,): the factor on the
    pairs of a row. Costs O(rows * largest distance), and half of it where the stretches of a tile
    are equally long.
    """
    with_value = order == 1 and len(v) == 0
    alone = 0.0 if len(v) else 1.0
    sign = -1.0 if with_value or (order == 2 and len(v)) else 1.0
    width = 2 * LANES
    for tile in range(len(tiles)):
        width = max(width, tiles[tile, 2] - tiles[tile, 0] + LANES)
    work, bounds = np.zeros((8, width)), np.zeros((2, width), np.int64)
    s, w, own_v, a = work[0], work[1], work[2], work[3]
    own, other, product, ramp = work[4], work[5], work[6], work[7]
    w[:] = 1.0
    total, total_low = 0.0, 0.0
    for tile in range(len(tiles)):
        first, last, stop, stride, reach = tiles[tile]
        n, n_here = last - first, stop - first
        if reach == 0:
            continue
        low, end = bounds[0, :n], bounds[1, :n]
        _widen(nearest[first:last], low)
        _widen(farthest[first:last], end)
        s[:n_here] = values[first:stop]
        if len(weight):
            w[:n_here] = weight[first:stop]
        if len(v):
            own_v[:n_here] = v[first:stop]
        near, highest = False, 0.0
        if kind == LOGISTIC and not (with_value and len(weight)):
            highest, spread = _spread(s, n_here, own)
            near = spread <= _NEAR_SPREAD
        if near:
            _exponentials(s, n_here, highest, a)
        own[:], other[:] = 0.0, 0.0
        product[:], ramp[:] = 1.0, 0.0
        for distance in range(1, reach):
            k = distance * stride
            m = min(n, n_here - k)
            if with_value and near:
                _add_near(distance, k, m, low, end, s, a, own, other, product, ramp)
            elif with_value:
                _add_gradients(kind, distance, k, m, low, end, s, w, own, other, ramp)
            elif near:
                _add_near_products(order, distance, k, m, low, end, a, w, own_v, alone, own, other)
            else:
                _add_products(kind, order, distance, k, m, low, end, s, w, own_v, alone, own, other)
        value, own_scale = 0.0, scale[first:stop] if len(scale) > 1 else scale
        if with_value and near:
            together = max(1, _FACTORS // reach) if len(scale) == 1 else 1
            value = _value_near(n, together, own_scale, product, ramp)
        elif with_value:
            value = _weighted_sum(own_scale, w, ramp, n)
        new = total + value
        back = new - total
        total_low += (total - (new - back)) + (value - back)
        total = new
        _add_own(own_scale, w, sign, own, other, result[first:stop])
    return total + total_low
