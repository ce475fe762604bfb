"""Sweeps over tables of cells: moments become values and each cell's gradient polynomial.

Pairs of cells nearer than a term's margin are counted in; see `cells` for the tables and `links`.
With the margin (K + f) h, 0 <= f < 1, the pairs of cells K and K + 1 apart may be on either side of
it. The excess of such a pair is x = e + o - t in cells: o the loser's place, t the winner's, e = f
or f - 1. So x lies between e - 1 and e + 1, and max(0, x)^p and its slope are replaced by `fit`.
"""

import math

import numpy as np

from pairrank.compiled._jit import compiled

_LINEAR = 2.0 * (math.sqrt(2.0) - 1.0)
"""x |x| differs least from _LINEAR R x for |x| <= R: by (1 - _LINEAR) R^2."""
_OFF = 0.0858
"""(1 - _LINEAR) / 2, rounded up."""


@compiled
def fit(e, power):
    """Return a polynomial for max(0, x)^power, one for its slope, and what each is off by at most.

    For e - 1 < x < e + 1. They have the coefficients of x, x^2 and of 1, x, x^2. For the square
    they follow from x |x| ~ _LINEAR R x and |x| ~ x^2 / R + R / 6 for |x| <= R = 1 + |e|, unless to
    count all of the pairs, or none, is off by less. Where e is 0 and places are spread evenly, the
    fits have no bias. Of power 1 a share of the pairs is counted, so that a plane through value and
    slope is below the sum.
    """
    reach, counted = 1.0 + abs(e), 1.0 if e >= 0.0 else 0.0
    wrong = 1.0 - abs(e)
    if power == 1:
        share = 0.5 * (1.0 + e)
        most = 0.0 if wrong == 0.0 and e < 0.0 else max(share, 1.0 - share)
        return (share, 0.0, share, 0.0, 0.0), 0.5 * (1.0 - e * e), most
    v1, v2, of_value = 0.5 * _LINEAR * reach, 0.5, _OFF * reach * reach
    if wrong * wrong <= of_value:
        v1, v2, of_value = 0.0, counted, wrong * wrong
    s0, s1, s2, of_slope = reach / 6.0, 1.0, 1.0 / reach, reach / 6.0
    if 2.0 * wrong <= of_slope:
        s0, s1, s2, of_slope = 0.0, 2.0 * counted, 0.0, 2.0 * wrong
    return (v1, v2, s0, s1, s2), of_value, of_slope


@compiled
def add_winners(winners, losers, position, K, f, power, c, near, beyond, table):
    """Add the winners' part of one term c max(0, K + f - d)^power, d in cells, to `table` (B * 3,).

    `near` and `beyond` are the polynomials for pairs K and K + 1 apart; the latter is 0 if f is 0.
    Returns the value, of squares at least 0, the weights of both kinds of pairs, and that of the
    pairs counted in and the sum of their slopes with respect to d. r0 to r2 are the moments of the
    losers less than K cells below a winner's cell and of all above, about the cell K below, so that
    no sum of them cancels.
    """
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
            v1, v2, s0, s1, s2 = beyond if apart else near
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
    return c * value, at_border, past_it, counted, slopes


@compiled
def add_losers(winners, position, K, f, power, c, near, beyond, table):
    """Add the losers' part of one term to `table` (B * 3,); see `add_winners`.

    p0 and p1 are the weight of the winners less than K cells above a loser's cell and of all below,
    and their sum of w (k + K - l - t), l the winner's cell and k the loser's.
    """
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
            _, _, s0, s1, s2 = beyond if apart else near
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
def sweep(moments, n_codes, links, per_h, position, margins, powers, factors, around, table):
    """Add every term of every preferred pair of codes to `table` (S, C * B * 3).

    `moments` are (S, C * B * 3), `around` (3 B,) is scratch; all three may be longer.
    Returns the value, its error, the sum of the errors of the rows' gradients, and the size of what
    is added up to the value, in units of scores, and to the gradients. Where all excesses are far
    below a cell's width, or factors differ in sign, the sizes are far above the results.
    """
    n_cells = len(position)
    around = around[: 3 * n_cells]
    winners, losers = moments[0], moments[-1]
    gains, losses = table[0], table[-1]
    below_start, below, above_start, above = links
    h = 1.0 / per_h
    value = error = slope_error = value_size = slope_size = 0.0
    is_pair = n_codes == 2 and not len(below_start)
    clear(around)
    for code in range(n_codes):
        own = winners[3 * n_cells * code : 3 * n_cells * (code + 1)]
        out = gains[3 * n_cells * code : 3 * n_cells * (code + 1)]
        n = sum_linked(losers, code, below_start, below, around) if len(below_start) else code
        lower = losers[: 3 * n_cells] if is_pair else around
        for k in range(len(margins) if n else 0):
            K = math.floor(margins[k] * per_h)
            f = margins[k] * per_h - K
            c, size = factors[k] * (h if powers[k] == 2 else 1.0), abs(factors[k])
            near, value_off, slope_off = fit(f, powers[k])
            beyond, value_off_beyond, slope_off_beyond = fit(f - 1.0, powers[k])
            more, at_border, past_it, counted, slopes = add_winners(
                own, lower, position, K, f, powers[k], c, near, beyond, out
            )
            value += more * h
            unit = size * h ** (powers[k] - 1)
            within = 4.0 * (counted + at_border + past_it)  # What places within cells add.
            value_size += abs(more) * h + unit * h * within
            slope_size += unit * 2.0 * (abs(slopes) + within)
            error += unit * h * (value_off * at_border + value_off_beyond * past_it)
            slope_error += unit * 2.0 * (slope_off * at_border + slope_off_beyond * past_it)
        if not len(below_start) and not is_pair:
            add_entries(losers, code, around)
    clear(around)
    for code in range(n_codes - 1, -1, -1):
        n = n_codes - 1 - code
        if len(above_start):
            n = sum_linked(winners, code, above_start, above, around)
        upper = winners[3 * n_cells : 6 * n_cells] if is_pair else around
        out = losses[3 * n_cells * code : 3 * n_cells * (code + 1)]
        for k in range(len(margins) if n else 0):
            K = math.floor(margins[k] * per_h)
            c = factors[k] * (h if powers[k] == 2 else 1.0)
            f = margins[k] * per_h - K
            near, beyond = fit(f, powers[k])[0], fit(f - 1.0, powers[k])[0]
            add_losers(upper, position, K, f, powers[k], c, near, beyond, out)
        if not len(above_start) and not is_pair:
            add_entries(winners, code, around)
    return value, error, slope_error, value_size, slope_size


@compiled
def count_partners(others, position, K, f, c, wins, out):
    """Add 2 c times the sum of the others' values in cells that are counted in to `out` (B,).

    `wins`: whether the cells of `out` are the winners', so that others less than K below and all
    above are counted in; else others less than K above and all below. A share of those K and K + 1
    apart is, too.
    """
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
                f = margins[k] * per_h - K
                here = out[code * n_cells : (code + 1) * n_cells]
                count_partners(around, position, K, f, factors[k], wins, here)
            if not len(start):
                add_entries(partners, code, around)
