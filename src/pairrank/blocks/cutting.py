"""Blocks that are cut where queries begin, so that sorted queries lie in one block each."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank.blocks._contracts import RowBlock

_NARROWER = {"f": (np.int8, np.int16, np.int32, np.float32), "i": (np.int8, np.int16, np.int32)}


def cut_at_queries(blocks: Iterable[RowBlock]) -> Generator[RowBlock, None, None]:
    """Yield the rows of some blocks in their order, in blocks that end where queries end.

    The last query of a block begins the next one. A query with as many rows as the largest block so
    far crosses blocks, and so do queries whose rows are not together. Blocks without qid stay as
    they are. A block has at most twice the rows of those of the source; O(rows) to copy them.
    """
    held: list[RowBlock] = []
    largest = n_held = 0
    for block in blocks:
        if block.qid is None:
            yield block
            continue
        largest = max(largest, len(block.qid))
        others = np.flatnonzero(block.qid != block.qid[-1])
        begin = int(others[-1]) + 1 if others.size else 0
        if begin or (held and held[0].qid[0] != block.qid[0]):  # type: ignore[index]
            yield stacked([*held, rows_at(block, slice(begin))])
            held, n_held = [], 0
        held.append(stacked([rows_at(block, slice(begin, None))]))
        n_held += len(block.qid) - begin
        if n_held >= largest:
            yield stacked(held)
            held, n_held = [], 0
    if held:
        yield stacked(held)


def cut_again(
    blocks: Iterable[Any], sizes: Iterable[int], skipped: int
) -> Generator[Any, None, None]:
    """Yield the X of some blocks, less the first `skipped` rows, in blocks of these sizes."""
    wanted = iter(sizes)
    held: list[Any] = []
    missing = next(wanted, 0)
    for X in blocks:
        n_rows = X.shape[0]
        at = min(skipped, n_rows)
        skipped -= at
        while at + missing <= n_rows and missing:
            is_same = missing == n_rows and not held
            yield X if is_same else stacked_X([*held, X[at : at + missing]])
            held, at, missing = [], at + missing, next(wanted, 0)
        if at < n_rows:
            held.append(stacked_X([X[at:]]))
            missing -= n_rows - at
        del X


def rows_at(block: RowBlock, places: Any) -> RowBlock:
    """Return some rows of a block."""
    return RowBlock(*(None if part is None else part[places] for part in block))


def stacked(blocks: list[RowBlock]) -> RowBlock:
    """Return the rows of some blocks together, in memory of their own."""
    return RowBlock(*map(stacked_X, zip(*blocks, strict=True)))


def stacked_X(parts: Sequence[Any]) -> Any:
    """Return some matrices below one another, in memory of its own; None if there are none."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return None if parts[0] is None else np.concatenate(parts)


def kept_of(block: RowBlock) -> RowBlock:
    """Return a block without X, with labels and queries in the narrowest types that hold them."""
    y, qid = (None if part is None else _narrowed(part) for part in (block.y, block.qid))
    return block._replace(X=None, y=y, qid=qid)


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    for dtype in _NARROWER.get(values.dtype.kind, ()):
        if np.dtype(dtype).itemsize >= values.dtype.itemsize:
            break
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = values.astype(dtype)
        if np.array_equal(narrow, values):
            return narrow
    return values.copy()
