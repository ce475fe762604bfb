"""Cell sums: moments of rows in cells of scores, and gradients read from tables of cells.

A score s lies in cell floor(s / h) at place t = s/h - floor(s/h); h is a power of two, so both are
exact. Tables (S, C * B * k) have k numbers for each side, code (a level or a band of levels) and
cell; `position` (B,) holds the numbers of the cells, ascending, and contiguous from index `first`
to `last`. Rows with weights by role have two sides, as winners and as losers; others have one,
which serves as both. `at` and `place` are scratch; see `chunk`.

`links` says which codes are preferred to which. Either its arrays are empty, and every higher code
is preferred to every lower one. Or it is (below_start, below, above_start, above), int64: code k is
preferred to the codes below[below_start[k] : below_start[k + 1]], and likewise the codes of `above`
are preferred to it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pairrank.compiled._jit import compiled

_CHUNK = 1024
"""The cells of so many rows are found at a time, by vector instructions."""


def chunk() -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Return the scratch for the cells of some rows: their entries in a table and places t."""
    return np.empty(_CHUNK, np.uint32), np.empty(_CHUNK)


@compiled
def cell_beyond(number, position, first, last):
    """Return the index of a cell outside the contiguous cells position[first] to position[last]."""
    low, high = (0, first) if number < position[first] else (last + 1, len(position))
    while low < high:
        middle = (low + high) // 2
        if position[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_cells(scores, code, per_h, position, first, last, at, place):
    """Set `at` to each row's entry in a flat table (C * B,), and `place` to its t."""
    n_cells, before = np.uint32(len(position)), np.uint32(first)
    start, width = np.float64(position[first]), np.float64(last - first)
    n_outside = 0
    for i in range(len(scores)):
        u = scores[i] * per_h
        whole = np.floor(u)
        place[i] = u - whole
        cell = whole - start
        inside = cell if cell > 0.0 else 0.0
        inside = inside if inside < width else width
        n_outside += cell != inside
        at[i] = np.uint32(code[i]) * n_cells + before + np.uint32(np.int32(inside))
    if n_outside:
        for i in range(len(scores)):
            number = math.floor(scores[i] * per_h)
            if number < position[first] or number > position[last]:
                at[i] = code[i] * len(position) + cell_beyond(number, position, first, last)


@compiled
def add_rows(scores, code, weight, per_h, position, first, last, at, place, table):
    """Add (w, w t, w t^2) of every row to its code and cell in `table` (S, C * B * 3).

    `code` (n,) int32; `weight` (S, n), or (1, 0) where all rows weigh 1.
    """
    for start in range(0, len(scores), _CHUNK):
        own = scores[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        flat, mass = table[0], weight[0, start:]
        losers, mass_of_loser = table[-1], weight[-1, start:]
        for i in range(len(own)):
            k = 3 * np.int64(at[i])
            t = place[i]
            w = mass[i] if len(mass) else 1.0
            flat[k] += w
            flat[k + 1] += w * t
            flat[k + 2] += w * t * t
            if len(table) > 1:
                w = mass_of_loser[i]
                losers[k] += w
                losers[k + 1] += w * t
                losers[k + 2] += w * t * t


@compiled
def add_values(scores, code, values, per_h, position, first, last, at, place, table):
    """Add the values (S, n) of every row to its code and cell in `table` (S, C * B)."""
    for start in range(0, len(scores), _CHUNK):
        own = scores[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        for side in range(len(table)):
            flat, here = table[side], values[side, start:]
            for i in range(len(own)):
                flat[np.int64(at[i])] += here[i]


@compiled
def read_rows(
    scores, code, weight, scale, per_h, position, first, last, at, place, table, is_first, gradient
):
    """Add scale * w * (g0 + g1 t + g2 t^2) of each side to every row's gradient.

    (g0, g1, g2) are those of its code and cell in `table` (S, C * B * 3). With `is_first` the
    gradient is set, whatever it holds.
    """
    for start in range(0, len(scores), _CHUNK):
        own, out = scores[start : start + _CHUNK], gradient[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        flat, mass = table[0], weight[0, start:]
        losers, mass_of_loser = table[-1], weight[-1, start:]
        for i in range(len(own)):
            k = 3 * np.int64(at[i])
            t = place[i]
            w = scale * mass[i] if len(mass) else scale
            found = w * (flat[k] + t * (flat[k + 1] + t * flat[k + 2]))
            if len(table) > 1:
                w = scale * mass_of_loser[i]
                found += w * (losers[k] + t * (losers[k + 1] + t * losers[k + 2]))
            out[i] = found if is_first else out[i] + found


@compiled
def read_values(scores, code, scale, per_h, position, first, last, at, place, table, out):
    """Add scale times the entries of every row's code and cell in `table` (S, C * B) to `out`."""
    for start in range(0, len(scores), _CHUNK):
        own = scores[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        for side in range(len(table)):
            flat, here = table[side], out[side, start:]
            for i in range(len(own)):
                here[i] += scale * flat[np.int64(at[i])]
