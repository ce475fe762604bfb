"""Logistic and probit by an integer code: functions of margins, and sums pair by pair.

The functions have no branches and call no library, so loops over them vectorise: exp(-t) takes
0.6 ns, a library call 4 ns. The normal tail has an absolute error of 1e-15, not a relative one.

For both losses, phi'(d) = S(d) - 1 = -S(-d), where d is the margin of a pair, S increases from 0 to
1, S(-d) = 1 - S(d) and phi(-d) = phi(d) + d. All results are finite at margins of 1e300 too.

In sums, s are scores, k = phi'(d) or phi''(d) of the margin d = s_i - s_j of a winner i over a
loser j, and share = S(-d). The pairs of a query are in tiles: the winners from `begin` to `end` and
the losers from `low` to `high`, or to ends[i] of winner i if that comes first; tiles (n_tiles, 4),
those of query k from tile_start[k] on. Where the logistic scores of a query spread by at most
NEAR_SPREAD it is `near`, and x has exp(s - the highest score of the query); elsewhere x is s. All
other arrays are by place, (n_places + VECTOR,), those of weights and vectors too. Sums over pairs
are added to `own` of winners and `others` of losers, without their own weight. Loops over losers
run over whole vectors of eight and mask what lies beyond: for a few rows, a loop over the remainder
would cost more. COLUMNS losers are summed at a time; `held` (COLUMNS + VECTOR,), zeros, has what
winners give to them, to keep rounding small.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating, inlined_reassociating

LOGISTIC = 0
"""S(d) = 1 / (1 + exp(-d)), phi(d) = log(1 + exp(-d))."""
PROBIT = 1
"""S(d) = Phi(a d), phi(d) = (pdf(a d) - a d Phi(-a d)) / a with a = PROBIT_SCALE, Phi the normal
distribution: the approximation of the logistic in Raykar 2007 (before Eq. 3)."""

PROBIT_SCALE = math.sqrt(3.0) / math.pi
"""a = sqrt(3)/pi, which gives the normal distribution the logistic's variance."""

_MOST = 708.0
"""Larger t are replaced by this one, so that exp(-t) is a normal number, at least 3e-308."""
_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
"""log 2 = high + low; the high part times any exponent is exact."""
_BIASED = 2.0**52 + 1023.0
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
_FARTHEST = 37.5
"""Margins of more deviations count as this one, where the normal density is 1e-306."""


@compiled
def _reduced(t):
    """Return n and r with t = n log 2 - r, n whole and |r| <= log(2)/2; never reassociated."""
    n = np.floor(t * _LOG2_E + 0.5)
    return n, (n * _LN2_HIGH - t) + n * _LN2_LOW


@compiled
def _power(n):
    """Return 2**-n for a whole 0 <= n < 1023, by writing the exponent bits of a float."""
    bits = np.float64(_BIASED - n).view(np.int64)
    return np.int64(bits << 52).view(np.float64)


@compiled_reassociating
def decay(t):
    """Return exp(-t) for t >= 0 to a relative 4e-16 up to t = 708, and exp(-708) beyond."""
    return _decay_up_to_most(t if t < _MOST else _MOST)


@compiled_reassociating
def _decay_up_to_most(t):
    n, r = _reduced(t)
    y = 1.0 / 479001600.0
    y = y * r + 1.0 / 39916800.0
    y = y * r + 1.0 / 3628800.0
    y = y * r + 1.0 / 362880.0
    y = y * r + 1.0 / 40320.0
    y = y * r + 1.0 / 5040.0
    y = y * r + 1.0 / 720.0
    y = y * r + 1.0 / 120.0
    y = y * r + 1.0 / 24.0
    y = y * r + 1.0 / 6.0
    y = y * r + 0.5
    y = y * r + 1.0
    y = y * r + 1.0
    return y * _power(n)


