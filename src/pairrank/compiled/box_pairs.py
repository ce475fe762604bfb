"""Pairs without boxes, one by one: within small levels, and between small levels."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sigmoid import curvatures, shares_and_costs

BUFFER = 512
GRADIENT, PRODUCT, DIAGONAL, INFLUENCE = 0, 1, 2, 3
"""What is asked for."""
_ROWS = 2048
"""So many rows are fetched before their pairs are looked at: then the waits overlap."""


@compiled
def pairs_of_runs(kind, asked, runs, row_of, scores, weight, v, factor, result):
    """Add the pairs between two runs of rows to `result` (n_all,), or take away those within one.

    Parameters
    ----------
    kind : int
        The loss; see `pairrank.compiled.sigmoid`.
    asked : int
        GRADIENT, PRODUCT (with v), DIAGONAL of the Hessian, or INFLUENCE: w phi' (v_a - v_b) for
        both rows.
    runs : ndarray of int64, shape (n_runs, 4)
        First and last + 1 place of the low rows in the layout, then of the high ones. Where there
        are no high ones, what the pairs within the run would have in a sum over all rows is taken
        away: of the gradient w S, of the influence w S (v_a - v_b).
    row_of, weight : ndarray of int32 and of float64
        The layout; weights empty where all are 1.
    scores, v, result : ndarray of shape (n_all,)
        In the user's order; `v` may be empty.
    factor : float

    Returns
    -------
    float
        The sum of factor * weights * phi, less that of e(d) = phi(d) + d/2 within runs. Costs 2 to
        5 nanoseconds a pair, and a row as much as fetching it.
    """
    longest = _ROWS
    for run in range(len(runs)):
        longest = max(longest, runs[run, 1] - runs[run, 0] + runs[run, 3] - runs[run, 2])
    rows = np.empty(longest, np.int32)
    s, q, x, y = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    first_of, second_of = np.empty(BUFFER, np.int32), np.empty(BUFFER, np.int32)
    value = 0.0
    first = 0
    while first < len(runs):
        last, n = first, 0
        while last < len(runs):
            size = runs[last, 1] - runs[last, 0] + runs[last, 3] - runs[last, 2]
            if n + size > longest:
                break
            for end in range(0, 4, 2):
                for place in range(runs[last, end], runs[last, end + 1]):
                    rows[n] = row_of[place]
                    q[n] = weight[place] if len(weight) else 1.0
                    n += 1
            last += 1
        for k in range(n):
            s[k] = scores[rows[k]]
            x[k] = v[rows[k]] if len(v) else 0.0
            y[k] = 0.0
        start, waiting, part = 0, 0, 0.0
        for run in range(first, last):
            n_low, n_high = runs[run, 1] - runs[run, 0], runs[run, 3] - runs[run, 2]
            within = n_high == 0
            for a in range(start + (1 if within else n_low), start + n_low + n_high):
                for b in range(start, a if within else start + n_low):
                    first_of[waiting] = a
                    second_of[waiting] = b
                    waiting += 1
                    if waiting == BUFFER:
                        part += _settle(
                            kind, asked, within, waiting, first_of, second_of, s, q, x, y
                        )
                        waiting = 0
            start += n_low + n_high
            if waiting and (run + 1 == last or (runs[run + 1, 2] == runs[run + 1, 3]) != within):
                part += _settle(kind, asked, within, waiting, first_of, second_of, s, q, x, y)
                waiting = 0
        value += factor * part
        for k in range(n):
            result[rows[k]] += factor * y[k]
        first = last
    return value


@compiled
def _settle(kind, asked, within, n, first_of, second_of, s, q, x, y):
    """Add the pairs that wait to y; return their value."""
    d, share, cost = np.empty(BUFFER), np.empty(BUFFER), np.empty(BUFFER)
    for k in range(n):
        d[k] = s[first_of[k]] - s[second_of[k]]
    if asked in (PRODUCT, DIAGONAL):
        curvatures(kind, d[:n], share[:n])
    else:
        shares_and_costs(kind, d[:n], share[:n], cost[:n])
    value = 0.0
    for k in range(n):
        a, b = first_of[k], second_of[k]
        w = q[a] * q[b]
        if asked == GRADIENT:
            y[a] -= w * (1.0 - share[k] if within else share[k])
            y[b] += w * (-share[k] if within else share[k])
            value += w * (-(cost[k] + 0.5 * d[k]) if within else cost[k])
            continue
        force = w * share[k] * (1.0 if asked == DIAGONAL else x[a] - x[b])
        if asked == INFLUENCE:
            y[a] -= w * (x[a] - x[b]) - force if within else force
            y[b] -= -force if within else force
        else:
            sign = -1.0 if within else 1.0
            y[a] += sign * force
            y[b] += sign * (force if asked == DIAGONAL else -force)
    return value
