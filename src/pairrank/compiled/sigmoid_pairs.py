"""Sigmoidal sums pair by pair, for queries with few pairs and for pairs that fast sums leave out.

Legend: s scores, w row weights, k = phi'(d) or phi''(d), share = S(-d) = -phi'(d). Loops over a
block of less preferred rows run over whole vectors of eight and mask the rows beyond the block: in
blocks of a few rows, a loop over the remainder would cost more than the vectors.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating, inlined_reassociating
from pairrank.compiled.sigmoid import curvature_at, decay, share_and_cost, share_at

VECTOR = 8
ALL_LOWER, EARLIER = -1, -2
"""Instead of edges: every group is preferred to all lower ones of the job, or the later rows of
every group to its earlier ones."""
_NEAR_SPREAD = 170.0
"""Logistic scores of a job that spread no further need no exponential per pair: a product of four
numbers up to 1 + exp(170) does not overflow."""
_COLUMNS = 900
"""Products of up to this many factors below 2 do not overflow."""
_EXPONENT_BITS, _BIAS = 52, 1023
_MANTISSA, _ONE = (1 << 52) - 1, 1023 << 52
"""The bits of a float: its mantissa's, and those of 1.0."""
_ROWS = 64
"""The sums that this many preferred rows give to others are kept apart, to keep rounding small."""


@inlined_reassociating
def _split(value):
    """Return the exponent of a float of at least 1, and its mantissa, at least 1 and below 2."""
    bits = np.float64(value).view(np.int64)
    return (bits >> _EXPONENT_BITS) - _BIAS, np.int64((bits & _MANTISSA) | _ONE).view(np.float64)


@compiled_reassociating
def _gradient_near(begin, to, at, stop, ends, a, sums, product):
    """Add the logistic gradients of preferred rows' pairs with earlier rows; row weights 1.

    Row i, from `begin` to `to`, is paired with the rows from `at` to ends[i], or to `stop` if that
    comes first. Gradients are added to sums[0] at row i, to sums[1] at the others. With
    x = a_j/a_i, the share is x/(1 + x) and phi is log(1 + x). Four rows at once share a division:
    the inverse of the product of their 1 + x gives each. Return an exponent and a product between 1
    and 2: phi is exponent * log 2 + log(product), the product given in `product` included.
    """
    own, others, a_j = sums[0], sums[1, at:], a[at:]
    exponent = 0
    for i in range(begin, to, 4):
        b0 = 1.0 / a[i]
        b1 = 1.0 / a[i + 1] if i + 1 < to else 0.0
        b2 = 1.0 / a[i + 2] if i + 2 < to else 0.0
        b3 = 1.0 / a[i + 3] if i + 3 < to else 0.0
        n0 = min(np.int64(ends[i]), stop) - at
        n1 = min(np.int64(ends[i + 1]), stop) - at if i + 1 < to else 0
        n2 = min(np.int64(ends[i + 2]), stop) - at if i + 2 < to else 0
        n3 = min(np.int64(ends[i + 3]), stop) - at if i + 3 < to else 0
        n = max(max(n0, n1), max(n2, n3))
        sum0, sum1, sum2, sum3, part, whole = 0.0, 0.0, 0.0, 0.0, 1.0, 0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            x0 = a_j[j] * b0 if j < n0 else 0.0
            x1 = a_j[j] * b1 if j < n1 else 0.0
            x2 = a_j[j] * b2 if j < n2 else 0.0
            x3 = a_j[j] * b3 if j < n3 else 0.0
            left, right = (1.0 + x0) * (1.0 + x1), (1.0 + x2) * (1.0 + x3)
            factor = left * right
            inverse = 1.0 / factor
            of_left, of_right = inverse * right, inverse * left
            share0, share1 = x0 * ((1.0 + x1) * of_left), x1 * ((1.0 + x0) * of_left)
            share2, share3 = x2 * ((1.0 + x3) * of_right), x3 * ((1.0 + x2) * of_right)
            sum0 += share0
            sum1 += share1
            sum2 += share2
            sum3 += share3
            others[j] += (share0 + share1) + (share2 + share3)
            power, mantissa = _split(factor)
            whole += power
            part *= mantissa
        own[i] -= sum0
        if i + 1 < to:
            own[i + 1] -= sum1
        if i + 2 < to:
            own[i + 2] -= sum2
        if i + 3 < to:
            own[i + 3] -= sum3
        power, part = _split(part)
        other, product = _split(product * part)
        exponent += whole + power + other
    return exponent, product


