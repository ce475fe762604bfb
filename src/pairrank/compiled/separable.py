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

    `upwards` sums exp(rate s) over the losers of each group, else exp(-rate s) over its winners. A
    group's sum is sums * exp(sign rate best), sign 1 upwards and else -1, both (n_groups,); the
    output `joined_best` and `joined` mean the same, without a group -sign infinity and 0. `edges`
    (n_edges, 2), as (low group, high group), are empty under the full graph. Costs
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
