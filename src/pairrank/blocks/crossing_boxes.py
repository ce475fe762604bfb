"""Logistic and probit over crossing queries by boxes: moments per class and box are merged."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.blocks._contracts import CrossingRows
from pairrank.blocks.groups import CrossingQueries
from pairrank.pair_sums._bound import links_of, range_of
from pairrank.pair_sums.box_sum import Boxes, Moments
from pairrank.pair_sums.boxes import LevelBoxes
from pairrank.pair_sums.profiles import MOST
from pairrank.pair_sums.sigmoid import KINDS
from pairrank.pair_sums.sigmoid_pairs import NONE


class CrossingBoxes(LevelBoxes):
    """A `CrossingSum` of a sigmoidal loss; every class has its own boxes.

    Scores that are out of range, or too far apart, give the value infinity.
    """

    def __init__(self, family: Sigmoidal, queries: CrossingQueries, eps: float) -> None:
        links = links_of(queries.edges, int(queries.start[-1]))
        super().__init__(KINDS[family.slope], KINDS[family.value], links, eps, queries.start)
        self.queries = queries

    def summary(self, rows: CrossingRows) -> dict[int, Moments | None]:
        """Return the moments of a block's rows; O(rows)."""
        placed = self._boxes(rows)
        return {0: None if placed is None else placed.moments(*_sides(rows))}

    def finish(self, merged: dict[int, Moments | None]) -> tuple[FloatArray, Moments | None]:
        """Return the totals and each box's series of its rows' gradients."""
        moments, queries = merged[0], self.queries
        if moments is None:
            return np.array([np.inf, 0.0, 0.0]), None
        error = self.eps * queries.weight
        series = self.series(1, moments)
        scale = np.repeat(queries.scale, np.diff(queries.start))
        series.values[:] *= scale[series.code][:, np.newaxis]
        return np.array([queries.scale @ self.costs(moments), error, 2.0 * error]), series

    def entries(self, rows: CrossingRows, table: Moments | None) -> FloatArray:
        """Return the rows' gradients; O(rows)."""
        placed, result = self._boxes(rows), np.zeros(rows.scores.size)
        if placed is None or table is None:
            return np.full(result.size, np.nan)
        for each, weight in zip(table.at(placed), _sides(rows), strict=True):
            placed.add(each, weight, result)
        return result

    def _boxes(self, rows: CrossingRows) -> Boxes | None:
        """Return a block's rows in boxes; None where scores are out of range."""
        low, high = range_of(rows.scores)
        return self.placed(1, rows.scores, rows.code) if low >= -MOST and high <= MOST else None


def _sides(rows: CrossingRows) -> list[FloatArray]:
    """Return the weights of winners and of losers, or one for both; empty where all are 1."""
    return [np.ascontiguousarray(side) for side in rows.weight] or [NONE]
