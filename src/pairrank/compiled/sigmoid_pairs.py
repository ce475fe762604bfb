"""Sigmoidal sums pair by pair, for any order graph, weights and scores.

Legend: s scores, k = phi'(d) or phi''(d) of the margin d = s_i - s_j of a winner i over a loser j,
share = S(-d) = -phi'(d), a = exp(s - the highest score of the query), w and u weights of winners
and of losers.

The pairs of a query are in tiles: the winners from `begin` to `end` and the losers from `low` to
`high`, or to ends[i] of winner i if that comes first; tiles (n_tiles, 4), those of query k from
tile_start[k] on. Some functions sum queries that are `near`, logistic scores that spread by at most
NEAR_SPREAD, and some the other ones. All other arrays are by place, (n_places + VECTOR,), those of
weights and vectors too. Sums over pairs are added to `own` of winners and `others` of losers,
without their own weight. Loops over losers run over whole vectors of eight and mask what lies
beyond: for a few rows, a loop over the remainder would cost more. COLUMNS losers are summed at a
time; `held` (COLUMNS + VECTOR,), zeros, has what winners give to them, to keep rounding small.
"""

from __future__ import annotations

import math

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.sigmoid import curvature_at, decay, share_and_cost, share_at

VECTOR = 8
NEAR_SPREAD = 170.0
"""Logistic scores of a query that spread no further need no exponential per pair."""
_FACTORS = 900
"""A product of so many factors of at least 1/2 is a normal number."""
COLUMNS = 450
"""So many losers at a time: two winners give at most `_FACTORS` factors."""


@compiled
def gather(ranges, row_of, values, out):
    """Write the values (n_all,) by place, in some ranges (n, 2) of places."""
    for at in range(len(ranges)):
        for k in range(ranges[at, 0], ranges[at, 1]):
            out[k] = values[row_of[k]]


@compiled_reassociating
def exponentials(ranges, s, a, near):
    """Write exp(s - the highest score) of each query, and whether it is near."""
    for at in range(len(ranges)):
        first, end = ranges[at, 0], ranges[at, 1]
        lowest, highest = s[first], s[first]
        for k in range(first, end):
            lowest = min(lowest, s[k])
            highest = max(highest, s[k])
        near[at] = highest - lowest <= NEAR_SPREAD
        for k in range(first, end):
            a[k] = decay(highest - s[k])


