"""Sums of exponentials over the groups that each group is joined with."""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled


@compiled
def _add_scaled(rate, sign, to_best, total, best, value):
    """Return (best, total) of two sums, each relative to exp(sign rate best)."""
    if sign * (best - to_best) > 0.0:
        return best, total * math.exp(-rate * abs(best - to_best)) + value
    if best == to_best:
        return to_best, total + value
    return to_best, total + value * math.exp(-rate * abs(to_best - best))


@compiled
def join_groups(rate, upwards, query_group, edges, best, sums, joined_best, joined):
    """Sum over the lower groups of each group (upwards), or over the higher ones.

    Parameters
    ----------
    rate : float
    upwards : bool
        Sum over the losers of each group, of exp(rate s); else over the winners, of exp(-rate s).
    query_group : ndarray of int64, shape (n_queries + 1,)
        Where the groups of each query begin.
    edges : ndarray of int64, shape (n_edges, 2)
        (low group, high group); empty under the full graph.
    best, sums : ndarray of shape (n_groups,)
        A group's sum is sums * exp(sign rate best), sign 1 upwards and else -1.
    joined_best, joined : ndarray of shape (n_groups,)
        Output, of the same meaning; no group: the sum is 0 and `joined_best` -sign infinity.

    Notes
    -----
    O(groups + edges), two exponentials each.
    """
    sign = 1.0 if upwards else -1.0
    joined_best[:] = -sign * np.inf
    joined[:] = 0.0
    for edge in range(len(edges)):
        other, group = (edges[edge, 0], edges[edge, 1]) if upwards else (
            edges[edge, 1], edges[edge, 0]
        )  # fmt: skip
        joined_best[group], joined[group] = _add_scaled(
            rate, sign, joined_best[group], joined[group], best[other], sums[other]
        )
    if len(edges):
        return
    for query in range(len(query_group) - 1):
        low, high = query_group[query], query_group[query + 1]
        for k in range(1, high - low):
            group = low + k if upwards else high - 1 - k
            other = group - 1 if upwards else group + 1
            joined_best[group], joined[group] = _add_scaled(
                rate, sign, joined_best[other], joined[other], best[other], sums[other]
            )
