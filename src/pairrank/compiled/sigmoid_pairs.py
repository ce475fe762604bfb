"""Sigmoidal sums pair by pair between the levels of small queries.

Legend: s scores, w row weights, share = S(-d) the part of a pair's weight that pulls at its rows,
bend = phi''(d). Loops over a block of less preferred rows run over whole vectors of eight, the rows
beyond the block masked: in blocks of a few rows the leftovers would cost more than the loop.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.sigmoid import (
    LOGISTIC,
    PROBIT_SCALE,
    decay,
    log_one_plus,
    mills_ratio,
    normal_density,
)

VECTOR = 8
HESSIAN, DIAGONAL, INFLUENCE = 0, 1, 2
"""What `products_in_queries` adds up."""

_NEAR = 128.0
"""Logistic scores so near to the middle of their query meet without an exponential a pair."""
_FACTORS = 900
"""So many factors of at least 1/2 are multiplied before the logarithm of their product is taken."""
_ROWS = 64
"""What so many preferred rows add to others is summed by itself, so that rounding stays small."""


@compiled_reassociating
def _row_near(s_i, a_i, scores, a, pull, n_rows):
    """Add one preferred row's logistic pairs with a block, row weights 1, a = exp(s), O(block).

    Return its own shares, the sum of max(0, -d), and the product whose -log is the rest of phi.
    """
    own, ramp, product = 0.0, 0.0, 1.0
    for j in range(len(scores)):
        share = a[j] / (a_i + a[j]) if j < n_rows else 0.0
        own += share
        pull[j] += share
        product *= max(share, 1.0 - share)
        ramp += max(scores[j] - s_i, 0.0) if j < n_rows else 0.0
    return own, ramp, product


@compiled_reassociating
def _row(kind, s_i, w_i, scores, weights, pull, n_rows):
    """Add one preferred row's pairs with a block; return its own shares and the value, O(block)."""
    own, value = 0.0, 0.0
    for j in range(len(scores)):
        d = s_i - scores[j] if j < n_rows else 0.0
        x = abs(d)
        if kind == LOGISTIC:
            e = decay(x)
            small = e / (1.0 + e)
            cost = log_one_plus(e)
        else:
            x = PROBIT_SCALE * x
            density = normal_density(x)
            small = density * mills_ratio(x)
            cost = (density - min(x, 64.0) * small) * (1.0 / PROBIT_SCALE)
        share = small if d >= 0.0 else 1.0 - small
        w = weights[j] if j < n_rows else 0.0
        own += w * share
        pull[j] += w_i * share if j < n_rows else 0.0
        value += w * (cost + max(-d, 0.0))
    return own, value


@compiled_reassociating
def _product_near(mode, a_i, w_i, v_i, a, weights, v, result, n_rows):
    """Add one preferred row's f(d) (v_i - v_j), logistic, with a block; return its own sum."""
    own = 0.0
    sign = -1.0 if mode == HESSIAN else 1.0
    for j in range(len(a)):
        inverse = 1.0 / (a_i + a[j]) if j < n_rows else 0.0
        share = a[j] * inverse
        f = -share if mode == INFLUENCE else (a_i * inverse) * share
        force = f * (1.0 if mode == DIAGONAL else v_i - v[j])
        own += weights[j] * force
        result[j] += sign * w_i * force
    return own


@compiled_reassociating
def _product_of_bends(kind, mode, s_i, w_i, v_i, scores, weights, v, result, n_rows):
    """Add one preferred row's phi''(d) (v_i - v_j), or phi''(d), with a block, as above."""
    own = 0.0
    sign = -1.0 if mode == HESSIAN else 1.0
    for j in range(len(scores)):
        x = abs(s_i - scores[j])
        if kind == LOGISTIC:
            e = decay(x)
            large = 1.0 / (1.0 + e)
            f = e * large * large
        else:
            f = PROBIT_SCALE * normal_density(PROBIT_SCALE * x)
        force = f * (1.0 if mode == DIAGONAL else v_i - v[j])
        own += weights[j] * force if j < n_rows else 0.0
        result[j] += sign * w_i * force if j < n_rows else 0.0
    return own


