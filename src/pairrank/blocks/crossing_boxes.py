"""Logistic and probit over a crossing query by boxes: moments per level and box are merged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.blocks._contracts import CrossingRows, Finished
from pairrank.pair_sums._bound import range_of
from pairrank.pair_sums.box_sum import Boxes, Moments
from pairrank.pair_sums.boxes import LevelBoxes
from pairrank.pair_sums.profiles import LEAST_EPS, MOST
from pairrank.pair_sums.sigmoid import KINDS
from pairrank.pair_sums.sigmoid_pairs import NONE

if TYPE_CHECKING:
    from pairrank.blocks.crossing import MomentQuery

MOST_MOMENTS = 1 << 24
"""More moments of a side than this, 128 MB, mean that scores are too far apart."""


class CrossingBoxes(LevelBoxes):
    """The sum of a sigmoidal loss over one crossing query; every level has its own boxes.

    Scores that are out of range, or so far apart that there would be more than `MOST_MOMENTS`
    numbers, give the value infinity.
    """

    def __init__(self, family: Sigmoidal, query: MomentQuery, eps: float) -> None:
        slope, value = KINDS[family.slope], KINDS[family.value]
        super().__init__(slope, value, query.links, eps, np.array([0, query.n_codes]))
        self.query = query

    def rows_in_boxes(
        self, order: int, rows: CrossingRows
    ) -> tuple[Boxes | None, list[FloatArray]]:
        """Return a block's rows in boxes, None where scores are out of range, and their weights.

        The weights are those of winners and of losers, or one for both; empty where all are 1.
        """
        low, high = range_of(rows.scores)
        sides = [np.ascontiguousarray(side) for side in rows.weight] or [NONE]
        if not (low >= -MOST and high <= MOST):
            return None, sides
        return self.placed(order, rows.scores, rows.code), sides

    def summary(self, rows: CrossingRows) -> BoxMoments:
        """Return the moments of a block's rows; O(rows)."""
        placed, sides = self.rows_in_boxes(1, rows)
        return BoxMoments.of(placed, sides)

    def finish(self, merged: BoxMoments) -> Finished:
        """Return value, error and each box's series of its rows' gradients."""
        moments = merged.moments
        if moments is None:
            return Finished(self, None, np.inf)
        value = self.query.scale * float(self.costs(moments).sum())
        error = self.query.scale * self.eps * self._pair_weight(moments)
        return Finished(self, self.series(1, moments), value, error, 2.0 * error)

    def entries(self, rows: CrossingRows, series: Moments | None) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        return self.sums_at(1, rows, series)

    def curvature(self, merged: BoxMoments) -> BoxHessian:
        """Return the Hessian, to an error of 1e-6 or eps."""
        return BoxHessian(self)

    def sums_at(self, order: int, rows: CrossingRows, series: Moments | None) -> FloatArray:
        """Return the series at the rows, times their weights; NaN where there are none."""
        (placed, sides), result = self.rows_in_boxes(order, rows), np.zeros(rows.scores.size)
        if placed is None or series is None:
            return np.full(result.size, np.nan)
        for each, weight in zip(series.at(placed), sides, strict=True):
            placed.add(each, weight, result)
        return self.query.scale * result

    def _pair_weight(self, moments: Moments) -> float:
        """Return the weight of all pairs of codes that are compared."""
        win, lose = (
            np.bincount(moments.code, side[:, 0], self.n_codes)
            for side in (moments.values[0], moments.values[-1])
        )
        start, codes = self.links[:2]
        if not start.size:
            return float(win[1:] @ np.cumsum(lose)[:-1])
        return float(np.repeat(win, np.diff(start)) @ lose[codes])

    def sharpen(self) -> bool:
        """Divide eps by 100, down to 1e-13; False if that is impossible."""
        if self.eps <= LEAST_EPS:
            return False
        self.eps = max(0.01 * self.eps, LEAST_EPS)
        return True


@dataclass(frozen=True, eq=False)
class BoxMoments:
    """The moments of some rows; None stands for scores that are out of range.

    With a `shift` the first half of the sides are those of rows, the others those of the rows'
    values less the shift.
    """

    moments: Moments | None
    shift: float | None = None

    @classmethod
    def of(
        cls, placed: Boxes | None, weight: list[FloatArray], shift: float | None = None
    ) -> BoxMoments:
        """Return the moments of placed rows for the weights of each side."""
        return cls(None if placed is None else placed.moments(*weight), shift)._checked()

    def merged(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows."""
        own, theirs = self.moments, other.moments
        if own is None or theirs is None:
            return BoxMoments(None, self.shift)
        if self.shift is not None and other.shift is not None:
            ones, values = np.split(theirs.values, 2)
            values = np.concatenate((ones, values + (other.shift - self.shift) * ones))
            theirs = replace(theirs, values=values)
        return BoxMoments(own.merged(theirs), self.shift)._checked()

    def _checked(self) -> BoxMoments:
        too_many = self.moments is not None and self.moments.values[0].size > MOST_MOMENTS
        return replace(self, moments=None) if too_many else self


@dataclass(frozen=True, eq=False)
class BoxHessian:
    """The second derivatives k; a product sends the moments of rows and of their values."""

    made_by: CrossingBoxes

    def summary(self, rows: Any) -> BoxMoments:
        """Return the moments of these rows and of their values, less a mean of the block's."""
        placed, sides = self.made_by.rows_in_boxes(2, rows)
        shift = float(rows.values.mean())
        moved = rows.values - shift
        of_values = [side * moved if side.size else moved for side in sides]
        return BoxMoments.of(placed, [*sides, *of_values], shift)

    def finish(self, merged: BoxMoments) -> Finished:
        """Return the shift, the series of the sums of k, and that of those times values."""
        found = merged.moments
        if found is None:
            return Finished(self, (0.0, None, None))
        halves = (replace(found, values=values) for values in np.split(found.values, 2))
        return Finished(self, (merged.shift, *(self.made_by.series(2, half) for half in halves)))

    def entries(self, rows: Any, sums: tuple[float, Moments | None, Moments | None]) -> FloatArray:
        """Return the sums of k (v_i - v_j) at the rows; O(rows)."""
        shift, *both = sums
        one, less = (self.made_by.sums_at(2, rows, series) for series in both)
        return one * (rows.values - shift) - less
