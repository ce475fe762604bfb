"""Cell sums: moments of rows in cells of scores, swept into each cell's gradient polynomial.

A score s lies in cell floor(s / h) at place t = s/h - floor(s/h); h is a power of two, so both are
exact. Tables are indexed by code (a level or a band of levels) and cell; `position` (B,) holds the
numbers of the cells, ascending and not always contiguous.
"""

import math

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def range_of(scores):
    """Return the least and the greatest score; NaN where one is not finite."""
    low = high = scores[0]
    check = 0.0
    for i in range(len(scores)):
        s = scores[i]
        low = min(low, s)
        high = max(high, s)
        check += 0.0 * s
    return low + check, high + check


@compiled
def cell_beyond(number, position, first, last):
    """Return the index of a cell outside the contiguous cells position[first] to position[last]."""
    if number < position[first]:
        return np.searchsorted(position[:first], number)
    return last + 1 + np.searchsorted(position[last + 1 :], number)


@compiled
def add_rows(scores, code, weight, per_h, position, first, last, table):
    """Add (w, w t, w t^2) of every row to its code and cell in `table` (C, B, 3).

    `code` (n,) int32 or (0,): all rows have code 0. `weight` (n,) or (0,): all weigh 1.
    """
    flat = table.reshape(-1)
    n_cells, start, width = len(position), position[first], last - first
    for i in range(len(scores)):
        u = scores[i] * per_h
        number = math.floor(u)
        t = u - number
        cell = number - start
        if cell < 0 or cell > width:
            cell = cell_beyond(number, position, first, last) - first
        at = 3 * ((code[i] if len(code) else 0) * n_cells + first + cell)
        w = weight[i] if len(weight) else 1.0
        flat[at] += w
        flat[at + 1] += w * t
        flat[at + 2] += w * t * t


@compiled
def add_values(scores, code, values, per_h, position, first, last, table):
    """Add a value of every row to its code and cell in `table` (C, B)."""
    flat = table.reshape(-1)
    n_cells, start, width = len(position), position[first], last - first
    for i in range(len(scores)):
        number = math.floor(scores[i] * per_h)
        cell = number - start
        if cell < 0 or cell > width:
            cell = cell_beyond(number, position, first, last) - first
        flat[(code[i] if len(code) else 0) * n_cells + first + cell] += values[i]


@compiled
def read_rows(scores, code, weight, scale, per_h, position, first, last, table, gradient):
    """Add scale * w * (g0 + g1 t) to every row's gradient, (g0, g1) of its code and cell."""
    flat = table.reshape(-1)
    n_cells, start, width = len(position), position[first], last - first
    for i in range(len(scores)):
        u = scores[i] * per_h
        number = math.floor(u)
        t = u - number
        cell = number - start
        if cell < 0 or cell > width:
            cell = cell_beyond(number, position, first, last) - first
        at = 2 * ((code[i] if len(code) else 0) * n_cells + first + cell)
        w = scale * weight[i] if len(weight) else scale
        gradient[i] += w * (flat[at] + flat[at + 1] * t)


@compiled
def sweep_winners(winners, losers, position, K, f, power, c, table):
    """Add the winners' part of one term c max(0, K + f - d)^power, d in cells, to `table` (B, 2).

    `winners` and `losers` (B, 3) are the moments of the two sides. Pairs of cells up to K apart are
    counted in. Returns the value, and the weights of the pairs exactly K and K + 1 cells apart.
    The losers' moments are about the cell K below the winner's, so that what is added is never
    negative and nothing cancels.
    """
    n = len(position)
    value = at_border = beyond = 0.0
    r0 = r1 = r2 = 0.0
    low = n
    origin = position[n - 1] - K
    for b in range(n - 1, -1, -1):
        here = position[b] - K
        gap = np.float64(origin - here)
        r2 += gap * (2.0 * r1 + gap * r0)
        r1 += gap * r0
        origin = here
        while low > 0 and position[low - 1] >= origin:
            low -= 1
            far = np.float64(position[low] - origin)
            q0, q1, q2 = losers[low, 0], losers[low, 1], losers[low, 2]
            r0 += q0
            r1 += q1 + far * q0
            r2 += q2 + far * (2.0 * q1 + far * q0)
        w0, w1, w2 = winners[b, 0], winners[b, 1], winners[b, 2]
        if low < n and position[low] == origin:
            at_border += w0 * losers[low, 0]
        if low > 0 and position[low - 1] == origin - 1:
            beyond += w0 * losers[low - 1, 0]
        # The excess of a pair is f + o - t: o the loser's place from the origin, t the winner's.
        first = f * r0 + r1
        if power == 2:
            value += c * (w0 * (f * (first + r1) + r2) - 2.0 * w1 * first + w2 * r0)
            table[b, 0] -= 2.0 * c * first
            table[b, 1] += 2.0 * c * r0
        else:
            value += c * (w0 * first - w1 * r0)
            table[b, 0] -= c * r0
    return value, at_border, beyond