@compiled_reassociating
def _gradient(kind, begin, to, at, n_rows, within, scores, weights, sums):
    """Do the same for any scores, weights and loss; return the value."""
    own, others, s_j, w_j = sums[0], sums[1, at:], scores[at:], weights[at:]
    value = 0.0
    for i in range(begin, to):
        n = min(n_rows, i - at) if within else n_rows
        s_i, w_i = scores[i], weights[i]
        total, costs = 0.0, 0.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            d = s_i - s_j[j] if j < n else 0.0
            share, cost = share_and_cost(kind, d)
            w = w_j[j] if j < n else 0.0
            total += w * share
            others[j] += w_i * share if j < n else 0.0
            costs += w * cost
        own[i] -= total
        value += w_i * costs
    return value


@compiled_reassociating
def _product_near(order, alone, sign, begin, to, at, n_rows, within, a, weights, v, sums):
    """Add the sums of k (v_i - v_j) over logistic pairs, as `_gradient_near` adds gradients.

    `alone` is 0, or 1 for k alone (then v is 0); `sign` is that of the other row's part.
    """
    own, others, a_j, w_j, v_j = sums[0], sums[1, at:], a[at:], weights[at:], v[at:]
    for i in range(begin, to):
        n = min(n_rows, i - at) if within else n_rows
        a_i, w_i, v_i = a[i], sign * weights[i], alone + v[i]
        total = 0.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            inverse = 1.0 / (a_i + a_j[j]) if j < n else 0.0
            share = a_j[j] * inverse
            part = (-share if order == 1 else (a_i * inverse) * share) * (v_i - v_j[j])
            total += w_j[j] * part
            others[j] += w_i * part
        own[i] += total


@compiled_reassociating
def _product(kind, order, alone, sign, begin, to, at, n_rows, within, scores, weights, v, sums):
    """Do the same for any scores and loss."""
    own, others, s_j, w_j, v_j = sums[0], sums[1, at:], scores[at:], weights[at:], v[at:]
    for i in range(begin, to):
        n = min(n_rows, i - at) if within else n_rows
        s_i, w_i, v_i = scores[i], sign * weights[i], alone + v[i]
        total = 0.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            d = s_i - s_j[j]
            k = -share_at(kind, d) if order == 1 else curvature_at(kind, d)
            part = k * (v_i - v_j[j])
            total += w_j[j] * part if j < n else 0.0
            others[j] += w_i * part if j < n else 0.0
        own[i] += total


@compiled
def _block(jobs, job, block, edges, group_start, first):
    """Return a block of a job: its low rows, from and to, and its high ones, within the job."""
    low, low_end, high = 0, 0, jobs[job, 0] + block
    if jobs[job, 2] >= 0:
        group, high = edges[jobs[job, 2] + block]
        low, low_end = group_start[group] - first, group_start[group + 1] - first
    elif jobs[job, 2] == ALL_LOWER:
        low_end = group_start[high] - first
    else:
        low, low_end = group_start[high] - first, group_start[high + 1] - first
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
    for k in range(n, n + VECTOR):
        scores[k] = weights[k] = 0.0
    for k in range(n + VECTOR):
        sums[0, k] = sums[1, k] = 0.0
    return lowest, highest


@compiled_reassociating
def _exponentials(scores, n, highest, a):
    """Write exp(s - highest) of each row, and zeros to the vector after them."""
    for k in range(n):
        a[k] = decay(highest - scores[k])
    for k in range(n, n + VECTOR):
        a[k] = 0.0


@compiled
def _ends(jobs, job, group_start, first, ends):
    """Write where each row's partners end: for ALL_LOWER and EARLIER before it, else after all."""
    last = group_start[jobs[job, 1]] - first
    for group in range(jobs[job, 0], jobs[job, 1]):
        start = group_start[group] - first
        for k in range(start, group_start[group + 1] - first):
            ends[k] = start if jobs[job, 2] == ALL_LOWER else last
            ends[k] = k if jobs[job, 2] == EARLIER else ends[k]


@compiled
def _settle(sums, low, end):
    """Add the second row to the first from `low` to `end`, and zero it there."""
    for k in range(low, end):
        sums[0, k] += sums[1, k]
        sums[1, k] = 0.0


