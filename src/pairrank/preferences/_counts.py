"""How many pairs there are, and what they weigh, without listing one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def count_pairs(
    group_start: NDArray[np.int64],
    query_group: NDArray[np.int64],
    edges: NDArray[np.int64] | None,
    weight: FloatArray | None,
) -> tuple[int, FloatArray]:
    """Return the number of preferences, and their total weight by query; O(groups + edges)."""
    sizes = np.diff(group_start)
    counts = _pairs_by_query(sizes, query_group, edges)
    if weight is None:
        return int(counts.sum()), counts.astype(np.float64)
    totals = group_totals(sizes, group_start, weight)
    return int(counts.sum()), _weights_by_query(totals, query_group, edges)


def group_totals(
    sizes: NDArray[np.int64], group_start: NDArray[np.int64], weight: FloatArray | None
) -> FloatArray:
    """Return what each group weighs, (n_groups,)."""
    if weight is None or not sizes.size:
        return sizes.astype(np.float64)
    return np.add.reduceat(weight, group_start[:-1])


def query_of_groups(query_group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the query of each group, (n_groups,)."""
    return np.repeat(np.arange(query_group.size - 1), np.diff(query_group))


def totals_around(
    totals: FloatArray, query_group: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the lower groups of each group's query, and of the higher ones; O(groups).

    Nothing is subtracted: a heavy group costs the others no digits.
    """
    from pairrank.compiled.sorted_edges import running_sums

    query = query_of_groups(query_group)
    upto, onward = (np.empty(totals.size + query_group.size - 1) for _ in range(2))
    running_sums(totals, query_group[1:], upto, onward)
    place = np.arange(totals.size) + query
    return upto[place], onward[place + 1]


def _pairs_by_query(
    sizes: NDArray[np.int64], query_group: NDArray[np.int64], edges: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Sum over the joined groups of each query of the product of their sizes, exactly."""
    if edges is None:
        below = np.cumsum(sizes) - sizes
        products = sizes * (below - below[query_group[:-1]][query_of_groups(query_group)])
        ends = query_group
    else:
        products = sizes[edges[:, 0]] * sizes[edges[:, 1]]
        ends = np.searchsorted(edges[:, 0], query_group)
    running = np.concatenate((np.zeros(1, dtype=products.dtype), np.cumsum(products)))
    return running[ends[1:]] - running[ends[:-1]]


def _weights_by_query(
    totals: FloatArray, query_group: NDArray[np.int64], edges: NDArray[np.int64] | None
) -> FloatArray:
    """Sum over the joined groups of each query of the product of their weights."""
    query = query_of_groups(query_group)
    if edges is None:
        products = totals * totals_around(totals, query_group)[0]
    else:
        low, high = edges.T
        products, query = totals[low] * totals[high], query[low]
    return np.bincount(query, products, query_group.size - 1).astype(np.float64)
