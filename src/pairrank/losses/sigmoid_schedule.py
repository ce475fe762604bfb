"""Which queries of a sigmoidal sum go pair by pair, and which by boxes: what costs less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]


def pairs_of_queries(levels: Levels) -> FloatArray:
    """Return the number of preferences of each query, (n_queries,), as float64."""
    sizes = np.diff(levels.group_start).astype(np.float64)
    if levels.edges is None:
        starts = levels.query_group[:-1]
        rows = np.diff(levels.query_start).astype(np.float64)
        within = np.add.reduceat(sizes * sizes, starts) if starts.size else rows
        return np.asarray((rows * rows - within) / 2.0)
    query_of_group = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_group))
    low, high = levels.edges.T
    weights = sizes[low] * sizes[high]
    return np.bincount(query_of_group[low], weights, levels.n_queries).astype(np.float64)


def direct_cost(levels: Levels, kind: int) -> FloatArray:
    """Return about what a query costs pair by pair, in ns, (n_queries,)."""
    from pairrank.sums.sigmoids import LOGISTIC

    near = kind == LOGISTIC and levels.weight is None
    a_pair, a_row = (0.45, 12.0) if near else (2.0, 8.0)
    return a_pair * pairs_of_queries(levels) + a_row * np.diff(levels.query_start)


def divide_queries(levels: Levels, kind: int, route: str) -> dict[str, IntArray]:
    """Return the queries of each part of a sum, by the part's name; those without a pair are left.

    The parts are "direct" (`DirectQueries`), "boxes" (`BoxedQueries`) and "beaulieu"
    (`BeaulieuQueries`); every route but "auto" takes all queries to the part of its name.
    """
    with_pairs = pairs_of_queries(levels) > 0.0
    if route != "auto":
        return {route: np.flatnonzero(with_pairs)}
    return {"direct": np.flatnonzero(with_pairs)}
