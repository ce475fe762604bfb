"""Sigmoidal sums of queries of medium size: a Chebyshev series over one interval of scores.

With u = (s - centre)/radius in [-1, 1], k(s_i - s_j) is a short double series in T_p(u_i) T_q(u_j),
so the sums over the rows of other levels need only the sums of T_q per level. Eight rows of a level
are in one vector.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled._lane_series import LANES, STEP, add_back, add_terms, times_table
from pairrank.compiled.box_grid import dot

FloatArray = NDArray[np.float64]


@compiled
def _gather(first, n, group, n_here, group_start, row_of, values, weight, v, scores, q, own_v):
    """Lay out a query: every level fills whole vectors, the rest with its first row and weight 0.

    Return the number of places, the least and the greatest score, and the mean of v.
    """
    lowest, highest, mean, place = np.inf, -np.inf, 0.0, 0
    for g in range(group, group + n_here):
        start, end = group_start[g], group_start[g + 1]
        for k in range(start, end):
            row = row_of[k]
            scores[place] = values[row]
            q[place] = weight[k] if len(weight) else 1.0
            if len(v):
                own_v[place] = v[row]
                mean += v[row] / n
            lowest, highest = min(lowest, values[row]), max(highest, values[row])
            place += 1
        for _ in range((start - end) % LANES):
            scores[place], q[place], own_v[place] = values[row_of[start]], 0.0, 0.0
            place += 1
    return place, lowest, highest, mean


@compiled
def _start(scores, centre, radius, sums, twice, later):
    """Write u, 2 u and 2 u^2 - 1, from which the recurrence of T_q starts."""
    for k in range(len(scores)):
        u = (scores[k] - centre) / radius
        sums[k], twice[k], later[k] = u, 2.0 * u, 2.0 * u * u - 1.0


@compiled
def _weigh(mean, own_v, q):
    for k in range(len(q)):
        own_v[k] -= mean
        q[k] *= own_v[k]


@compiled_reassociating
def _total(lanes):
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    return total


@compiled
def _moments(twice, q, sums, later, begin, end, degree, lanes, result):
    """Write the sums of weight times T_q over the rows of a level."""
    for p in range(0, LANES * degree, LANES * STEP):
        add_terms(twice, q, sums, later, LANES, end, begin, lanes, p)
    for p in range(degree):
        result[p] = _total(lanes[p * LANES : (p + 1) * LANES])


@compiled
def _add_series(twice, sums, later, begin, end, degree, series, lanes):
    """Write the values of a series at the rows of a level."""
    for p in range(degree):
        for lane in range(LANES):
            lanes[p * LANES + lane] = series[p]
    for k in range(begin, end):
        sums[k] = later[k] = 0.0
    for p in range(LANES * (degree - STEP), -1, -LANES * STEP):
        add_back(twice, sums, later, LANES, end, begin, lanes, p)
    for k in range(begin, end):
        sums[k] -= 0.5 * twice[k] * later[k]


@compiled
def _collect(moments, n_groups, degree, below, both):
    """Write the sums of the moments of the levels below each level, and of all other levels."""
    for q in range(degree):
        total = 0.0
        for g in range(n_groups - 1, -1, -1):
            both[g, q] = total
            total += moments[g, q]
        total = 0.0
        for g in range(n_groups):
            below[g, q] = total
            both[g, q] += total
            total += moments[g, q]


@compiled
def sums_in_spans(
    order, queries, query_group, group_start, row_of, scale, values, weight, v, known, least,
    tables, costs, degrees, most, work, of_levels, terms, wide, result,
):  # fmt: skip
    """Add sums of k over the rows of other levels; return the value if there are `costs`.

    Row i gets scale w_i times the sum over the rows j of other levels of w_j k(s_i - s_j), where k
    is phi'' for order 2, and for order 1 it is S, less 1 if j is of a lower level. These are the
    Hessian's diagonal and the gradient. With v, and these sums as `known`, row i gets the same sum
    of k (v_i - v_j): the Hessian product and the influence. Costs O(rows * degree + levels *
    degree**2).

    queries, scale (n_chosen,): the queries and their factors. values, v, known, result (n_all,):
    in the user's order; `v` and `known` may be empty. weight (n_rows,): in layout order, empty if
    all are 1. tables, costs (n_tables, size, size): coefficients of k and of phi, [t, q, p] that
    of T_p(u_i) T_q(u_j) in k(s_i - s_j); `costs` empty if the value is not needed. Table t is for
    radii up to 2**((least + t) / 2) and needs degrees[t] terms. most (n_chosen,): the largest
    number of terms of a query. wide (n_chosen,): set for queries that are left out, because no
    table covers the spread of their scores or they need too many terms.

    Scratch memory, for the largest query: work (5, rows, with whole vectors per level); of_levels
    (3, levels, size); terms ((LANES + 1) * size,).
    """
    twice, q, sums, later, own_v = work[0], work[1], work[2], work[3], work[4]
    moments, below, both = of_levels[0], of_levels[1], of_levels[2]
    size = tables.shape[1]
    table, cost = tables.reshape(tables.size), costs.reshape(costs.size)
    lanes, series = terms[: LANES * size], terms[LANES * size :]
    flat_below, flat_both = below.reshape(below.size), both.reshape(both.size)
    total = 0.0
    for at in range(len(queries)):
        group = query_group[queries[at]]
        n_here = query_group[queries[at] + 1] - group
        first = group_start[group]
        n = group_start[group + n_here] - first
        places, lowest, highest, mean = _gather(
            first, n, group, n_here, group_start, row_of, values, weight, v, sums, q, own_v
        )
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
        here = sums[:places]
        _start(here, 0.5 * lowest + 0.5 * highest, radius, here, twice, later)
        if len(v):
            _weigh(mean, own_v[:places], q[:places])
        end = 0
        for g in range(n_here):
            begin, end = end, end + _whole(group_start, group + g)
            _moments(twice, q, sums, later, begin, end, degree, lanes, moments[g])
        _collect(moments, n_here, degree, below, both)
        value, end = 0.0, 0
        for g in range(n_here):
            begin, end = end, end + _whole(group_start, group + g)
            if len(costs):
                times_table(
                    flat_below, g * size, degree, cost, t * size * size, size, series
                )
                value += dot(series[:degree], moments[g, :degree])
            times_table(flat_both, g * size, degree, table, t * size * size, size, series)
            if order == 1:
                series[0] -= below[g, 0]
            _add_series(twice, sums, later, begin, end, degree, series, lanes)
        total += scale[at] * value
        place = 0
        for g in range(group, group + n_here):
            for k in range(group_start[g], group_start[g + 1]):
                row = row_of[k]
                own = scale[at] * (weight[k] if len(weight) else 1.0) * sums[place]
                result[row] += known[row] * own_v[place] - own if len(v) else own
                place += 1
            place += (group_start[g] - group_start[g + 1]) % LANES
    return total


@compiled
def _whole(group_start, g):
    """Return the number of places of a level."""
    return (group_start[g + 1] - group_start[g] + LANES - 1) // LANES * LANES


def scratch(rows: int, levels: int, size: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scratch memory for queries of up to so many rows and levels."""
    places = rows + (LANES - 1) * levels
    return (
        np.empty((5, places)), np.empty((3, levels, size)), np.empty((LANES + 1) * size),
    )  # fmt: skip
