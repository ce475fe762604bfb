"""Sigmoidal sums of a query by a Chebyshev series over the interval of its scores.

With u = (s - centre)/radius in [-1, 1], k(s_i - s_j) is a short double series in T_p(u_i) T_q(u_j),
so the sums over the rows of other bands need only the moments of each band: its sums of T_q. Bands
fill whole vectors of eight rows and are cut into pieces, whose numbers stay in the cache.

Arguments of several functions, for some queries or for one part of a large query:

- query_piece (n_queries + 1,): where the pieces of each query begin. piece_start (n_pieces + 1,),
  piece_band (n_pieces,): the places and the band of each piece.
- rows (n_places,) uint32 and weight (n_places,): bands fill whole vectors; the places after their
  rows have their first row and the weight 0. laid (n_places,): the scores by place.
- centre, per_radius, degree (n_queries,): u = (s - centre) * per_radius, and the number of terms,
  or 0 for queries that are left out.
- moments, series (n_bands, at least all degrees): from band `first_band` on. work (4, PIECE):
  scratch memory.
- v (n_all,) in the user's order, or empty; shift (n_queries,): a value of v in each query.

Zeros are written in loops, and loops stand in few functions, so that these compile in little time.
"""

from __future__ import annotations

from pairrank.compiled._jit import compiled, compiled_reassociating

VECTOR = 8
PIECE = 512
"""The largest number of rows of a piece, whole vectors."""
STEP = 4
"""Numbers of terms are multiples of this one."""


@compiled
def lay_out(query_piece, piece_start, rows, values, laid, low, high):
    """Write the values by place, and the least and the greatest of each query."""
    for at in range(len(low)):
        first, end = piece_start[query_piece[at]], piece_start[query_piece[at + 1]]
        least, other_least = values[rows[first]], values[rows[first + 1]]
        greatest, other_greatest = least, other_least
        for k in range(first, end, 2):
            x, y = values[rows[k]], values[rows[k + 1]]
            laid[k], laid[k + 1] = x, y
            least, greatest = min(least, x), max(greatest, x)
            other_least, other_greatest = min(other_least, y), max(other_greatest, y)
        low[at], high[at] = min(least, other_least), max(greatest, other_greatest)


@compiled_reassociating
def add_moments(
    query_piece, piece_start, piece_band, first_band, rows, weight, laid, v, shift, centre,
    per_radius, degree, work, moments,
):  # fmt: skip
    """Add the moments of some pieces to those of their bands, O(rows * degree).

    The weights are weight, or with v weight (v - shift).
    """
    for at in range(len(degree)):
        for piece in range(query_piece[at], query_piece[at + 1] if degree[at] else 0):
            first = piece_start[piece]
            n = (piece_start[piece + 1] - first) // VECTOR * VECTOR
            here, s = rows[first : first + n], laid[first : first + n]
            q, u, last, before = weight[first : first + n], work[0], work[1], work[2]
            for k in range(n):
                u[k] = (s[k] - centre[at]) * per_radius[at]
                last[k] = u[k]
                before[k] = 2.0 * u[k] * u[k] - 1.0
            if len(v):
                q = work[3]
                for k in range(n):
                    q[k] = weight[first + k] * (v[here[k]] - shift[at])
            sums = moments[piece_band[piece] - first_band]
            for p in range(0, degree[at], STEP):
                sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
                for k in range(n):
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
                sums[p] += sum0
                sums[p + 1] += sum1
                sums[p + 2] += sum2
                sums[p + 3] += sum3


@compiled_reassociating
def _times_table(x, table, degree, result):
    """Write the products of x with the columns of a table, [q, p], for q and p below `degree`."""
    for p in range(degree):
        result[p] = 0.0
    for q in range(0, degree, STEP):
        x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
        row0, row1, row2, row3 = table[q], table[q + 1], table[q + 2], table[q + 3]
        for p in range(degree):
            result[p] += (x0 * row0[p] + x1 * row1[p]) + (x2 * row2[p] + x3 * row3[p])


