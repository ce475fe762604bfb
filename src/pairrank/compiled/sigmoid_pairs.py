"""Sigmoidal sums pair by pair, for any order graph, weights and scores.

Legend: s scores, k = phi'(d) or phi''(d) of the margin d = s_i - s_j of a winner i over a loser j,
share = S(-d) = -phi'(d), a = exp(s - the highest score), w and u weights of winners and of losers.
Loops over losers run over whole vectors of eight and mask what lies beyond: for a few rows, a loop
over the remainder would cost more.
"""

from __future__ import annotations

import math

from pairrank.compiled._jit import compiled, compiled_reassociating, inlined_reassociating
from pairrank.compiled.sigmoid import LOGISTIC, curvature_at, decay, share_and_cost, share_at

VECTOR = 8
NEAR_SPREAD = 170.0
"""Logistic scores of a job that spread no further need no exponential per pair."""
_FACTORS = 900
"""A product of so many factors of at least 1/2 is a normal number."""
_COLUMNS = 450
"""Winners meet so many losers at once: two winners give at most `_FACTORS` factors."""
_ROWS = 64
"""The sums that this many winners give to losers are kept apart, to keep rounding small."""


@compiled_reassociating
def _near_gradients(begin, end, at, stop, ends, s, a, own, others, product, n_factors):
    """Add the logistic gradients of the pairs of winners from `begin` to `end`; weights are 1.

    Winner i is paired with the rows from `at` to ends[i], or to `stop` if that comes first. Shares
    are subtracted from `own` and added to `others`. Two winners at once share a division: the
    inverse of the product of both sums of a gives each. Return a part of the cost, and the product
    (at least 2**-_FACTORS) and the number of factors of which the rest is the logarithm.
    """
    s_j, a_j, others = s[at:], a[at:], others[at:]
    cost = 0.0
    for i in range(begin, end, 2):
        i1 = min(i + 1, end - 1)
        n0 = max(min(ends[i], stop) - at, 0)
        n1 = max(min(ends[i1], stop) - at, 0) if i1 > i else 0
        n_factors += n0 + n1
        if n_factors > _FACTORS:
            cost -= math.log(product)
            product, n_factors = 1.0, n0 + n1
        s0, s1, a0, a1 = s[i], s[i1], a[i], a[i1]
        sum0, sum1, ramp, part = 0.0, 0.0, 0.0, 1.0
        for j in range((max(n0, n1) + VECTOR - 1) // VECTOR * VECTOR):
            x = a_j[j]
            inverse = x / ((a0 + x) * (a1 + x))
            share0 = (a1 + x) * inverse if j < n0 else 0.0
            share1 = (a0 + x) * inverse if j < n1 else 0.0
            sum0 += share0
            sum1 += share1
            others[j] += share0 + share1
            part *= max(share0, 1.0 - share0) * max(share1, 1.0 - share1)
            over0 = max(s_j[j] - s0, 0.0) if j < n0 else 0.0
            over1 = max(s_j[j] - s1, 0.0) if j < n1 else 0.0
            ramp += over0 + over1
        own[i] -= sum0
        own[i1] -= sum1
        cost += ramp
        product *= part
    return cost, product, n_factors


@compiled_reassociating
def _gradients(kind, begin, end, at, stop, ends, s, win, lose, own, others):
    """Do the same for any scores, weights and loss; return the cost."""
    s_j, lose_j, others = s[at:], lose[at:], others[at:]
    cost = 0.0
    for i in range(begin, end):
        n = max(min(ends[i], stop) - at, 0)
        s_i, win_i, total, costs = s[i], win[i], 0.0, 0.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            share, phi = share_and_cost(kind, s_i - s_j[j] if j < n else 0.0)
            weight = lose_j[j] if j < n else 0.0
            total += weight * share
            costs += weight * phi
            others[j] += win_i * share if j < n else 0.0
        own[i] -= total
        cost += win_i * costs
    return cost


@compiled_reassociating
def _near_products(order, alone, begin, end, at, stop, ends, a, win, lose, v, own, others):
    """Add the sums of k (v_i - v_j) over logistic pairs; `alone` is 1 for k alone (v is 0)."""
    a_j, lose_j, v_j, others = a[at:], lose[at:], v[at:], others[at:]
    for i in range(begin, end, 2):
        i1 = min(i + 1, end - 1)
        n0 = max(min(ends[i], stop) - at, 0)
        n1 = max(min(ends[i1], stop) - at, 0) if i1 > i else 0
        a0, a1, w0, w1 = a[i], a[i1], win[i], win[i1]
        v0, v1, sum0, sum1 = alone + v[i], alone + v[i1], 0.0, 0.0
        for j in range((max(n0, n1) + VECTOR - 1) // VECTOR * VECTOR):
            x = a_j[j]
            inverse = 1.0 / ((a0 + x) * (a1 + x))
            of0, of1 = inverse * (a1 + x), inverse * (a0 + x)
            share0 = x * of0 if j < n0 else 0.0
            share1 = x * of1 if j < n1 else 0.0
            part0 = (-share0 if order == 1 else (a0 * of0) * share0) * (v0 - v_j[j])
            part1 = (-share1 if order == 1 else (a1 * of1) * share1) * (v1 - v_j[j])
            sum0 += lose_j[j] * part0
            sum1 += lose_j[j] * part1
            others[j] += w0 * part0 + w1 * part1
        own[i] += sum0
        own[i1] += sum1


@compiled_reassociating
def _products(kind, order, alone, begin, end, at, stop, ends, s, win, lose, v, own, others):
    """Do the same for any scores and loss."""
    s_j, lose_j, v_j, others = s[at:], lose[at:], v[at:], others[at:]
    for i in range(begin, end):
        n = max(min(ends[i], stop) - at, 0)
        s_i, win_i, v_i, total = s[i], win[i], alone + v[i], 0.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            d = s_i - s_j[j] if j < n else 0.0
            k = -share_at(kind, d) if order == 1 else curvature_at(kind, d)
            part = k * (v_i - v_j[j]) if j < n else 0.0
            total += lose_j[j] * part
            others[j] += win_i * part
        own[i] += total


@compiled
def _gather(values, rows, default, out):
    """Write the values of rows, or a default if there are none; and to the vector after them."""
    for k in range(len(rows)):
        out[k] = values[rows[k]] if len(values) else default
    for k in range(len(rows), len(out)):
        out[k] = 0.0


@compiled
def _copy(values, first, end, default, out):
    """Write values[first:end], or a default if there are none; and to the vector after them."""
    for k in range(end - first):
        out[k] = values[first + k] if len(values) else default
    for k in range(end - first, len(out)):
        out[k] = 0.0


@inlined_reassociating
def _exponentials(s, a):
    """Write exp(s - the highest score); return the spread of the scores."""
    lowest, highest = s[0], s[0]
    for k in range(1, len(s)):
        lowest = min(lowest, s[k])
        highest = max(highest, s[k])
    for k in range(len(s)):
        a[k] = decay(highest - s[k])
    return highest - lowest


@inlined_reassociating
def _settle(others, held, low, end):
    """Add what is held from `low` to `end` to the sums of others, and zero it."""
    for k in range(low, end):
        others[k] += held[k]
        held[k] = 0.0


@inlined_reassociating
def _ends(job, group_start, lowest, ends):
    """Write where the losers of each row end that is preferred to all rows of lower groups."""
    for group in range(job[0], job[1]):
        start = group_start[group] - lowest
        for k in range(start, group_start[group + 1] - lowest):
            ends[k] = start


@compiled
def add_pairs(
    kind, order, jobs, scale, group_start, run_start, runs, row_of, values, win, lose, v, lowest,
    work, ends, costs, result,
):  # fmt: skip
    """Add to each row the sum of its pairs' k (v_i - v_j), weighted; O(pairs).

    By `order`, k is the derivative of phi by s_i or its second derivative. With v (n_all,) these
    are the influence and the Hessian product; with an empty v, the sum is of k alone: the gradient
    (only then `costs` (n_jobs,) is written: the jobs' values without their scale) and the Hessian's
    diagonal.

    jobs (n_jobs, 4): the first group of a job and the last + 1, the first place of its winners and
    the last + 1. scale (n_jobs,): a factor on its pairs. The rows of group g are at the places from
    group_start[g] to group_start[g + 1] of the layout. They win over the rows of the ranges
    runs[run_start[g] : run_start[g + 1]] (begin, end) of places, which are in the same job; or, if
    there are no `runs`, over all rows of the job before the group. row_of (n_kept,): the rows by
    place. win, lose (n_kept,): the weights of winners and losers, or empty. values, v, result
    (n_all,): in the user's order. All jobs are at the places from `lowest` on. work (8, their
    places + VECTOR), ends (the same,) int64: scratch memory.
    """
    with_value = order == 1 and len(v) == 0
    alone, sign = 0.0 if len(v) else 1.0, -1.0 if order == 2 and len(v) else 1.0
    s, a, own_v, w, u = work[0], work[1], work[2], work[3], work[4]
    own, others, held = work[5], work[6], work[7]
    highest = lowest + len(s) - VECTOR
    rows = row_of[lowest:highest]
    _gather(values, rows, 0.0, s)
    if not with_value:
        _gather(v, rows, 0.0, own_v)
    _copy(win, lowest, highest, 1.0, w)
    _copy(lose, lowest, highest, 1.0, u)
    for k in range(len(own)):
        own[k], others[k], held[k], a[k] = 0.0, 0.0, 0.0, 0.0
    by_runs = len(runs) > 0
    for at_job in range(len(jobs)):
        job = jobs[at_job]
        first, last = group_start[job[0]] - lowest, group_start[job[1]] - lowest
        near = kind == LOGISTIC and not (with_value and len(win)) and last > first
        if near:
            near = _exponentials(s[first:last], a[first:last]) <= NEAR_SPREAD
        if not by_runs:
            _ends(job, group_start, lowest, ends)
        value, product, n_factors = 0.0, 1.0, 0
        for group in range(job[0], job[1] if by_runs else job[0] + 1):
            begin, stop_rows = job[2] - lowest, job[3] - lowest
            one, end_of_runs = 0, 1
            if by_runs:
                begin = max(group_start[group] - lowest, begin)
                stop_rows = min(group_start[group + 1] - lowest, stop_rows)
                one, end_of_runs = run_start[group], run_start[group + 1]
            for run in range(one, end_of_runs):
                low, high = first, group_start[job[1] - 1] - lowest
                if by_runs:
                    low, high = runs[run, 0] - lowest, runs[run, 1] - lowest
                    for k in range(begin, stop_rows):
                        ends[k] = high
                for at in range(low, high, _COLUMNS):
                    stop = min(high, at + _COLUMNS)
                    for start in range(begin, stop_rows, _ROWS):
                        end = min(start + _ROWS, stop_rows)
                        if with_value and near:
                            cost, product, n_factors = _near_gradients(
                                start, end, at, stop, ends, s, a, own, held, product, n_factors
                            )
                            value += cost
                        elif with_value:
                            value += _gradients(
                                kind, start, end, at, stop, ends, s, w, u, own, held
                            )
                        elif near:
                            _near_products(
                                order, alone, start, end, at, stop, ends, a, w, u, own_v, own, held
                            )
                        else:
                            _products(
                                kind, order, alone, start, end, at, stop, ends, s, w, u, own_v, own,
                                held,
                            )  # fmt: skip
                        _settle(others, held, at, stop)
        if with_value:
            costs[at_job] = value - math.log(product)
        for k in range(first, last):
            own[k] = scale[at_job] * (w[k] * own[k] + sign * (u[k] * others[k]))
    for k in range(len(rows)):
        result[rows[k]] += own[k]
