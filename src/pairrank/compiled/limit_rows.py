"""Passes over rows between two limits; see `objective.limit_rows`.

`state` (N_LINES, n_rows) has these lines, those of the lower limit before those of the upper one:
multipliers m and n, margins p and q, their steps, stiffness k = m/p and h = n/q, 1/(2 c + k + h),
and the cost c.

A pass takes the rows of a piece: `first` is the first one in `state`, `starts` (n + 1,) has the
starts of its groups, counted from there, and `group` is the number of the first group.

Costs and multipliers may be so small that their squares are 0. So no product here has two of them,
and what must be computed first is used twice, which keeps LLVM from another order.
"""

from __future__ import annotations

from pairrank.compiled._jit import compiled_reassociating

N_LINES = 12
MULTIPLIERS, MARGINS, COST = 0, 2, 11
_M, _N, _P, _Q, _DM, _DN, _DP, _DQ, _K, _L, _INVERSE, _C = range(N_LINES)


@compiled_reassociating
def couple(state, first, starts, group, sides, totals):
    """Set what depends on multipliers and margins, and the coupling of rows to limits.

    Each side's curvature is 2 c k/(2 c + k + h) and 2 c h/(2 c + k + h), that across sides is
    k h/(2 c + k + h). `sides` (2, n) is set to a side's own plus twice that across. `totals`
    (3, n_groups) gains the sums of both sides and across.
    """
    for j in range(len(starts) - 1):
        g = group + j
        low, high, across = 0.0, 0.0, 0.0
        for i in range(starts[j], starts[j + 1]):
            at = first + i
            k, h = state[_M, at] / state[_P, at], state[_N, at] / state[_Q, at]
            twice = 2.0 * state[_C, at]
            inverse = 1.0 / (twice + k + h)
            state[_K, at], state[_L, at], state[_INVERSE, at] = k, h, inverse
            k_part, h_part = k * inverse, h * inverse
            sides[0, i] = k_part * (twice + 2.0 * h)
            sides[1, i] = h_part * (twice + 2.0 * k)
            low += k_part * twice
            high += h_part * twice
            across += k_part * h
        totals[0, g] += low
        totals[1, g] += high
        totals[2, g] += across


@compiled_reassociating
def ask(state, first, starts, group, aims, second, known, totals):
    """Set the multipliers' steps to those asked for at fixed margins; add up those at fixed scores.

    The aim is products m p of c times `aims` (2, n_groups), less `second` times the product of the
    last steps of m and p. `known` (n,) is set to the upper limit's change less the lower one's,
    `totals` (2, n_groups) gains the sums.
    """
    for j in range(len(starts) - 1):
        g = group + j
        aim, other = aims[0, g], aims[1, g]
        low, high = 0.0, 0.0
        for i in range(starts[j], starts[j + 1]):
            at = first + i
            c, k, h = state[_C, at], state[_K, at], state[_L, at]
            u = aim * c - second * (state[_DM, at] * state[_DP, at])
            v = other * c - second * (state[_DN, at] * state[_DQ, at])
            u = u / state[_P, at] - state[_M, at]
            v = v / state[_Q, at] - state[_N, at]
            state[_DM, at], state[_DN, at] = u, v
            inverse = state[_INVERSE, at]
            k_part, h_part, c_part = k * inverse, h * inverse, 2.0 * c * inverse
            lower = (h_part + c_part) * u - k_part * v
            upper = (k_part + c_part) * v - h_part * u
            known[i] = upper - lower
            low += lower
            high += upper
        totals[0, g] += low
        totals[1, g] += high


@compiled_reassociating
def step(state, first, starts, group, is_bounded, scores, limits):
    """Set the steps for a change of scores (n,) and limits (2, n_groups), from those asked for.

    Returns the sum of the products of the steps of m and p, and of n and q. `scores` become the
    least relative change of each row. Where k is huge, dm = a - k dp would cancel all digits.
    """
    products = 0.0
    for j in range(len(starts) - 1):
        g = group + j
        lower, upper = limits[0, g], limits[1, g]
        has_lower, has_upper = is_bounded[0, g], is_bounded[1, g]
        for i in range(starts[j], starts[j + 1]):
            at = first + i
            below, above = lower - scores[i], scores[i] - upper
            k, h, twice = state[_K, at], state[_L, at], 2.0 * state[_C, at]
            u, v = k * below + state[_DM, at], h * above + state[_DN, at]
            inverse = state[_INVERSE, at]
            slack = (u + v) * inverse
            dp, dq = (slack - below) * has_lower, (slack - above) * has_upper
            k_part, h_part, c_part = k * inverse, h * inverse, twice * inverse
            dm = (h_part + c_part) * u - k_part * v
            dn = (k_part + c_part) * v - h_part * u
            state[_DM, at], state[_DN, at] = dm, dn
            state[_DP, at], state[_DQ, at] = dp, dq
            products += dm * dp + dn * dq
            # Where a side has no limit, its multiplier's fall is 0/0, which no comparison takes.
            fall = min(0.0, dp / state[_P, at])
            other = dq / state[_Q, at]
            fall = other if other < fall else fall
            other = dm / state[_M, at]
            fall = other if other < fall else fall
            other = dn / state[_N, at]
            scores[i] = other if other < fall else fall
    return products


@compiled_reassociating
def move(state, first, starts, group, length, scores, limits, shares, difference, totals):
    """Take a part of the step; return the cost of slacks, the sum of products and the squares.

    `scores` (n,) and `limits` (2, n_groups) are those of the new point. `difference` (n,) is set to
    n - m for multipliers times `shares`, (2, n_groups); `totals` (2, n_groups) gains their sums.
    The products are m p + n q, the squares (m + n)^2/(4 c), m and n times their shares.
    """
    cost, products, squares = 0.0, 0.0, 0.0
    for j in range(len(starts) - 1):
        g = group + j
        lower, upper = limits[0, g], limits[1, g]
        share, other = shares[0, g], shares[1, g]
        low, high = 0.0, 0.0
        for i in range(starts[j], starts[j + 1]):
            at = first + i
            m, n = state[_M, at], state[_N, at]
            p, q = state[_P, at], state[_Q, at]
            m, n = m + length * state[_DM, at], n + length * state[_DN, at]
            p, q = p + length * state[_DP, at], q + length * state[_DQ, at]
            state[_M, at], state[_N, at] = m, n
            state[_P, at], state[_Q, at] = p, q
            products += m * p + n * q
            m, n, c = share * m, other * n, state[_C, at]
            low += m
            high += n
            difference[i] = n - m
            slack = (m + n) / c
            squares += 0.25 * c * slack * slack
            slack = max(max(lower - scores[i], scores[i] - upper), 0.0)
            cost += c * slack * slack
        totals[0, g] += low
        totals[1, g] += high
    return cost, products, squares
