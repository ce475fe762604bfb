"""Cell sums within bands of neighbouring labels: many small grids, one band after another.

Rows are in the order of their labels. A band is a run of parts, a part a run of rows; within a band
every higher part is preferred to every lower one. `bands` (n, 2) holds the first and last + 1 part,
`part_start` (n_parts + 1,) the first row of each part, `scale` (n,) a factor on a band's pairs.
Weights and values are (S, n_rows), one side or two: see `compiled.cells`.
"""

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.cells import (
    add_rows,
    add_values,
    read_rows,
    read_values,
    sweep,
    sweep_values,
)

VECTOR = 8
"""Loops over a part's rows run over whole vectors of this many: in parts of some sixty rows, a loop
over the remainder would cost as much as the vectors."""


@compiled
def grid_of_band(scores, per_h, n_codes, per_row):
    """Return 1/h and the cells of a band's rows.

    Cells are widened by twos until a table of them has at most `per_row` entries per row.
    """
    low = high = scores[0]
    for i in range(len(scores)):
        low = scores[i] if scores[i] < low else low
        high = scores[i] if scores[i] > high else high
    most = max(per_row * len(scores) / n_codes, 2.0)
    while math.floor(high * per_h) - math.floor(low * per_h) + 1 > most:
        per_h *= 0.5
    first = math.floor(low * per_h)
    position = np.empty(math.floor(high * per_h) + 1 - first, np.int64)
    for k in range(len(position)):
        position[k] = first + k
    return per_h, position


@compiled
def codes_of_parts(starts):
    """Return the number of each row's part, (n,) int32, for parts that begin at `starts`."""
    code = np.empty(starts[-1] - starts[0], np.int32)
    for k in range(len(starts) - 1):
        code[starts[k] - starts[0] : starts[k + 1] - starts[0]] = k
    return code


@compiled
def gradient_of_bands(
    scores, weight, bands, part_start, scale, per_h, per_row, margins, powers, factors, gradient
):
    """Add each row's gradient to `gradient` (n,).

    Returns the value, its error, and the sum of the errors of the rows' gradients.
    """
    total = np.zeros(3)
    none = np.empty(0, np.int64)
    for band in range(len(bands)):
        starts = part_start[bands[band, 0] : bands[band, 1] + 1]
        n_codes, rows = len(starts) - 1, slice(starts[0], starts[-1])
        own, mass = scores[rows], weight[:, rows]
        code = codes_of_parts(starts)
        width, position = grid_of_band(own, per_h, n_codes, per_row)
        last = len(position) - 1
        moments = np.zeros((len(weight), n_codes, len(position), 3))
        table = np.zeros((len(weight), n_codes, len(position), 2))
        add_rows(own, code, mass, width, position, 0, last, moments)
        links = (none, none, none, none)
        found = sweep(moments, links, width, position, margins, powers, factors, table)
        for k in range(3):
            total[k] += scale[band] * found[k]
        read_rows(
            own, code, mass, scale[band], width, position, 0, last, table, False, gradient[rows]
        )
    return total[0], total[1], total[2]


@compiled
def partners_of_bands(
    scores, values, bands, part_start, scale, per_h, per_row, margins, factors, sums
):
    """Add 2 c times the sum of the values of each row's partners that are counted in to `sums`."""
    none = np.empty(0, np.int64)
    for band in range(len(bands)):
        starts = part_start[bands[band, 0] : bands[band, 1] + 1]
        n_codes, rows = len(starts) - 1, slice(starts[0], starts[-1])
        own, code = scores[rows], codes_of_parts(starts)
        width, position = grid_of_band(own, per_h, n_codes, per_row)
        last = len(position) - 1
        shape = (len(values), n_codes, len(position))
        table, result = np.zeros(shape), np.zeros(shape)
        add_values(own, code, values[:, rows], width, position, 0, last, table)
        sweep_values(table, (none, none, none, none), width, position, margins, factors, result)
        read_values(own, code, scale[band], width, position, 0, last, result, sums[:, rows])


@compiled
def longest(parts, group_start):
    """Return the largest number of rows of a part."""
    size = 0
    for part in range(len(parts)):
        size = max(size, group_start[parts[part, 1]] - group_start[parts[part, 0]])
    return size


@compiled_reassociating
def gradient_of_parts(
    scores, weight, parts, group_start, scale, margins, powers, factors, gradient
):
    """Add each row's gradient over the pairs within its part, pair by pair; return the value.

    `parts` (n, 2) holds the first and last + 1 group of each part, `group_start` the first row of
    each group. Scores count from the part's first, so that an offset of all costs no digits, in
    whatever order the terms are added.
    """
    value = 0.0
    most = longest(parts, group_start) + VECTOR
    near, of_wins, of_losses = np.zeros(most), np.empty(most), np.zeros(most)
    wins, loses = np.ones(most), np.ones(most)
    for part in range(len(parts)):
        first, last = parts[part]
        start, stop = group_start[first], group_start[last]
        for i in range(stop - start):
            near[i] = scores[start + i] - scores[start]
            of_wins[i] = of_losses[i] = 0.0
            if weight.shape[1]:
                wins[i], loses[i] = weight[0, start + i], weight[-1, start + i]
        for k in range(len(margins)):
            linear, c = powers[k] == 1, scale[part] * factors[k]
            for group in range(first + 1, last):
                below = group_start[group] - start
                for i in range(below, group_start[group + 1] - start):
                    least = near[i] - margins[k]
                    w = c * wins[i]
                    total = cost = 0.0
                    for j in range((below + VECTOR - 1) // VECTOR * VECTOR):
                        excess = near[j] - least
                        excess = excess if (excess > 0.0) & (j < below) else 0.0
                        slope = 2.0 * excess
                        paid = excess * excess
                        if linear:
                            slope = 1.0 if excess > 0.0 else 0.0
                            paid = excess
                        total += loses[j] * slope
                        cost += loses[j] * paid
                        of_losses[j] += w * slope
                    of_wins[i] -= c * total
                    value += w * cost
        for i in range(stop - start):
            gradient[start + i] += wins[i] * of_wins[i] + loses[i] * of_losses[i]
    return value


@compiled_reassociating
def partners_of_parts(scores, values, parts, group_start, scale, margins, factors, sums):
    """Add 2 c times the sum of the values of each row's partners that violate to `sums`."""
    most = longest(parts, group_start) + VECTOR
    near, wins, loses = np.zeros(most), np.empty(most), np.zeros(most)
    of_wins, of_losses = np.empty(most), np.zeros(most)
    for part in range(len(parts)):
        first, last = parts[part]
        start, stop = group_start[first], group_start[last]
        for i in range(stop - start):
            near[i] = scores[start + i] - scores[start]
            wins[i], loses[i] = values[0, start + i], values[-1, start + i]
            of_wins[i] = of_losses[i] = 0.0
        for k in range(len(margins)):
            c = 2.0 * scale[part] * factors[k]
            for group in range(first + 1, last):
                below = group_start[group] - start
                for i in range(below, group_start[group + 1] - start):
                    least, v = near[i] - margins[k], wins[i]
                    total = 0.0
                    for j in range((below + VECTOR - 1) // VECTOR * VECTOR):
                        counted = c if (near[j] > least) & (j < below) else 0.0
                        total += counted * loses[j]
                        of_losses[j] += counted * v
                    of_wins[i] += total
        for i in range(stop - start):
            sums[0, start + i] += of_wins[i]
            sums[-1, start + i] += of_losses[i]
