"""What a pass computes of a block: pair sums at some weights, and products with their Hessian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, PairLoss, Sigmoidal
from pairrank.blocks._contracts import BlockLayout, Passes
from pairrank.blocks.catalog import design_of
from pairrank.blocks.crossing import CrossingSum, CrossingTable, Parts, Totals, merged_summaries
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
    """The pair sum of some blocks at a point."""

    totals: Totals
    gradient: FloatArray
    """The gradient by the weights, or the product."""
    summary: Parts
    """Of crossing queries, which are in the summary only."""

    def plus(self, other: Summed) -> Summed:
        """Return the sums of both sets of blocks; may write into this summary."""
        with np.errstate(over="ignore", invalid="ignore"):
            totals = Totals(*map(sum, zip(self.totals, other.totals, strict=True)))
            gradient = self.gradient + other.gradient
        return Summed(totals, gradient, merged_summaries(self.summary, other.summary))


def summed(passes: Passes, asked: Asked) -> list[Summed]:
    """Return the sums of all blocks by point, with the summaries of crossing queries.

    One pass; a second one where queries cross blocks.
    """
    sums = passes.reduce(evaluate_block, asked, merge_sums)
    if not asked.crossing:
        return sums
    tables = [
        crossing.finish(each.summary) for crossing, each in zip(asked.crossing, sums, strict=True)
    ]
    parts = passes.reduce(evaluate_crossing, (asked, tables), merge_sums)
    return [
        each.plus(part._replace(totals=table.totals._replace(square=part.totals.square)))
        for each, part, table in zip(sums, parts, tables, strict=True)
    ]


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
    result = []
    for at, w in enumerate(asked.points):
        scores, totals, gradient = design.scores(w), Totals(), np.zeros(design.n_features)
        summary = asked.crossing[at].summary(scores, layout, values) if asked.crossing else {}
        if bound is not None:
            found = bound.at(scores)
            by_row = found.gradient if values is None else found.curvature().matvec(values)
            gradient = design.transposed(by_row)
            if values is None:
                totals = Totals(found.value, found.error, found.gradient_error, _square(by_row))
        result.append(Summed(totals, gradient, summary))
    return result


def evaluate_crossing(
    index: int, X: Any, layout: BlockLayout, given: tuple[Asked, list[CrossingTable]]
) -> list[Summed]:
    """Return the gradient of crossing rows by the weights, or their product, by point."""
    asked, tables = given
    none = Summed(Totals(), np.zeros(X.shape[1]), {})
    if not layout.rows.size:
        return [none] * len(tables)
    design, result = design_of(X, asked.origin), []
    values = None if asked.direction is None else design.scores(asked.direction)
    for w, table in zip(asked.points, tables, strict=True):
        by_row = np.zeros(layout.n_rows)
        by_row[layout.rows] = table.entries(design.scores(w), layout, values)
        totals = Totals(square=_square(by_row))
        result.append(Summed(totals, design.transposed(by_row), {}))
    return result


def _square(values: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(values @ values)


def merge_sums(first: list[Summed], second: list[Summed]) -> list[Summed]:
    """Return the sums of two sets of blocks together; may write into the first."""
    return [one.plus(other) for one, other in zip(first, second, strict=True)]


@dataclass(frozen=True, eq=False)
class BlockHessian:
    """penalty I + factor X' H X over all blocks at the point asked for, by passes.

    The crossing sums asked for are those of the curvature.
    """

    passes: Passes
    asked: Asked
    factor: float
    penalty: float

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; costs as `summed`."""
        (found,) = summed(self.passes, self.asked._replace(direction=v))
        return np.asarray(self.penalty * v + self.factor * found.gradient)
