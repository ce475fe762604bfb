"""Passes over rows with two multipliers and two margins; see `pairrank.objective.limit_rows`.

`state` has N_LINES numbers per row in blocks of BLOCK rows, (n_blocks, N_LINES, BLOCK), flat, so
that all numbers of a row lie at constant distances and each pass is one loop that vectorises. The
lines, those of the lower limit before those of the upper one: multipliers m and n, margins p and q,
their steps, stiffness k = m/p and h = n/q, 1/p and 1/q, 1/(2 c + k + h), the cost c, and the
steepest fall of a step.

`segments` (n, 4) are the rows of a piece by block and group: the place of the first in a line of
`state`, the number of rows, the first row's place in the piece, and the group. Indices are
unsigned, so that no loop tests for negative ones.

Costs and multipliers may be so small that their squares are 0. So no product here has two of them,
and what must be computed first is used twice, which keeps LLVM from another order.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled_reassociating

BLOCK, N_LINES = 256, 15
MULTIPLIERS, MARGINS, MULTIPLIER_STEPS, MARGIN_STEPS, COST, FALLS = 0, 2, 4, 6, 13, 14
_M, _N, _P, _Q, _DM, _DN, _DP, _DQ, _K, _L, _INVERSE_P, _INVERSE_Q, _INVERSE, _C, _FALL = (
    np.uint64(line * BLOCK) for line in range(N_LINES)
)


@compiled_reassociating
def couple(state, segments, sides, totals):
    """Set what depends on multipliers and margins, and the coupling of rows to limits.

    Each side's curvature is 2 c k/(2 c + k + h) and 2 c h/(2 c + k + h), that across sides is
    k h/(2 c + k + h). `sides` (2, n) is set to a side's own plus twice that across. `totals`
    (3, n_groups) gains the sums of both sides and across.
    """
    for j in range(len(segments)):
        base, row, g = segments[j, 0], segments[j, 2], segments[j, 3]
        low, high, across = 0.0, 0.0, 0.0
        for i in range(segments[j, 1]):
            at = base + i
            p, q = 1.0 / state[at + _P], 1.0 / state[at + _Q]
            k, h, twice = state[at + _M] * p, state[at + _N] * q, 2.0 * state[at + _C]
            inverse = 1.0 / (twice + k + h)
            state[at + _INVERSE_P], state[at + _INVERSE_Q] = p, q
            state[at + _K], state[at + _L], state[at + _INVERSE] = k, h, inverse
            k_part, h_part = k * inverse, h * inverse
            sides[0, row + i], sides[1, row + i] = (
                k_part * (twice + 2.0 * h),
                h_part * (twice + 2.0 * k),
            )
            low += k_part * twice
            high += h_part * twice
            across += k_part * h
        totals[0, g] += low
        totals[1, g] += high
        totals[2, g] += across


@compiled_reassociating
def ask(state, segments, aims, second, known, totals):
    """Set the multipliers' steps to those asked for at fixed margins; add up those at fixed scores.

    The aim is products m p of c times `aims` (2, n_groups), less `second` times the product of the
    last steps of m and p. `known` (n,) is set to the upper limit's change less the lower one's,
    `totals` (2, n_groups) gains the sums.
    """
    for j in range(len(segments)):
        base, row, g = segments[j, 0], segments[j, 2], segments[j, 3]
        aim, other = aims[0, g], aims[1, g]
        low, high = 0.0, 0.0
        for i in range(segments[j, 1]):
            at = base + i
            c, k, h = state[at + _C], state[at + _K], state[at + _L]
            u = aim * c - second * (state[at + _DM] * state[at + _DP])
            v = other * c - second * (state[at + _DN] * state[at + _DQ])
            u = u * state[at + _INVERSE_P] - state[at + _M]
            v = v * state[at + _INVERSE_Q] - state[at + _N]
            state[at + _DM], state[at + _DN] = u, v
            inverse = state[at + _INVERSE]
            k_part, h_part, c_part = k * inverse, h * inverse, 2.0 * c * inverse
            lower = (h_part + c_part) * u - k_part * v
            upper = (k_part + c_part) * v - h_part * u
            known[row + i] = upper - lower
            low += lower
            high += upper
        totals[0, g] += low
        totals[1, g] += high


@compiled_reassociating
def step(state, segments, is_bounded, scores, limits):
    """Set the steps for a change of scores (n,) and limits (2, n_groups), from those asked for.

    Returns the sum of the products of the steps of m and p, and of n and q. FALLS is set to the
    least relative change of each row. Where k is huge, dm = a - k dp would cancel all digits.
    """
    products = 0.0
    for j in range(len(segments)):
        base, row, g = segments[j, 0], segments[j, 2], segments[j, 3]
        lower, upper = limits[0, g], limits[1, g]
        has_lower, has_upper = is_bounded[0, g], is_bounded[1, g]
        for i in range(segments[j, 1]):
            at = base + i
            below, above = lower - scores[row + i], scores[row + i] - upper
            k, h, twice = state[at + _K], state[at + _L], 2.0 * state[at + _C]
            u, v = k * below + state[at + _DM], h * above + state[at + _DN]
            inverse = state[at + _INVERSE]
            slack = (u + v) * inverse
            dp, dq = (slack - below) * has_lower, (slack - above) * has_upper
            k_part, h_part, c_part = k * inverse, h * inverse, twice * inverse
            dm = (h_part + c_part) * u - k_part * v
            dn = (k_part + c_part) * v - h_part * u
            state[at + _DM], state[at + _DN] = dm, dn
            state[at + _DP], state[at + _DQ] = dp, dq
            products += dm * dp + dn * dq
            # Where a side has no limit, its multiplier's fall is 0/0, which no comparison takes.
            fall = min(0.0, dp * state[at + _INVERSE_P])
            other = dq * state[at + _INVERSE_Q]
            fall = other if other < fall else fall
            other = dm / state[at + _M]
            fall = other if other < fall else fall
            other = dn / state[at + _N]
            state[at + _FALL] = other if other < fall else fall
    return products


@compiled_reassociating
def move(state, segments, length, scores, limits, shares, difference, totals):
    """Take a part of the step; return the cost of slacks, the sum of products and the squares.

    `scores` (n,) and `limits` (2, n_groups) are those of the new point. `difference` (n,) is set to
    n - m for multipliers times `shares`, (2, n_groups); `totals` (2, n_groups) gains their sums.
    The products are m p + n q, the squares (m + n)^2/(4 c), m and n times their shares.
    """
    cost, products, squares = 0.0, 0.0, 0.0
    for j in range(len(segments)):
        base, row, g = segments[j, 0], segments[j, 2], segments[j, 3]
        lower, upper = limits[0, g], limits[1, g]
        share, other = shares[0, g], shares[1, g]
        low, high = 0.0, 0.0
        for i in range(segments[j, 1]):
            at = base + i
            m, n = state[at + _M], state[at + _N]
            p, q = state[at + _P], state[at + _Q]
            m, n = m + length * state[at + _DM], n + length * state[at + _DN]
            p, q = p + length * state[at + _DP], q + length * state[at + _DQ]
            state[at + _M], state[at + _N] = m, n
            state[at + _P], state[at + _Q] = p, q
            products += m * p + n * q
            m, n, c = share * m, other * n, state[at + _C]
            low += m
            high += n
            difference[row + i] = n - m
            slack = (m + n) / c
            squares += 0.25 * c * slack * slack
            slack = max(max(lower - scores[row + i], scores[row + i] - upper), 0.0)
            cost += c * slack * slack
        totals[0, g] += low
        totals[1, g] += high
    return cost, products, squares
