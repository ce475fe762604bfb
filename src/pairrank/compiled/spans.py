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
from pairrank.compiled.extremes import ends
from pairrank.compiled.layout import gather

FloatArray = NDArray[np.float64]


@compiled
def _scatter(rows, factor, weight, sums, known, own_v, result):
    """Add the sums of a query's rows; see `sums_in_spans`."""
    if len(known):
        for k in range(len(rows)):
            own = known[rows[k]] * own_v[k] - factor * weight[k] * sums[k]
            sums[k] = own if weight[k] != 0.0 else 0.0
    else:
        for k in range(len(rows)):
            sums[k] = factor * weight[k] * sums[k]
    for k in range(len(rows)):
        result[rows[k]] += sums[k]


@compiled
def _weigh(own_v, weight, q):
    """Subtract from v about its mean, and write the weights times it."""
    mean = 0.0
    for k in range(len(q)):
        mean += own_v[k] / len(q)
    for k in range(len(q)):
        own_v[k] -= mean
        q[k] = weight[k] * own_v[k]


@compiled
def _clear(x, y):
    for k in range(len(x)):
        x[k] = y[k] = 0.0


@compiled
def _add(x, y, result):
    for q in range(len(result)):
        result[q] = x[q] + y[q]


@compiled
def _collect(moments, n_groups, below, both, size):
    """Write the sums of the moments of the levels below each level, and of all other levels.

    For the first `size` terms.
    """
    last = n_groups - 1
    _clear(below[0, :size], both[last, :size])
    for g in range(last - 1, -1, -1):
        _add(both[g + 1], moments[g + 1], both[g, :size])
    for g in range(1, n_groups):
        _add(below[g - 1], moments[g - 1], below[g, :size])
        _add(both[g], below[g], both[g, :size])


@compiled
def sums_in_spans(
    order, query_level, level_start, rows, scale, values, weight, v, known, least, tables, costs,
    degrees, most, work, of_levels, terms, wide, result,
):  # fmt: skip
    """Add sums of k over the rows of other levels; return the value if there are `costs`.

    Row i gets scale w_i times the sum over the rows j of other levels of w_j k(s_i - s_j), where k
    is phi'' for order 2, and for order 1 it is S, less 1 if j is of a lower level. These are the
    Hessian's diagonal and the gradient. With v, and these sums as `known`, row i gets the same sum
    of k (v_i - v_j): the Hessian product and the influence. Costs O(rows * degree + levels *
    degree**2).

    query_level (n_queries + 1,), level_start (n_levels + 1,): where the levels of each query and
    the places of each level begin. rows (n_places,) uint32 (which saves a comparison per row) and
    weight (n_places,): every level fills whole vectors; the places after its rows have its first
    row and the weight 0. scale (n_queries,): factors. values, v, known, result (n_all,): in the
    user's order; `v` and `known` may be empty. tables, costs (n_tables, size, size): coefficients
    of k and of phi, [t, q, p] that of T_p(u_i) T_q(u_j) in k(s_i - s_j); `costs` empty if the value
    is not needed. Table t is for radii up to 2**((least + t) / 2) and needs degrees[t] terms. most
    (n_queries,): the largest number of terms of a query. wide (n_queries,): set for queries that
    are left out, because no table covers the spread of their scores or they need too many terms.

    Scratch memory, for the largest query: work (5, places); of_levels (3, levels, size), finite
    numbers; terms (size,).
    """
    moments, below, both = of_levels[0], of_levels[1], of_levels[2]
    size = tables.shape[1]
    table, cost = tables.reshape(tables.size), costs.reshape(costs.size)
    flat_moments = moments.reshape(moments.size)
    flat_below, flat_both = below.reshape(below.size), both.reshape(both.size)
    total = 0.0
    for at in range(len(scale)):
        level, n_levels = query_level[at], query_level[at + 1] - query_level[at]
        first = level_start[level]
        n = level_start[level + n_levels] - first
        its_rows, its_weight = rows[first : first + n], weight[first : first + n]
        s, sums, later = work[0, :n], work[1, :n], work[2, :n]
        own_v, q = work[3, :n], its_weight
        gather(values, its_rows, s)
        lowest, highest = ends(s, terms)
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
        centre, per_radius = 0.5 * lowest + 0.5 * highest, 1.0 / 2.0 ** (0.5 * (least + t))
        if len(v):
            gather(v, its_rows, own_v)
            q = work[4, :n]
            _weigh(own_v, its_weight, q)
        for g in range(n_levels):
            begin, end = level_start[level + g] - first, level_start[level + g + 1] - first
            for p in range(0, degree, STEP):
                add_folded_terms(
                    s, centre, per_radius, q, sums, later, LANES, end, begin, flat_moments,
                    g * size + p, p == 0,
                )  # fmt: skip
        _collect(moments, n_levels, below, both, (degree + 15) // 16 * 16)
        value = 0.0
        for g in range(n_levels):
            begin, end = level_start[level + g] - first, level_start[level + g + 1] - first
            if len(costs) and g:
                times_table(flat_below, g * size, degree, cost, t * size**2, size, terms)
                value += dot(terms[:degree], moments[g, :degree])
            times_table(flat_both, g * size, degree, table, t * size**2, size, terms)
            if order == 1:
                terms[0] -= below[g, 0]
            for p in range(degree - STEP, -1, -STEP):
                add_spread_back(
                    s, centre, per_radius, q, 0.0, sums, later, LANES, end, begin, terms, p,
                    p == degree - STEP, p == 0,
                )  # fmt: skip
        total += scale[at] * value
        _scatter(its_rows, scale[at], its_weight, sums, known, own_v, result)
    return total


def scratch(places: int, levels: int, size: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scratch memory for queries of up to so many places and levels."""
    return np.empty((5, places)), np.zeros((3, levels, size)), np.empty(size)
