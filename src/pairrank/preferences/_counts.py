"""How many pairs there are, and what they weigh, without listing one."""

from __future__ import annotations

from typing import Any

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
    return int(counts.sum()), _pairs_by_query(totals, query_group, edges)


def group_totals(
    sizes: NDArray[np.int64], group_start: NDArray[np.int64], weight: FloatArray | None
) -> FloatArray:
    if weight is None or not sizes.size:
        return sizes.astype(np.float64)
    return np.add.reduceat(weight, group_start[:-1])


def _pairs_by_query(
    sizes: NDArray[Any], query_group: NDArray[np.int64], edges: NDArray[np.int64] | None
) -> NDArray[Any]:
    """Sum over the joined groups of each query of the product of their sizes."""
    if edges is None:
        below = np.cumsum(sizes) - sizes
        query_of_group = np.repeat(np.arange(query_group.size - 1), np.diff(query_group))
        products = sizes * (below - below[query_group[:-1]][query_of_group])
        ends = query_group
    else:
        products = sizes[edges[:, 0]] * sizes[edges[:, 1]]
        ends = np.searchsorted(edges[:, 0], query_group)
    running = np.concatenate((np.zeros(1, dtype=products.dtype), np.cumsum(products)))
    return running[ends[1:]] - running[ends[:-1]]
