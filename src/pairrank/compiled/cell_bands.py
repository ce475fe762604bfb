"""Cell sums within bands of neighbouring labels: many small grids, one band after another.

Rows are in the order of their labels. A band is a run of parts, a part a run of rows; within a band
every higher part is preferred to every lower one. `bands` (n, 2) holds the first and last + 1 part,
`part_start` (n_parts + 1,) the first row of each part, `scale` (n,) a factor on a band's pairs.
Weights and values are (S, n_rows), one side or two: see `compiled.cells`.
"""

import math

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.cell_sweeps import clear, sweep, sweep_values
from pairrank.compiled.cells import add_rows, add_values, chunk, read_rows, read_values


@compiled
def place_band(scores, starts, per_h, per_row, code, position):
    """Write the number of each row's part to `code`, and the cells of the rows to `position`.

    Return 1/h and the number of cells. Cells are widened by twos until a table of them has at most
    `per_row` entries per row.
    """
    low = high = scores[0]
    for i in range(len(scores)):
        low = scores[i] if scores[i] < low else low
        high = scores[i] if scores[i] > high else high
    n_codes = len(starts) - 1
    for part in range(n_codes):
        for i in range(starts[part] - starts[0], starts[part + 1] - starts[0]):
            code[i] = part
    most = per_row * len(scores) / n_codes
    most = most if most > 2.0 else 2.0
    while math.floor(high * per_h) - math.floor(low * per_h) + 1 > most:
        per_h *= 0.5
    first = math.floor(low * per_h)
    n_cells = math.floor(high * per_h) + 1 - first
    for k in range(n_cells):
        position[k] = first + k
    return per_h, n_cells


def _scratch(bands, part_start, per_row, n_sides, *per_entry):
    """Return code, position, at and place, and a table for each number of floats per entry.

    They hold the largest of the bands; `place_band` bounds the cells of each.
    """
    n_rows = int(np.diff(part_start[bands]).max(initial=0))
    n_parts = int(np.diff(bands).max(initial=0))
    n_entries = int(max(per_row * n_rows, 2 * n_parts)) + 1
    tables = (np.empty((n_sides, size * n_entries)) for size in per_entry)
    return np.empty(n_rows, np.int32), np.empty(n_entries, np.int64), *chunk(), *tables


def gradient_of_bands(
    scores, weight, bands, part_start, scale, per_h, per_row, margins, powers, factors, gradient
):
    """Add each row's gradient to `gradient` (n,).

    Returns the value, its error, the sum of the errors of the rows' gradients, and the sizes that
    the rounding of the value and of the gradients is relative to.
    """
    scratch = _scratch(bands, part_start, per_row, len(weight), 3, 3)
    return _gradient_of_bands(
        scores, weight, bands, part_start, scale, per_h, per_row, margins, powers, factors,
        *scratch, np.empty(scratch[-1].size), gradient,
    )  # fmt: skip


@compiled
def _gradient_of_bands(
    scores, weight, bands, part_start, scale, per_h, per_row, margins, powers, factors,
    codes, positions, at, place, moments, table, around, gradient,
):  # fmt: skip
    value = error = gradient_error = value_size = slope_size = 0.0
    none = positions[:0]
    for band in range(len(bands)):
        starts = part_start[bands[band, 0] : bands[band, 1] + 1]
        n_codes, rows = len(starts) - 1, slice(starts[0], starts[-1])
        own, mass = scores[rows], weight[:, rows]
        width, n_cells = place_band(own, starts, per_h, per_row, codes, positions)
        position, last = positions[:n_cells], n_cells - 1
        for side in range(len(weight)):
            clear(moments[side, : 3 * n_codes * n_cells])
            clear(table[side, : 3 * n_codes * n_cells])
        add_rows(own, codes, mass, width, position, 0, last, at, place, moments)
        found = sweep(
            moments, n_codes, (none, none, none, none), width, position, margins, powers, factors,
            around, table,
        )  # fmt: skip
        value += scale[band] * found[0]
        error += scale[band] * found[1]
        gradient_error += scale[band] * found[2]
        value_size += scale[band] * found[3]
        slope_size += scale[band] * found[4]
        read_rows(
            own, codes, mass, scale[band], width, position, 0, last, at, place, table, False,
            gradient[rows],
        )  # fmt: skip
    return value, error, gradient_error, value_size, slope_size


def partners_of_bands(
    scores, values, bands, part_start, scale, per_h, per_row, margins, factors, sums
):
    """Add 2 c times the sum of the values of each row's partners that are counted in to `sums`."""
    scratch = _scratch(bands, part_start, per_row, len(values), 1, 1)
    _partners_of_bands(
        scores, values, bands, part_start, scale, per_h, per_row, margins, factors,
        *scratch, np.empty(scratch[-1].size), sums,
    )  # fmt: skip


@compiled
def _partners_of_bands(
    scores, values, bands, part_start, scale, per_h, per_row, margins, factors,
    codes, positions, at, place, table, result, around, sums,
):  # fmt: skip
    none = positions[:0]
    for band in range(len(bands)):
        starts = part_start[bands[band, 0] : bands[band, 1] + 1]
        n_codes, rows = len(starts) - 1, slice(starts[0], starts[-1])
        own = scores[rows]
        width, n_cells = place_band(own, starts, per_h, per_row, codes, positions)
        position, last = positions[:n_cells], n_cells - 1
        for side in range(len(values)):
            clear(table[side, : n_codes * n_cells])
            clear(result[side, : n_codes * n_cells])
        add_values(own, codes, values[:, rows], width, position, 0, last, at, place, table)
        links = (none, none, none, none)
        sweep_values(table, n_codes, links, width, position, margins, factors, around, result)
        read_values(
            own, codes, scale[band], width, position, 0, last, at, place, result, sums[:, rows]
        )
