"""The contracts of blocks: RowBlock, BlockLayout, CrossingRows and Passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Differences, Levels, Pairs

Part = TypeVar("Part")


class RowBlock(NamedTuple):
    """Some rows in memory together, as a source delivers them: checked, in the user's order."""

    X: Any
    """Dense or CSR, float64 or float32, (n_rows, n_features)."""
    y: NDArray[Any] | None = None
    qid: NDArray[Any] | None = None
    sample_weight: FloatArray | None = None
    winner_weight: FloatArray | None = None
    loser_weight: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """The preferences of a block: queries that lie wholly in it, and rows of crossing queries.

    A *crossing* query has rows in several blocks. Its rows are known by their place in the block,
    query by query; all arrays of them are (n_crossing,).
    """

    n_rows: int
    whole: Levels | Pairs | Differences | None
    """The whole queries, over all `n_rows` of the block; rows of crossing queries are left out as
    rows of weight 0 are. None: no whole query has a pair. Its `pair_scale` is that of the reduction
    "query"; the factor W/T of "rows" is known later, so the objective multiplies by it."""
    rows: NDArray[np.int32]
    """The places of the rows of crossing queries."""
    query: NDArray[np.int32]
    """The numbers of these queries among the crossing queries of all blocks, ascending."""
    start: NDArray[np.int64]
    """Where each query begins in `rows`, and the end."""
    code: NDArray[np.int32]
    """The rank of each such row's label among those of its query; 0 for differences."""
    label: FloatArray
    """For differences the label of each such row less the mean of its query; else empty."""
    weight: FloatArray
    """Weights of each such row, (S, n_crossing): S = 0 without weights, 1 with sample weights, 2
    with weights as winners and as losers."""


class CrossingRows(NamedTuple):
    """Rows of some crossing queries in a block, query by query; fields as in `BlockLayout`."""

    scores: FloatArray
    """Less the labels, for differences."""
    query: NDArray[np.int32]
    start: NDArray[np.int64]
    code: NDArray[np.int32]
    weight: FloatArray
    values: FloatArray | None = None
    """What a Hessian is multiplied by."""

    @property
    def residual(self) -> FloatArray:
        """The values, or else the scores."""
        return self.scores if self.values is None else self.values


class Finished(NamedTuple):
    """A merged sum over crossing queries, or a product with its Hessian; sent to every block."""

    made_by: Any
    """Has `entries(rows, sums)`."""
    sums: Any
    value: float = 0.0
    error: float = 0.0
    """Bound on the error of the value."""
    gradient_error: float = 0.0
    """Bound on the sum over rows of the errors of the gradients."""

    def entries(self, rows: CrossingRows) -> FloatArray:
        """Return the gradients of some rows, or their products."""
        found: FloatArray = self.made_by.entries(rows, self.sums)
        return found


class Passes(Protocol):
    """Blocks that a fit goes over again and again: on disk or on a cluster."""

    @property
    def n_blocks(self) -> int:
        """The number of blocks; 0 where it is unknown before `describe`."""

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks; 0 where it is unknown before `describe`."""

    def describe(self, task: Callable[[int, RowBlock, Any], Part], shared: Any) -> list[Part]:
        """Return `task(index, row_block, shared)` of every block in order: the first pass.

        A digest of each block is kept; a block that differs in a later pass is an error.
        """

    def prepare(
        self, task: Callable[[int, RowBlock, Any], tuple[Any, Part]], shared: Any
    ) -> list[Part]:
        """Set the state of each block, a `BlockLayout` as a rule; return a report of each in order.

        `task(index, row_block, shared)` returns the state, which stays with the block, and the
        report, which travels. It sees the block without X (None). A fit prepares its blocks once; a
        later call replaces the states.
        """

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
    ) -> Part:
        """Return the merged results of `task(index, X, state, shared)` of every block, one pass.

        `index` is the block's number and `state` what `prepare` returned for it. `task` and `merge`
        are functions at module level, or partials of them that hold little: a cluster sends them by
        name, and `shared` once for each pass. `merge` is associative; it may write into its first
        argument and is applied in an order that depends on the number of blocks only. A pass that
        an interrupt or a lost cluster ends raises.
        """
