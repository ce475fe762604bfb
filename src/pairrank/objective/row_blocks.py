"""Dense blocks of rows of X, centred by query, for least squares over pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray

_BLOCK_ENTRIES = 1 << 21


def block_rows(width: int) -> int:
    """Return the number of rows of a block, for rows of `width` numbers."""
    return max(1, _BLOCK_ENTRIES // max(1, width))


def dense(rows: Any) -> FloatArray:
    """Return a copy of rows as a dense float64 array."""
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return dense.astype(np.float64)


def whole_queries(
    query_start: NDArray[np.int64], limit: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield parts of whole queries, each of at most `limit` equations or one longer query.

    The second value has the starts of the part's queries, counted from the part's start.
    """
    start, last = 0, query_start.size - 1
    while start < last:
        furthest = query_start[start] + limit
        stop = max(start + 1, int(np.searchsorted(query_start, furthest, "right")) - 1)
        first = int(query_start[start])
        yield slice(first, int(query_start[stop])), query_start[start : stop + 1] - first
        start = stop


def cut(part: slice, limit: int) -> Iterator[slice]:
    """Yield a slice in pieces of at most `limit`."""
    for first in range(part.start, part.stop, limit):
        yield slice(first, min(first + limit, part.stop))


def centred(values: FloatArray, root: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Centre whole queries by their weighted means in place, and multiply rows by `root`.

    The first row is subtracted before the mean, so values that are constant within a query become
    exactly 0, and an offset costs no digits.
    """
    lengths = np.diff(starts)
    values -= np.repeat(values[starts[:-1]], lengths, axis=0)
    weight, equal = root**2, bool((root == 1.0).all())
    total = np.add.reduceat(weight, starts[:-1])[:, None]
    weighted = values if equal else values * weight[:, None]
    values -= np.repeat(np.add.reduceat(weighted, starts[:-1], axis=0) / total, lengths, axis=0)
    if not equal:
        values *= root[:, None]
    return values


def centred_blocks(
    X: Any, row_of: NDArray[Any] | None, root: FloatArray, query_start: NDArray[np.int64]
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (equations, root (x - mean of the query)): whole queries, and a long query in pieces.

    `row_of` has the row of each equation, query by query; None: the rows of X in order. `root` has
    the square roots of the weights, by which the means are weighted too. `query_start` has where
    each query's equations begin, and their end.
    """
    limit = block_rows(X.shape[1])
    for part, starts in whole_queries(query_start, limit):
        if part.stop - part.start > limit:
            yield from centred_query(X, row_of, root, part)
        else:
            yield part, centred(_rows(X, row_of, part), root[part], starts)


def centred_query(
    X: Any, row_of: NDArray[Any] | None, root: FloatArray, part: slice
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the pieces of one query; a first pass computes its mean."""
    pieces = list(cut(part, block_rows(X.shape[1])))
    origin = _rows(X, row_of, slice(part.start, part.start + 1))
    total = np.zeros(X.shape[1])
    for piece in pieces:
        block = _rows(X, row_of, piece)
        block -= origin
        total += root[piece] ** 2 @ block
    mean = total / np.square(root[part]).sum()
    for piece in pieces:
        block = _rows(X, row_of, piece)
        block -= origin
        block -= mean
        block *= root[piece, None]
        yield piece, block


def _rows(X: Any, row_of: NDArray[Any] | None, part: slice) -> FloatArray:
    return dense(X[part if row_of is None else row_of[part]])
