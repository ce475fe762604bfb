"""Sigmoidal sums of a query by a Chebyshev series over the interval of its scores.

With u = (s - centre)/radius in [-1, 1], k(s_i - s_j) is a short double series in T_p(u_i) T_q(u_j),
so the sums over the rows of other bands need only the moments of each band: its sums of T_q. Bands
fill whole vectors of eight rows and are cut into pieces, whose numbers stay in the cache.
"""

from __future__ import annotations

import math

from pairrank.compiled._jit import compiled, inlined, inlined_reassociating

VECTOR = 8
PIECE = 512
"""The largest number of rows of a piece, whole vectors."""
STEP = 4
"""Numbers of terms are multiples of this one."""


@compiled
def ends(values, rows):
    """Return the least and the greatest value of some whole vectors of rows."""
    low, other_low = values[rows[0]], values[rows[1]]
    high, other_high = low, other_low
    for k in range(0, len(rows), 2):
        x, y = values[rows[k]], values[rows[k + 1]]
        low, high = min(low, x), max(high, x)
        other_low, other_high = min(other_low, y), max(other_high, y)
    return min(low, other_low), max(high, other_high)


@compiled
def table_of(low, high, least, n_tables):
    """Return the table for scores from `low` to `high`, or -1 if none covers them."""
    radius = 0.5 * high - 0.5 * low
    if not radius <= 2.0 ** (0.5 * (least + n_tables - 1)):
        return -1
    if not radius > 2.0 ** (0.5 * least):
        return 0
    return min(math.ceil(2.0 * math.log2(radius)) - least, n_tables - 1)


@compiled
def _place(values, rows, centre, per_radius, u):
    for k in range(len(rows)):
        u[k] = (values[rows[k]] - centre) * per_radius


