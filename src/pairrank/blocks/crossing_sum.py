"""Pair sums over queries that cross blocks: summaries of blocks, merged, then one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.blocks._contracts import BlockLayout
from pairrank.blocks.crossing_boxes import BoxedLevels
from pairrank.blocks.crossing_cells import CellsOfLevels
from pairrank.blocks.crossing_parts import OwnRows, Part, rows_at
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.blocks.crossing_squares import SquaredResiduals
from pairrank.pair_sums._bound import as_scores, no_curvature
from pairrank.pair_sums.plan import check_eps

Parts = dict[int, Any]


def crossing_sum(loss: PairLoss, queries: tuple[MomentQuery, ...], eps: float = 1e-6) -> BlockedSum:
    """Return the sum of a loss over the preferences of queries that cross blocks.

    Parameters
    ----------
    loss : PairLoss
        Of a family that has moments.
    queries : tuple of MomentQuery
        The queries that have a pair, by ascending number; squares need none.
    eps : float, default 1e-6
        As for `pairrank.pair_sums.bind`. Sums by cells compute their own errors.

    Returns
    -------
    BlockedSum

    Raises
    ------
    PairrankError
        If eps is out of range.
    """
    check_eps(eps)
    if isinstance(loss.family, Squares):
        return BlockedSum([SquaredResiduals()], None, loss.smooth)
    parts = [_by_moments(loss, query, eps) for query in queries]
    return BlockedSum(parts, np.array([each.query for each in queries], np.int64), loss.smooth)


def _by_moments(loss: PairLoss, query: MomentQuery, eps: float) -> Part:
    family = loss.family
    if isinstance(family, PiecewisePolynomial):
        return CellsOfLevels(family.terms, query)
    if isinstance(family, Tubes):
        return CellsOfLevels(((-family.epsilon, family.power, 1.0),), query)
    assert isinstance(family, Sigmoidal)
    return BoxedLevels(family, query, eps)


class BlockedSum:
    """A loss over crossing queries, cut into summary, merge and finish.

    Part k has the query numbers[k]; other queries have no pair. `numbers` is None where one part
    has all queries. A summary has what other blocks must know of a block's rows, by part. It is
    small and holds no scores, so that it is sent to every block.
    """

    def __init__(self, parts: list[Part], numbers: NDArray[np.int64] | None, smooth: bool) -> None:
        self.parts, self.numbers, self.smooth = parts, numbers, smooth

    def summary(self, index: int, scores: FloatArray, layout: BlockLayout) -> Parts:
        """Return what other blocks must know of a block's crossing rows, (n_crossing,) scores."""
        return {
            k: self.parts[k].summary(index, rows)
            for k, _, rows in _rows_of(self.numbers, scores, layout)
        }

    def finish(self, merged: Parts) -> BlockedTable:
        """Return value, errors and gradients from the merged summary of all blocks."""
        tables = {k: self.parts[k].finish(each) for k, each in sorted(merged.items())}
        return BlockedTable(
            self.numbers,
            tables,
            self.smooth,
            float(sum(each.value for each in tables.values())),
            float(sum(each.error for each in tables.values())),
            float(sum(each.gradient_error for each in tables.values())),
        )

    def sharpen(self) -> bool:
        """Sharpen every part; False if none can be sharpened."""
        return any([part.sharpen() for part in self.parts])


def merged_summaries(first: Parts, second: Parts) -> Parts:
    """Return the summaries of two sets of blocks together; writes into the first."""
    for k, part in second.items():
        first[k] = first[k].merged(part) if k in first else part
    return first


def _rows_of(
    numbers: NDArray[np.int64] | None, scores: FloatArray, layout: BlockLayout
) -> Iterator[tuple[int, slice, OwnRows]]:
    """Yield the number, the places and the rows of each part in a block."""
    scores = as_scores(scores, layout.rows.size)
    if numbers is None:
        every = slice(0, layout.rows.size)
        if layout.rows.size:
            yield 0, every, rows_at(layout, scores, every)
        return
    at = np.searchsorted(numbers, layout.query)
    known = np.isin(layout.query, numbers)
    for place in np.flatnonzero(known):
        own = slice(int(layout.start[place]), int(layout.start[place + 1]))
        yield int(at[place]), own, rows_at(layout, scores, own)


@dataclass(frozen=True, eq=False)
class BlockedTable:
    """A merged pair sum over crossing queries at some scores; sent to every block."""

    numbers: NDArray[np.int64] | None
    parts: Parts
    smooth: bool
    value: float
    error: float
    gradient_error: float

    def gradient(self, index: int, scores: FloatArray, layout: BlockLayout) -> FloatArray:
        """Return the gradients of a block's crossing rows at their scores, (n_crossing,)."""
        result = np.zeros(layout.rows.size)
        for k, places, rows in _rows_of(self.numbers, scores, layout):
            result[places] = self.parts[k].gradient(index, rows)
        return result

    def curvature(self) -> BlockedCurvature:
        """Return the Hessian at these scores, of a smooth loss."""
        if not self.smooth:
            no_curvature()
        return BlockedCurvature(
            self.numbers, {k: each.curvature() for k, each in self.parts.items()}
        )


@dataclass(frozen=True, eq=False)
class BlockedCurvature:
    """The Hessian by the scores; a product takes two passes."""

    numbers: NDArray[np.int64] | None
    parts: Parts

    def summary(
        self, index: int, scores: FloatArray, values: FloatArray, layout: BlockLayout
    ) -> Parts:
        """Return what other blocks must know of a block's values at its crossing rows."""
        values = as_scores(values, layout.rows.size)
        return {
            k: self.parts[k].summary(index, rows, np.ascontiguousarray(values[places]))
            for k, places, rows in _rows_of(self.numbers, scores, layout)
        }

    def finish(self, merged: Parts) -> BlockedProduct:
        """Return what gives each row its entry of the product."""
        return BlockedProduct(
            self.numbers, {k: self.parts[k].finish(each) for k, each in merged.items()}
        )


@dataclass(frozen=True, eq=False)
class BlockedProduct:
    """The Hessian times a vector, merged; sent to every block."""

    numbers: NDArray[np.int64] | None
    parts: Parts

    def product(
        self, index: int, scores: FloatArray, values: FloatArray, layout: BlockLayout
    ) -> FloatArray:
        """Return the products of a block's crossing rows, (n_crossing,)."""
        values = as_scores(values, layout.rows.size)
        result = np.zeros(values.size)
        for k, places, rows in _rows_of(self.numbers, scores, layout):
            own = np.ascontiguousarray(values[places])
            result[places] = self.parts[k].product(index, rows, own)
        return result
