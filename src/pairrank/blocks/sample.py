"""Rows drawn in the first pass: small queries whole, large queries by rows."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.cutting import rows_at, stacked
from pairrank.preferences._codes import level_codes, query_codes

SAMPLE_ENTRIES = 1 << 23
"""The most entries of a sample's X."""
_SPARE = 2.0
"""A block draws this many times an even share if it does not know its part of all rows."""
_PARTS_OF_SAMPLE = 100
"""A query of more rows in a block than this part of the sample is thinned by rows."""
_LEAST_SHARE = 4
"""Of a rare label at least the even share of a label, divided by this, is drawn."""
_ROWS_PER_LABEL = 8
"""Labels are drawn alike where the sample has fewer rows per label."""


class Request(NamedTuple):
    """What the first pass is asked for; `n_blocks` and `n_rows` are 0 where they are unknown."""

    n_blocks: int
    n_rows: int
    sample_rows: int
    seed: int
    graph: Any
    """Labels that an OrderGraph may name are all collected."""


class DrawnRows(NamedTuple):
    """Rows of one block with the numbers by which they were drawn; arrays are by row."""

    rows: RowBlock
    number: FloatArray
    """Uniform in [0, 1): of a row of a thinned query its own, else that of its query."""
    rate: FloatArray
    """The row was drawn because its number is below this."""
    thinned: NDArray[np.bool_]
    """Whether the row's query is thinned."""
    query_rate: float
    """The rate of queries that are not thinned."""
    limit: int
    """The rows that the sample of all blocks may have."""


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Some rows of all blocks, each drawn with its own probability."""

    rows: RowBlock
    rate: FloatArray
    """The probability of each row, (n_rows,)."""
    thinned: NDArray[np.bool_]
    """Rows that were drawn on their own; the queries of all others were drawn as wholes."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.thinned.size)

    @property
    def is_whole(self) -> bool:
        """Whether every row is in the sample."""
        return bool((self.rate >= 1.0).all())


def draw_rows(
    index: int,
    block: RowBlock,
    kept: NDArray[np.bool_],
    query_of: NDArray[np.int32],
    queries: NDArray[Any],
    request: Request,
) -> DrawnRows:
    """Draw a block's share of the sample that is asked for.

    A block whose rows are all kept draws its part of the sample by the number of all rows, if that
    is known; any other block draws `_SPARE` times an even share. If the number of blocks is
    unknown, a block draws as if it were the last one, so that all draw the sample's rows times the
    logarithm of their number. `query_of` numbers the query of each row among `queries`. A small
    query is drawn by a hash of its identifier, so that blocks agree on it. Of a large query rows
    are drawn, a larger share of rare labels where labels are few. O(rows), O(m log m) for real
    labels.
    """
    n_rows = max(1, min(request.sample_rows, int(SAMPLE_ENTRIES / max(1.0, width_of(block.X)))))
    rate = min(1.0, n_rows / max(1, request.n_rows))
    if not (request.n_rows and kept.all()):
        wanted = _SPARE * n_rows / (request.n_blocks or index + 1)
        rate = min(1.0, wanted / max(1, int(np.count_nonzero(kept))))
    sizes = np.bincount(query_of[kept], minlength=queries.size)
    thinned = kept & (sizes > max(1, n_rows // _PARTS_OF_SAMPLE))[query_of]
    number, rates = hashed(queries, request.seed)[query_of], np.full(kept.size, rate)
    if thinned.any():
        chosen = slice(None) if thinned.all() else thinned
        labels, code = level_codes(block.labels[chosen])
        number[chosen] = np.random.default_rng([request.seed, index]).random(code.size)
        rates[chosen] = _rates_by_label(np.bincount(code, minlength=labels.size), rate)[code]
    places = np.flatnonzero(kept & (number < rates))
    rows = rows_at(block, places)
    return DrawnRows(rows, number[places], rates[places], thinned[places], rate, n_rows)


def width_of(X: Any) -> float:
    """Return the entries of X per row."""
    return X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else float(X.shape[1])


def merge_rows(parts: list[DrawnRows]) -> SampleRows:
    """Return the sample of all blocks, within their least limit."""
    of_queries = min(part.query_rate for part in parts)
    number = np.concatenate([part.number for part in parts])
    rate = np.concatenate([part.rate * (of_queries / part.query_rate) for part in parts])
    limit = min(part.limit for part in parts)
    rate *= min(1.0, limit / max(1, int(np.count_nonzero(number < rate))))
    chosen = number < rate
    ends = np.cumsum([part.number.size for part in parts])[:-1]
    rows = [rows_at(part.rows, at) for part, at in zip(parts, np.split(chosen, ends), strict=True)]
    thinned = np.concatenate([part.thinned for part in parts])
    return SampleRows(stacked(rows), rate[chosen], thinned[chosen])


def _rates_by_label(counts: NDArray[np.integer], rate: float) -> FloatArray:
    """Return the rate of the rows of each label, higher for rare labels."""
    wanted = rate * counts.sum()
    if rate >= 1.0 or counts.size > wanted / _ROWS_PER_LABEL:
        return np.full(counts.size, rate)
    least = np.minimum(counts, wanted / (_LEAST_SHARE * counts.size))
    return np.asarray(np.maximum(rate * counts, least) / counts)


def hashed(identifiers: NDArray[Any], seed: int) -> FloatArray:
    """Return a number in [0, 1) for each identifier, the same in every process."""
    if identifiers.dtype.kind not in "biu":
        checksums = [zlib.crc32(repr(each).encode()) for each in identifiers.tolist()]
        identifiers = np.array(checksums, dtype=np.int64)
    mixed = identifiers.astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = mixed + np.uint64(0x9E3779B97F4A7C15 * (2 * seed + 1) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def queries_of(block: RowBlock) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct queries of a block and each row's code; without qid a single 0."""
    if block.qid is not None:
        return query_codes(block.qid)
    return np.zeros(1, dtype=np.int64), np.zeros(len(block.labels), dtype=np.int32)


def drawn_alone(sample: SampleRows) -> NDArray[np.bool_]:
    """Return which rows belong to a query of which a block has drawn rows one by one."""
    queries, query_of = queries_of(sample.rows)
    thinned = np.bincount(query_of, sample.thinned, queries.size) > 0
    return thinned[query_of]
