"""Sigmoidal sums pair by pair, for any order graph, weights and scores.

Legend: s scores, k = phi'(d) or phi''(d) of the margin d = s_i - s_j of a winner i over a loser j,
share = S(-d) = -phi'(d), a = exp(s - the highest score), w and u weights of winners and of losers.
Loops over losers run over whole vectors of eight and mask what lies beyond: for a few rows, a loop
over the remainder would cost more.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.sigmoid import LOGISTIC, curvature_at, decay, share_and_cost, share_at

VECTOR = 8
NEAR_SPREAD = 170.0
"""Logistic scores of a job that spread no further need no exponential per pair."""
_COLUMNS = 900
"""A product of so many factors of at least 1/2 is a normal number; losers stay in the cache."""
_ROWS = 64
"""The sums that this many winners give to losers are kept apart, to keep rounding small."""


@compiled_reassociating
def _near_gradients(begin, end, at, stop, ends, s, a, own, others, product, n_factors):
    """Add the logistic gradients of the pairs of winners from `begin` to `end`; weights are 1.

    Winner i is paired with the rows from `at` to ends[i], or to `stop` if that comes first. Shares
    are subtracted from `own` and added to `others`. Return a part of the cost, and the product (at
    least 2**-_COLUMNS) and the number of factors from which the rest is the logarithm.
    """
    s_j, a_j, others = s[at:], a[at:], others[at:]
    cost = 0.0
    for i in range(begin, end):
        n = max(min(ends[i], stop) - at, 0)
        n_factors += n
        if n_factors > _COLUMNS:
            cost -= math.log(product)
            product, n_factors = 1.0, n
        s_i, a_i, total, ramp, part = s[i], a[i], 0.0, 0.0, 1.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            share = a_j[j] / (a_i + a_j[j]) if j < n else 0.0
            total += share
            others[j] += share
            part *= max(share, 1.0 - share)
            ramp += max(s_j[j] - s_i, 0.0) if j < n else 0.0
        own[i] -= total
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
    for i in range(begin, end):
        n = max(min(ends[i], stop) - at, 0)
        a_i, win_i, v_i, total = a[i], win[i], alone + v[i], 0.0
        for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
            inverse = 1.0 / (a_i + a_j[j]) if j < n else 0.0
            share = a_j[j] * inverse
            part = (-share if order == 1 else (a_i * inverse) * share) * (v_i - v_j[j])
            total += lose_j[j] * part
            others[j] += win_i * part
        own[i] += total


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
def _gather(first, n, row_of, values, win, lose, s, w, u):
    """Bring a job's scores and weights together, and zeros to the vector after them."""
    for k in range(n):
        s[k] = values[row_of[first + k]]
    for k in range(n):
        w[k] = win[first + k] if len(win) else 1.0
        u[k] = lose[first + k] if len(lose) else 1.0
    for k in range(n, n + VECTOR):
        s[k] = w[k] = u[k] = 0.0


@compiled
def _gather_vector(first, n, row_of, v, own_v):
    for k in range(n):
        own_v[k] = v[row_of[first + k]] if len(v) else 0.0
    for k in range(n, n + VECTOR):
        own_v[k] = 0.0


@compiled_reassociating
def _exponentials(n, s, a):
    """Write exp(s - the highest score); return the spread of the scores."""
    lowest, highest = np.inf, -np.inf
    for k in range(n):
        lowest = min(lowest, s[k])
        highest = max(highest, s[k])
    for k in range(n):
        a[k] = decay(highest - s[k])
    for k in range(n, n + VECTOR):
        a[k] = 0.0
    return highest - lowest


@compiled
def _settle(others, held, low, end):
    """Add what is held from `low` to `end` to the sums of others, and zero it."""
    for k in range(low, end):
        others[k] += held[k]
        held[k] = 0.0


@compiled
def _ends(jobs, job, group_start, first, ends):
    """Write where the losers of each row end that is preferred to all rows of lower groups."""
    for group in range(jobs[job, 0], jobs[job, 1]):
        start = group_start[group] - first
        for k in range(start, group_start[group + 1] - first):
            ends[k] = start


@compiled
def add_pairs(
    kind, order, jobs, scale, group_start, run_start, runs, row_of, values, win, lose, v, work,
    ends, costs, result,
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
    (n_all,): in the user's order. work (8, rows of the largest job + VECTOR), ends (the same,)
    int64: scratch memory.
    """
    with_value = order == 1 and len(v) == 0
    alone, sign = 0.0 if len(v) else 1.0, -1.0 if order == 2 and len(v) else 1.0
    s, a, own_v, w, u = work[0], work[1], work[2], work[3], work[4]
    own, others, held = work[5], work[6], work[7]
    held[:] = 0.0
    for job in range(len(jobs)):
        first = group_start[jobs[job, 0]]
        n = group_start[jobs[job, 1]] - first
        _gather(first, n, row_of, values, win, lose, s, w, u)
        for k in range(n):
            own[k] = others[k] = 0.0
        near = kind == LOGISTIC and not (with_value and len(win))
        if near:
            near = _exponentials(n, s, a) <= NEAR_SPREAD
        if not with_value:
            _gather_vector(first, n, row_of, v, own_v)
        by_runs = len(runs) > 0
        if not by_runs:
            _ends(jobs, job, group_start, first, ends)
        value, product, n_factors = 0.0, 1.0, 0
        for group in range(jobs[job, 0], jobs[job, 1] if by_runs else jobs[job, 0] + 1):
            begin, last = jobs[job, 2] - first, jobs[job, 3] - first
            if by_runs:
                begin = max(group_start[group] - first, begin)
                last = min(group_start[group + 1] - first, last)
            for run in range(
                run_start[group] if by_runs else 0, run_start[group + 1] if by_runs else 1
            ):
                low, high = 0, group_start[jobs[job, 1] - 1] - first
                if by_runs:
                    low, high = runs[run, 0] - first, runs[run, 1] - first
                    for k in range(begin, last):
                        ends[k] = high
                for at in range(low, high, _COLUMNS):
                    stop = min(high, at + _COLUMNS)
                    for start in range(begin, last, _ROWS):
                        end = min(start + _ROWS, last)
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
            costs[job] = value - math.log(product)
        for k in range(n):
            result[row_of[first + k]] += scale[job] * (w[k] * own[k] + sign * (u[k] * others[k]))
