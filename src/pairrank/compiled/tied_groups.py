"""Sigmoidal sums over the pairs within groups: many groups at once, one in each lane.

A tile has groups of about equal size. Its numbers are laid out by place, then by lane: entry
k * lanes + g is the k-th row of the tile's group g. Loops over the lanes vectorise however small
the groups are. Shorter groups repeat their first row, with weight 0.

Legend: s scores, q row weights, K = S(d) or phi''(d), e(d) = phi(d) + d/2, which is even.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled._lane_series import LANES, STEP, add_back, add_terms
from pairrank.compiled.box_grid import add_multiple, dot
from pairrank.compiled.layout import gather
from pairrank.compiled.sigmoid import LOGISTIC, curvature_at, decay, share_and_cost

_NEAR_SPREAD = 64.0
"""Logistic scores of a group that spread no further need no exponential per pair."""
_FACTORS = 512
"""The logarithm is taken of products of up to this many factors of at least 1/2."""
_SERIES_ROW, _SERIES_TERM, _SERIES_ENTRY = 0.2, 0.08, 0.1
"""Nanoseconds of a series per row, per row and term, and per group and squared term."""
_PAIR = ((0.5, 1.6), (0.5, 1.0))
"""Nanoseconds per pair by order, of logistic and of probit."""


@compiled_reassociating
def _near_gradients(s_k, s_l, a_k, a_l, q_k, q_l, own, other, product, ramp):
    """Add the logistic S of the pairs (k, l); e is ramp - log(product), if weights are 0 or 1."""
    for g in range(len(s_k)):
        share = a_k[g] / (a_k[g] + a_l[g])
        own[g] += q_l[g] * share
        other[g] += q_k[g] * (1.0 - share)
        paired = q_k[g] * q_l[g]
        product[g] *= max(share, 1.0 - share) if paired != 0.0 else 1.0
        ramp[g] += 0.5 * paired * abs(s_k[g] - s_l[g])


@compiled_reassociating
def _gradients(kind, s_k, s_l, q_k, q_l, own, other, ramp):
    """Do the same for any scores, weights and loss; `ramp` gets e."""
    for g in range(len(s_k)):
        d = s_k[g] - s_l[g]
        share, cost = share_and_cost(kind, d)
        own[g] += q_l[g] * (1.0 - share)
        other[g] += q_k[g] * share
        ramp[g] += q_k[g] * (q_l[g] * (cost + 0.5 * d))


@compiled_reassociating
def _near_curvatures(a_k, a_l, q_k, q_l, own, other):
    for g in range(len(a_k)):
        inverse = 1.0 / (a_k[g] + a_l[g])
        curvature = (a_k[g] * inverse) * (a_l[g] * inverse)
        own[g] += q_l[g] * curvature
        other[g] += q_k[g] * curvature


@compiled_reassociating
def _curvatures(kind, s_k, s_l, q_k, q_l, own, other):
    for g in range(len(s_k)):
        curvature = curvature_at(kind, s_k[g] - s_l[g])
        own[g] += q_l[g] * curvature
        other[g] += q_k[g] * curvature


@compiled
def _zero(numbers):
    for k in range(len(numbers)):
        numbers[k] = 0.0


@compiled_reassociating
def _exponentials(s, highest, a):
    for g in range(len(s)):
        a[g] = decay(highest[g] - s[g])


@compiled
def _series(s, q, centre, radius, degree, n, table, even, at_zero, terms, later, sums):
    """Write the sums of q_j K(s_i - s_j) over j != i by a series; return the sum of e, pairs once.

    terms and later are scratch memory. at_zero (2,): K(0) and e(0). The value is 0 if `even` is
    empty.
    """
    size, n_here = degree * n, len(s)
    moments, series = terms[:size], terms[size : 2 * size]
    for lane in range(0, n, LANES):
        for p in range(0, size, STEP * n):
            add_terms(
                s, centre, 1.0 / radius, q, sums, later, n, n_here, lane, moments, p + lane, p == 0
            )
    value = 0.0
    if len(even):
        value = -0.5 * at_zero[1] * dot(q, q)
        for p in range(degree):
            _times_table(even[p, :degree], moments, n, series[p * n : p * n + n])
        value += 0.5 * dot(series, moments)
    for p in range(degree):
        _times_table(table[p, :degree], moments, n, series[p * n : p * n + n])
    last = size - STEP * n
    for lane in range(0, n, LANES):
        for p in range(last, -1, -STEP * n):
            add_back(
                s, centre, 1.0 / radius, q, at_zero[0], sums, later, n, n_here, lane, series,
                p + lane, p == last, p == 0,
            )  # fmt: skip
    return value


@compiled
def _times_table(coefficients, moments, n, result):
    _zero(result)
    for r in range(len(coefficients)):
        if coefficients[r] != 0.0:
            add_multiple(coefficients[r], moments[r * n : r * n + n], result)


@compiled
def _value_of(product, ramp, value):
    """Return the value plus the sum of ramp - log(product), which start anew."""
    for g in range(len(product)):
        value += ramp[g] - math.log(product[g])
        product[g], ramp[g] = 1.0, 0.0
    return value


@compiled
def _pair_by_pair(kind, order, with_value, near, s, q, highest, n, lanes, a, sums):
    """Do what `_series` does pair by pair; a (as s) is scratch memory."""
    product, ramp = lanes[0, :n], lanes[1, :n]
    value, factors = 0.0, 0
    for g in range(n):
        product[g], ramp[g] = 1.0, 0.0
    for k in range(len(s)):
        sums[k] = 0.0
    for at in range(0, len(s) if near else 0, n):
        _exponentials(s[at : at + n], highest, a[at : at + n])
    for at in range(n, len(s), n):
        s_k, a_k, q_k, own = s[at : at + n], a[at : at + n], q[at : at + n], sums[at : at + n]
        for to in range(0, at, n):
            s_l, a_l, q_l = s[to : to + n], a[to : to + n], q[to : to + n]
            other = sums[to : to + n]
            if order == 1 and near:
                _near_gradients(s_k, s_l, a_k, a_l, q_k, q_l, own, other, product, ramp)
            elif order == 1:
                _gradients(kind, s_k, s_l, q_k, q_l, own, other, ramp)
            elif near:
                _near_curvatures(a_k, a_l, q_k, q_l, own, other)
            else:
                _curvatures(kind, s_k, s_l, q_k, q_l, own, other)
            factors += 1
            if with_value and factors == _FACTORS:
                value, factors = _value_of(product, ramp, value), 0
    return _value_of(product, ramp, value) if with_value else 0.0


@compiled
def _scatter(rows, factor, w, sums, result):
    for k in range(len(rows)):
        result[rows[k]] += factor * w[k] * sums[k]


@compiled_reassociating
def _widen(s, lowest, highest):
    for g in range(len(s)):
        lowest[g] = min(lowest[g], s[g])
        highest[g] = max(highest[g], s[g])


@compiled
def _ends(s, n, lowest, highest):
    """Write the least and the greatest score of each lane."""
    for g in range(n):
        lowest[g] = highest[g] = s[g]
    for at in range(n, len(s), n):
        _widen(s[at : at + n], lowest, highest)


@compiled
def _present(k, sizes, w):
    for g in range(len(sizes)):
        w[g] = 1.0 if k < sizes[g] else 0.0


@compiled
def _weigh(weight, sizes, w):
    """Write the weights, or 1 for each row if there are none, and 0 for repeated rows."""
    n = len(sizes)
    for k in range(len(w) // n):
        _present(k, sizes, w[k * n : k * n + n])
    for at in range(len(weight)):
        w[at] *= weight[at]


@compiled
def _less(first, x):
    for g in range(len(first)):
        x[g] -= first[g]


@compiled
def _relative(n, w, x, q):
    """Subtract from x its number at the first row of each group, and write w times it."""
    for at in range(len(x) - n, -1, -n):
        _less(x[:n], x[at : at + n])
    for k in range(len(x)):
        q[k] = w[k] * x[k]


@compiled
def _degree(lost, radius, least, eps, n_rows, n, cost):
    """Return the table and the degree for a tile, or the degree 0 if pairs cost less."""
    t = 0
    if radius > 2.0 ** (0.5 * least):
        reached = 2.0 * math.log2(radius) - least
        if not reached <= len(lost) - 1:
            return 0, 0
        t = math.ceil(reached)
    for step in range(lost.shape[1]):
        if lost[t, step] <= eps:
            degree = STEP * (step + 1)
            own = (_SERIES_ROW + _SERIES_TERM * degree) * n_rows + _SERIES_ENTRY * degree**2 * n
            return t, degree if own < cost else 0
    return 0, 0


@compiled
def tied_sums(
    kind, order, tiles, sizes, eps, rows, weight, values, v, least, lost, tables, even, at_zero,
    factor, held_scores, held_sums, result,
):  # fmt: skip
    """Add factor * w_i times the sum of w_j K (v_i - v_j) over the other rows of each group.

    K is S(s_i - s_j) for order 1, phi'' for order 2. With an empty v, the sum is of K alone.
    Return the value if there is `even`: factor times the sum of w_i w_j e over all pairs.

    tiles (n, 4) int64: where a tile's rows begin, where its groups begin, their number, and the
    rows of the longest. sizes (n_groups,) int64. eps (n,): the error of a row's sum as a multiple
    of its group's weight. rows (n_laid,) uint32; weight (n_laid,), or empty if all are 1. values,
    v, result (n_all,): in the user's order. lost (n_tables, n_steps): the error of STEP, 2 STEP, ..
    terms of a table for radii up to 2**((least + t) / 2). tables, even: the coefficients
    [t, p, q] of T_p(u_i) T_q(u_j) in K and in e. at_zero (2,): K(0) and e(0).

    held_scores, held_sums (n_laid,): scores and sums of K. If `result` is empty, they are written;
    if there is v, they are read. Else they are empty. Costs at most O(pairs), and O(rows * terms)
    where that is less.
    """
    n_rows, n_groups, size = 1, 1, STEP * lost.shape[1]
    for tile in range(len(tiles)):
        n_groups = max(n_groups, tiles[tile, 2])
        n_rows = max(n_rows, tiles[tile, 2] * tiles[tile, 3])
    lanes, terms = np.empty((6, n_groups)), np.empty(2 * size * n_groups)
    work = np.empty((6, n_rows))
    with_value, total = len(even) > 0, 0.0
    for tile in range(len(tiles)):
        first, group, n = tiles[tile, 0], tiles[tile, 1], tiles[tile, 2]
        n_here = n * tiles[tile, 3]
        here, its_sizes = rows[first : first + n_here], sizes[group : group + n]
        its_weight = weight[first : first + n_here] if len(weight) else weight
        s, w, sums = work[0, :n_here], work[1, :n_here], work[2, :n_here]
        lowest, highest = lanes[4, :n], lanes[5, :n]
        _weigh(its_weight, its_sizes, w)
        q, x = w, work[3, :n_here]
        if len(v):
            for k in range(n_here):
                s[k] = held_scores[first + k]
            gather(v, here, x)
            q = work[4, :n_here]
            _relative(n, w, x, q)
        else:
            gather(values, here, s)
        _ends(s, n, lowest, highest)
        spread = 0.0
        for g in range(n):
            spread = max(spread, highest[g] - lowest[g])
            lanes[3, g] = 0.5 * lowest[g] + 0.5 * highest[g]
        cost = _PAIR[order - 1][kind] * 0.5 * n_here * tiles[tile, 3]
        t, degree = _degree(lost, 0.5 * spread, least, eps[tile], n_here, n, cost)
        if degree:
            value = _series(
                s, q, lanes[3, :n], 2.0 ** (0.5 * (least + t)), degree, n, tables[t],
                even[t] if with_value else tables[t, :0], at_zero, terms, work[5, :n_here], sums,
            )  # fmt: skip
        else:
            near = kind == LOGISTIC and spread <= _NEAR_SPREAD and not (with_value and len(weight))
            value = _pair_by_pair(
                kind, order, with_value, near, s, q, highest, n, lanes, work[5, :n_here], sums
            )
        total += factor * value
        if len(v):
            for k in range(n_here):
                sums[k] = x[k] * held_sums[first + k] - sums[k]
        if len(result):
            _scatter(here, factor, w, sums, result)
        else:
            for k in range(n_here):
                held_scores[first + k], held_sums[first + k] = s[k], sums[k]
    return total
