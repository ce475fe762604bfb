"""Rows drawn in the first pass: small queries whole, large queries by rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import RowBlock

_SPARE = 2.0
"""A block draws this many times its share, because blocks differ in size."""
_PARTS_OF_SAMPLE = 100
"""A query of more rows in a block than this part of the sample is thinned by rows."""


class DrawnRows(NamedTuple):
    """Rows of one block with the numbers by which they were drawn."""

    rows: RowBlock
    number: FloatArray
    """Uniform in [0, 1): of a row of a thinned query its own, else that of its query."""
    thinned: NDArray[np.bool_]
    """Whether a row's query is thinned."""
    rate: float
    """All rows with a smaller number are here."""
    limit: int
    """The rows that the sample of all blocks may have."""


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Some rows of all blocks, each drawn with probability `rate`."""

    rows: RowBlock
    thinned: NDArray[np.bool_]
    """Rows whose query was thinned by rows; other queries are whole."""
    rate: float

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.thinned.size)


def draw_rows(
    index: int,
    block: RowBlock,
    kept: NDArray[np.bool_],
    query_of: NDArray[np.int32],
    queries: NDArray[Any],
    *,
    n_rows: int,
    n_blocks: int,
    seed: int,
) -> DrawnRows:
    """Draw a block's share of a sample of about `n_rows` rows.

    `query_of` numbers the query of each row among `queries`. A small query is drawn by a hash of
    its identifier, so that blocks agree on it; O(rows).
    """
    n_kept = int(np.count_nonzero(kept))
    rate = min(1.0, _SPARE * n_rows / max(1, n_kept * n_blocks))
    sizes = np.bincount(query_of[kept], minlength=queries.size)
    large = sizes > max(1, n_rows // _PARTS_OF_SAMPLE)
    thinned = large[query_of]
    number = np.random.default_rng([seed, index]).random(kept.size)
    of_query = hashed(queries, seed)
    number = np.where(thinned, number, of_query[query_of])
    places = np.flatnonzero(kept & (number < rate))
    return DrawnRows(_rows_at(block, places), number[places], thinned[places], rate, n_rows)


def merge_rows(parts: list[DrawnRows]) -> SampleRows:
    """Return the sample of all blocks, within their least limit, uniform over all rows."""
    rate, n_rows = min(part.rate for part in parts), min(part.limit for part in parts)
    count = sum(int(np.count_nonzero(part.number < rate)) for part in parts)
    if count > n_rows:
        rate *= n_rows / count
    chosen = [np.flatnonzero(part.number < rate) for part in parts]
    rows = [_rows_at(part.rows, at) for part, at in zip(parts, chosen, strict=True)]
    thinned = [part.thinned[at] for part, at in zip(parts, chosen, strict=True)]
    return SampleRows(_joined(rows), np.concatenate(thinned), rate)


def hashed(identifiers: NDArray[Any], seed: int) -> FloatArray:
    """Return a number in [0, 1) for each identifier, the same in every process."""
    if identifiers.dtype.kind in "biu":
        mixed = identifiers.astype(np.int64).view(np.uint64)
        with np.errstate(over="ignore"):
            mixed = mixed + np.uint64(0x9E3779B97F4A7C15 * (2 * seed + 1) % 2**64)
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
                mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
            mixed ^= mixed >> np.uint64(31)
        return (mixed >> np.uint64(11)) * 2.0**-53
    texts = (f"{seed} {identifier!r}".encode() for identifier in identifiers.tolist())
    digests = [hashlib.blake2b(text, digest_size=8).digest() for text in texts]
    return (np.frombuffer(b"".join(digests), dtype="<u8") >> np.uint64(11)) * 2.0**-53


def _rows_at(block: RowBlock, places: NDArray[np.intp]) -> RowBlock:
    return RowBlock(*(None if part is None else part[places] for part in block))


def _joined(blocks: list[RowBlock]) -> RowBlock:
    X = [block.X for block in blocks]
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    rest = [
        None if columns[0] is None else np.concatenate(columns)
        for columns in zip(*(block[1:] for block in blocks), strict=True)
    ]
    return RowBlock(stacked, *rest)