@compiled_reassociating
def _product_of_shares(kind, s_i, w_i, v_i, scores, weights, v, result, n_rows):
    """Add one preferred row's phi'(d) (v_i - v_j) with a block, as above."""
    own = 0.0
    for j in range(len(scores)):
        d = s_i - scores[j]
        x = abs(d)
        if kind == LOGISTIC:
            e = decay(x)
            small = e / (1.0 + e)
        else:
            x = PROBIT_SCALE * x
            small = normal_density(x) * mills_ratio(x)
        force = (small if d >= 0.0 else 1.0 - small) * (v[j] - v_i)
        own += weights[j] * force if j < n_rows else 0.0
        result[j] += w_i * force if j < n_rows else 0.0
    return own


@compiled
def _block(jobs, job, block, edges, group_start, first):
    """Return a block of a job: its low rows, from and to, and its high ones, within the query."""
    low, low_end, high = 0, 0, jobs[job, 0] + block
    if jobs[job, 2] < 0:
        low_end = group_start[high] - first
    else:
        group = edges[jobs[job, 2] + block, 0]
        low, low_end = group_start[group] - first, group_start[group + 1] - first
        high = edges[jobs[job, 2] + block, 1]
    begin = max(group_start[high] - first, jobs[job, 4])
    return low, low_end, begin, min(group_start[high + 1] - first, jobs[job, 5])


@compiled
def _gather(first, n, row_of, values, weight, scores, weights, sums):
    """Bring a query's scores and weights together, zero its sums; return the scores' ends."""
    lowest, highest = np.inf, -np.inf
    for k in range(n):
        scores[k] = values[row_of[first + k]]
        weights[k] = weight[first + k] if len(weight) else 1.0
        lowest = min(lowest, scores[k])
        highest = max(highest, scores[k])
    scores[n : n + VECTOR] = 0.0
    weights[n : n + VECTOR] = 0.0
    sums[:, : n + VECTOR] = 0.0
    return lowest, highest


@compiled
def _exponentials(scores, n, middle, a):
    """Write exp(s - middle) of each row, and zeros to the vector after them."""
    for k in range(n):
        a[k] = math.exp(scores[k] - middle)
    a[n : n + VECTOR] = 0.0


@compiled
def _settle(sums, low, end):
    """Add the second row to the first from `low` to `end`, and zero it there."""
    for k in range(low, end):
        sums[0, k] += sums[1, k]
        sums[1, k] = 0.0


@compiled
def gradient_in_queries(
    kind, jobs, scale, edges, group_start, row_of, values, weight, work, result
):
    """Add all pairs of small queries to the gradient, pair by pair; return their value.

    Parameters
    ----------
    kind : int
        LOGISTIC or PROBIT.
    jobs : ndarray of int64, shape (n_jobs, 6)
        A query's first and last + 1 group, the first and last + 1 of its edges (-1: every group is
        preferred to all lower ones), and which of its rows, counted from its first, are summed
        over as the preferred ones: from, and to.
    scale : ndarray of shape (n_jobs,)
        The weight of the query's pairs beside their rows'.
    edges : ndarray of int64, shape (n_edges, 2)
        (low group, high group).
    group_start, row_of : ndarray of int64 and of int32
        The layout.
    values : ndarray of shape (n_all,)
        Scores in the user's order, finite.
    weight : ndarray of shape (n_rows,) or (0,)
        Row weights in layout order; empty where all are 1.
    work : ndarray of shape (6, longest query + VECTOR)
        Scratch.
    result : ndarray of shape (n_all,)
        The gradient, in the user's order.

    Returns
    -------
    float
        The value. Costs O(pairs).
    """
    total, total_low = 0.0, 0.0
    scores, weights, a, sums, pull = work[0], work[1], work[2], work[3:5], work[4]
    for job in range(len(jobs)):
        first = group_start[jobs[job, 0]]
        n = group_start[jobs[job, 1]] - first
        lowest, highest = _gather(first, n, row_of, values, weight, scores, weights, sums)
        near = kind == LOGISTIC and highest - lowest <= 2.0 * _NEAR and not len(weight)
        if near:
            _exponentials(scores, n, 0.5 * lowest + 0.5 * highest, a)
        value, product, n_factors = 0.0, 1.0, 0
        n_held, touched, touched_end = 0, n, 0
        full = jobs[job, 2] < 0
        n_blocks = jobs[job, 1] - jobs[job, 0] if full else jobs[job, 3] - jobs[job, 2]
        for block in range(n_blocks):
            low, low_end, begin, to = _block(jobs, job, block, edges, group_start, first)
            for i in range(begin, to):
                for at in range(low, low_end, _FACTORS):
                    here = min(low_end - at, _FACTORS)
                    end = at + (here + VECTOR - 1) // VECTOR * VECTOR
                    others, pulled = scores[at:end], pull[at:end]
                    if near:
                        if n_factors + here > _FACTORS:
                            value -= math.log(product)
                            product, n_factors = 1.0, 0
                        own, ramp, left = _row_near(
                            scores[i], a[i], others, a[at:end], pulled, here
                        )
                        product *= left
                        n_factors += here
                        value += ramp
                    else:
                        w_i = weights[i]
                        own, part = _row(
                            kind, scores[i], w_i, others, weights[at:end], pulled, here
                        )
                        value += w_i * part
                    sums[0, i] -= own
                n_held += 1
                touched, touched_end = min(touched, low), max(touched_end, low_end)
                if n_held == _ROWS:
                    _settle(sums, touched, touched_end)
                    n_held, touched, touched_end = 0, n, 0
        _settle(sums, touched, touched_end)
        value = scale[job] * (value - math.log(product))
        new = total + value
        back = new - total
        total_low += (total - (new - back)) + (value - back)
        total = new
        for k in range(n):
            result[row_of[first + k]] += scale[job] * weights[k] * sums[0, k]
    return total + total_low