@compiled_reassociating
def log_one_plus(e):
    """Return log(1 + e) for 0 <= e <= 1, to a relative 4e-16.

    It is 2 artanh(z), z = e/(2 + e) <= 1/3, by the odd series up to z^29.
    """
    z = e / (2.0 + e)
    q = z * z
    y = 2.0 / 29.0
    y = y * q + 2.0 / 27.0
    y = y * q + 2.0 / 25.0
    y = y * q + 2.0 / 23.0
    y = y * q + 2.0 / 21.0
    y = y * q + 2.0 / 19.0
    y = y * q + 2.0 / 17.0
    y = y * q + 2.0 / 15.0
    y = y * q + 2.0 / 13.0
    y = y * q + 2.0 / 11.0
    y = y * q + 2.0 / 9.0
    y = y * q + 2.0 / 7.0
    y = y * q + 2.0 / 5.0
    y = y * q + 2.0 / 3.0
    y = y * q + 2.0
    return y * z


@compiled_reassociating
def normal_density(x):
    """Return the normal density for 0 <= x <= `_FARTHEST`."""
    return _DENSITY * _decay_up_to_most(0.5 * x * x)


@compiled_reassociating
def mills_ratio(x):
    """Return Phi(-x)/pdf(x) for x >= 0; the product with pdf(x) has an absolute error of 7e-16.

    It is a polynomial in 1/(1 + x/4), fitted by weighted least squares under the weight pdf(x).
    """
    t = 1.0 / (1.0 + 0.25 * x)
    y = -0.011326443624524205
    y = y * t + 0.12096434349562984
    y = y * t - 0.5700536610909149
    y = y * t + 1.5370068982159832
    y = y * t - 2.576430157130738
    y = y * t + 2.7796304657142237
    y = y * t - 2.0397334871042263
    y = y * t + 1.051636428002935
    y = y * t - 0.14075972514093305
    y = y * t + 0.12837660623085562
    y = y * t + 0.2586182537219971
    y = y * t + 0.2104130688391872
    y = y * t + 0.2556769477919107
    y = y * t + 0.24925128140976577
    y = y * t + 4.331798434775713e-05
    return y


@inlined_reassociating
def share_and_cost(kind, d):
    """Return S(-d) and phi(d) of one margin, which share an exponential."""
    x = abs(d)
    if kind == LOGISTIC:
        e = decay(x)
        small = e / (1.0 + e)
        bump = log_one_plus(e)
    else:
        x = min(PROBIT_SCALE * x, _FARTHEST)
        density = normal_density(x)
        small = density * mills_ratio(x)
        bump = (density - x * small) * (1.0 / PROBIT_SCALE)
    share = small if d >= 0.0 else 1.0 - small
    return share, bump + max(-d, 0.0)


@inlined_reassociating
def curvature_at(kind, d):
    """Return phi''(d) of one margin."""
    if kind == LOGISTIC:
        e = decay(abs(d))
        large = 1.0 / (1.0 + e)
        return e * large * large
    return PROBIT_SCALE * normal_density(min(PROBIT_SCALE * abs(d), _FARTHEST))


@compiled_reassociating
def shares_and_costs(kind, d, share, cost):
    """Write S(-d) and phi(d) of every margin."""
    for k in range(len(d)):
        share[k], cost[k] = share_and_cost(kind, d[k])


NEAR = 2
"""The code of a near query in `derivative`."""
VECTOR = 8
NEAR_SPREAD = 170.0
"""Logistic scores of a query that spread no further need no exponential per pair."""
COLUMNS = 450
"""So many losers at a time."""
_FACTORS = 900
"""A product of so many factors of at least 1/2 is a normal number; a winner gives `COLUMNS`."""


@compiled_reassociating
def exponentials(ranges, s, x, near):
    """Find the near queries, and write exp(s - the highest score) of their rows to `x`."""
    for at in range(len(ranges)):
        first, end = ranges[at, 0], ranges[at, 1]
        lowest, highest = s[first], s[first]
        for k in range(first, end):
            lowest = min(lowest, s[k])
            highest = max(highest, s[k])
        near[at] = highest - lowest <= NEAR_SPREAD
        for k in range(first, end if near[at] else first):
            x[k] = decay(highest - s[k])


