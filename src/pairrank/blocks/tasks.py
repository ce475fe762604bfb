"""What a pass computes of a block: pair sums at some weights, and products with their Hessian."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, PairLoss, Sigmoidal
from pairrank.blocks._contracts import BlockLayout, Passes
from pairrank.blocks.crossing_sum import CrossingSum, CrossingTable, merged_summaries
from pairrank.design import Design
from pairrank.pair_sums import bind
from pairrank.pair_sums.profiles import LEAST_EPS


class Asked(NamedTuple):
    """What a pass is sent: the loss, the sharpness of its sums, and weights to evaluate."""

    loss: PairLoss
    algorithm: str
    eps: float
    n_sharper: int
    origin: FloatArray | None
    crossing: tuple[CrossingSum, ...]
    """The sum over crossing queries by point; empty where there are none."""
    points: tuple[FloatArray, ...]
    direction: FloatArray | None = None
    """What the Hessian is multiplied by, where gradients are not asked for."""


class Summed(NamedTuple):
    """The pair sum of some blocks at a point; of a product with the Hessian the gradient alone."""

    value: float
    error: float
    gradient: FloatArray
    """The gradient by the weights, or the product."""
    gradient_error: float
    square: float
    """The squared norm of the gradient by the scores."""
    summary: dict[int, Any]
    """Of crossing queries, which are in the summary only."""

    def plus(self, other: Summed) -> Summed:
        """Return the sums of both sets of blocks; may write into this summary."""
        return Summed(
            self.value + other.value,
            self.error + other.error,
            self.gradient + other.gradient,
            self.gradient_error + other.gradient_error,
            self.square + other.square,
            merged_summaries(self.summary, other.summary),
        )


def summed(passes: Passes, asked: Asked) -> list[tuple[Summed, CrossingTable | None]]:
    """Return the sums of all blocks by point, and the table of crossing queries.

    One pass; a second one where queries cross blocks.
    """
    sums = passes.reduce(evaluate_block, asked, merge_sums)
    if not asked.crossing:
        return [(each, None) for each in sums]
    tables = [
        crossing.finish(each.summary) for crossing, each in zip(asked.crossing, sums, strict=True)
    ]
    parts = passes.reduce(evaluate_crossing, (asked, tables), merge_sums)
    with np.errstate(over="ignore", invalid="ignore"):
        own = [
            Summed(
                each.value + table.value,
                each.error + table.error,
                each.gradient + part.gradient,
                each.gradient_error + table.gradient_error,
                each.square + part.square,
                {},
            )
            for each, table, part in zip(sums, tables, parts, strict=True)
        ]
    return list(zip(own, tables, strict=True))


def design_of(X: Any, origin: FloatArray | None) -> Design:
    """Return the design of a block's rows, less the origin."""
    return Design(X if origin is None else np.subtract(X, origin.astype(X.dtype)))


def bound_sum(layout: BlockLayout, asked: Asked) -> Any:
    """Return the sum over a block's whole queries, as sharp as asked for; None without a pair."""
    if layout.whole is None:
        return None
    sigmoidal = isinstance(asked.loss.family, Sigmoidal)
    eps = max(asked.eps * 0.01**asked.n_sharper, min(asked.eps, LEAST_EPS))
    bound = bind(asked.loss, layout.whole, pair_sum=asked.algorithm, eps=eps)
    for _ in range(0 if sigmoidal else asked.n_sharper):
        bound.sharpen()
    return bound


def evaluate_block(index: int, X: Any, layout: BlockLayout, asked: Asked) -> list[Summed]:
    """Return the sums of whole queries, and the summary of crossing ones, by point."""
    design, bound = design_of(X, asked.origin), bound_sum(layout, asked)
    values = None if asked.direction is None else design.scores(asked.direction)
    crossing = asked.crossing or [None] * len(asked.points)
    return [
        _summed(design, bound, layout, each, w, values)
        for each, w in zip(crossing, asked.points, strict=True)
    ]


def _summed(
    design: Design,
    bound: Any,
    layout: BlockLayout,
    crossing: CrossingSum | None,
    w: FloatArray,
    values: FloatArray | None,
) -> Summed:
    scores, summary = design.scores(w), {}
    if crossing is not None and layout.rows.size:
        summary = crossing.summary(*_crossing_rows(layout, scores, values))
    if bound is None:
        return Summed(0.0, 0.0, np.zeros(design.n_features), 0.0, 0.0, summary)
    found = bound.at(scores)
    if values is not None:
        product = design.transposed(found.curvature().matvec(values))
        return Summed(0.0, 0.0, product, 0.0, 0.0, summary)
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(found.gradient @ found.gradient)
    gradient = design.transposed(found.gradient)
    return Summed(found.value, found.error, gradient, found.gradient_error, square, summary)


def evaluate_crossing(
    index: int, X: Any, layout: BlockLayout, given: tuple[Asked, list[CrossingTable]]
) -> list[Summed]:
    """Return the gradient of crossing rows by the weights, or their product, by point."""
    asked, tables = given
    none = Summed(0.0, 0.0, np.zeros(X.shape[1]), 0.0, 0.0, {})
    if not layout.rows.size:
        return [none] * len(tables)
    design, found = design_of(X, asked.origin), []
    values = None if asked.direction is None else design.scores(asked.direction)
    for w, table in zip(asked.points, tables, strict=True):
        own = table.entries(*_crossing_rows(layout, design.scores(w), values))
        by_row = np.zeros(layout.n_rows)
        by_row[layout.rows] = own
        with np.errstate(over="ignore", invalid="ignore"):
            square = float(own @ own)
        found.append(none._replace(gradient=design.transposed(by_row), square=square))
    return found


def _crossing_rows(
    layout: BlockLayout, scores: FloatArray, values: FloatArray | None
) -> tuple[FloatArray, BlockLayout, FloatArray | None]:
    return scores[layout.rows], layout, None if values is None else values[layout.rows]


def merge_sums(first: list[Summed], second: list[Summed]) -> list[Summed]:
    """Return the sums of two sets of blocks together; may write into the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        return [one.plus(other) for one, other in zip(first, second, strict=True)]


class BlockHessian:
    """penalty I + factor X' H X over all blocks at given weights; a product costs as `summed`.

    `table` is that of the crossing queries at these weights.
    """

    def __init__(
        self,
        passes: Passes,
        asked: Asked,
        table: CrossingTable | None,
        factor: float,
        penalty: float,
    ) -> None:
        self.passes, self.asked, self.table = passes, asked, table
        self.factor, self.penalty = factor, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`."""
        asked = self.asked._replace(crossing=self._curvature, direction=v)
        ((found, _),) = summed(self.passes, asked)
        result: FloatArray = self.penalty * v + self.factor * found.gradient
        return result

    @functools.cached_property
    def _curvature(self) -> tuple[CrossingSum, ...]:
        return () if self.table is None else (self.table.curvature(),)
