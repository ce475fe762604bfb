"""Pair sums over queries that cross blocks: summaries of blocks, merged, then one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.blocks._contracts import BlockLayout
from pairrank.blocks.crossing_boxes import BoxedLevels
from pairrank.blocks.crossing_cells import CellsOfLevels
from pairrank.blocks.crossing_parts import (
    OwnRows,
    Part,
    gradient_of_levels,
    grouped,
    has_one_score,
    places_of_parts,
    rows_at,
)
from pairrank.blocks.crossing_queries import CrossingQueries, MomentQuery
from pairrank.blocks.crossing_rows import RowExchange
from pairrank.blocks.crossing_squares import SquaredResiduals
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._bound import as_scores, no_curvature
from pairrank.pair_sums.plan import check_eps

IntArray = NDArray[np.int64]


def crossing_sum(loss: PairLoss, crossing: CrossingQueries, eps: float = 1e-6) -> BlockedSum:
    """Return the sum of a loss over the preferences of queries that cross blocks.

    Parameters
    ----------
    loss : PairLoss
    crossing : CrossingQueries
    eps : float, default 1e-6
        As for `pairrank.pair_sums.bind`. Sums by cells compute their own errors.

    Returns
    -------
    BlockedSum

    Raises
    ------
    PairrankError
        If eps is out of range, or a query is to travel as moments that this loss has not.
    """
    check_eps(eps)
    if isinstance(loss.family, Squares):
        return BlockedSum([SquaredResiduals()], np.empty(0, dtype=np.int64), loss.smooth)
    first: Part | None = None
    if crossing.exchanged is not None:
        first = RowExchange(loss, crossing.exchanged, eps)
    parts = [_by_moments(loss, query, eps) for query in crossing.moments]
    return BlockedSum([first, *parts], crossing.numbers, loss.smooth)


def _by_moments(loss: PairLoss, query: MomentQuery, eps: float) -> Part:
    family = loss.family
    if isinstance(family, PiecewisePolynomial):
        return CellsOfLevels(family.terms, query)
    if isinstance(family, Tubes):
        return CellsOfLevels(((-family.epsilon, family.power, 1.0),), query)
    if isinstance(family, Sigmoidal):
        return BoxedLevels(family, query, eps)
    raise PairrankError(
        f"the loss {type(loss).__name__} has no moments: leave its queries out of "
        "CrossingQueries.moments, so that their rows' scores are exchanged"
    )


@dataclass(eq=False)
class Summary:
    """The summaries of the parts that have rows in some blocks.

    `met` has the numbers of those parts by block: a block needs the tables of its own parts only.
    """

    parts: dict[int, Any]
    met: dict[int, list[int]]

    @classmethod
    def of(cls, index: int, parts: dict[int, Any]) -> Summary:
        """Return the summary of one block."""
        return cls(parts, {index: list(parts)})

    def merged(self, other: Summary) -> Summary:
        """Return the summary of both sets of blocks, part by part."""
        parts = dict(self.parts)
        for k, part in other.parts.items():
            parts[k] = parts[k].merged(part) if k in parts else part
        return Summary(parts, {**self.met, **other.met})


def _needed(parts: dict[int, Any], met: dict[int, list[int]], index: int) -> dict[int, Any]:
    """Return what a block needs of the parts' tables."""
    return {k: parts[k].of_block(index) for k in met.get(index, [])}


class BlockedSum:
    """A `CrossingSum`: parts for exchanged rows and for each query that travels as moments.

    Part 0 has the queries that are not in `numbers`, part k + 1 has the query numbers[k].
    """

    def __init__(self, parts: list[Part | None], numbers: IntArray, smooth: bool) -> None:
        self.parts, self.numbers, self.smooth = parts, numbers, smooth

    @property
    def finishes_anywhere(self) -> bool:
        """Whether a copy that was pickled can finish: no rows are exchanged."""
        return not isinstance(self.parts[0], RowExchange)

    def summary(self, index: int, scores: FloatArray, layout: BlockLayout) -> Summary:
        """Return what other blocks must know of a block's crossing rows, (n_crossing,) scores."""
        found = _rows_of(self.numbers, scores, layout)
        parts = {}
        for k, (_, rows) in found.items():
            given = grouped(rows) if k and has_one_score(rows) else rows
            parts[k] = self._part(k).summary(index, given)
        return Summary.of(index, parts)

    def merge(self, first: Summary, second: Summary) -> Summary:
        """Return the summary of two sets of blocks together; writes into the first."""
        return first.merged(second)

    def finish(self, merged: Summary) -> BlockedTable:
        """Return value, errors and gradients from the merged summary of all blocks."""
        parts = {k: self._part(k).finish(each) for k, each in sorted(merged.parts.items())}
        return BlockedTable(
            self.numbers,
            parts,
            merged.met,
            self.smooth,
            float(sum(each.value for each in parts.values())),
            float(sum(each.error for each in parts.values())),
            float(sum(each.gradient_error for each in parts.values())),
        )

    def _part(self, k: int) -> Part:
        part = self.parts[k]
        if part is None:
            raise PairrankError(
                "rows of crossing queries are to be exchanged, but CrossingQueries.exchanged is "
                "None"
            )
        return part

    def sharpen(self) -> bool:
        """Sharpen every part; False if none can be sharpened."""
        return any([part.sharpen() for part in self.parts if part is not None])