@compiled_reassociating
def gradients(kind, near, tile_start, tiles, ends, s, x, win, lose, own, others, held, costs):
    """Add the gradients of all queries, and their costs; near queries have weights of 1.

    The cost of a near query is the logarithm of a product over many pairs.
    """
    for query in range(len(near)):
        is_near, product, n_factors = near[query], 1.0, 0
        for t in range(tile_start[query], tile_start[query + 1]):
            begin, end, low, high = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
            for at in range(low, high, COLUMNS):
                stop = min(at + COLUMNS, high)
                s_j, x_j, lose_j, others_j = s[at:], x[at:], lose[at:], others[at:]
                costs_of_tile = 0.0
                for i in range(begin, end):
                    n = max(min(ends[i], stop) - at, 0)
                    n_factors += n
                    if n_factors > _FACTORS:
                        costs_of_tile -= math.log(product)
                        product, n_factors = 1.0, n
                    s_i, x_i, win_i, total, cost, part = s[i], x[i], win[i], 0.0, 0.0, 1.0
                    for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
                        if is_near:
                            share = x_j[j] / (x_i + x_j[j]) if j < n else 0.0
                            phi = max(s_j[j] - s_i, 0.0)
                            part *= max(share, 1.0 - share)
                        else:
                            share, phi = share_and_cost(kind, s_i - s_j[j] if j < n else 0.0)
                        weight = lose_j[j] if j < n else 0.0
                        total += weight * share
                        cost += weight * phi
                        held[j] += win_i * share if j < n else 0.0
                    own[i] -= total
                    costs_of_tile += win_i * cost
                    product *= part
                costs[query] += costs_of_tile
                for j in range(stop - at):
                    others_j[j] += held[j]
                    held[j] = 0.0
        costs[query] -= math.log(product)


@inlined_reassociating
def derivative(kind, order, x_i, x_j):
    """Return phi'(d) or phi''(d) of a pair, from exponentials (NEAR) or scores."""
    if kind == NEAR:
        inverse = 1.0 / (x_i + x_j)
        share = x_j * inverse
        return -share if order == 1 else x_i * inverse * share
    if order == 1:
        return -share_and_cost(kind, x_i - x_j)[0]
    return curvature_at(kind, x_i - x_j)


@compiled_reassociating
def products(kind, order, alone, near, tile_start, tiles, ends, x, win, lose, v, own, others, held):
    """Add the sums of k (v_i - v_j); `alone` is 1 for k alone (v is 0)."""
    for query in range(len(near)):
        code = NEAR if near[query] else kind
        for t in range(tile_start[query], tile_start[query + 1]):
            begin, end, low, high = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
            for at in range(low, high, COLUMNS):
                stop = min(at + COLUMNS, high)
                x_j, lose_j, v_j, others_j = x[at:], lose[at:], v[at:], others[at:]
                for i in range(begin, end):
                    n = max(min(ends[i], stop) - at, 0)
                    x_i, win_i, v_i, total = x[i], win[i], alone + v[i], 0.0
                    for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
                        k = derivative(code, order, x_i, x_j[j] if j < n else x_i)
                        part = k * (v_i - v_j[j]) if j < n else 0.0
                        total += lose_j[j] * part
                        held[j] += win_i * part
                    own[i] += total
                for j in range(stop - at):
                    others_j[j] += held[j]
                    held[j] = 0.0


@compiled
def settle(ranges, scale, sign, row_of, win, lose, own, others, result):
    """Add to each row (n_all,) its sums, `sign` times what it has as a loser."""
    for at in range(len(ranges)):
        for k in range(ranges[at, 0], ranges[at, 1]):
            result[row_of[k]] += scale[at] * (win[k] * own[k] + sign * (lose[k] * others[k]))
