"""Sums over queries that cross blocks: each block sends moments, and all get one table back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.blocks._contracts import BlockLayout
from pairrank.blocks.crossing_boxes import BoxedLevels
from pairrank.blocks.crossing_cells import CellsOfLevels, Extent
from pairrank.blocks.crossing_queries import MomentQuery, OwnRows, Part
from pairrank.blocks.crossing_squares import SquaredResiduals
from pairrank.pair_sums._bound import as_scores, no_curvature
from pairrank.pair_sums.plan import check_eps

Parts = dict[int, Any]


def crossing_sum(
    loss: PairLoss, queries: tuple[MomentQuery, ...], eps: float = 1e-6
) -> CrossingSum:
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
    CrossingSum

    Raises
    ------
    PairrankError
        If eps is out of range.
    """
    check_eps(eps)
    if isinstance(loss.family, Squares):
        return CrossingSum({0: SquaredResiduals()}, None)
    parts = {at: _by_moments(loss, query, eps) for at, query in enumerate(queries)}
    return CrossingSum(parts, np.array([each.query for each in queries], np.int64), loss.smooth)


def _by_moments(loss: PairLoss, query: MomentQuery, eps: float) -> Part:
    family = loss.family
    if isinstance(family, PiecewisePolynomial):
        return CellsOfLevels(family.terms, query)
    if isinstance(family, Tubes):
        return CellsOfLevels(((-family.epsilon, family.power, 1.0),), query)
    assert isinstance(family, Sigmoidal)
    return BoxedLevels(family, query, eps)


@dataclass(frozen=True, eq=False)
class _ByQuery:
    """Parts by number: part k has the query numbers[k]; None: the only part has all queries.

    Other queries have no pair. What is sent is small and holds no scores.
    """

    parts: Parts
    numbers: NDArray[np.int64] | None
    smooth: bool = True

    def _rows(
        self, scores: FloatArray, layout: BlockLayout, values: FloatArray | None
    ) -> Iterator[tuple[int, slice, OwnRows]]:
        """Yield the number, the places and the rows of each part in a block."""
        scores = as_scores(scores, layout.rows.size)
        if self.numbers is None:
            if layout.rows.size:
                yield 0, slice(None), _rows_at(layout, scores, slice(None), layout.start, values)
            return
        at = np.searchsorted(self.numbers, layout.query)
        for place in np.flatnonzero(np.isin(layout.query, self.numbers)).tolist():
            start = layout.start[place : place + 2]
            own = slice(*start.tolist())
            yield int(at[place]), own, _rows_at(layout, scores, own, start - own.start, values)


class CrossingSum(_ByQuery):
    """A loss over crossing queries, or a product with its Hessian, in summary, merge and finish."""

    def summary(
        self, scores: FloatArray, layout: BlockLayout, values: FloatArray | None = None
    ) -> Parts:
        """Return what other blocks must know of a block's crossing rows, (n_crossing,) scores."""
        rows = self._rows(scores, layout, values)
        return {k: self.parts[k].summary(own) for k, _, own in rows}

    def finish(self, merged: Parts) -> CrossingTable:
        """Return what gives each row its entry, from the merged summary of all blocks."""
        tables = {k: self.parts[k].finish(each) for k, each in sorted(merged.items())}
        return CrossingTable(tables, self.numbers, self.smooth)

    def placed(self, scores: FloatArray) -> CrossingSum:
        """Return the same sum with cells for scores like these, centred by query for labels."""
        extent = Extent.of(scores)
        parts = {
            k: part.placed(extent) if isinstance(part, CellsOfLevels) else part
            for k, part in self.parts.items()
        }
        return CrossingSum(parts, self.numbers, self.smooth)

    def sharpen(self) -> bool:
        """Sharpen every part; False if none can be sharpened."""
        return any([part.sharpen() for part in self.parts.values()])


def merged_summaries(first: Parts, second: Parts) -> Parts:
    """Return the summaries of two sets of blocks together; writes into the first."""
    for k, part in second.items():
        first[k] = first[k].merged(part) if k in first else part
    return first


class CrossingTable(_ByQuery):
    """A merged sum over crossing queries at some scores, or a product; sent to every block."""

    @property
    def value(self) -> float:
        """The sum; 0 of a product."""
        return self._total("value")

    @property
    def error(self) -> float:
        """Bound on the error of the value."""
        return self._total("error")

    @property
    def gradient_error(self) -> float:
        """Bound on the sum over rows of the errors of the gradients."""
        return self._total("gradient_error")

    def _total(self, name: str) -> float:
        return float(sum(getattr(each, name, 0.0) for each in self.parts.values()))

    def entries(
        self, scores: FloatArray, layout: BlockLayout, values: FloatArray | None = None
    ) -> FloatArray:
        """Return the gradients or products of a block's crossing rows, (n_crossing,)."""
        result = np.zeros(layout.rows.size)
        for k, places, rows in self._rows(scores, layout, values):
            result[places] = self.parts[k].entries(rows)
        return result

    def curvature(self) -> CrossingSum:
        """Return the Hessian at these scores, of a smooth loss."""
        if not self.smooth:
            no_curvature()
        parts = {k: each.curvature() for k, each in self.parts.items()}
        return CrossingSum(parts, self.numbers)


def _rows_at(
    layout: BlockLayout,
    scores: FloatArray,
    places: slice,
    start: NDArray[np.int64],
    values: FloatArray | None,
) -> OwnRows:
    """Return the crossing rows of a block at some places among them."""
    return OwnRows(
        np.ascontiguousarray(scores[places]),
        start,
        layout.query,
        layout.level[places] if layout.level.size else layout.level,
        layout.label[places] if layout.label.size else layout.label,
        layout.weight[:, places],
        None if values is None else np.ascontiguousarray(values[places]),
    )
