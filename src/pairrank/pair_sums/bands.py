"""Bands of levels: what fast sums compare with one another, and the pairs that they leave out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.preferences import Levels
from pairrank.preferences._codes import count_pairs, query_of_groups, scattered

IntArray = NDArray[np.int64]
Links = tuple[IntArray, IntArray, IntArray, IntArray]
"""(below_start, below, above_start, above): code k is preferred to the codes
below[below_start[k] : below_start[k + 1]], and the codes of `above` are preferred to it. All are
empty where every higher code of a query is preferred to every lower one."""

_NONE = np.empty(0, dtype=np.int64)
FULL: Links = (_NONE, _NONE, _NONE, _NONE)


def links_of(edges: IntArray | None, n_codes: int) -> Links:
    """Return the links of edges (low code, high code), (n, 2); None: every pair of codes."""
    if edges is None:
        return FULL
    low, high = edges.T
    found = []
    for own, others in ((high, low), (low, high)):
        start = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=n_codes))))
        found += [start, np.ascontiguousarray(others[np.argsort(own, kind="stable")])]
    return found[0], found[1], found[2], found[3]


def borders_of(levels: Levels, chosen: NDArray[np.bool_], rows: int) -> IntArray:
    """Return the first group of each band, and the end of all groups.

    Under the full graph a band of a chosen query is a level, or a run of successive levels of
    fewer than half of `rows` rows each, with fewer than 1.5 `rows` rows together. Under another
    graph it is a level. Every other query is one band. Costs O(groups).
    """
    query, first = query_of_groups(levels.query_group), levels.query_group[:-1]
    begins = np.ones(query.size, dtype=bool)
    if levels.edges is None:
        sizes, start = np.diff(levels.group_start), levels.group_start[:-1]
        large = 2 * sizes >= rows
        stretch = (start - levels.query_start[query]) // rows
        begins[1:] = (np.diff(stretch) != 0) | large[1:] | large[:-1]
    begins &= chosen[query]
    begins[first] = True
    return np.append(np.flatnonzero(begins), query.size)


def within_bands(levels: Levels, chosen: NDArray[np.bool_], borders: IntArray) -> Levels:
    """Return the preferences within bands, one query each, with all those of queries not chosen."""
    query, edges = query_of_groups(levels.query_group), levels.edges
    if edges is not None:
        edges = edges[~chosen[query[edges[:, 0]]]]
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[query[borders[:-1]]]
    n_pairs, weight = count_pairs(levels.group_start, borders, edges, levels.weight, levels.roles)
    return replace(
        levels,
        query_group=borders,
        edges=edges,
        pair_scale=np.ascontiguousarray(scale, dtype=np.float64),
        n_pairs=n_pairs,
        query_pair_weight=weight,
    )


def by_user(
    row_of: NDArray[np.int32], *arrays: NDArray[Any]
) -> tuple[slice | NDArray[np.int32], list[NDArray[Any]]]:
    """Return the user's rows, as a slice where they are successive, and arrays in their order.

    `row_of` (n,) and the arrays (n,) are by place; empty arrays remain as they are.
    """
    low, high = int(row_of.min()), int(row_of.max())
    rows: slice | NDArray[np.int32]
    if high - low + 1 == row_of.size:
        rows, place = slice(low, high + 1), row_of - np.int32(low) if low else row_of
        return rows, [scattered(each, place) if each.size else each for each in arrays]
    order = np.argsort(row_of, kind="stable")
    return row_of[order], [each[order] if each.size else each for each in arrays]