@compiled_reassociating
def near_gradients(near, tile_start, tiles, ends, s, a, own, others, held, costs):
    """Add the gradients of near queries, and their costs; all weights are 1.

    Two winners at once share a division: the inverse of the product of both sums of a gives each.
    The cost is the logarithm of products over many pairs.
    """
    for query in range(len(near)):
        product, n_factors = 1.0, 0
        for t in range(tile_start[query], tile_start[query + 1] if near[query] else 0):
            begin, end, low, high = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
            for at in range(low, high, COLUMNS):
                stop = min(at + COLUMNS, high)
                cost = 0.0
                s_j, a_j, others_j = s[at:], a[at:], others[at:]
                for i in range(begin, end, 2):
                    i1 = min(i + 1, end - 1)
                    n0 = max(min(ends[i], stop) - at, 0)
                    n1 = max(min(ends[i1], stop) - at, 0) if i1 > i else 0
                    n_factors += n0 + n1
                    if n_factors > _FACTORS:
                        cost -= math.log(product)
                        product, n_factors = 1.0, n0 + n1
                    s0, s1, a0, a1 = s[i], s[i1], a[i], a[i1]
                    sum0, sum1, ramp, part = 0.0, 0.0, 0.0, 1.0
                    for j in range((max(n0, n1) + VECTOR - 1) // VECTOR * VECTOR):
                        x = a_j[j]
                        inverse = x / ((a0 + x) * (a1 + x))
                        share0 = (a1 + x) * inverse if j < n0 else 0.0
                        share1 = (a0 + x) * inverse if j < n1 else 0.0
                        sum0 += share0
                        sum1 += share1
                        held[j] += share0 + share1
                        part *= max(share0, 1.0 - share0) * max(share1, 1.0 - share1)
                        over0 = max(s_j[j] - s0, 0.0) if j < n0 else 0.0
                        over1 = max(s_j[j] - s1, 0.0) if j < n1 else 0.0
                        ramp += over0 + over1
                    own[i] -= sum0
                    own[i1] -= sum1
                    cost += ramp
                    product *= part
                costs[query] += cost
                for j in range(stop - at):
                    others_j[j] += held[j]
                    held[j] = 0.0
        costs[query] -= math.log(product)


@compiled_reassociating
def gradients(kind, near, tile_start, tiles, ends, s, win, lose, own, others, held, costs):
    """Add the gradients of the other queries, of any weights and loss, and their costs."""
    for query in range(len(near)):
        for t in range(tile_start[query], 0 if near[query] else tile_start[query + 1]):
            begin, end, low, high = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
            for at in range(low, high, COLUMNS):
                stop = min(at + COLUMNS, high)
                s_j, lose_j, others_j, costs_of_tile = s[at:], lose[at:], others[at:], 0.0
                for i in range(begin, end):
                    n = max(min(ends[i], stop) - at, 0)
                    s_i, win_i, total, cost = s[i], win[i], 0.0, 0.0
                    for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
                        share, phi = share_and_cost(kind, s_i - s_j[j] if j < n else 0.0)
                        weight = lose_j[j] if j < n else 0.0
                        total += weight * share
                        cost += weight * phi
                        held[j] += win_i * share if j < n else 0.0
                    own[i] -= total
                    costs_of_tile += win_i * cost
                costs[query] += costs_of_tile
                for j in range(stop - at):
                    others_j[j] += held[j]
                    held[j] = 0.0


@compiled_reassociating
def near_products(order, alone, near, tile_start, tiles, ends, a, win, lose, v, own, others, held):
    """Add the sums of k (v_i - v_j) of near queries; `alone` is 1 for k alone (v is 0)."""
    for query in range(len(near)):
        for t in range(tile_start[query], tile_start[query + 1] if near[query] else 0):
            begin, end, low, high = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
            for at in range(low, high, COLUMNS):
                stop = min(at + COLUMNS, high)
                a_j, lose_j, v_j, others_j = a[at:], lose[at:], v[at:], others[at:]
                for i in range(begin, end, 2):
                    i1 = min(i + 1, end - 1)
                    n0 = max(min(ends[i], stop) - at, 0)
                    n1 = max(min(ends[i1], stop) - at, 0) if i1 > i else 0
                    a0, a1, w0, w1 = a[i], a[i1], win[i], win[i1]
                    v0, v1, sum0, sum1 = alone + v[i], alone + v[i1], 0.0, 0.0
                    for j in range((max(n0, n1) + VECTOR - 1) // VECTOR * VECTOR):
                        x = a_j[j]
                        inverse = 1.0 / ((a0 + x) * (a1 + x))
                        of0, of1 = inverse * (a1 + x), inverse * (a0 + x)
                        share0 = x * of0 if j < n0 else 0.0
                        share1 = x * of1 if j < n1 else 0.0
                        part0 = (-share0 if order == 1 else (a0 * of0) * share0) * (v0 - v_j[j])
                        part1 = (-share1 if order == 1 else (a1 * of1) * share1) * (v1 - v_j[j])
                        sum0 += lose_j[j] * part0
                        sum1 += lose_j[j] * part1
                        held[j] += w0 * part0 + w1 * part1
                    own[i] += sum0
                    own[i1] += sum1
                for j in range(stop - at):
                    others_j[j] += held[j]
                    held[j] = 0.0


@compiled_reassociating
def products(kind, order, alone, near, tile_start, tiles, ends, s, win, lose, v, own, others, held):
    """Do the same for the other queries, of any loss."""
    for query in range(len(near)):
        for t in range(tile_start[query], 0 if near[query] else tile_start[query + 1]):
            begin, end, low, high = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
            for at in range(low, high, COLUMNS):
                stop = min(at + COLUMNS, high)
                s_j, lose_j, v_j, others_j = s[at:], lose[at:], v[at:], others[at:]
                for i in range(begin, end):
                    n = max(min(ends[i], stop) - at, 0)
                    s_i, win_i, v_i, total = s[i], win[i], alone + v[i], 0.0
                    for j in range((n + VECTOR - 1) // VECTOR * VECTOR):
                        d = s_i - s_j[j] if j < n else 0.0
                        k = -share_at(kind, d) if order == 1 else curvature_at(kind, d)
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