def _rows_of(
    numbers: IntArray, scores: FloatArray, layout: BlockLayout
) -> dict[int, tuple[Any, OwnRows]]:
    """Return the places and the rows of each part in a block."""
    scores = as_scores(scores, layout.query.size)
    places = places_of_parts(layout.query, numbers)
    return {k: (here, rows_at(layout, scores, here)) for k, here in places.items()}


@dataclass(frozen=True, eq=False)
class BlockedTable:
    """A `CrossingTable`: the tables of the parts."""

    numbers: IntArray
    parts: dict[int, Any]
    met: dict[int, list[int]]
    smooth: bool
    value: float
    error: float
    gradient_error: float

    def of_block(self, index: int) -> BlockedTable:
        """Return the tables of the parts that have rows in this block."""
        return replace(self, parts=_needed(self.parts, self.met, index), met={})

    def gradient(self, index: int, scores: FloatArray, layout: BlockLayout) -> FloatArray:
        """Return the gradients of a block's crossing rows at their scores, (n_crossing,)."""
        found = _rows_of(self.numbers, scores, layout)
        if len(found) == 1:
            ((k, (_, rows)),) = found.items()
            return self._gradient_of(k, index, rows)
        result = np.empty(layout.query.size)
        for k, (places, rows) in found.items():
            result[places] = self._gradient_of(k, index, rows)
        return result

    def _gradient_of(self, k: int, index: int, rows: OwnRows) -> FloatArray:
        """Return the gradients of the rows of part k; part 0 may be of exchanged rows."""
        if k and has_one_score(rows):
            return gradient_of_levels(self.parts[k], index, rows)
        result: FloatArray = self.parts[k].gradient(index, rows)
        return result

    def curvature(self) -> BlockedCurvature:
        """Return the Hessian at these scores."""
        if not self.smooth:
            no_curvature()
        parts = {k: each.curvature() for k, each in self.parts.items()}
        return BlockedCurvature(self.numbers, parts)


class BlockedCurvature:
    """A `CrossingCurvature`: the Hessians of the parts."""

    def __init__(self, numbers: IntArray, parts: dict[int, Any]) -> None:
        self.numbers, self.parts = numbers, parts

    def summary(
        self, index: int, scores: FloatArray, values: FloatArray, layout: BlockLayout
    ) -> Summary:
        """Return what other blocks must know of a block's values at its crossing rows."""
        values = as_scores(values, layout.query.size)
        parts = {
            k: self.parts[k].summary(index, rows, np.ascontiguousarray(values[places]))
            for k, (places, rows) in _rows_of(self.numbers, scores, layout).items()
        }
        return Summary.of(index, parts)

    def merge(self, first: Summary, second: Summary) -> Summary:
        """Return the summary of two sets of blocks together; writes into the first."""
        return first.merged(second)

    def finish(self, merged: Summary) -> BlockedProduct:
        """Return what gives each row its entry of the product."""
        parts = {k: self.parts[k].finish(each) for k, each in merged.parts.items()}
        return BlockedProduct(self.numbers, parts, merged.met)


@dataclass(frozen=True, eq=False)
class BlockedProduct:
    """A `CrossingProduct`: the products of the parts."""

    numbers: IntArray
    parts: dict[int, Any]
    met: dict[int, list[int]]

    def of_block(self, index: int) -> BlockedProduct:
        """Return the products of the parts that have rows in this block."""
        return BlockedProduct(self.numbers, _needed(self.parts, self.met, index), {})

    def product(
        self, index: int, scores: FloatArray, values: FloatArray, layout: BlockLayout
    ) -> FloatArray:
        """Return the products of a block's crossing rows, (n_crossing,)."""
        values = as_scores(values, layout.query.size)
        result = np.empty(values.size)
        for k, (places, rows) in _rows_of(self.numbers, scores, layout).items():
            own = np.ascontiguousarray(values[places])
            result[places] = self.parts[k].product(index, rows, own)
        return result