@compiled_reassociating
def meet(
    order, with_value, query, links, scale, degree, table_of_query, tables, costs, with_itself,
    moments, scratch, series,
):  # fmt: skip
    """Write each band's series over the bands that it is compared with; return the value.

    For order 1, the weight of lower bands is subtracted, which turns sums of S into gradients.
    query (n_queries + 1,): where the bands of each query begin, and links: the bands below and
    above, both as in `Bands`; the first band has the first moments. with_itself (all bands,):
    whether a band is compared with itself too; two such neighbours have the same series. tables,
    costs (n_tables, size, size): the coefficients of k and of phi, [q, p] that of T_p(u_i)
    T_q(u_j); `costs` are used with `with_value` only. scratch (3, at least all degrees).
    Costs O((bands + links) * degree^2).
    """
    total, first_band = 0.0, query[0]
    lower, both, found = scratch[0], scratch[1], scratch[2]
    below, below_start, above, above_start = links
    is_full = len(below_start) == 0
    for at in range(len(degree)):
        n = degree[at]
        first, stop = query[at], query[at + 1] - 1 if n else query[at]
        table, cost, value = tables[table_of_query[at]], costs[table_of_query[at]], 0.0
        for p in range(n):
            lower[p], both[p] = 0.0, 0.0
        for band in range(stop - 1 if is_full else first - 1, first - 1, -1):
            own, out = moments[band - first_band], series[band - first_band]
            for p in range(n):
                out[p] = both[p]
                both[p] += own[p]
        for band in range(first, stop):
            own, out = moments[band - first_band], series[band - first_band]
            if not is_full:
                for p in range(n):
                    lower[p], out[p] = 0.0, 0.0
                for k in range(below_start[band], below_start[band + 1]):
                    other = moments[below[k] - first_band]
                    for p in range(n):
                        lower[p] += other[p]
                for k in range(above_start[band], above_start[band + 1]):
                    other = moments[above[k] - first_band]
                    for p in range(n):
                        out[p] += other[p]
            if with_value:
                _times_table(lower, cost, n, found)
                for p in range(n):
                    value += found[p] * own[p]
            itself = 1.0 if with_itself[band] else 0.0
            if itself and band > first and with_itself[band - 1]:
                before = series[band - first_band - 1]
                for p in range(n):
                    out[p] = before[p]
            else:
                for p in range(n):
                    both[p] = out[p] + lower[p] + itself * own[p]
                _times_table(both, table, n, out)
            if n and order == 1:
                out[0] -= lower[0]
            for p in range(n if is_full else 0):
                lower[p] += own[p]
        total += scale[at] * value
    return total


@compiled_reassociating
def add_series(
    query_piece, piece_start, piece_band, first_band, rows, weight, laid, v, shift, known, scale,
    centre, per_radius, degree, at_zero, with_itself, work, series, result,
):  # fmt: skip
    """Add scale * weight times the series of its band at each row of some pieces.

    With v, and those sums as `known` (n_all,), a row gets known (v - shift) less that. A row is not
    compared with itself: if its band is (`with_itself`), its part, by at_zero = k(0), is taken off.
    """
    for at in range(len(degree)):
        for piece in range(query_piece[at], query_piece[at + 1] if degree[at] else 0):
            first, c = piece_start[piece], series[piece_band[piece] - first_band]
            n = (piece_start[piece + 1] - first) // VECTOR * VECTOR
            own, s, w = rows[first : first + n], laid[first : first + n], weight[first : first + n]
            u, here, later, q = work[0], work[1], work[2], work[3]
            for k in range(n):
                u[k] = (s[k] - centre[at]) * per_radius[at]
                here[k], later[k] = 0.0, 0.0
            for p in range(degree[at] - STEP, -1, -STEP):
                c0, c1, c2, c3 = c[p], c[p + 1], c[p + 2], c[p + 3]
                for k in range(n):
                    x = 2.0 * u[k]
                    b3 = c3 + x * here[k] - later[k]
                    b2 = c2 + x * b3 - here[k]
                    b1 = c1 + x * b2 - b3
                    here[k], later[k] = c0 + x * b1 - b2, b1
            k_itself = at_zero if with_itself[piece_band[piece]] else 0.0
            if len(v):
                for k in range(n):
                    q[k] = v[own[k]] - shift[at]
                for k in range(n):
                    found = here[k] - u[k] * later[k] - k_itself * (w[k] * q[k])
                    if w[k] != 0.0:
                        result[own[k]] += known[own[k]] * q[k] - scale[at] * w[k] * found
            else:
                for k in range(n):
                    q[k] = scale[at] * w[k] * (here[k] - u[k] * later[k] - k_itself * w[k])
                for k in range(n):
                    if w[k] != 0.0:
                        result[own[k]] += q[k]
