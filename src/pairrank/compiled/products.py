"""Products with a feature matrix, in an order of additions that depends on the row alone.

All sums are float64 in IEEE arithmetic, for float32 rows too. So equal rows get equal results to
the bit, wherever they stand, in C and in Fortran order and on every processor. Callers cut long
products into blocks of rows and add the blocks' results in order.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled._lanes import (
    LANES,
    add_eight_rows,
    add_tile_products,
    add_tile_squares,
    four_products,
    one_product,
)
from pairrank.compiled._prefetch import fetch_ahead
from pairrank.compiled._sparse_lanes import add_sparse_row, sparse_product

_WIDE = 2048
"""From so many features on, four rows share a pass over the weights, which leave the cache."""
_SHORT = 256
"""Rows of at most so many bytes, and float32 rows that are added, are fetched in advance, which
takes 5 to 25 % less time; for longer rows it takes more."""
_STRIP = 1024
"""So many rows in Fortran order are summed at a time."""
_COLUMNS = 256
_TERMS = 64
"""A tile of a matrix product: _TERMS by _COLUMNS numbers of the right matrix stay in the cache."""


@compiled
def row_products(flat, w, out):
    """Set out to X w, for the numbers of X row by row, (n_rows * n_features,)."""
    n_rows, size = len(out), len(w)
    fours = n_rows // 4 * 4 if size >= _WIDE else 0
    for i in range(0, fours, 4):
        four_products(flat, i * size, size, w, size, out, i)
    is_short = size * flat.itemsize <= _SHORT
    for i in range(fours, n_rows):
        if is_short:
            fetch_ahead(flat, i * size, size)
        one_product(flat, i * size, size, w, size, out, i)


@compiled
def row_products_of_columns(columns, start, stop, w, out):
    """Set out to X w for rows start to stop of X, whose transpose `columns` is C-contiguous."""
    size = columns.shape[0]
    lanes = np.empty((LANES, _STRIP))
    for first in range(start, stop, _STRIP):
        last = min(first + _STRIP, stop)
        for lane in range(LANES):
            total = lanes[lane, : last - first]
            total[:] = 0.0
            j = lane
            while j + 3 * LANES < size:
                a, b = columns[j, first:last], columns[j + LANES, first:last]
                c, d = columns[j + 2 * LANES, first:last], columns[j + 3 * LANES, first:last]
                u, v, x, y = w[j], w[j + LANES], w[j + 2 * LANES], w[j + 3 * LANES]
                for i in range(total.size):
                    total[i] = (((total[i] + a[i] * u) + b[i] * v) + c[i] * x) + d[i] * y
                j += 4 * LANES
            while j + LANES < size:
                a, b, u, v = (
                    columns[j, first:last],
                    columns[j + LANES, first:last],
                    w[j],
                    w[j + LANES],
                )
                for i in range(total.size):
                    total[i] = (total[i] + a[i] * u) + b[i] * v
                j += 2 * LANES
            if j < size:
                a, u = columns[j, first:last], w[j]
                for i in range(total.size):
                    total[i] += a[i] * u
        result = out[first - start : last - start]
        for i in range(result.size):
            even = (lanes[0, i] + lanes[4, i]) + (lanes[2, i] + lanes[6, i])
            odd = (lanes[1, i] + lanes[5, i]) + (lanes[3, i] + lanes[7, i])
            result[i] = even + odd


@compiled
def add_weighted_rows(X, g, out):
    """Add X' g to out, for C-contiguous X; eight rows at a time, O(size)."""
    n_rows, size = X.shape
    eights = n_rows // 8 * 8
    flat = X.reshape(-1)
    is_short = X.itemsize == 4 or size * X.itemsize <= _SHORT
    for i in range(0, eights, 8):
        if is_short:
            fetch_ahead(flat, i * size, 8 * size)
        add_eight_rows(flat, i * size, size, g, i, out)
    for i in range(eights, n_rows):
        for j in range(size):
            out[j] += X[i, j] * g[i]


@compiled
def add_weighted_rows_of_columns(columns, start, stop, g, out):
    """Add X' g to out for rows start to stop of X, whose transpose is C-contiguous."""
    size, stride = columns.shape
    flat, sums = columns.reshape(-1), np.empty(4)
    fours = size // 4 * 4
    for j in range(0, fours, 4):
        four_products(flat, j * stride + start, stride, g, stop - start, sums, 0)
        for k in range(4):
            out[j + k] += sums[k]
    for j in range(fours, size):
        one_product(flat, j * stride + start, stride, g, stop - start, sums, 0)
        out[j] += sums[0]


@compiled
def sparse_row_products(data, indices, indptr, w, out):
    """Set out to X w for the CSR rows that indptr begins; O(non-zeros)."""
    for i in range(out.size):
        sparse_product(data, indices, np.int64(indptr[i]), np.int64(indptr[i + 1]), w, out, i)


@compiled
def add_weighted_sparse_rows(data, indices, indptr, g, size, out):
    """Add X' g / size to out for the CSR rows that indptr begins; O(non-zeros)."""
    for i in range(g.size):
        start, stop = np.int64(indptr[i]), np.int64(indptr[i + 1])
        add_sparse_row(data, indices, start, stop, g[i] / size, out)


@compiled
def add_weighted_sparse_sizes(data, indices, indptr, g, of_squares, out):
    """Add |X|' g, or (X * X)' g, to out for the CSR rows that indptr begins; O(non-zeros)."""
    for i in range(g.size):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            size = abs(np.float64(data[k]))
            out[np.uint64(indices[k])] += g[i] * (size * size if of_squares else size)


@compiled
def multiply(rows, columns, out):
    """Set out to rows @ columns, all C-contiguous; the terms of an entry are added in order."""
    out[:] = 0.0
    n_rows, n_terms = rows.shape
    n_columns = columns.shape[1]
    flat, right, result = rows.reshape(-1), columns.reshape(-1), out.reshape(-1)
    fours, sixteens = n_rows // 4 * 4, n_columns // 16 * 16
    for left in range(0, sixteens, _COLUMNS):
        for first in range(0, n_terms, _TERMS):
            last = min(first + _TERMS, n_terms)
            for i in range(0, fours, 4):
                for j in range(left, min(left + _COLUMNS, sixteens), 16):
                    add_tile_products(flat, i, n_terms, right, j, n_columns, first, last, result)
    for i in range(n_rows):
        begin = sixteens if i < fours else 0
        for k in range(n_terms):
            for j in range(begin, n_columns):
                out[i, j] += rows[i, k] * columns[k, j]


@compiled
def squared_distances(rows, columns, out):
    """Set out[i, j] to the squared distance of row i from column j; the order as in `multiply`."""
    out[:] = 0.0
    n_rows, n_terms = rows.shape
    n_columns = columns.shape[1]
    flat, right, result = rows.reshape(-1), columns.reshape(-1), out.reshape(-1)
    fours, sixteens = n_rows // 4 * 4, n_columns // 16 * 16
    for left in range(0, sixteens, _COLUMNS):
        for first in range(0, n_terms, _TERMS):
            last = min(first + _TERMS, n_terms)
            for i in range(0, fours, 4):
                for j in range(left, min(left + _COLUMNS, sixteens), 16):
                    add_tile_squares(flat, i, n_terms, right, j, n_columns, first, last, result)
    for i in range(n_rows):
        begin = sixteens if i < fours else 0
        for k in range(n_terms):
            number = np.float64(rows[i, k])
            for j in range(begin, n_columns):
                gap = number - columns[k, j]
                out[i, j] += gap * gap
