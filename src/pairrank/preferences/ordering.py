"""Rows by query and level: a counting sort and scatters that threads share, borders of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank.preferences._codes import ROWS_A_BLOCK

_ROWS_PER_KEY = 4
"""A block has at least so many rows per key, so that its counts cost less than its rows."""
_NO_ORDER = np.empty(0, dtype=np.int32)


def counting_order(
    keys: NDArray[np.int32],
    n_keys: int,
    order: NDArray[np.int32] = _NO_ORDER,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the stable order of rows by key, and where each key's rows begin in it.

    `keys` (m,) is by row; `order` (m,) is the initial order, or empty. The starts have shape
    (n_keys + 1,). Costs O(m + n_keys). Each block of rows knows its places in advance from the
    counts of the blocks before it.
    """
    from pairrank.compiled.layout import place_by_key

    blocks = threads.blocks(keys.size, max(ROWS_A_BLOCK, _ROWS_PER_KEY * n_keys))

    def count(rows: slice) -> NDArray[np.intp]:
        return np.bincount(keys[order[rows]] if order.size else keys[rows], minlength=n_keys)

    found = threads.run(count, blocks)
    counts = np.array(found, dtype=np.int64).reshape(len(blocks), n_keys)
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    next_places = np.cumsum(counts, axis=0) - counts + starts[:-1]
    result = np.empty(keys.size, np.int32)

    def place(block: int) -> None:
        rows = blocks[block]
        place_by_key(keys, order, rows.start, rows.stop, next_places[block], result)

    threads.run(place, range(len(blocks)))
    return result, starts


def groups_of(
    level_of: NDArray[np.int32],
    query_of: NDArray[np.int32],
    order: NDArray[np.int32],
    n_queries: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return the borders and levels of the groups of several queries, and each query's groups."""
    level, query = level_of[order], query_of[order]
    changes = np.empty(order.size, dtype=bool)
    changes[:1] = True
    np.not_equal(level[1:], level[:-1], out=changes[1:])
    changes[1:] |= query[1:] != query[:-1]
    starts = np.flatnonzero(changes)
    query_group = np.searchsorted(query[starts], np.arange(n_queries + 1))
    return np.append(starts, order.size), level[starts], query_group.astype(np.int64)


def scattered(values: NDArray[Any], places: NDArray[np.integer]) -> NDArray[Any]:
    """Return an array with values[..., k] at [..., places[k]]; the places are a permutation."""
    result = np.empty_like(values)

    def write(rows: slice) -> None:
        result[..., places[rows]] = values[..., rows]

    threads.run(write, threads.blocks(places.size, ROWS_A_BLOCK))
    return result