@compiled
def sweep_losers(winners, position, K, f, power, c, table):
    """Add the losers' part of one term to `table` (B, 2), from the moments of their winners."""
    n = len(position)
    p0 = p1 = 0.0
    high = 0
    origin = position[0] + K
    for b in range(n):
        here = position[b] + K
        p1 += np.float64(here - origin) * p0
        origin = here
        while high < n and position[high] <= origin:
            q0 = winners[high, 0]
            p0 += q0
            p1 += np.float64(origin - position[high]) * q0 - winners[high, 1]
            high += 1
        if power == 2:
            table[b, 0] += 2.0 * c * (f * p0 + p1)
            table[b, 1] += 2.0 * c * p0
        else:
            table[b, 0] += c * p0


@compiled
def sweep_counts(others, position, K, c, wins, out):
    """Add 2 c times the sum of the others' values in cells that are counted in to `out` (B,).

    `wins`: whether the cells of `out` are the winners', so that others up to K below are counted in
    and all above; else others up to K above and all below.
    """
    n = len(position)
    total = 0.0
    if wins:
        at = n
        for b in range(n - 1, -1, -1):
            while at > 0 and position[at - 1] >= position[b] - K:
                at -= 1
                total += others[at]
            out[b] += 2.0 * c * total
    else:
        at = 0
        for b in range(n):
            while at < n and position[at] <= position[b] + K:
                total += others[at]
                at += 1
            out[b] += 2.0 * c * total


@compiled
def sweep_ranges(moments, ranges, position, K, f, power, c, table):
    """Sweep every pair of codes within each range [first, last) of codes, higher over lower.

    Returns the three sums of `sweep_winners`.
    """
    value = at_border = beyond = 0.0
    around = np.empty(moments.shape[1:])
    for r in range(len(ranges)):
        first, last = ranges[r]
        around[:] = 0.0
        for code in range(first, last):
            if code > first:
                more = sweep_winners(moments[code], around, position, K, f, power, c, table[code])
                value += more[0]
                at_border += more[1]
                beyond += more[2]
            around += moments[code]
        around[:] = 0.0
        for code in range(last - 1, first - 1, -1):
            if code < last - 1:
                sweep_losers(around, position, K, f, power, c, table[code])
            around += moments[code]
    return value, at_border, beyond


@compiled
def count_ranges(values, ranges, position, K, c, result):
    """Sweep the sums of partners that are counted in, likewise, into `result` (C, B)."""
    around = np.empty(values.shape[1])
    for r in range(len(ranges)):
        first, last = ranges[r]
        around[:] = 0.0
        for code in range(first, last):
            if code > first:
                sweep_counts(around, position, K, c, True, result[code])
            around += values[code]
        around[:] = 0.0
        for code in range(last - 1, first - 1, -1):
            if code < last - 1:
                sweep_counts(around, position, K, c, False, result[code])
            around += values[code]


@compiled
def cells_outside(scores, per_h, start, stop, most):
    """Return the cells of the rows outside the cells start to stop - 1, at most `most` + 1."""
    found = np.empty(most + 1, np.int64)
    n = 0
    for i in range(len(scores)):
        cell = math.floor(scores[i] * per_h)
        if cell < start or cell >= stop:
            found[n] = np.int64(cell)
            n += 1
            if n > most:
                break
    return found[:n]


@compiled
def multiply_rows(scores, code, weight, v, scale, per_h, position, first, last, counts, sums, out):
    """Add scale * w * (counts v - sums) to `out`, both (C, B) tables read at each row's cell."""
    of_counts, of_sums = counts.reshape(-1), sums.reshape(-1)
    n_cells, start, width = len(position), position[first], last - first
    for i in range(len(scores)):
        number = math.floor(scores[i] * per_h)
        cell = number - start
        if cell < 0 or cell > width:
            cell = cell_beyond(number, position, first, last) - first
        at = (code[i] if len(code) else 0) * n_cells + first + cell
        w = scale * weight[i] if len(weight) else scale
        out[i] += w * (of_counts[at] * v[i] - of_sums[at])
