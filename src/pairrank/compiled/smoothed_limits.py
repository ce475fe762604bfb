"""Smoothed costs of rows beyond limits, row by row; see `pairrank.blocks.hull`."""

import math

from pairrank.compiled._jit import compiled

_STEPS = 8
"""Newton's method starts at most twice the root away, from the side where it converges."""


@compiled
def root(larger, product):
    """Return the positive root u of u (u + larger) = product."""
    size = abs(larger)
    found = math.sqrt(larger * larger + 4.0 * product)
    return 2.0 * product / (size + found) if larger > 0.0 else 0.5 * (found + size)


@compiled
def margins(below, above, width):
    """Return the slack less `below` and less `above`; infinite where there is no limit."""
    if below == -math.inf or above == -math.inf:
        own = root(max(below, above), 0.5 * width)
        return (own, math.inf) if below >= above else (math.inf, own)
    larger = max(below, above)
    apart = abs(below - above)
    margin = root(larger, width)
    for _ in range(_STEPS):
        far = margin + apart
        value = (larger + margin) * margin * far - width * (margin + 0.5 * apart)
        slope = margin * far + (larger + margin) * (margin + far) - width
        nearer = max(margin - value / slope, 0.25 * margin)
        if nearer == margin:
            break
        margin = nearer
    return (margin, margin + apart) if below >= above else (margin + apart, margin)


@compiled
def smooth_rows(below, above, width, out):
    """Set `out` (8, n) to values, multipliers, sides, cross and drifts of rows of cost 1."""
    for i in range(len(below)):
        low, high = margins(below[i], above[i], width)
        inverse, other = 1.0 / low, 1.0 / high
        first, second = width * inverse, width * other
        slack = 0.5 * (first + second)
        value = slack * slack
        if inverse > 0.0:
            value += width * math.log(inverse)
        if other > 0.0:
            value += width * math.log(other)
        stiff, stiffer = first * inverse, second * other
        share = 1.0 / (2.0 + stiff + stiffer)
        rise = share * (inverse + other)
        out[0, i] = value
        out[1, i], out[2, i] = first, second
        out[3, i], out[4, i] = 2.0 * share * stiff, 2.0 * share * stiffer
        out[5, i] = share * stiff * stiffer
        out[6, i], out[7, i] = inverse - stiff * rise, other - stiffer * rise


@compiled
def add_by_group(rows, of_row, sides, totals, sums):
    """Add rows times each of the `sides` (k, n) and the `totals` (m, n) to their groups' sums.

    `sums` is (n_groups, k * n_features + m).
    """
    n_sides, d = len(sides), rows.shape[1]
    for i in range(len(of_row)):
        into = sums[of_row[i]]
        for side in range(n_sides):
            factor, start = sides[side, i], side * d
            for j in range(d):
                into[start + j] += factor * rows[i, j]
        for at in range(len(totals)):
            into[n_sides * d + at] += totals[at, i]
