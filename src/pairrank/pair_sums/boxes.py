"""Sigmoidal sums by the moments of boxes of every level, or band of levels, which blocks merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums._bound import Links
from pairrank.pair_sums.box_sum import Boxes, Moments, meet
from pairrank.pair_sums.profiles import (
    COST,
    DERIVATIVE,
    LEAST_EPS,
    PRODUCT_EPS,
    BoxRule,
    OutOfRangeError,
    box_rule,
)

IntArray = NDArray[np.int64]


class CodedRows(NamedTuple):
    """Some rows of a query; see `LevelBoxes`."""

    scores: FloatArray
    code: NDArray[np.int32]
    weight: list[FloatArray]
    """The weights of winners and of losers, or one for both; empty arrays where all are 1."""


class LevelBoxes(ABC):
    """The sum of a sigmoidal loss over queries in blocks of rows, by the moments of boxes.

    Rows have codes, for levels or bands; those of one code are not compared. Every code has its own
    boxes on an absolute grid, so the moments of blocks add up. A row's gradient is a sum of S over
    the rows above it and below it, less the weight of those below.

    Every row's gradient is within eps times the weight of its pairs, the value within eps times
    that of all pairs; the bound is `pairrank.pair_sums.profiles.error_bound`. Rounding adds about
    1e-14 of those weights, and 1e-14 of the value. Scores beyond 1e305, or so far apart that there
    would be more than `most_moments` numbers, give the value infinity.

    Costs O(rows), and a product of some boxes for each box with rows of a code: at most one per
    row, however far scores lie apart.

    Parameters
    ----------
    slope, value : int
        The codes of the losses that give the derivatives and the value.
    n_codes : int
    links : Links
        The codes below and above each code.
    scale : float
        The factor on all pairs.
    eps : float
    query_code : int64 array of shape (n_queries + 1,), optional
        Where the codes of each query begin; None: there is one query.
    """

    most_moments = np.inf
    rows_per_code = 1000.0
    """What the cheapest boxes are chosen for."""

    def __init__(
        self,
        slope: int,
        value: int,
        n_codes: int,
        links: Links,
        scale: float,
        eps: float,
        query_code: IntArray | None = None,
    ) -> None:
        self.slope, self.value, self.n_codes = slope, value, n_codes
        self.links, self.scale, self.eps = links, scale, max(eps, LEAST_EPS)
        self.query_code = np.array([0, n_codes]) if query_code is None else query_code

    @abstractmethod
    def coded(self, rows: Any) -> CodedRows:
        """Return the scores, codes and weights of a block's rows."""

    def rule(self, order: int) -> BoxRule:
        """Return the boxes of the gradient and the value, or those of the Hessian."""
        slope = DERIVATIVE[order][self.slope]
        if order == 1:
            return box_rule((slope, COST[self.value]), self.eps, self.rows_per_code)
        return box_rule((slope,), max(self.eps, PRODUCT_EPS), self.rows_per_code)

    def placed(self, order: int, rows: CodedRows) -> Boxes | None:
        """Return rows in boxes; None where their scores are out of range."""
        try:
            return Boxes(self.rule(order), rows.scores, rows.code, self.n_codes)
        except OutOfRangeError:
            return None

    def summary(self, rows: Any) -> BoxMoments:
        """Return the moments of a block's rows; O(rows)."""
        coded = self.coded(rows)
        return BoxMoments.of(self, self.placed(1, coded), coded.weight)

    def series(self, order: int, moments: Moments) -> Moments:
        """Return the series of each entry, by side, over the codes below and above its own."""
        profile, result = DERIVATIVE[order][self.slope], np.zeros(moments.values.shape)
        for side, above in ((0, False), (-1, True)):
            result[side] += meet(
                self.rule(order), profile, moments, self.query_code, self.links, above=above,
                lowered=order == 1 and not above,
            )  # fmt: skip
        return Moments(moments.code, moments.keys, result)

    def costs(self, moments: Moments) -> FloatArray:
        """Return the sum of the losses of each query, without the scale, (n_queries,)."""
        rule, profile = self.rule(1), COST[self.value]
        series = meet(rule, profile, moments, self.query_code, self.links, above=False)
        costs = np.einsum("ij,ij->i", series, moments.values[0])
        by_code = np.bincount(moments.code, costs, self.n_codes)
        return np.add.reduceat(by_code, self.query_code[:-1])

    def finish(self, merged: BoxMoments) -> BoxTable:
        """Return value, error and each box's series."""
        moments = merged.moments
        if moments is None:
            return BoxTable(self, None, np.inf, 0.0)
        value = self.scale * float(self.costs(moments).sum())
        error = self.scale * self.eps * self._pair_weight(moments)
        return BoxTable(self, self.series(1, moments), value, error)

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
    most: float = np.inf

    @classmethod
    def of(cls, owner: LevelBoxes, placed: Boxes | None, weight: list[FloatArray]) -> BoxMoments:
        """Return the moments of placed rows for the weights of each side."""
        found = None if placed is None else placed.moments(*weight)
        return cls(found, owner.most_moments)._checked()

    def merged(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows."""
        if self.moments is None or other.moments is None:
            return BoxMoments(None)
        return BoxMoments(self.moments.merged(other.moments), self.most)._checked()

    def _checked(self) -> BoxMoments:
        too_many = self.moments is not None and self.moments.values.size > self.most
        return BoxMoments(None) if too_many else self


@dataclass(frozen=True, eq=False)
class BoxTable:
    """Each box's series of its rows' gradients; None where scores are out of range."""

    made_by: LevelBoxes
    series: Moments | None
    value: float
    error: float

    @property
    def gradient_error(self) -> float:
        """Bound on the sum of the errors of the rows' gradients."""
        return 2.0 * self.error

    def entries(self, rows: Any) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        return _sums_at(self.made_by, 1, rows, self.series)

    def curvature(self) -> BoxDerivative:
        """Return the Hessian, to an error of 1e-6 or eps."""
        return BoxDerivative(self.made_by, 2)


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

    made_by: LevelBoxes
    order: int

    def summary(self, rows: Any) -> BoxValues:
        """Return the moments of these rows and of their values, less a mean of the block's."""
        values, owner, coded = rows.values, self.made_by, self.made_by.coded(rows)
        placed, shift = owner.placed(self.order, coded), float(values.mean())
        moved = values - shift
        of_values = [side * moved if side.size else moved for side in coded.weight]
        ones, other = (BoxMoments.of(owner, placed, each) for each in (coded.weight, of_values))
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

    made_by: LevelBoxes
    order: int
    shift: float
    one: Moments | None
    less: Moments | None

    def entries(self, rows: Any) -> FloatArray:
        """Return the rows' products; O(rows)."""
        one, less = (
            _sums_at(self.made_by, self.order, rows, series) for series in (self.one, self.less)
        )
        return one * (rows.values - self.shift) - less


def _sums_at(owner: LevelBoxes, order: int, rows: Any, series: Moments | None) -> FloatArray:
    """Return the series at the rows, times their weights; NaN where there are none."""
    coded = owner.coded(rows)
    placed, result = owner.placed(order, coded), np.zeros(coded.scores.size)
    if placed is None or series is None:
        return np.full(result.size, np.nan)
    for each, weight in zip(series.at(placed), coded.weight, strict=True):
        placed.add(each, weight, result)
    return owner.scale * result
