"""Cell sums within bands of neighbouring labels: many small grids, one band after another.

Rows are in the order of their labels. A band is a run of parts, a part a run of rows; within a band
every higher part is preferred to every lower one. `bands` (n, 2) holds the first and last + 1 part,
`part_start` (n_parts + 1,) the first row of each part.
"""

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.cells import count_ranges, sweep_ranges


@compiled
def grid_of_band(scores, per_h, n_codes):
    """Return 1/h, the first cell and the number of cells of a band's rows.

    Cells are widened by twos until a table of them has at most two entries per row.
    """
    low = high = scores[0]
    for i in range(len(scores)):
        low = min(low, scores[i])
        high = max(high, scores[i])
    most = max(2.0 * len(scores) / n_codes, 2.0)
    while math.floor(high * per_h) - math.floor(low * per_h) + 1 > most:
        per_h *= 0.5
    first = math.floor(low * per_h)
    return per_h, first, math.floor(high * per_h) - first + 1


@compiled
def gradient_of_bands(
    scores, weight, bands, part_start, band_scale, per_h, margins, powers, factors, gradient
):
    """Add each row's gradient to `gradient` (n,), without the row's weight.

    Returns the value, its error, and the sum of the errors of the rows' gradients.
    """
    value = error = slope_error = 0.0
    whole = np.zeros((1, 2), np.int64)
    for band in range(len(bands)):
        first, last = bands[band]
        start, stop = part_start[first], part_start[last]
        n_codes = last - first
        band_per_h, base, n_cells = grid_of_band(scores[start:stop], per_h, n_codes)
        h = 1.0 / band_per_h
        moments = np.zeros((n_codes, n_cells, 3))
        table = np.zeros((n_codes, n_cells, 2))
        position = np.arange(n_cells)
        for code in range(n_codes):
            for i in range(part_start[first + code], part_start[first + code + 1]):
                u = scores[i] * band_per_h
                number = math.floor(u)
                t = u - number
                w = weight[i] if len(weight) else 1.0
                at = moments[code, number - base]
                at[0] += w
                at[1] += w * t
                at[2] += w * t * t
        whole[0, 1] = n_codes
        scale = band_scale[band]
        for k in range(len(margins)):
            cells = margins[k] * band_per_h
            K = math.floor(cells)
            f = cells - K
            square = powers[k] == 2
            factor = scale * factors[k] * (h if square else 1.0)
            more, border, beyond = sweep_ranges(
                moments, whole, position, K, f, powers[k], factor, table
            )
            size = scale * abs(factors[k])
            value += more * h
            if square:
                error += size * (border * ((1.0 - f) * h) ** 2 + beyond * (f * h) ** 2)
                slope_error += size * 4.0 * h * (border * (1.0 - f) + beyond * f)
            else:
                error += size * (border * (1.0 - f) * h + beyond * f * h)
                slope_error += size * 2.0 * (border + (beyond if f > 0.0 else 0.0))
        for code in range(n_codes):
            for i in range(part_start[first + code], part_start[first + code + 1]):
                u = scores[i] * band_per_h
                number = math.floor(u)
                at = table[code, number - base]
                gradient[i] += at[0] + at[1] * (u - number)
    return value, error, slope_error


@compiled
def partners_of_bands(scores, values, bands, part_start, band_scale, per_h, margins, factors, sums):
    """Add 2 c times the sum of the values of each row's partners that are counted in to `sums`."""
    whole = np.zeros((1, 2), np.int64)
    for band in range(len(bands)):
        first, last = bands[band]
        start, stop = part_start[first], part_start[last]
        n_codes = last - first
        band_per_h, base, n_cells = grid_of_band(scores[start:stop], per_h, n_codes)
        table = np.zeros((n_codes, n_cells))
        result = np.zeros((n_codes, n_cells))
        position = np.arange(n_cells)
        for code in range(n_codes):
            for i in range(part_start[first + code], part_start[first + code + 1]):
                table[code, math.floor(scores[i] * band_per_h) - base] += values[i]
        whole[0, 1] = n_codes
        for k in range(len(margins)):
            K = math.floor(margins[k] * band_per_h)
            count_ranges(table, whole, position, K, band_scale[band] * factors[k], result)
        for code in range(n_codes):
            for i in range(part_start[first + code], part_start[first + code + 1]):
                sums[i] += result[code, math.floor(scores[i] * band_per_h) - base]


@compiled_reassociating
def gradient_of_parts(
    scores, weight, parts, group_start, part_scale, margins, powers, factors, gradient
):
    """Add each row's gradient over the pairs within its part, pair by pair; return the value.

    `parts` (n, 2) holds the first and last + 1 group of each part, `group_start` the first row of
    each group; gradients leave out the row's weight. Scores count from the part's first, so that an
    offset of all costs no digits, in whatever order the terms are added.
    """
    value = 0.0
    for part in range(len(parts)):
        first, last = parts[part]
        start = group_start[first]
        near = scores[start : group_start[last]] - scores[start]
        for k in range(len(margins)):
            margin, linear = margins[k], powers[k] == 1
            c = part_scale[part] * factors[k]
            for group in range(first + 1, last):
                below = group_start[group]
                for i in range(below, group_start[group + 1]):
                    least = near[i - start] - margin
                    w = weight[i] if len(weight) else 1.0
                    total = cost = 0.0
                    for j in range(start, below):
                        excess = max(0.0, near[j - start] - least)
                        slope = (1.0 if excess > 0.0 else 0.0) if linear else 2.0 * excess
                        other = weight[j] if len(weight) else 1.0
                        total += other * slope
                        cost += other * (excess if linear else excess * excess)
                        gradient[j] += c * w * slope
                    gradient[i] -= c * total
                    value += c * w * cost
    return value


@compiled_reassociating
def partners_of_parts(scores, values, parts, group_start, part_scale, margins, factors, sums):
    """Add 2 c times the sum of the values of each row's partners that violate to `sums`."""
    for part in range(len(parts)):
        first, last = parts[part]
        start = group_start[first]
        near = scores[start : group_start[last]] - scores[start]
        for k in range(len(margins)):
            c = 2.0 * part_scale[part] * factors[k]
            for group in range(first + 1, last):
                below = group_start[group]
                for i in range(below, group_start[group + 1]):
                    least = near[i - start] - margins[k]
                    total = 0.0
                    for j in range(start, below):
                        counted = 1.0 if near[j - start] > least else 0.0
                        total += counted * values[j]
                        sums[j] += c * counted * values[i]
                    sums[i] += c * total
