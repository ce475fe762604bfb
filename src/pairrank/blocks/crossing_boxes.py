"""Logistic and probit over a crossing query by boxes: moments per level and box are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.blocks._contracts import CrossingRows
from pairrank.pair_sums._bound import range_of
from pairrank.pair_sums.box_sum import Boxes, Moments
from pairrank.pair_sums.boxes import LevelBoxes
from pairrank.pair_sums.profiles import LEAST_EPS, MOST
from pairrank.pair_sums.sigmoid import KINDS
from pairrank.pair_sums.sigmoid_pairs import NONE

if TYPE_CHECKING:
    from pairrank.blocks.crossing import MomentQuery

MOST_MOMENTS = 1 << 24
"""More moments than this, 128 MB, mean that scores are too far apart."""


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
        return BoxMoments.of(*self.rows_in_boxes(1, rows))

    def finish(self, merged: BoxMoments) -> BoxTable:
        """Return value, error and each box's series."""
        moments = merged.moments
        if moments is None:
            return BoxTable(self, None, np.inf, 0.0)
        value = self.query.scale * float(self.costs(moments).sum())
        error = self.query.scale * self.eps * self._pair_weight(moments)
        return BoxTable(self, self.series(1, moments), value, error)

    def curvature(self, merged: BoxMoments) -> BoxDerivative:
        """Return the Hessian, to an error of 1e-6 or eps."""
        return BoxDerivative(self, 2)

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
    """The moments of some rows; None stands for scores that are out of range."""

    moments: Moments | None

    @classmethod
    def of(cls, placed: Boxes | None, weight: list[FloatArray]) -> BoxMoments:
        """Return the moments of placed rows for the weights of each side."""
        return cls(None if placed is None else placed.moments(*weight))._checked()

    def merged(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows."""
        if self.moments is None or other.moments is None:
            return BoxMoments(None)
        return BoxMoments(self.moments.merged(other.moments))._checked()

    def _checked(self) -> BoxMoments:
        too_many = self.moments is not None and self.moments.values.size > MOST_MOMENTS
        return BoxMoments(None) if too_many else self


@dataclass(frozen=True, eq=False)
class BoxTable:
    """Each box's series of its rows' gradients; None where scores are out of range."""

    made_by: CrossingBoxes
    series: Moments | None
    value: float
    error: float

    @property
    def gradient_error(self) -> float:
        """Bound on the sum of the errors of the rows' gradients."""
        return 2.0 * self.error

    def entries(self, rows: CrossingRows) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        return self.made_by.sums_at(1, rows, self.series)


@dataclass(frozen=True, eq=False)
class BoxValues:
    """The moments of rows, and of their values less `shift`."""

    shift: float
    ones: BoxMoments
    moved: BoxMoments

    def merged(self, other: BoxValues) -> BoxValues:
        """Return the moments of both sets of rows."""
        moved, ones = other.moved.moments, other.ones.moments
        if moved is not None and ones is not None:
            values = moved.values + (other.shift - self.shift) * ones.values
            moved = Moments(moved.code, moved.keys, values)
        return BoxValues(
            self.shift, self.ones.merged(other.ones), self.moved.merged(BoxMoments(moved))
        )


@dataclass(frozen=True, eq=False)
class BoxDerivative:
    """The derivatives k of an order; a product sends the moments of rows and of their values."""

    made_by: CrossingBoxes
    order: int

    def summary(self, rows: Any) -> BoxValues:
        """Return the moments of these rows and of their values, less a mean of the block's."""
        values, (placed, sides) = rows.values, self.made_by.rows_in_boxes(self.order, rows)
        shift = float(values.mean())
        moved = values - shift
        of_values = [side * moved if side.size else moved for side in sides]
        ones, other = (BoxMoments.of(placed, each) for each in (sides, of_values))
        return BoxValues(shift, ones, other)

    def finish(self, merged: BoxValues) -> BoxProduct:
        """Return the sums of k, and of those times values."""
        both = (
            None if each.moments is None else self.made_by.series(self.order, each.moments)
            for each in (merged.ones, merged.moved)
        )
        return BoxProduct(self.made_by, self.order, merged.shift, *both)


@dataclass(frozen=True, eq=False)
class BoxProduct:
    """The sums of k (v_i - v_j): series `one` times values, less that of the partners' values."""

    made_by: CrossingBoxes
    order: int
    shift: float
    one: Moments | None
    less: Moments | None

    def entries(self, rows: Any) -> FloatArray:
        """Return the rows' products; O(rows)."""
        one, less = (
            self.made_by.sums_at(self.order, rows, series) for series in (self.one, self.less)
        )
        return one * (rows.values - self.shift) - less
