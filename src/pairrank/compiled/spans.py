"""Sigmoidal sums of queries of medium size: a Chebyshev series over one interval of scores.

With u = (s - centre)/radius in [-1, 1], k(s_i - s_j) is a short double series in T_p(u_i) T_q(u_j),
so the sums over the rows of other levels need only the sums of T_q per level. Eight rows of a level
are in one vector.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairrank.compiled._jit import compiled
from pairrank.compiled._lane_series import (
    LANES,
    STEP,
    add_folded_terms,
    add_spread_back,
    times_table,
)
from pairrank.compiled.box_grid import dot

FloatArray = NDArray[np.float64]


@compiled
def _gather(group, n_here, group_start, row_of, values, weight, v, scores, q, own_v):
    """Lay out a query: every level fills whole vectors, the rest with its first row and weight 0.

    Return the number of places.
    """
    place = 0
    for g in range(group, group + n_here):
        start = group_start[g]
        for k in range(_whole(group_start, g)):
            inside = start + k < group_start[g + 1]
            row = row_of[start + k if inside else start]
            scores[place] = values[row]
            q[place] = 1.0 if inside else 0.0
            if len(weight) and inside:
                q[place] = weight[start + k]
            if len(v):
                own_v[place] = v[row]
            place += 1
    return place


@compiled
def _widen(here, lowest, highest):
    for lane in range(LANES):
        lowest[lane] = min(lowest[lane], here[lane])
        highest[lane] = max(highest[lane], here[lane])


@compiled
def _ends(scores, lanes):
    """Return the least and the greatest score; there are some whole vectors."""
    lowest, highest = lanes[:LANES], lanes[LANES : 2 * LANES]
    for lane in range(LANES):
        lowest[lane] = highest[lane] = scores[lane]
    for at in range(LANES, len(scores), LANES):
        _widen(scores[at : at + LANES], lowest, highest)
    least, greatest = lowest[0], highest[0]
    for lane in range(1, LANES):
        least, greatest = min(least, lowest[lane]), max(greatest, highest[lane])
    return least, greatest


@compiled
def _start(scores, centre, per_radius, sums, twice, later):
    """Write u, 2 u and 2 u^2 - 1, from which the recurrence of T_q starts."""
    for k in range(len(scores)):
        u = (scores[k] - centre) * per_radius
        sums[k], twice[k], later[k] = u, 2.0 * u, 2.0 * u * u - 1.0


@compiled
def _weigh(own_v, q):
    """Subtract from v about its mean, and multiply the weights by it."""
    mean = 0.0
    for k in range(len(q)):
        mean += own_v[k] / len(q)
    for k in range(len(q)):
        own_v[k] -= mean
        q[k] *= own_v[k]


@compiled
def _zero(sums, later):
    for k in range(len(sums)):
        sums[k] = later[k] = 0.0


@compiled
def _settle(twice, later, sums):
    """Turn the last numbers of Clenshaw's recurrence into the values of the series."""
    for k in range(len(sums)):
        sums[k] -= 0.5 * twice[k] * later[k]


@compiled
def _add(total, one, result):
    """Write the total so far, and add to it."""
    for q in range(len(total)):
        result[q] = total[q]
        total[q] += one[q]


@compiled
def _add_other(total, one, result):
    """Add the total so far, and add to it."""
    for q in range(len(total)):
        result[q] += total[q]
        total[q] += one[q]


@compiled
def _collect(moments, n_groups, below, both, total):
    """Write the sums of the moments of the levels below each level, and of all other levels."""
    total[:] = 0.0
    for g in range(n_groups - 1, -1, -1):
        _add(total, moments[g, : len(total)], both[g, : len(total)])
    total[:] = 0.0
    for g in range(n_groups):
        below[g, : len(total)] = total
        _add_other(total, moments[g, : len(total)], both[g, : len(total)])


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
    (3, levels, size); terms (size,).
    """
    twice, q, sums, later, own_v = work[0], work[1], work[2], work[3], work[4]
    moments, below, both = of_levels[0], of_levels[1], of_levels[2]
    size = tables.shape[1]
    table, cost = tables.reshape(tables.size), costs.reshape(costs.size)
    flat_moments = moments.reshape(moments.size)
    flat_below, flat_both = below.reshape(below.size), both.reshape(both.size)
    total = 0.0
    for at in range(len(queries)):
        group = query_group[queries[at]]
        n_here = query_group[queries[at] + 1] - group
        places = _gather(group, n_here, group_start, row_of, values, weight, v, sums, q, own_v)
        lowest, highest = _ends(sums[:places], terms)
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
        its_sums, its_later = sums[:places], later[:places]
        _start(its_sums, 0.5 * lowest + 0.5 * highest, 1.0 / radius, its_sums, twice, later)
        if len(v):
            _weigh(own_v[:places], q[:places])
        end = 0
        for g in range(n_here):
            begin, end = end, end + _whole(group_start, group + g)
            for p in range(0, degree, STEP):
                add_folded_terms(
                    twice, q, sums, later, LANES, end, begin, flat_moments, g * size + p
                )
        _collect(moments, n_here, below, both, terms[: (degree + 15) // 16 * 16])
        _zero(its_sums, its_later)
        value, end = 0.0, 0
        for g in range(n_here):
            begin, end = end, end + _whole(group_start, group + g)
            if len(costs) and g:
                times_table(flat_below, g * size, degree, cost, t * size**2, size, terms)
                value += dot(terms[:degree], moments[g, :degree])
            times_table(flat_both, g * size, degree, table, t * size**2, size, terms)
            if order == 1:
                terms[0] -= below[g, 0]
            for p in range(degree - STEP, -1, -STEP):
                add_spread_back(twice, sums, later, LANES, end, begin, terms, p)
        _settle(twice, its_later, its_sums)
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
        np.empty((5, places)), np.zeros((3, levels, size)), np.empty(size),
    )  # fmt: skip
