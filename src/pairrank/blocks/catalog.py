"""The catalog: what the first pass learns of all blocks, and the pairs that the layouts add."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.blocks.sample import (
    DrawnRows,
    Request,
    SampleRows,
    draw_rows,
    merge_rows,
    queries_of,
    width_of,
)
from pairrank.design import FAR, Design
from pairrank.exceptions import PairrankError
from pairrank.preferences import OrderGraph
from pairrank.preferences._codes import level_codes, query_codes
from pairrank.preferences.roles import weights_of_rows

SAMPLE_ROWS = 50_000
"""The rows of a sample."""
_UNIT = 2.0 * float(np.finfo(np.float64).eps)


class Description(NamedTuple):
    """What one block reports in the first pass."""

    n_rows: int
    n_kept: int
    """The rows of positive weight."""
    row_weight: float
    labels: NDArray[Any]
    """The distinct labels of kept rows for an OrderGraph, else those of drawn rows."""
    queries: NDArray[Any]
    """The distinct identifiers of the queries of kept rows; without qid a single 0."""
    drawn: DrawnRows


@dataclass(frozen=True, eq=False)
class Catalog:
    """What is known of all blocks after the first pass.

    W is `row_weight`. A crossing query has kept rows in several blocks.
    """

    n_rows: int
    n_kept: int
    row_weight: float
    n_queries: int
    labels: NDArray[Any]
    """All distinct labels of kept rows for an OrderGraph, else those of drawn rows, sorted."""
    crossing: NDArray[Any]
    """The identifiers of crossing queries; of no qid a single 0."""
    sample: SampleRows
    """Some rows, with all columns that blocks have."""

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.sample.rows.X.shape[1])

    @property
    def has_roles(self) -> bool:
        """Whether rows have weights by role."""
        rows = self.sample.rows
        return rows.winner_weight is not None or rows.loser_weight is not None

    @property
    def width(self) -> float:
        """The entries of X per row, about."""
        return width_of(self.sample.rows.X)

    @functools.cached_property
    def origin(self) -> FloatArray | None:
        """A row to subtract from every row where features have large offsets, else None.

        All pairs stay the same, and an offset costs no digits beyond those that X has lost.
        """
        X = self.sample.rows.X
        if sparse.issparse(X) or not X.size:
            return None
        low, high = (np.asarray(end(X, axis=0), dtype=np.float64) for end in (np.min, np.max))
        with np.errstate(over="ignore"):
            size, spread = np.maximum(-low, high), high - low
        if not spread.any() or not (size > FAR * np.where(spread > 0, spread, spread.max())).any():
            return None
        return np.asarray(X[0], dtype=np.float64)

    @functools.cached_property
    def rounding(self) -> FloatArray:
        """About a bound on the rounding of X' v for v of norm 1, (n_features,), by the sample."""
        design = design_of(self.sample.rows.X, self.origin)
        return _UNIT * np.sqrt(design.squares_transposed(1.0 / self.sample.rate))


def describe(passes: Passes, *, seed: int = 0, graph: Any = "full") -> Catalog:
    """Go over all blocks once and return their catalog; O(rows) and the sample's memory."""
    request = Request(passes.n_blocks, passes.n_rows, SAMPLE_ROWS, seed, graph)
    parts = passes.describe(describe_block, request)
    if not any(part.n_kept for part in parts):
        raise PairrankError("every weight is zero: no row is left")
    n_queries, crossing = crossing_queries([part.queries for part in parts])
    return Catalog(
        n_rows=sum(part.n_rows for part in parts),
        n_kept=sum(part.n_kept for part in parts),
        row_weight=math.fsum(part.row_weight for part in parts),
        n_queries=n_queries,
        labels=np.unique(np.concatenate([part.labels for part in parts if part.n_kept])),
        crossing=crossing,
        sample=merge_rows([part.drawn for part in parts]),
    )


def describe_block(index: int, block: RowBlock, request: Request) -> Description:
    """Return what a block reports in the first pass."""
    kept = kept_rows(block)
    queries, query_of = queries_of(block)
    weight, drawn = block.sample_weight, draw_rows(index, block, kept, query_of, queries, request)
    labels = block.labels[kept] if isinstance(request.graph, OrderGraph) else drawn.rows.labels
    n_kept = int(np.count_nonzero(kept))
    return Description(
        n_rows=kept.size,
        n_kept=n_kept,
        row_weight=float(n_kept if weight is None else weight[kept].sum()),
        labels=level_codes(labels)[0],
        queries=queries[np.bincount(query_of[kept], minlength=queries.size) > 0],
        drawn=drawn,
    )


def kept_rows(block: RowBlock) -> NDArray[np.bool_]:
    """Return which rows have a positive weight in some role, (n_rows,)."""
    weight = weights_of_rows(block.sample_weight, block.winner_weight, block.loser_weight)[0]
    return np.ones(len(block.labels), dtype=bool) if weight is None else weight > 0


def query_numbers(block: RowBlock, wanted: NDArray[Any]) -> NDArray[np.int32]:
    """Return the number of each row's query among the identifiers `wanted`; -1: none of them."""
    queries, query_of = queries_of(block)
    names, code = query_codes(np.concatenate((wanted, queries)))
    number = np.full(names.size, -1, dtype=np.int32)
    number[code[: wanted.size]] = np.arange(wanted.size)
    return number[code[wanted.size :]][query_of]


def design_of(X: Any, origin: FloatArray | None) -> Design:
    """Return the design of a block's rows, less the origin."""
    return Design(X if origin is None else np.subtract(X, origin.astype(X.dtype)))


def crossing_queries(given: Sequence[NDArray[Any]]) -> tuple[int, NDArray[Any]]:
    """Return the number of all queries, and the identifiers of those in several blocks.

    `given` are the distinct identifiers of the kept rows of each block.
    """
    if len({each.dtype.kind for each in given}) > 1:  # numbers of two kinds could be rounded
        given = [each.astype(object) for each in given]
    queries, query_of = query_codes(np.concatenate(given))
    return queries.size, queries[np.bincount(query_of, minlength=queries.size) > 1]