@compiled
def add_pairs(
    kind, order, jobs, scale, edges, group_start, row_of, values, weight, v, work, far, result
):  # fmt: skip
    """Add to each row i the sum of w_i w_j k (v_i - v_j) over its pairs; return their value.

    By `order`, k is the derivative of phi by s_i or its second derivative. With v (n_all,) these
    are the influence and the Hessian product; with an empty v, the sum is of k alone: the gradient
    (only then there is a value) and the Hessian's diagonal. Costs O(pairs).

    kind: of the loss; or None for the logistic without an exponential per pair, which is compiled
    by itself. That leaves out the jobs of too wide a spread, and sets `far` (n_jobs,) for them.
    Gradients are then without `weight`.

    jobs (n_jobs, 6) int64: first and last + 1 group; first and last + 1 of its edges, or twice
    ALL_LOWER or EARLIER; begin and end of the preferred rows that are summed, counted from the
    job's first row. scale (n_jobs,) is a factor on the pairs of a job. edges
    (n_edges, 2): (low group, high group). values, v, result (n_all,) are in the user's order;
    weight (n_rows,) is in layout order, empty if all are 1. work (6, longest job + VECTOR) is
    scratch memory.
    """
    with_value = order == 1 and len(v) == 0
    alone = 0.0 if len(v) else 1.0
    sign = -1.0 if order == 2 and len(v) else 1.0
    total, total_low = 0.0, 0.0
    scores, weights, a, sums, own_v = work[0], work[1], work[2], work[3:5], work[5]
    for job in range(len(jobs)):
        first = group_start[jobs[job, 0]]
        n = group_start[jobs[job, 1]] - first
        lowest, highest = _gather(first, n, row_of, values, weight, scores, weights, sums)
        within = jobs[job, 2] == EARLIER
        by_edge = jobs[job, 2] >= 0
        n_blocks = jobs[job, 3] - jobs[job, 2] if by_edge else jobs[job, 1] - jobs[job, 0]
        at_once = False
        if not with_value:
            for k in range(n):
                own_v[k] = v[row_of[first + k]] if len(v) else 0.0
            for k in range(n, n + VECTOR):
                own_v[k] = 0.0
        if kind is None:
            if not highest - lowest <= _NEAR_SPREAD:
                far[job] = True
                continue
            _exponentials(scores, n, highest, a)
            if with_value:
                _ends(jobs, job, group_start, first, own_v)
                at_once = jobs[job, 2] == ALL_LOWER
        value, product, exponent = 0.0, 1.0, 0
        n_held, touched, touched_end = 0, n, 0
        for block in range(1 if at_once else n_blocks):
            low, low_end, begin, to = _block(jobs, job, block, edges, group_start, first)
            if at_once:
                low_end = group_start[jobs[job, 1] - 1] - first
                begin, to = jobs[job, 4], min(jobs[job, 5], n)
            for at in range(low, low_end, _COLUMNS):
                here = min(low_end - at, _COLUMNS)
                for start in range(begin, to, _ROWS):
                    end = min(start + _ROWS, to)
                    if kind is None:
                        if with_value:
                            power, product = _gradient_near(
                                start, end, at, at + here, own_v, a, sums, product
                            )
                            exponent += power
                        else:
                            _product_near(
                                order, alone, sign, start, end, at, here, within, a, weights,
                                own_v, sums,
                            )  # fmt: skip
                    elif with_value:
                        value += _gradient(
                            kind, start, end, at, here, within, scores, weights, sums
                        )
                    else:
                        _product(
                            kind, order, alone, sign, start, end, at, here, within, scores, weights,
                            own_v, sums,
                        )  # fmt: skip
                    n_held += end - start
                    touched, touched_end = min(touched, low), max(touched_end, low_end)
                    if n_held >= _ROWS:
                        _settle(sums, touched, touched_end)
                        n_held, touched, touched_end = 0, n, 0
        _settle(sums, touched, touched_end)
        value = scale[job] * (value + exponent * math.log(2.0) + math.log(product))
        new = total + value
        back = new - total
        total_low += (total - (new - back)) + (value - back)
        total = new
        for k in range(n):
            result[row_of[first + k]] += scale[job] * weights[k] * sums[0, k]
    return total + total_low