@inlined_reassociating
def _add_four_terms(u, q, last, before, sums):
    """Add the sums of q times the next four polynomials; keep the last two of each row."""
    sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
    for k in range(len(u) // VECTOR * VECTOR):
        x = 2.0 * u[k]
        t0 = x * last[k] - before[k]
        t1 = x * t0 - last[k]
        t2 = x * t1 - t0
        t3 = x * t2 - t1
        sum0 += q[k] * t0
        sum1 += q[k] * t1
        sum2 += q[k] * t2
        sum3 += q[k] * t3
        before[k], last[k] = t2, t3
    sums[0] += sum0
    sums[1] += sum1
    sums[2] += sum2
    sums[3] += sum3


@inlined_reassociating
def _four_steps_back(u, c0, c1, c2, c3, here, later):
    """Take four steps of Clenshaw's recurrence at each row, from the coefficient c3 to c0."""
    for k in range(len(u) // VECTOR * VECTOR):
        x = 2.0 * u[k]
        b3 = c3 + x * here[k] - later[k]
        b2 = c2 + x * b3 - here[k]
        b1 = c1 + x * b2 - b3
        here[k], later[k] = c0 + x * b1 - b2, b1


@inlined_reassociating
def _times_table(x, table, degree, result):
    """Write the products of x with the columns of a table, [q, p], for q and p below `degree`."""
    out = result[:degree]
    for p in range(degree):
        out[p] = 0.0
    for q in range(0, degree, STEP):
        x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
        row0, row1, row2, row3 = table[q], table[q + 1], table[q + 2], table[q + 3]
        for p in range(degree):
            out[p] += (x0 * row0[p] + x1 * row1[p]) + (x2 * row2[p] + x3 * row3[p])


@inlined_reassociating
def _dot(x, y, degree):
    total = 0.0
    for k in range(degree):
        total += x[k] * y[k]
    return total


@inlined
def _add_to(x, degree, result):
    for k in range(degree):
        result[k] += x[k]


@inlined
def _copy(x, degree, result):
    for k in range(degree):
        result[k] = x[k]


@inlined
def _clear(result, degree):
    for k in range(degree):
        result[k] = 0.0


@compiled
def add_moments(
    piece_start, piece_band, first_band, rows, weight, values, v, shift, centre, per_radius, degree,
    work, moments,
):  # fmt: skip
    """Add the moments of some pieces to those of their bands, O(rows * degree).

    piece_start (n_pieces + 1,), piece_band (n_pieces,): the places and the band of each piece.
    rows (n_places,) uint32 and weight (n_places,): bands fill whole vectors; the places after their
    rows have their first row and the weight 0. moments (n_bands, at least degree): from band
    `first_band` on. The weights are weight, or with v (n_all,) weight (v - shift).
    """
    for piece in range(len(piece_band)):
        first, end = piece_start[piece], piece_start[piece + 1]
        n = end - first
        u, last, before = work[0, :n], work[1, :n], work[2, :n]
        here, q = rows[first:end], weight[first:end]
        _place(values, here, centre, per_radius, u)
        for k in range(n):
            last[k] = u[k]
            before[k] = 2.0 * u[k] * u[k] - 1.0
        if len(v):
            q = work[3, :n]
            for k in range(n):
                q[k] = weight[first + k] * (v[here[k]] - shift)
        sums = moments[piece_band[piece] - first_band]
        for p in range(0, degree, STEP):
            _add_four_terms(u, q, last, before, sums[p : p + STEP])


@compiled
def meet(order, with_value, degree, moments, links, first_band, table, cost, below, series):
    """Write each band's series over the bands that it is compared with; return the value.

    For order 1, the weight of lower bands is subtracted, which turns sums of S into gradients.
    moments, series (n_bands, at least degree); table, cost (size, size): the coefficients of k and
    of phi, [q, p] that of T_p(u_i) T_q(u_j); `cost` is used with `with_value` only. links: the
    bands below and above, as in `Bands.links`, from band `first_band` on. below (2, at least
    degree): scratch memory. Costs O((bands + links) * degree^2).
    """
    n_bands, value = len(moments), 0.0
    lower, both = below[0], below[1]
    full = len(links[1]) == 0
    _clear(lower, degree)
    if full:
        _clear(both, degree)
        for band in range(n_bands - 1, -1, -1):
            _copy(both, degree, series[band])
            _add_to(moments[band], degree, both)
    for band in range(n_bands):
        if full:
            _add_to(lower, degree, series[band])
        else:
            _clear(lower, degree)
            _clear(series[band], degree)
            at = band + first_band
            for k in range(links[1][at], links[1][at + 1]):
                _add_to(moments[links[0][k] - first_band], degree, lower)
            for k in range(links[3][at], links[3][at + 1]):
                _add_to(moments[links[2][k] - first_band], degree, series[band])
            _add_to(lower, degree, series[band])
        if with_value:
            _times_table(lower, cost, degree, both)
            value += _dot(both, moments[band], degree)
        _times_table(series[band], table, degree, both)
        if order == 1:
            both[0] -= lower[0]
        _copy(both, degree, series[band])
        if full:
            _add_to(moments[band], degree, lower)
    return value


@compiled
def add_series(
    piece_start, piece_band, first_band, rows, weight, values, v, shift, known, factor, centre,
    per_radius, degree, work, series, result,
):  # fmt: skip
    """Add factor * weight times the series of its band at each row of some pieces.

    With v, and those sums as `known` (n_all,), a row gets known (v - shift) less that.
    """
    for piece in range(len(piece_band)):
        first, end = piece_start[piece], piece_start[piece + 1]
        n = end - first
        u, here, later = work[0, :n], work[1, :n], work[2, :n]
        own = rows[first:end]
        _place(values, own, centre, per_radius, u)
        _clear(here, n)
        _clear(later, n)
        c = series[piece_band[piece] - first_band]
        for p in range(degree - STEP, -1, -STEP):
            _four_steps_back(u, c[p], c[p + 1], c[p + 2], c[p + 3], here, later)
        for k in range(n):
            found = factor * weight[first + k] * (here[k] - u[k] * later[k])
            if len(v):
                found = known[own[k]] * (v[own[k]] - shift) - found
            if weight[first + k] != 0.0:
                result[own[k]] += found


@compiled
def sums_in_spans(
    order, with_value, query, query_piece, piece_start, piece_band, rows, scale, values, weight, v,
    known, least, tables, costs, degrees, links, work, moments, series, below, wide, result,
):  # fmt: skip
    """Add the sums of k over other bands to the rows of some queries; return the value.

    Row i gets scale w_i times the sum over the rows j that it is compared with of w_j k(s_i - s_j),
    where k is phi'' for order 2, and for order 1 it is S, less 1 if j is of a lower band. These are
    the Hessian's diagonal and the gradient. With v, and these sums as `known`, row i gets the same
    sum of k (v_i - v_j): the Hessian product and the influence.

    query, query_piece (n_queries + 1,): where the bands of each query (with one entry for its end,
    as in `Bands.start`) and its pieces begin. tables, costs (n_tables, size, size): see `meet`;
    table t is for radii up to 2**((least + t) / 2) and needs degrees[t] terms. wide (n_queries,):
    set for queries that are left out, because no table covers the spread of their scores.
    """
    total = 0.0
    for at in range(len(scale)):
        first, stop = query_piece[at], query_piece[at + 1]
        own = rows[piece_start[first] : piece_start[stop]]
        low, high = ends(values, own)
        t = table_of(low, high, least, len(degrees))
        if t < 0:
            wide[at] = True
            continue
        n_bands, degree = query[at + 1] - query[at] - 1, degrees[t]
        centre, per_radius = 0.5 * low + 0.5 * high, 1.0 / 2.0 ** (0.5 * (least + t))
        for band in range(n_bands):
            _clear(moments[band], degree)
        shift = v[own[0]] if len(v) else 0.0
        pieces, bands = piece_start[first : stop + 1], piece_band[first:stop]
        add_moments(
            pieces, bands, query[at], rows, weight, values, v, shift, centre, per_radius, degree,
            work, moments,
        )  # fmt: skip
        value = meet(
            order, with_value, degree, moments[:n_bands], links, query[at], tables[t], costs[t],
            below, series,
        )  # fmt: skip
        total += scale[at] * value
        add_series(
            pieces, bands, query[at], rows, weight, values, v, shift, known, scale[at], centre,
            per_radius, degree, work, series, result,
        )  # fmt: skip
    return total
