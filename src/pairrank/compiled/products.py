"""Products with a feature matrix, in an order of additions that is the same for every row.

All sums are float64, for float32 rows too. Equal rows of one array get equal results to the bit,
wherever they stand. Callers cut long products into blocks of rows and add the blocks' results in
order.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating

_STRIP = 1024
"""So many rows in Fortran order are summed at a time."""


@compiled_reassociating
def row_products(X, w, out):
    """Set out to X w, for C-contiguous X; O(size)."""
    for i in range(len(out)):
        row, total = X[i], 0.0
        for j in range(len(w)):
            total += row[j] * w[j]
        out[i] = total


@compiled
def row_products_of_columns(columns, start, stop, w, out):
    """Set out to X w for rows start to stop of X, whose transpose `columns` is C-contiguous."""
    for first in range(start, stop, _STRIP):
        total = out[first - start : min(first + _STRIP, stop) - start]
        for i in range(len(total)):
            total[i] = 0.0
        for j in range(len(w)):
            column, factor = columns[j, first : first + len(total)], w[j]
            for i in range(len(total)):
                total[i] += column[i] * factor


@compiled_reassociating
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


@compiled_reassociating
def add_weighted_rows_of_columns(columns, start, stop, g, out):
    """Add X' g to out for rows start to stop of X, whose transpose is C-contiguous."""
    for j in range(len(columns)):
        column, total = columns[j, start:stop], 0.0
        for i in range(len(g)):
            total += column[i] * g[i]
        out[j] += total


@compiled_reassociating
def sparse_row_products(data, indices, indptr, w, out):
    """Set out to X w for the CSR rows that indptr begins; O(non-zeros)."""
    for i in range(len(out)):
        total = 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += np.float64(data[k]) * w[np.uint64(indices[k])]
        out[i] = total


@compiled
def add_weighted_sparse_rows(data, indices, indptr, g, out):
    """Add X' g to out for the CSR rows that indptr begins; O(non-zeros)."""
    for i in range(len(g)):
        weight = g[i]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[np.uint64(indices[k])] += np.float64(data[k]) * weight
