"""Products with a feature matrix, in an order of additions that depends on the row alone.

All sums are float64 in IEEE arithmetic, for float32 rows too. So equal rows get equal results to
the bit, wherever they stand, in C and in Fortran order and on every processor. Callers cut long
products into blocks of rows and add the blocks' results in order.

Entry j of a row is added to lane j % 8; then lanes l and l + 4, l + 2 and l + 1 are added.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, inlined

LANES = 8
_STRIP = 1024
"""So many rows in Fortran order are summed at a time."""


@inlined
def inner_product(row, w, lanes):
    """Return the product of a row with a vector; lanes (8,) is scratch memory."""
    size = len(w)
    whole = size // LANES * LANES
    for lane in range(LANES):
        lanes[lane] = 0.0
    for start in range(0, whole, LANES):
        numbers, factors = row[start : start + LANES], w[start : start + LANES]
        for lane in range(LANES):
            lanes[lane] += numbers[lane] * factors[lane]
    for lane in range(size - whole):
        lanes[lane] += row[whole + lane] * w[whole + lane]
    even = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6])
    return even + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


@compiled
def row_products(X, w, out):
    """Set out to X w, for C-contiguous X; O(size)."""
    lanes = np.empty(LANES)
    for i in range(len(out)):
        out[i] = inner_product(X[i], w, lanes)


@compiled
def row_products_of_columns(columns, start, stop, w, out):
    """Set out to X w for rows start to stop of X, whose transpose `columns` is C-contiguous."""
    size = columns.shape[0]
    lanes = np.empty((LANES, _STRIP))
    for first in range(start, stop, _STRIP):
        last = min(first + _STRIP, stop)
        lanes[:] = 0.0
        for j in range(size):
            total, column, factor = lanes[j % LANES], columns[j, first:last], w[j]
            for i in range(column.size):
                total[i] += column[i] * factor
        for i in range(last - first):
            even = (lanes[0, i] + lanes[4, i]) + (lanes[2, i] + lanes[6, i])
            odd = (lanes[1, i] + lanes[5, i]) + (lanes[3, i] + lanes[7, i])
            out[first - start + i] = even + odd


@compiled
def add_weighted_rows(X, g, out):
    """Add X' g to out, for C-contiguous X; eight rows at a time, as a binary tree; O(size)."""
    n_rows, size = X.shape
    eights = n_rows // 8 * 8
    for i in range(0, eights, 8):
        a, b, c, d = X[i], X[i + 1], X[i + 2], X[i + 3]
        e, f, u, v = X[i + 4], X[i + 5], X[i + 6], X[i + 7]
        g_a, g_b, g_c, g_d = g[i], g[i + 1], g[i + 2], g[i + 3]
        g_e, g_f, g_u, g_v = g[i + 4], g[i + 5], g[i + 6], g[i + 7]
        for j in range(size):
            low = (a[j] * g_a + b[j] * g_b) + (c[j] * g_c + d[j] * g_d)
            high = (e[j] * g_e + f[j] * g_f) + (u[j] * g_u + v[j] * g_v)
            out[j] += low + high
    for i in range(eights, n_rows):
        row, weight = X[i], g[i]
        for j in range(size):
            out[j] += row[j] * weight


@compiled
def add_weighted_rows_of_columns(columns, start, stop, g, out):
    """Add X' g to out for rows start to stop of X, whose transpose is C-contiguous."""
    lanes = np.empty(LANES)
    for j in range(columns.shape[0]):
        out[j] += inner_product(columns[j, start:stop], g, lanes)


@compiled
def sparse_row_products(data, indices, indptr, w, out):
    """Set out to X w for the CSR rows that indptr begins, in four lanes; O(non-zeros)."""
    for i in range(len(out)):
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        fours = start + (stop - start) // np.uint64(4) * np.uint64(4)
        a = b = c = d = 0.0
        for k in range(start, fours, np.uint64(4)):
            a += np.float64(data[k]) * w[np.uint64(indices[k])]
            b += np.float64(data[k + np.uint64(1)]) * w[np.uint64(indices[k + np.uint64(1)])]
            c += np.float64(data[k + np.uint64(2)]) * w[np.uint64(indices[k + np.uint64(2)])]
            d += np.float64(data[k + np.uint64(3)]) * w[np.uint64(indices[k + np.uint64(3)])]
        for k in range(fours, stop):
            a += np.float64(data[k]) * w[np.uint64(indices[k])]
        out[i] = (a + c) + (b + d)


@compiled
def add_weighted_sparse_rows(data, indices, indptr, g, out):
    """Add X' g to out for the CSR rows that indptr begins; O(non-zeros)."""
    for i in range(len(g)):
        weight = g[i]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[np.uint64(indices[k])] += np.float64(data[k]) * weight
