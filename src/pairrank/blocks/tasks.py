"""What a pass computes of a block: pair sums at some weights, and products with their Hessian."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, PairLoss, Sigmoidal
from pairrank.blocks._contracts import BlockLayout, Passes
from pairrank.blocks.crossing_sum import BlockedSum, BlockedTable, merged_summaries
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
    crossing: BlockedSum | None
    points: tuple[FloatArray, ...]


class Summed(NamedTuple):
    """The pair sum of some blocks at a point."""

    value: float
    error: float
    gradient: FloatArray
    """The gradient by the weights, without that of crossing rows."""
    gradient_error: float
    square: float
    """The squared norm of the gradient by the scores."""
    summary: dict[int, Any]
    """Of crossing queries."""

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

    def with_crossing(self, table: BlockedTable, gradient: FloatArray, square: float) -> Summed:
        """Return the sums with those of crossing queries."""
        with np.errstate(over="ignore", invalid="ignore"):
            return Summed(
                self.value + table.value,
                self.error + table.error,
                self.gradient + gradient,
                self.gradient_error + table.gradient_error,
                self.square + square,
                {},
            )


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
    """Return value and gradient of whole queries, and the summary of crossing ones, by point."""
    design, bound = design_of(X, asked.origin), bound_sum(layout, asked)
    return [_summed(index, design, bound, layout, asked.crossing, w) for w in asked.points]


def _summed(
    index: int,
    design: Design,
    bound: Any,
    layout: BlockLayout,
    crossing: BlockedSum | None,
    w: FloatArray,
) -> Summed:
    scores = design.scores(w)
    summary = {}
    if crossing is not None and layout.rows.size:
        summary = crossing.summary(index, scores[layout.places], layout)
    if bound is None:
        return Summed(0.0, 0.0, np.zeros(design.n_features), 0.0, 0.0, summary)
    found = bound.at(scores)
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(found.gradient @ found.gradient)
    gradient = design.transposed(found.gradient)
    return Summed(found.value, found.error, gradient, found.gradient_error, square, summary)


def merge_sums(first: list[Summed], second: list[Summed]) -> list[Summed]:
    """Return the sums of two sets of blocks together; may write into the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        return [one.plus(other) for one, other in zip(first, second, strict=True)]


def crossing_gradients(
    index: int, X: Any, layout: BlockLayout, given: tuple[Asked, list[BlockedTable]]
) -> list[tuple[FloatArray, float]]:
    """Return the gradient of crossing rows by the weights, and its squared norm, by point."""
    asked, tables = given
    if not layout.rows.size:
        return [(np.zeros(w.size), 0.0) for w in asked.points]
    design, found = design_of(X, asked.origin), []
    for w, table in zip(asked.points, tables, strict=True):
        own = table.gradient(index, design.scores(w)[layout.places], layout)
        with np.errstate(over="ignore", invalid="ignore"):
            found.append((design.transposed(_by_row(own, layout)), float(own @ own)))
    return found


def add_gradients(
    first: list[tuple[FloatArray, float]], second: list[tuple[FloatArray, float]]
) -> list[tuple[FloatArray, float]]:
    """Return the sums of gradients and of squared norms."""
    with np.errstate(over="ignore", invalid="ignore"):
        return [(a + b, c + d) for (a, c), (b, d) in zip(first, second, strict=True)]


def _by_row(values: FloatArray, layout: BlockLayout) -> FloatArray:
    """Return values of crossing rows as values of all rows of the block, 0 for the others."""
    if isinstance(layout.places, slice):
        return values
    result = np.zeros(layout.n_rows)
    result[layout.rows] = values
    return result


class _Product(NamedTuple):
    """What a pass is sent for a product with the Hessian at the only point of `asked`."""

    asked: Asked
    crossing: Any
    """The curvature of crossing queries, then their product; or None."""
    direction: FloatArray


def _summarize(index: int, X: Any, layout: BlockLayout, asked: Asked) -> dict[int, Any]:
    """Return the summary of a block's crossing rows."""
    if not layout.rows.size:
        return {}
    assert asked.crossing is not None
    scores = design_of(X, asked.origin).scores(asked.points[0])
    return asked.crossing.summary(index, scores[layout.places], layout)


def _multiply(
    index: int, X: Any, layout: BlockLayout, sent: _Product
) -> tuple[FloatArray, dict[int, Any]]:
    """Return the product of a block's whole queries, and the summary of its crossing rows."""
    asked = sent.asked
    design, bound = design_of(X, asked.origin), bound_sum(layout, asked)
    scores, values = design.scores(asked.points[0]), design.scores(sent.direction)
    product, summary = np.zeros(design.n_features), {}
    if bound is not None:
        product = design.transposed(bound.at(scores).curvature().matvec(values))
    if sent.crossing is not None and layout.rows.size:
        at = layout.places
        summary = sent.crossing.summary(index, scores[at], values[at], layout)
    return product, summary


def _merge_products(first: tuple[FloatArray, Any], second: tuple[FloatArray, Any]) -> Any:
    """Return the products and summaries of two sets of blocks together."""
    return first[0] + second[0], merged_summaries(first[1], second[1])


def _multiply_crossing(index: int, X: Any, layout: BlockLayout, sent: _Product) -> FloatArray:
    """Return the product of a block's crossing rows."""
    design, at = design_of(X, sent.asked.origin), layout.places
    if not layout.rows.size:
        return np.zeros(design.n_features)
    scores, values = design.scores(sent.asked.points[0]), design.scores(sent.direction)
    own = sent.crossing.product(index, scores[at], values[at], layout)
    return design.transposed(_by_row(own, layout))


class BlockHessian:
    """penalty I + factor X' H X over all blocks at given weights.

    A product is one pass over the blocks; where queries cross blocks two, and one more in the
    beginning.
    """

    def __init__(self, passes: Passes, asked: Asked, factor: float, penalty: float) -> None:
        self.passes, self.asked, self.factor, self.penalty = passes, asked, factor, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`."""
        curvature = self._curvature
        sent = _Product(self.asked, curvature, v)
        product, summary = self.passes.reduce(_multiply, sent, _merge_products)
        if curvature is not None:
            sent = sent._replace(crossing=curvature.finish(summary))
            product = product + self.passes.reduce(_multiply_crossing, sent, operator.add)
        result: FloatArray = self.penalty * v + self.factor * product
        return result

    @functools.cached_property
    def _curvature(self) -> Any:
        crossing = self.asked.crossing
        if crossing is None:
            return None
        summary = self.passes.reduce(_summarize, self.asked, merged_summaries)
        return crossing.finish(summary).curvature()
