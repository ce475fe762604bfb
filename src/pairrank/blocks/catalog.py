"""The catalog: what the first pass learns of all blocks, and the pairs that the layouts add."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.blocks.sample import DrawnRows, SampleRows, draw_rows, merge_rows
from pairrank.design import Design
from pairrank.exceptions import PairrankError
from pairrank.objective.problem import FAR
from pairrank.preferences import OrderGraph
from pairrank.preferences._codes import level_codes, query_codes
from pairrank.preferences.roles import weights_of_rows

MOST_LABELS = 1 << 16
"""More distinct labels than this are not collected."""
SAMPLE_ROWS, SAMPLE_ENTRIES = 50_000, 1 << 23
"""The rows of a sample, and the most entries of its X."""
_UNIT = 2.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Request:
    """What the first pass is asked for: the seed of its sample, and which labels it collects.

    `n_blocks` and `n_rows` are 0 where they are unknown.
    """

    n_blocks: int
    n_rows: int
    seed: int
    graph: Any
    sample_rows: int


class Description(NamedTuple):
    """What one block reports in the first pass."""

    n_rows: int
    n_kept: int
    """The rows of positive weight."""
    row_weight: float
    n_features: int
    dtype: Any
    labels: NDArray[Any] | None
    """The distinct labels of kept rows, sorted; None where there are too many."""
    queries: NDArray[Any]
    """The distinct identifiers of the queries of kept rows; without qid a single 0."""
    has: tuple[bool, ...]
    """Which of qid, sample_weight, winner_weight and loser_weight there are."""
    drawn: DrawnRows


@dataclass(frozen=True, eq=False)
class Catalog:
    """What is known of all blocks after the first pass.

    W is `row_weight`. A crossing query has kept rows in several blocks.
    """

    n_blocks: int
    n_rows: int
    n_kept: int
    row_weight: float
    n_features: int
    dtype: Any
    has_qid: bool
    has_weight: bool
    has_roles: bool
    queries: NDArray[Any]
    """The identifiers of all queries, sorted where they can be; of no qid a single 0."""
    labels: NDArray[Any] | None
    """All distinct labels of kept rows, sorted; None where there are too many to collect."""
    crossing: NDArray[Any]
    """Those of crossing queries."""
    sample: SampleRows

    @property
    def width(self) -> float:
        """The entries of X per row, about."""
        return _width(self.sample.rows.X)

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
        X = self.sample.rows.X
        X = X if self.origin is None else X.astype(np.float64) - self.origin
        return _UNIT * np.sqrt(Design(X).squares_transposed(1.0 / self.sample.rate))


def describe(passes: Passes, *, seed: int = 0, graph: Any = "full") -> Catalog:
    """Go over all blocks once and return their catalog; O(rows) and the sample's memory."""
    request = Request(passes.n_blocks, passes.n_rows, seed, graph, SAMPLE_ROWS)
    parts = passes.describe(describe_block, request)
    if not any(part.n_kept for part in parts):
        raise PairrankError("every weight is zero: no row is left")
    queries, crossing = crossing_queries([part.queries for part in parts])
    first = parts[0]
    return Catalog(
        n_blocks=len(parts),
        n_rows=sum(part.n_rows for part in parts),
        n_kept=sum(part.n_kept for part in parts),
        row_weight=math.fsum(part.row_weight for part in parts),
        n_features=first.n_features,
        dtype=first.dtype,
        has_qid=first.has[0],
        has_weight=first.has[1],
        has_roles=first.has[2] or first.has[3],
        queries=queries,
        labels=_labels(parts),
        crossing=crossing,
        sample=merge_rows([part.drawn for part in parts]),
    )


def describe_block(index: int, block: RowBlock, request: Request) -> Description:
    """Return what a block reports in the first pass."""
    kept = kept_rows(block)
    assert block.y is not None
    n_rows, n_features = block.X.shape
    queries, query_of = np.zeros(1, dtype=np.int64), np.zeros(n_rows, dtype=np.int32)
    if block.qid is not None:
        queries, query_of = query_codes(block.qid)
    weight, labels = block.sample_weight, level_codes(block.y[kept].reshape(-1))[0]
    n_kept = int(np.count_nonzero(kept))
    drawn = draw_rows(
        index,
        block,
        kept,
        query_of,
        queries,
        n_rows=max(1, min(request.sample_rows, int(SAMPLE_ENTRIES / max(1.0, _width(block.X))))),
        n_blocks=request.n_blocks,
        of_rows=request.n_rows,
        seed=request.seed,
    )
    is_countable = labels.size <= MOST_LABELS or isinstance(request.graph, OrderGraph)
    return Description(
        n_rows=n_rows,
        n_kept=n_kept,
        row_weight=float(n_kept if weight is None else weight[kept].sum()),
        n_features=n_features,
        dtype=block.X.dtype,
        labels=labels if is_countable else None,
        queries=queries[np.bincount(query_of[kept], minlength=queries.size) > 0],
        has=tuple(part is not None for part in block[2:]),
        drawn=drawn,
    )


def kept_rows(block: RowBlock) -> NDArray[np.bool_]:
    """Return which rows have a positive weight in some role, (n_rows,)."""
    if block.y is None:
        raise PairrankError(
            "the blocks have no labels: name their column, or yield (X, y) or (X, y, qid)"
        )
    weight = weights_of_rows(block.sample_weight, block.winner_weight, block.loser_weight)[0]
    return np.ones(len(block.y), dtype=bool) if weight is None else weight > 0


def query_numbers(
    queries: NDArray[Any], wanted: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Return which of a block's queries are among `wanted`, and their numbers there (else 0)."""
    if queries.dtype == object or wanted.dtype == object:
        numbers = {identifier: at for at, identifier in enumerate(wanted.tolist())}
        places = [numbers.get(identifier, -1) for identifier in queries.tolist()]
        found = np.array(places, dtype=np.int32)
        return found >= 0, np.maximum(found, 0)
    place = np.searchsorted(wanted, queries).astype(np.int32)
    place[place == wanted.size] = 0
    is_among = wanted[place] == queries if wanted.size else np.zeros(queries.size, dtype=bool)
    return is_among, np.where(is_among, place, 0).astype(np.int32)


def _width(X: Any) -> float:
    """Return the entries of X per row."""
    return X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else float(X.shape[1])


def design_of(X: Any, origin: FloatArray | None) -> Design:
    """Return the design of a block's rows, less the origin."""
    return Design(X if origin is None else np.subtract(X, origin.astype(X.dtype)))


def _labels(parts: list[Description]) -> NDArray[Any] | None:
    known = [part.labels for part in parts if part.labels is not None]
    if len(known) < len(parts):
        return None
    labels = np.unique(np.concatenate([each for each in known if each.size] or known[:1]))
    return labels if labels.size <= MOST_LABELS or labels.dtype.kind not in "biuf" else None


def crossing_queries(given: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the identifiers of all queries, and of those in several blocks.

    `given` are the distinct identifiers of the kept rows of each block.
    """
    filled = [each for each in given if each.size]
    kinds = {"text" if each.dtype.kind in "US" else each.dtype.kind for each in filled}
    if len(kinds) == 1 and kinds != {"O"}:
        queries, counts = np.unique(np.concatenate(filled), return_counts=True)
        return queries, queries[counts > 1]
    counted = Counter(chain.from_iterable(each.tolist() for each in filled))  # never rounded
    return _objects(list(counted)), _objects([one for one, count in counted.items() if count > 1])


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
