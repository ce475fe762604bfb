"""Cell sums: moments of rows in cells of scores, swept into each cell's gradient polynomial.

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
    """Add scale * w * (g0 + g1 t) of each side to every row's gradient.

    (g0, g1) are those of its code and cell in `table` (S, C * B * 2). With `is_first` the gradient
    is set, whatever it holds.
    """
    for start in range(0, len(scores), _CHUNK):
        own, out = scores[start : start + _CHUNK], gradient[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        flat, mass = table[0], weight[0, start:]
        losers, mass_of_loser = table[-1], weight[-1, start:]
        for i in range(len(own)):
            k = 2 * np.int64(at[i])
            w = scale * mass[i] if len(mass) else scale
            found = w * (flat[k] + flat[k + 1] * place[i])
            if len(table) > 1:
                found += scale * mass_of_loser[i] * (losers[k] + losers[k + 1] * place[i])
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


@compiled
def add_winners(winners, losers, position, K, f, power, c, table):
    """Add the winners' part of one term c max(0, K + f - d)^power, d in cells, to `table` (B * 2,).

    Returns the value, and the weights of the pairs exactly K and K + 1 cells apart. r0 to r2 are
    the moments of the losers up to K cells below a winner's cell and of all above, about the cell K
    below, so that no sum of them cancels. The excess of a pair is f + o - t: o the loser's place
    from there, t the winner's.
    """
    n = len(position)
    value = at_border = beyond = r0 = r1 = r2 = 0.0
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
            q0, q1, q2 = losers[3 * low], losers[3 * low + 1], losers[3 * low + 2]
            r0 += q0
            r1 += q1 + far * q0
            r2 += q2 + far * (2.0 * q1 + far * q0)
        w0, w1, w2 = winners[3 * b], winners[3 * b + 1], winners[3 * b + 2]
        if low < n and position[low] == origin:
            at_border += w0 * losers[3 * low]
        if low > 0 and position[low - 1] == origin - 1:
            beyond += w0 * losers[3 * low - 3]
        first = f * r0 + r1
        if power == 2:
            value += w0 * (f * (first + r1) + r2) - 2.0 * w1 * first + w2 * r0
            table[2 * b] -= 2.0 * c * first
            table[2 * b + 1] += 2.0 * c * r0
        else:
            value += w0 * first - w1 * r0
            table[2 * b] -= c * r0
    return c * value, at_border, beyond


@compiled
def add_losers(winners, position, K, f, power, c, table):
    """Add the losers' part of one term to `table` (B * 2,).

    p0 and p1 are the weight of the winners up to K cells above a loser's cell and of all below, and
    their sum of w (k + K - l - t), l the winner's cell and k the loser's.
    """
    n = len(position)
    p0 = p1 = 0.0
    high = 0
    origin = position[0] + K
    for b in range(n):
        here = position[b] + K
        p1 += np.float64(here - origin) * p0
        origin = here
        while high < n and position[high] <= origin:
            q0 = winners[3 * high]
            p0 += q0
            p1 += np.float64(origin - position[high]) * q0 - winners[3 * high + 1]
            high += 1
        if power == 2:
            table[2 * b] += 2.0 * c * (f * p0 + p1)
            table[2 * b + 1] += 2.0 * c * p0
        else:
            table[2 * b] += c * p0


@compiled
def add_entries(values, code, around):
    """Add a code's entries to `around`, which is as long."""
    here = values[code * len(around) : (code + 1) * len(around)]
    for k in range(len(here)):
        around[k] += here[k]


@compiled
def clear(x):
    """Set an array to 0."""
    for k in range(len(x)):
        x[k] = 0.0


@compiled
def sum_linked(values, code, start, others, around):
    """Set `around` to the sum of the values of the codes that a code is linked to; how many."""
    clear(around)
    for k in range(start[code], start[code + 1]):
        add_entries(values, others[k], around)
    return start[code + 1] - start[code]


@compiled
def sweep(moments, n_codes, links, per_h, position, margins, powers, factors, around, table):
    """Add every term of every preferred pair of codes to `table` (S, C * B * 2).

    `moments` are (S, C * B * 3), `around` (3 B,) is scratch; all three may be longer.
    Pairs of cells up to K apart are counted in, K the whole cells in a term's margin. Returns the
    value, its error, and the sum of the errors of the rows' gradients, in units of scores.
    """
    n_cells = len(position)
    around = around[: 3 * n_cells]
    winners, losers = moments[0], moments[-1]
    gains, losses = table[0], table[-1]
    below_start, below, above_start, above = links
    h = 1.0 / per_h
    value = error = slope_error = 0.0
    is_pair = n_codes == 2 and not len(below_start)
    clear(around)
    for code in range(n_codes):
        own = winners[3 * n_cells * code : 3 * n_cells * (code + 1)]
        out = gains[2 * n_cells * code : 2 * n_cells * (code + 1)]
        n = sum_linked(losers, code, below_start, below, around) if len(below_start) else code
        lower = losers[: 3 * n_cells] if is_pair else around
        for k in range(len(margins) if n else 0):
            K = math.floor(margins[k] * per_h)
            f = margins[k] * per_h - K
            c, size = factors[k] * (h if powers[k] == 2 else 1.0), abs(factors[k])
            more, border, beyond = add_winners(own, lower, position, K, f, powers[k], c, out)
            value += more * h
            if powers[k] == 2:
                error += size * h * h * (border * (1.0 - f) ** 2 + beyond * f * f)
                slope_error += size * 4.0 * h * (border * (1.0 - f) + beyond * f)
            else:
                error += size * h * (border * (1.0 - f) + beyond * f)
                slope_error += size * 2.0 * (border + (beyond if f > 0.0 else 0.0))
        if not len(below_start) and not is_pair:
            add_entries(losers, code, around)
    clear(around)
    for code in range(n_codes - 1, -1, -1):
        n = n_codes - 1 - code
        if len(above_start):
            n = sum_linked(winners, code, above_start, above, around)
        upper = winners[3 * n_cells : 6 * n_cells] if is_pair else around
        out = losses[2 * n_cells * code : 2 * n_cells * (code + 1)]
        for k in range(len(margins) if n else 0):
            K = math.floor(margins[k] * per_h)
            c = factors[k] * (h if powers[k] == 2 else 1.0)
            f = margins[k] * per_h - K
            add_losers(upper, position, K, f, powers[k], c, out)
        if not len(above_start) and not is_pair:
            add_entries(winners, code, around)
    return value, error, slope_error


@compiled
def count_partners(others, position, K, c, wins, out):
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
def sweep_values(values, n_codes, links, per_h, position, margins, factors, around, result):
    """Add 2 c times the sums of the values of each cell's partners to `result`.

    Both are (S, C * B), `around` (B,) is scratch; all three may be longer.
    """
    n_cells = len(position)
    around = around[:n_cells]
    for wins in (True, False):
        start, others = (links[0], links[1]) if wins else (links[2], links[3])
        partners, out = (values[-1], result[0]) if wins else (values[0], result[-1])
        clear(around)
        for step in range(n_codes):
            code = step if wins else n_codes - 1 - step
            n = sum_linked(partners, code, start, others, around) if len(start) else step
            for k in range(len(margins) if n else 0):
                K = math.floor(margins[k] * per_h)
                here = out[code * n_cells : (code + 1) * n_cells]
                count_partners(around, position, K, factors[k], wins, here)
            if not len(start):
                add_entries(partners, code, around)


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
