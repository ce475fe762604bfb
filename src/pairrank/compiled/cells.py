"""Cell sums: moments of rows in cells of scores, and gradients read from tables of cells.

A score s lies in cell floor(s / h) at place t = s/h - floor(s/h); h is a power of two, so both are
exact. Tables (S, C * B * k) have k numbers for each side, code (a level or a band of levels) and
cell; `position` (B,) holds the numbers of the cells, ascending, and contiguous from index `first`
to `last`. Rows with weights by role have two sides, as winners and as losers; others have one,
which serves as both. `at` and `place` are scratch; see `chunk`.

Pairs of cells nearer than a term's margin are counted in. With the margin (K + f) h, 0 <= f < 1,
the pairs of cells K and K + 1 apart may be on either side of it. The excess of such a pair is
x = e + o - t in cells: o the loser's place, t the winner's, e = f or f - 1. So x lies between e - 1
and e + 1, and max(0, x)^p and its slope are replaced by polynomials, see `pair_sums.cells.fit`. A
term c max(0, m - d)^p is a line of `terms`: K, f, p, its factor in units of cells, and the
coefficients of its polynomials (v1, v2, s0, s1, s2) for pairs K apart, and for those K + 1 apart.

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
                at[i] = code[i] * len(position) + np.searchsorted(position, number)


@compiled
def add_rows(scores, code, values, size, per_h, position, first, last, at, place, table):
    """Add w, and where `size` is 3 also w t and w t^2, of every row to its code and cell.

    `code` (n,) int32; `values` w (S, n), or (1, 0) where all are 1; `table` (S, C * B * size).
    """
    for start in range(0, len(scores), _CHUNK):
        own = scores[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        for side in range(len(table)):
            flat, here = table[side], values[side, start:]
            for i in range(len(own)):
                k = size * np.int64(at[i])
                w = here[i] if len(here) else 1.0
                flat[k] += w
                if size == 3:
                    t = place[i]
                    flat[k + 1] += w * t
                    flat[k + 2] += w * t * t


@compiled
def read_rows(
    scores, code, weight, size, scale, per_h, position, first, last, at, place, table, out
):
    """Add scale * w * g0, or scale * w * (g0 + g1 t + g2 t^2) where `size` is 3, to `out`.

    (g0, g1, g2) are those of a row's code and cell in `table` (S, C * B * size); `weight` w is
    (S, n), or (1, 0) where all are 1. `out` (S, n), or (1, n) for the sums over both sides.
    """
    for start in range(0, len(scores), _CHUNK):
        own = scores[start : start + _CHUNK]
        find_cells(own, code[start:], per_h, position, first, last, at, place)
        for side in range(len(table)):
            flat, mass = table[side], weight[min(side, len(weight) - 1), start:]
            here = out[min(side, len(out) - 1), start:]
            for i in range(len(own)):
                k = size * np.int64(at[i])
                found = flat[k]
                if size == 3:
                    t = place[i]
                    found += t * (flat[k + 1] + t * flat[k + 2])
                w = scale * mass[i] if len(mass) else scale
                here[i] += w * found


@compiled
def coefficients(term, apart):
    """Return those of the polynomials of a term for pairs K, or K + 1, apart."""
    at = 9 if apart else 4
    return term[at], term[at + 1], term[at + 2], term[at + 3], term[at + 4]


@compiled
def add_winners(winners, losers, position, term, table, found):
    """Add the winners' part of one term to `table` (B * 3,), and its sums to `found` (6,).

    They are the value, of squares at least 0, and its size, the weights of the pairs K and K + 1
    apart, and that of the pairs counted in and the sum of their slopes with respect to d. r0 to r2
    are the moments of the losers less than K cells below a winner's cell and of all above, about
    the cell K below, so that no sum of them cancels.
    """
    K, f, power, c = int(term[0]), term[1], term[2], term[3]
    n, n_apart = len(position), 1 if f == 0.0 else 2
    value = at_border = past_it = counted = slopes = r0 = r1 = r2 = 0.0
    low = n
    origin = position[n - 1] - K
    for b in range(n - 1, -1, -1):
        here = position[b] - K
        gap = np.float64(origin - here)
        r2 += gap * (2.0 * r1 + gap * r0)
        r1 += gap * r0
        origin = here
        while low > 0 and position[low - 1] > origin:
            low -= 1
            far = np.float64(position[low] - origin)
            q0, q1, q2 = losers[3 * low], losers[3 * low + 1], losers[3 * low + 2]
            r0 += q0
            r1 += q1 + far * q0
            r2 += q2 + far * (2.0 * q1 + far * q0)
        w0, w1, w2 = winners[3 * b], winners[3 * b + 1], winners[3 * b + 2]
        first = f * r0 + r1
        counted += w0 * r0
        if power == 2:
            value += w0 * (f * (first + r1) + r2) - 2.0 * w1 * first + w2 * r0
            slopes += 2.0 * (w0 * first - w1 * r0)
            g0, g1, g2 = 2.0 * first, -2.0 * r0, 0.0
        else:
            value += w0 * first - w1 * r0
            slopes += w0 * r0
            g0, g1, g2 = r0, 0.0, 0.0
        at = low - 1
        for apart in range(n_apart):
            if at < 0 or position[at] != origin - apart:
                continue
            v1, v2, s0, s1, s2 = coefficients(term, apart)
            e = f - apart
            q0, q1, q2 = losers[3 * at], losers[3 * at + 1], losers[3 * at + 2]
            once = e * q0 + q1
            twice = e * (once + q1) + q2
            value += w0 * (v1 * once + v2 * twice) - w1 * (v1 * q0 + 2.0 * v2 * once) + w2 * v2 * q0
            g0 += s0 * q0 + s1 * once + s2 * twice
            g1 -= s1 * q0 + 2.0 * s2 * once
            g2 += s2 * q0
            at_border += 0.0 if apart else w0 * q0
            past_it += w0 * q0 if apart else 0.0
            at -= 1
        table[3 * b] -= c * g0
        table[3 * b + 1] -= c * g1
        table[3 * b + 2] -= c * g2
    if power == 2 and value < 0.0:
        value = 0.0
    found[0] += c * value
    found[1] += abs(c * value)
    found[2] += at_border
    found[3] += past_it
    found[4] += counted
    found[5] += slopes


@compiled
def add_losers(winners, position, term, table):
    """Add the losers' part of one term to `table` (B * 3,); see `add_winners`.

    p0 and p1 are the weight of the winners less than K cells above a loser's cell and of all below,
    and their sum of w (k + K - l - t), l the winner's cell and k the loser's.
    """
    K, f, power, c = int(term[0]), term[1], term[2], term[3]
    n, n_apart = len(position), 1 if f == 0.0 else 2
    p0 = p1 = 0.0
    high = 0
    origin = position[0] + K
    for b in range(n):
        here = position[b] + K
        p1 += np.float64(here - origin) * p0
        origin = here
        while high < n and position[high] < origin:
            q0 = winners[3 * high]
            p0 += q0
            p1 += np.float64(origin - position[high]) * q0 - winners[3 * high + 1]
            high += 1
        g0, g1, g2 = p0, 0.0, 0.0
        if power == 2:
            g0, g1 = 2.0 * (f * p0 + p1), 2.0 * p0
        at = high
        for apart in range(n_apart):
            if at >= n or position[at] != origin + apart:
                continue
            _, _, s0, s1, s2 = coefficients(term, apart)
            e = f - apart
            q0, q1, q2 = winners[3 * at], winners[3 * at + 1], winners[3 * at + 2]
            once = e * q0 - q1
            g0 += s0 * q0 + s1 * once + s2 * (e * (once - q1) + q2)
            g1 += s1 * q0 + 2.0 * s2 * once
            g2 += s2 * q0
            at += 1
        table[3 * b] += c * g0
        table[3 * b + 1] += c * g1
        table[3 * b + 2] += c * g2


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
def sweep(moments, n_codes, links, position, terms, around, table, found):
    """Add every term of every preferred pair of codes to `table`, and its sums to `found`.

    `moments` and `table` are (S, C * B * 3), `around` (3 B,) is scratch, `terms` (n_terms, 14) and
    `found` (n_terms, 6).
    """
    own, size = moments[0], len(around)
    for wins in (True, False):
        start, others = (links[0], links[1]) if wins else (links[2], links[3])
        partners, out = (moments[-1], table[0]) if wins else (moments[0], table[-1])
        clear(around)
        for step in range(n_codes):
            code = step if wins else n_codes - 1 - step
            n = sum_linked(partners, code, start, others, around) if len(start) else step
            low, high = code * size, (code + 1) * size
            for k in range(len(terms) if n else 0):
                if wins:
                    add_winners(own[low:high], around, position, terms[k], out[low:high], found[k])
                else:
                    add_losers(around, position, terms[k], out[low:high])
            if not len(start):
                add_entries(partners, code, around)


@compiled
def count_partners(others, position, term, wins, out):
    """Add 2 c times the sum of the others' values in cells that are counted in to `out` (B,).

    `wins`: whether the cells of `out` are the winners', so that others less than K below and all
    above are counted in; else others less than K above and all below. A share of those K and K + 1
    apart is, too.
    """
    K, f, c = int(term[0]), term[1], term[2]
    n, step = len(position), -1 if wins else 1
    near, beyond = 0.5 * (1.0 + f), 0.5 * f
    total = 0.0
    at = n - 1 if wins else 0
    for turn in range(n):
        b = n - 1 - turn if wins else turn
        border = position[b] + step * K
        while 0 <= at < n and step * (border - position[at]) > 0:
            total += others[at]
            at += step
        found, k = total, at
        if 0 <= k < n and position[k] == border:
            found += near * others[k]
            k += step
        if 0 <= k < n and position[k] == border + step:
            found += beyond * others[k]
        out[b] += 2.0 * c * found


@compiled
def sweep_values(values, n_codes, links, position, terms, around, result):
    """Add 2 c times the sums of the values of each cell's partners to `result`.

    Both are (S, C * B), `around` (B,) is scratch; `terms` (n_terms, 3) are K, f and c.
    """
    n_cells = len(position)
    for wins in (True, False):
        start, others = (links[0], links[1]) if wins else (links[2], links[3])
        partners, out = (values[-1], result[0]) if wins else (values[0], result[-1])
        clear(around)
        for step in range(n_codes):
            code = step if wins else n_codes - 1 - step
            n = sum_linked(partners, code, start, others, around) if len(start) else step
            for k in range(len(terms) if n else 0):
                here = out[code * n_cells : (code + 1) * n_cells]
                count_partners(around, position, terms[k], wins, here)
            if not len(start):
                add_entries(partners, code, around)
