"""Codes of labels and queries, rows in their order, and counts of the pairs between groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsError, PairrankError

_SMALL_SPAN = 1 << 16
_LARGEST_SCALE = 1e200
"""The largest factor on pairs: their sums and squares must not overflow."""


def level_codes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted distinct labels and each row's level, 0 = lowest.

    O(m) for whole numbers of small span, else O(m log m).
    """
    if y.dtype.kind in "biuf" and y.size:
        y = y.astype(np.float64, copy=False)
        low, high = y.min(), y.max()
        if high - low < min(_SMALL_SPAN, max(1024, y.size)):
            offsets = (y - low).astype(np.int32)
            if np.array_equal(offsets + low, y):
                present = np.bincount(offsets) > 0
                codes = np.cumsum(present, dtype=np.int32) - 1
                return np.flatnonzero(present) + low, codes.take(offsets)
    labels, inverse = np.unique(y, return_inverse=True)
    return labels, inverse.astype(np.int32)


def query_codes(qid: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct query identifiers and each row's code.

    Numbers are sorted, O(m log m); text and objects are in the order of appearance, O(m).
    """
    if qid.dtype.kind not in "OUS":
        distinct, inverse = np.unique(qid, return_inverse=True)
        return distinct, inverse.astype(np.int32)
    identifiers = qid.tolist()
    distinct = np.fromiter(dict.fromkeys(identifiers), dtype=qid.dtype)
    code_of = {each: code for code, each in enumerate(distinct.tolist())}
    codes = np.fromiter(map(code_of.__getitem__, identifiers), np.int32, count=len(identifiers))
    return distinct, codes


def counting_order(
    keys: NDArray[np.int32], n_keys: int, order: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the stable order of rows by key, and where each key's rows begin in it.

    `keys` (m,) is by row; `order` (m,) is the initial order. The starts have shape (n_keys + 1,).
    Costs O(m + n_keys): it is the transposition of a sparse matrix with one entry per row.
    """
    if order is not None:
        keys = keys[order]
    rows, shape = np.arange(keys.size + 1, dtype=np.int32), (keys.size, max(n_keys, 1))
    by_key = sparse.csr_array((np.empty(keys.size, dtype=bool), keys, rows), shape=shape).tocsc()
    places = by_key.indices if order is None else order[by_key.indices]
    return places, by_key.indptr[: n_keys + 1].astype(np.int64)


def groups_of(
    level_of: NDArray[np.int32],
    query_of: NDArray[np.int32],
    order: NDArray[np.int32],
    n_queries: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return the borders and levels of the groups of several queries, and each query's groups."""
    level, query = level_of[order], query_of[order]
    changes = (np.diff(level, prepend=-1) != 0) | (np.diff(query, prepend=-1) != 0)
    starts = np.flatnonzero(changes)
    query_group = np.searchsorted(query[starts], np.arange(n_queries + 1))
    return np.append(starts, order.size), level[starts], query_group.astype(np.int64)


def group_totals(
    sizes: NDArray[np.int64], group_start: NDArray[np.int64], weight: FloatArray | None
) -> FloatArray:
    """Return the weight of each group, (n_groups,)."""
    if weight is None or not sizes.size:
        return sizes.astype(np.float64)
    return np.add.reduceat(weight, group_start[:-1])


def query_of_groups(query_group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the query of each group, (n_groups,)."""
    return np.repeat(np.arange(query_group.size - 1), np.diff(query_group))


def totals_around(
    totals: FloatArray, query_group: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Return, for each group, the sums over its query's lower groups and over its higher groups.

    Costs O(groups). Nothing is subtracted, so a heavy group costs the others no digits.
    """
    from pairrank.compiled.layout import running_sums

    query = query_of_groups(query_group)
    upto, onward = (np.empty(totals.size + query_group.size - 1) for _ in range(2))
    running_sums(totals, query_group[1:], upto, onward)
    place = np.arange(totals.size) + query
    return upto[place], onward[place + 1]


def wins_of_groups(
    group_start: NDArray[np.int64],
    query_group: NDArray[np.int64],
    edges: NDArray[np.int64] | None,
    sides: tuple[FloatArray | None, FloatArray | None],
) -> tuple[FloatArray, FloatArray]:
    """Return what a row of weight 1 wins, and what it loses, in each group, (n_groups,).

    `sides` are the rows' weights as winners and as losers; None: 1 each. Costs O(groups + edges),
    and O(rows) with weights.
    """
    sizes = np.diff(group_start)
    winners, losers = (group_totals(sizes, group_start, side) for side in sides)
    if edges is None:
        return totals_around(losers, query_group)[0], totals_around(winners, query_group)[1]
    low, high = edges.T
    wins = np.bincount(high, losers[low], sizes.size).astype(np.float64)
    return wins, np.bincount(low, winners[high], sizes.size).astype(np.float64)


def pairs_by_query(
    winners: NDArray[np.int64],
    losers: NDArray[np.int64],
    query_group: NDArray[np.int64],
    edges: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    """Sum products of the numbers of winners and losers over joined groups by query, exactly."""
    if edges is None:
        below = np.cumsum(losers) - losers
        below -= np.repeat(below[query_group[:-1]], np.diff(query_group))
        products, borders = winners * below, query_group
    else:
        low, high = edges.T
        products, borders = losers[low] * winners[high], np.searchsorted(low, query_group)
    return np.diff(np.append(0, np.cumsum(products))[borders])


def no_pairs(
    n_rows: int, n_queries: int, labels: NDArray[Any], has_roles: bool = False
) -> NoPairsError:
    """Return the error that says why no row is preferred to another."""
    if n_rows == 1:
        return NoPairsError(
            "there is 1 sample of positive weight, so nothing to compare: give more"
        )
    if labels.size == 1:
        return NoPairsError(
            f"y holds one class only ({labels[0]}), so no row is preferred to another: give rows "
            "of at least two labels"
        )
    if has_roles:
        return NoPairsError(
            f"no preference of positive weight among {n_rows} rows in {n_queries} queries: in "
            "every pair the winner has winner_weight 0 or the loser has loser_weight 0"
        )
    return NoPairsError(
        f"no preference among {n_rows} rows in {n_queries} queries: every query has one class "
        "only, or the graph joins none of its labels"
    )


def scale_to(wanted: float, total: Any) -> Any:
    """Return the factor that scales each total to the wanted weight; 0 where a total is 0."""
    with np.errstate(over="ignore"):
        scale = np.divide(wanted, total, out=np.zeros_like(total, dtype=float), where=total > 0)
    if not np.all(scale <= _LARGEST_SCALE):
        raise PairrankError(
            f"the rows weigh {wanted:g}, but their preferences only "
            f"{np.min(total, initial=np.inf, where=np.greater(total, 0)):g}: drop the "
            "rows without a preference, or use weights closer to one another"
        )
    return scale if np.ndim(scale) else float(scale)