@compiled
def products_in_queries(
    kind, mode, jobs, scale, edges, group_start, row_of, values, weight, v, work, result
):
    """Add, a row, a sum over its pairs in small queries of f(d) (v_i - v_j), pair by pair.

    By `mode` it is the Hessian times v (f = phi'', minus for the less preferred row), the Hessian's
    diagonal (f alone), or the influence (f = phi', the same for both rows). `v` (n_all,) is in the
    user's order; the rest as in `gradient_in_queries`. Costs O(pairs).
    """
    scores, weights, a, sums, pull, own_v = work[0], work[1], work[2], work[3:5], work[4], work[5]
    for job in range(len(jobs)):
        first = group_start[jobs[job, 0]]
        n = group_start[jobs[job, 1]] - first
        lowest, highest = _gather(first, n, row_of, values, weight, scores, weights, sums)
        near = kind == LOGISTIC and highest - lowest <= 2.0 * _NEAR
        if near:
            _exponentials(scores, n, 0.5 * lowest + 0.5 * highest, a)
        for k in range(n):
            own_v[k] = v[row_of[first + k]]
        own_v[n : n + VECTOR] = 0.0
        n_held, touched, touched_end = 0, n, 0
        full = jobs[job, 2] < 0
        n_blocks = jobs[job, 1] - jobs[job, 0] if full else jobs[job, 3] - jobs[job, 2]
        for block in range(n_blocks):
            low, low_end, begin, to = _block(jobs, job, block, edges, group_start, first)
            end = low + (low_end - low + VECTOR - 1) // VECTOR * VECTOR
            for i in range(begin, to):
                others, own_w, other_v = scores[low:end], weights[low:end], own_v[low:end]
                s_i, w_i, v_i, added = scores[i], weights[i], own_v[i], pull[low:end]
                here = low_end - low
                if near:
                    sums[0, i] += _product_near(
                        mode, a[i], w_i, v_i, a[low:end], own_w, other_v, added, here
                    )
                elif mode == INFLUENCE:
                    sums[0, i] += _product_of_shares(
                        kind, s_i, w_i, v_i, others, own_w, other_v, added, here
                    )
                else:
                    sums[0, i] += _product_of_bends(
                        kind, mode, s_i, w_i, v_i, others, own_w, other_v, added, here
                    )
                n_held += 1
                touched, touched_end = min(touched, low), max(touched_end, low_end)
                if n_held == _ROWS:
                    _settle(sums, touched, touched_end)
                    n_held, touched, touched_end = 0, n, 0
        _settle(sums, touched, touched_end)
        for k in range(n):
            result[row_of[first + k]] += scale[job] * weights[k] * sums[0, k]
