"""BlockHessian: exact products with the Hessian of all blocks, each by passes."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import BlockLayout, Passes
from pairrank.blocks.gathered import GatheredRows
from pairrank.blocks.sums import (
    Asked,
    bound_sum,
    crossing_places,
    design_of,
    merged_summaries,
    scores_at,
)


class Product(NamedTuple):
    """What a pass is sent for a product with the Hessian: weights, and a direction."""

    asked: Asked
    """The weights at which the Hessian is taken are the only ones of `coefs`."""
    curvature: Any
    """That of the crossing queries, or None."""
    direction: FloatArray

    def of_block(self, index: int) -> Product:
        """Return what this block needs."""
        if not hasattr(self.curvature, "of_block"):
            return self
        return self._replace(curvature=self.curvature.of_block(index))


def summarize_crossing(index: int, X: Any, layout: BlockLayout, asked: Asked) -> Any:
    """Return the summary of a block's crossing rows; None without any."""
    if asked.crossing is None or not layout.rows.size:
        return None
    scores = scores_at(design_of(X, asked.origin), layout, asked.coefs[0])
    return asked.crossing.summary(index, scores[crossing_places(layout)], layout)


def multiply_block(
    index: int, X: Any, layout: BlockLayout, sent: Product
) -> tuple[FloatArray, Any]:
    """Return the product of a block's whole queries, and the summary of its crossing rows."""
    asked = sent.asked
    design, bound = design_of(X, asked.origin), bound_sum(layout, asked)
    scores = scores_at(design, layout, asked.coefs[0])
    values = design.scores(sent.direction)
    product = np.zeros(design.n_features)
    if bound is not None:
        product = design.transposed(bound.at(scores).curvature().matvec(values))
    summary = None
    if sent.curvature is not None and layout.rows.size:
        at = crossing_places(layout)
        summary = sent.curvature.summary(index, scores[at], values[at], layout)
    return product, summary


def merge_products(
    curvature: Any, first: tuple[FloatArray, Any], second: tuple[FloatArray, Any]
) -> tuple[FloatArray, Any]:
    """Return the products and summaries of two sets of blocks together."""
    product = first[0]
    product += second[0]
    return product, merged_summaries(curvature, first[1], second[1])


def multiply_crossing(index: int, X: Any, layout: BlockLayout, sent: Product) -> FloatArray:
    """Return the product of a block's crossing rows; `curvature` is the finished product."""
    design = design_of(X, sent.asked.origin)
    by_row = np.zeros(design.n_rows)
    if layout.rows.size:
        at = crossing_places(layout)
        scores = scores_at(design, layout, sent.asked.coefs[0])
        values = design.scores(sent.direction)
        by_row[at] = sent.curvature.product(index, scores[at], values[at], layout)
    return design.transposed(by_row)


def add_products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Add a product to another in place."""
    first += second
    return first


class BlockHessian:
    """penalty I + factor X' H X over all blocks at given weights.

    A product is one pass over the blocks; where queries cross blocks two, and one more in the
    beginning. Rows that are `gathered` need none.
    """

    def __init__(
        self,
        passes: Passes,
        asked: Asked,
        factor: float,
        penalty: float,
        gathered: GatheredRows | None = None,
    ) -> None:
        self.passes, self.asked, self.factor, self.penalty = passes, asked, factor, penalty
        self.gathered = gathered

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`."""
        curvature = self._curvature
        sent = Product(self.asked, curvature, v)
        merge = functools.partial(merge_products, curvature)
        product, summary = self.passes.reduce(multiply_block, sent, merge)
        if self.gathered is not None:
            product = product + self.gathered.product(self.asked.coefs[0], v)
        if curvature is not None:
            sent = sent._replace(curvature=curvature.finish(summary))
            product = product + self.passes.reduce(multiply_crossing, sent, add_products)
        result: FloatArray = self.penalty * v + self.factor * product
        return result

    @functools.cached_property
    def _curvature(self) -> Any:
        crossing = self.asked.crossing
        if crossing is None:
            return None
        merge = functools.partial(merged_summaries, crossing)
        table = crossing.finish(self.passes.reduce(summarize_crossing, self.asked, merge))
        return table.curvature()
