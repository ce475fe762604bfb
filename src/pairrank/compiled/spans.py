"""Sigmoidal sums of queries of medium size: a Chebyshev series over one interval of scores.

With u = (s - centre)/radius in [-1, 1], k(s_i - s_j) is a short double series in T_p(u_i) T_q(u_j),
so the sums over the rows of other levels need only the sums of T_q per level.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.box_grid import add_multiple, dot


@compiled
def _fill(scores, centre, radius, n, degree, terms):
    """Write T_0 .. T_(degree - 1) of every row, term by term."""
    for k in range(n):
        terms[k] = 1.0
        terms[n + k] = (scores[k] - centre) / radius
    u = terms[n : 2 * n]
    for q in range(2, degree):
        before, last, new = terms[(q - 2) * n :], terms[(q - 1) * n :], terms[q * n : (q + 1) * n]
        for k in range(len(new)):
            new[k] = 2.0 * u[k] * last[k] - before[k]


@compiled
def _moments(terms, weights, n, begin, end, degree, result):
    """Write the sums of weight times T_q over the rows of a level."""
    here = weights[begin:end]
    for q in range(degree):
        result[q] = dot(here, terms[q * n + begin : q * n + end])


@compiled
def _add_series(terms, n, begin, end, series, degree, result):
    """Add a series to the rows of a level."""
    here = result[begin:end]
    for q in range(degree):
        add_multiple(series[q], terms[q * n + begin : q * n + end], here)


@compiled
def _collect(moments, n_groups, degree, below, above):
    """Write the sums of the moments of the levels below and above each level."""
    below[0] = 0.0
    above[n_groups - 1] = 0.0
    for g in range(1, n_groups):
        for q in range(degree):
            below[g, q] = below[g - 1, q] + moments[g - 1, q]
    for g in range(n_groups - 2, -1, -1):
        for q in range(degree):
            above[g, q] = above[g + 1, q] + moments[g + 1, q]


@compiled
def _transform(table, degree, one, other, both, result):
    """Write the series whose coefficients are the table times the sum of two sets of moments."""
    for q in range(degree):
        both[q] = one[q] + other[q]
    moments = both[:degree]
    for p in range(degree):
        result[p] = dot(table[p, :degree], moments)


@compiled
def sums_in_spans(
    order, queries, query_group, group_start, row_of, scale, values, weight, v, known, least,
    tables, costs, degrees, most, wide, result,
):  # fmt: skip
    """Add sums of k over the rows of other levels; return the value if there are `costs`.

    Row i gets scale w_i times the sum over the rows j of other levels of w_j k(s_i - s_j), where k
    is phi'' for order 2, and for order 1 it is S, less 1 if j is of a lower level. These are the
    Hessian's diagonal and the gradient. With v, and these sums as `known`, row i gets the same sum
    of k (v_i - v_j): the Hessian product and the influence. Costs O(rows * degree + levels *
    degree**2).

    queries, scale (n_chosen,): the queries and their factors. values, v, known, result (n_all,):
    in the user's order; `v` and `known` may be empty. weight (n_rows,): in layout order, empty if
    all are 1. tables, costs (n_tables, size, size): coefficients of k and of phi, [t, p, q] that
    of T_p(u_i) T_q(u_j) in k(s_i - s_j); `costs` empty if the value is not needed. Table t is for
    radii up to 2**((least + t) / 2) and needs degrees[t] terms. most (n_chosen,): the largest
    number of terms of a query. wide (n_chosen,): set for queries that are left out, because no
    table covers the spread of their scores or they need too many terms.
    """
    n_rows, n_groups = 0, 0
    for at in range(len(queries)):
        first, last = query_group[queries[at]], query_group[queries[at] + 1]
        n_groups = max(n_groups, last - first)
        n_rows = max(n_rows, group_start[last] - group_start[first])
    size = tables.shape[1]
    terms, work = np.empty(max(size, 2) * n_rows), np.empty((4, n_rows))
    scores, weights, here_v, sums = work[0], work[1], work[2], work[3]
    moments, below, above = (
        np.empty((n_groups, size)), np.empty((n_groups, size)), np.empty((n_groups, size)),
    )  # fmt: skip
    zero, both, series = np.zeros(size), np.empty(size), np.empty(size)
    total = 0.0
    for at in range(len(queries)):
        group = query_group[queries[at]]
        n_here = query_group[queries[at] + 1] - group
        first = group_start[group]
        n = group_start[group + n_here] - first
        lowest, highest, mean = np.inf, -np.inf, 0.0
        for k in range(n):
            scores[k] = values[row_of[first + k]]
            weights[k] = weight[first + k] if len(weight) else 1.0
            if len(v):
                here_v[k] = v[row_of[first + k]]
                mean += here_v[k] / n
            lowest, highest = min(lowest, scores[k]), max(highest, scores[k])
        radius = 0.5 * highest - 0.5 * lowest
        if not radius <= 2.0 ** (0.5 * (least + len(degrees) - 1)):
            wide[at] = True
            continue
        t = 0
        if radius > 2.0 ** (0.5 * least):
            t = math.ceil(2.0 * math.log2(radius)) - least
        t = min(t, len(degrees) - 1)
        degree = degrees[t]
        if degree > most[at]:
            wide[at] = True
            continue
        radius = 2.0 ** (0.5 * (least + t))
        _fill(scores, 0.5 * lowest + 0.5 * highest, radius, n, degree, terms)
        sums[:n] = 0.0
        if len(v):
            for k in range(n):
                here_v[k] -= mean
                weights[k] *= here_v[k]
        for g in range(n_here):
            begin, end = group_start[group + g] - first, group_start[group + g + 1] - first
            _moments(terms, weights, n, begin, end, degree, moments[g])
        _collect(moments, n_here, degree, below, above)
        value = 0.0
        for g in range(n_here):
            begin, end = group_start[group + g] - first, group_start[group + g + 1] - first
            _transform(tables[t], degree, below[g], above[g], both, series)
            if order == 1:
                series[0] -= below[g, 0]
            _add_series(terms, n, begin, end, series, degree, sums)
            if len(costs):
                _transform(costs[t], degree, below[g], zero, both, series)
                value += dot(series[:degree], moments[g, :degree])
        total += scale[at] * value
        for k in range(n):
            row = row_of[first + k]
            own = scale[at] * (weight[first + k] if len(weight) else 1.0) * sums[k]
            result[row] += known[row] * here_v[k] - own if len(v) else own
    return total
