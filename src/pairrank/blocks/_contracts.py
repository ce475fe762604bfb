"""The contracts of blocks: RowBlock, BlockLayout, Passes, and sums over crossing queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
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
    in ascending order; all arrays of them are (n_crossing,).
    """

    n_rows: int
    whole: Levels | Pairs | Differences | None
    """The whole queries, over all `n_rows` of the block; rows of crossing queries are left out as
    rows of weight 0 are. None: no whole query has a pair. Its `pair_scale` is that of the reduction
    "query"; the factor W/T of "rows" is known later, so the objective multiplies by it."""
    rows: NDArray[np.int32]
    """The places of the rows of crossing queries."""
    query: NDArray[np.int32]
    """The number of each such row's query among the crossing queries of all blocks."""
    level: NDArray[np.int32]
    """The rank of each such row's label among the labels of all blocks, where these are few; empty
    for differences and for many labels."""
    label: FloatArray
    """The label of each such row, for many labels; for differences less one label of its query, the
    same one in all blocks; else empty."""
    weight: FloatArray
    """Weights of each such row, (S, n_crossing): S = 0 without weights, 1 with sample weights, 2
    with weights as winners and as losers."""
    kept_scores: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False)
    """The scores of all rows at some weights, by the bytes of these: a later pass at the same
    weights need not compute them. They do not travel, and are computed again if they are lost."""

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, each.name) for each in fields(self) if each.init)


class SecondPass(NamedTuple):
    """A pass that needs the merged results of a first one; functions as for `Passes.reduce`."""

    finish: Callable[[Any, Any], tuple[Any, Any]]
    """From the results of the first pass and what it shared: the results that are needed at the
    end, and what this pass shares."""
    task: Callable[[int, Any, Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    conclude: Callable[[Any, Any], Any]
    """From the results of the first pass and of this one: the result of both."""
    anywhere: bool
    """Whether each machine can finish the first pass; else this process does."""


class Passes(Protocol):
    """Blocks that a fit goes over again and again: in memory, on disk or on a cluster."""

    @property
    def is_remote(self) -> bool:
        """Whether the blocks are on other machines: then no pass asks for their X."""

    @property
    def works_meanwhile(self) -> bool:
        """Whether other machines, which keep X in memory, work on a pass that has begun."""

    @property
    def n_blocks(self) -> int:
        """The number of blocks; 0 where it is unknown before `describe`."""

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks; 0 where it is unknown before `describe`."""

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
    ) -> Part:
        """Return the merged results of `task(index, X, state, shared)` of every block, one pass.

        `index` is the block's number and `state` what `prepare` returned for it. `task` and `merge`
        are functions at module level, or partials of them that hold little: a cluster sends them by
        name, and `shared` once for each pass. A `shared` with a method `of_block(index)` is for
        each block what that method returns. `merge` is associative; it may write into its first
        argument and is applied in an order that depends on the number of blocks only. A pass that
        an interrupt or a lost cluster ends raises.
        """

    def begin(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
        second: SecondPass | None = None,
    ) -> Callable[[], Part]:
        """Start what `reduce` does; return what waits for the result.

        With `second`, the result is what it concludes from the merged results of `task` and from
        those of its own pass. On this machine the passes run when the result is asked for.
        """

    def describe(self, task: Callable[[int, RowBlock, Any], Part], shared: Any) -> list[Part]:
        """Return `task(index, row_block, shared)` of every block in order: the first pass.

        A digest of each block is kept; a block that differs in a later pass is an error.
        """

    def prepare(
        self, task: Callable[[int, RowBlock, Any], tuple[Any, Part]], shared: Any
    ) -> Sequence[Part]:
        """Set the state of each block, a `BlockLayout` as a rule; return a report of each in order.

        `task(index, row_block, shared)` returns the state, which stays with the block, and the
        report, which travels. It sees the block without X (None) where the first pass has kept the
        rest. A fit prepares its blocks once; a later call replaces the states. Reports that nobody
        reads need not be waited for.
        """


class CrossingProduct(Protocol):
    """The Hessian of a crossing sum times a vector, merged; sent to every block."""

    def of_block(self, index: int) -> CrossingProduct:
        """Return what this block needs."""

    def product(
        self, index: int, scores: FloatArray, values: FloatArray, layout: BlockLayout
    ) -> FloatArray:
        """Return the products of a block's crossing rows, from scores and values, (n_crossing,)."""


class CrossingCurvature(Protocol):
    """The (generalised) Hessian of a crossing sum by the scores: a product takes two passes."""

    def summary(
        self, index: int, scores: FloatArray, values: FloatArray, layout: BlockLayout
    ) -> Any:
        """Return what other blocks must know of a block's values at its crossing rows."""

    def merge(self, first: Any, second: Any) -> Any:
        """Return the summary of two sets of blocks together; may write into the first."""

    def finish(self, merged: Any) -> CrossingProduct:
        """Return what gives each row its entry of the product."""


class CrossingTable(Protocol):
    """A merged pair sum over crossing queries at some scores; sent to every block."""

    @property
    def value(self) -> float:
        """The sum."""

    @property
    def error(self) -> float:
        """Bound on the error of `value`, rounding aside."""

    @property
    def gradient_error(self) -> float:
        """Bound on the sum over rows of the errors of `gradient`."""

    def of_block(self, index: int) -> CrossingTable:
        """Return what this block needs: all of it, but only its own rows' exchanged gradients."""

    def gradient(self, index: int, scores: FloatArray, layout: BlockLayout) -> FloatArray:
        """Return the gradients of a block's crossing rows at their scores, (n_crossing,)."""

    def curvature(self) -> CrossingCurvature:
        """Return the Hessian at these scores, of a smooth loss; where the sum was finished only."""


class CrossingSum(Protocol):
    """A loss over the preferences of crossing queries, cut into summary, merge and finish.

    Small: it is sent to every block. It holds no scores. A copy that was pickled cannot finish
    exchanged rows, whose labels and weights stay where the sum was made.
    """

    smooth: bool
    """Whether the loss has a curvature."""

    @property
    def finishes_anywhere(self) -> bool:
        """Whether a copy that was pickled can finish: no rows are exchanged."""

    def summary(self, index: int, scores: FloatArray, layout: BlockLayout) -> Any:
        """Return what other blocks must know of a block's crossing rows, (n_crossing,) scores."""

    def merge(self, first: Any, second: Any) -> Any:
        """Return the summary of two sets of blocks together; may write into the first."""

    def finish(self, merged: Any) -> CrossingTable:
        """Return value, error and what gives each row its gradient."""

    def sharpen(self) -> bool:
        """Allow a smaller error from now on; False where it cannot be smaller."""
