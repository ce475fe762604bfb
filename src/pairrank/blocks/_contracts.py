"""The contracts of blocks: RowBlock, CrossingRows, BlockLayout and Passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Differences, Levels

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

    @property
    def labels(self) -> NDArray[Any]:
        """The labels; a PairrankError says that there are none."""
        if self.y is None:
            raise PairrankError(
                "the blocks have no labels: name their column, or yield (X, y) or (X, y, qid)"
            )
        return self.y


class CrossingRows(NamedTuple):
    """The rows of a block whose queries have rows in other blocks too, query by query."""

    places: NDArray[np.int32] | slice
    """Their places in the block, (n_crossing,), as all arrays by row; a slice where they are all
    rows in their order."""
    query: NDArray[np.int32]
    """The numbers of these queries among the crossing queries of all blocks, ascending."""
    start: NDArray[np.int64]
    """Where the rows of each query begin, and the end."""
    weight: FloatArray
    """The weights of each row, (S, n_crossing): S = 0 without weights, 1 with sample weights, 2
    with weights as winners and as losers."""
    code: NDArray[np.int32]
    """The number of each row's class: the rows of one query and label, in all blocks. The rows of
    a query of differences are one class."""
    label: FloatArray
    """For differences the label of each row less the mean of its query; else empty."""
    scores: FloatArray = np.empty(0)
    """Less the labels, for differences."""

    @property
    def query_of(self) -> NDArray[np.int32]:
        """The number of each row's query."""
        return np.repeat(self.query, np.diff(self.start))

    @property
    def sample_weight(self) -> FloatArray:
        """The sample weights of the rows, 1 each where they have none."""
        return self.weight[0] if len(self.weight) else np.ones(self.code.size)

    def at(self, scores: FloatArray) -> CrossingRows:
        """Return the rows with their scores, from those of all rows of the block."""
        own = scores[self.places]
        if self.label.size:
            with np.errstate(over="ignore", invalid="ignore"):
                own = own - self.label
        return self._replace(scores=own)


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """The preferences of a block: queries that lie wholly in it, and rows of crossing queries."""

    whole: Levels | Differences | None
    """The whole queries, over all rows of the block; rows of crossing queries are left out as rows
    of weight 0 are. None: no whole query has a pair. The factor W/T or W/n_queries of a reduction
    is known later, so the objective multiplies by it."""
    crossing: CrossingRows


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
        self, task: Callable[[int, RowBlock, Any, Any], tuple[Any, Part]], shared: Any
    ) -> list[Part]:
        """Set the state of each block, a `BlockLayout` at last; return a report of each in order.

        `task(index, row_block, state, shared)` returns the new state, which stays with the block,
        and the report, which travels. It sees the block without X (None), and the state of the
        round before, None in the first.
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
