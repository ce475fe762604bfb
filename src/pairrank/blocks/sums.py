"""The pair sums of a block at some weights: what a pass computes, and how results are merged."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, Sigmoidal
from pairrank.blocks._contracts import BlockLayout, CrossingSum, CrossingTable
from pairrank.blocks.gathered import BlockRows
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
    crossing: CrossingSum | None
    coefs: FloatArray
    """(n_points, n_features)."""
    gathers: bool = False
    """Whether the X of crossing rows is asked for."""
    keeps: bool = False
    """Whether the scores of blocks with crossing rows are kept for the second pass."""


class Summed(NamedTuple):
    """What a pass returns of some blocks; arrays are (n_points, ...)."""

    value: FloatArray
    error: FloatArray
    gradient: FloatArray
    """The gradient by the weights, without that of crossing rows."""
    gradient_error: FloatArray
    square: FloatArray
    """The squared norm of the gradient by the scores."""
    summaries: list[Any]
    """Of crossing queries, one per point; None where the blocks have none."""
    rows: BlockRows
    """The X of crossing rows, if it was asked for."""


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


def evaluate_block(index: int, X: Any, layout: BlockLayout, asked: Asked) -> Summed:
    """Return value and gradient of a block's whole queries, and summaries of crossing ones."""
    design, bound = design_of(X, asked.origin), bound_sum(layout, asked)
    n_points, n_features = asked.coefs.shape
    one = functools.partial(np.zeros, n_points)
    result = Summed(one(), one(), np.zeros((n_points, n_features)), one(), one(), [], {})
    if asked.gathers and layout.rows.size:
        result.rows[index] = design.X[layout.rows]
    kept: dict[bytes, FloatArray] = {}
    for at, w in enumerate(asked.coefs):
        scores = scores_at(design, layout, w)
        if asked.keeps and layout.rows.size and w.any():
            kept[w.tobytes()] = scores
        if bound is not None:
            found = bound.at(scores)
            result.value[at], result.error[at] = found.value, found.error
            result.gradient_error[at] = found.gradient_error
            with np.errstate(over="ignore", invalid="ignore"):
                result.square[at] = found.gradient @ found.gradient
                result.gradient[at] = design.transposed(found.gradient)
        summary = None
        if asked.crossing is not None and layout.rows.size:
            summary = asked.crossing.summary(index, scores[crossing_places(layout)], layout)
        result.summaries.append(summary)
    if asked.coefs.any():  # else the scores of another evaluation may still be needed
        layout.kept_scores.clear()
        layout.kept_scores.update(kept)
    return result


def scores_at(design: Design, layout: BlockLayout, w: FloatArray) -> FloatArray:
    """Return the scores of a block's rows, if possible those that an earlier pass has kept."""
    if not w.any():
        return np.zeros(design.n_rows)
    kept = layout.kept_scores.get(w.tobytes())
    return design.scores(w) if kept is None else kept


def crossing_places(layout: BlockLayout) -> slice | NDArray[np.int32]:
    """Return the places of the crossing rows: a slice, which copies nothing, if all rows are."""
    return slice(None) if layout.rows.size == layout.n_rows else layout.rows


def merge_sums(crossing: CrossingSum | None, first: Summed, second: Summed) -> Summed:
    """Return the sums of two sets of blocks together, in the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        for into, other in zip(first[:-2], second[:-2], strict=True):
            into += other
    first.rows.update(second.rows)
    for at, summary in enumerate(second.summaries):
        first.summaries[at] = merged_summaries(crossing, first.summaries[at], summary)
    return first


def merged_summaries(crossing: Any, first: Any, second: Any) -> Any:
    """Return two summaries of crossing rows together; either may be None."""
    if first is None or second is None:
        return second if first is None else first
    return crossing.merge(first, second)


class Given(NamedTuple):
    """What the second pass is sent: the tables of crossing queries, one per point."""

    origin: FloatArray | None
    coefs: FloatArray
    tables: list[CrossingTable]

    def of_block(self, index: int) -> Given:
        """Return what this block needs."""
        return self._replace(tables=[table.of_block(index) for table in self.tables])


def crossing_gradient(
    index: int, X: Any, layout: BlockLayout, given: Given
) -> tuple[FloatArray, FloatArray]:
    """Return the gradients of a block's crossing rows by the weights, and their squared norms."""
    n_points, n_features = given.coefs.shape
    square = np.zeros(n_points)
    if not layout.rows.size:
        return np.zeros((n_points, n_features)), square
    design, places = design_of(X, given.origin), crossing_places(layout)
    if n_points == 1 and isinstance(places, slice):
        (table,) = given.tables
        own = table.gradient(index, scores_at(design, layout, given.coefs[0]), layout)
        with np.errstate(over="ignore", invalid="ignore"):
            return design.transposed(own)[np.newaxis], np.array([own @ own])
    by_row = np.zeros((n_points, design.n_rows))
    for at, (w, table) in enumerate(zip(given.coefs, given.tables, strict=True)):
        own = table.gradient(index, scores_at(design, layout, w)[places], layout)
        by_row[at, places] = own
        with np.errstate(over="ignore", invalid="ignore"):
            square[at] = own @ own
    return design.transposed_rows(by_row), square


def finish_tables(sums: Summed, asked: Asked) -> tuple[Summed, Given]:
    """Return the sums with the values of crossing queries, and what the second pass is sent."""
    assert asked.crossing is not None
    tables = [asked.crossing.finish(summary) for summary in sums.summaries]
    for at, table in enumerate(tables):
        sums.value[at] += table.value
        sums.error[at] += table.error
        sums.gradient_error[at] += table.gradient_error
    return sums._replace(summaries=[]), Given(asked.origin, asked.coefs, tables)


def add_crossing(sums: Summed, parts: tuple[FloatArray, FloatArray]) -> Summed:
    """Return the sums with the gradients of crossing rows."""
    add_arrays((sums.gradient, sums.square), parts)
    return sums


def add_arrays(
    first: tuple[FloatArray, ...], second: tuple[FloatArray, ...]
) -> tuple[FloatArray, ...]:
    """Add arrays to others in place."""
    with np.errstate(over="ignore", invalid="ignore"):
        for into, other in zip(first, second, strict=True):
            into += other
    return first
