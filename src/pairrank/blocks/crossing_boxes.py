"""Logistic and probit over a crossing query by boxes: moments per level and box are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.blocks.crossing_cells import codes_of
from pairrank.blocks.crossing_parts import OwnRows
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.pair_sums.bands import FULL, Links, links_of
from pairrank.pair_sums.box_sum import Boxes, Moments, meet
from pairrank.pair_sums.profiles import (
    COST,
    DERIVATIVE,
    LEAST_EPS,
    PRODUCT_EPS,
    BoxRule,
    OutOfRangeError,
    Profile,
    box_rule,
)
from pairrank.pair_sums.sigmoid import KINDS
from pairrank.pair_sums.sigmoid_pairs import NONE

MOST_ENTRIES = 1 << 24
"""More moments than this mean that scores are too far apart; 128 MB."""


class BoxedLevels:
    """The sum of a sigmoidal loss over one crossing query, as by `pairrank.pair_sums.boxes`.

    Every level has its own boxes on an absolute grid. A row's gradient is within eps times the
    weight of its pairs, the value within eps times that of all. Rounding adds about 1e-14 of both.
    Scores beyond 1e305, or so far apart that there would be more than 2^24 moments, give the value
    infinity.
    """

    def __init__(self, family: Sigmoidal, query: MomentQuery, eps: float) -> None:
        self.slope, self.value = KINDS[family.slope], KINDS[family.value]
        self.query, self.eps = query, max(eps, LEAST_EPS)

    @property
    def links(self) -> Links:
        """The codes below and above each code."""
        edges = self.query.edges
        return FULL if edges is None else links_of(edges, self.query.n_codes)

    def rule(self) -> BoxRule:
        """Return the boxes of the gradient and the value."""
        return box_rule((DERIVATIVE[1][self.slope], COST[self.value]), self.eps)

    def summary(self, index: int, rows: OwnRows) -> BoxMoments:
        """Return the moments of these rows; O(rows)."""
        placed = _placed(self.rule(), self.query, rows)
        return BoxMoments(None if placed is None else placed.moments(*_sides(rows))).checked()

    def finish(self, merged: BoxMoments) -> BoxTable:
        """Return value, errors and each box's series; one product of boxes per box of a level."""
        query, rule, moments = self.query, self.rule(), merged.moments
        if moments is None:
            return BoxTable(self, rule, None, np.inf, 0.0)
        links, n_codes = self.links, query.n_codes
        slope, cost = DERIVATIVE[1][self.slope], COST[self.value]
        series = _by_side(moments, meet(rule, slope, moments, n_codes, links, lowered=True))
        costs, _ = meet(rule, cost, moments, n_codes, links)
        value = query.scale * float(np.vdot(costs, moments.values[0]))
        error = query.scale * self.eps * _pair_weight(moments, query)
        return BoxTable(self, rule, series, value, error)

    def sharpen(self) -> bool:
        """Divide eps by 100, down to 1e-13; False if that is impossible."""
        if self.eps <= LEAST_EPS:
            return False
        self.eps = max(0.01 * self.eps, LEAST_EPS)
        return True


def _sides(rows: OwnRows) -> list[FloatArray]:
    """Return the weights of each side, empty where all rows weigh 1."""
    return [np.ascontiguousarray(side) for side in rows.weight] or [NONE]


def _placed(rule: BoxRule, query: MomentQuery, rows: OwnRows) -> Boxes | None:
    """Return the rows in boxes; None where their scores are out of range."""
    code = codes_of(query, rows.level, rows.scores.size)
    try:
        return Boxes(rule, rows.scores, code, query.n_codes)
    except OutOfRangeError:
        return None


def _by_side(moments: Moments, found: tuple[FloatArray, FloatArray]) -> Moments:
    """Return the series of winners, and of losers, of the entries of some moments."""
    series = np.zeros(moments.values.shape)
    for side, each in zip((0, -1), found, strict=True):
        series[side] += each
    return Moments(moments.code, moments.keys, series)


def _pair_weight(moments: Moments, query: MomentQuery) -> float:
    """Return the weight of all pairs of levels that the graph joins."""
    win, lose = (
        np.bincount(moments.code, side[:, 0], query.n_codes)
        for side in (moments.values[0], moments.values[-1])
    )
    if query.edges is None:
        return float(win[1:] @ np.cumsum(lose)[:-1])
    low, high = query.edges.T
    return float(win[high] @ lose[low])


@dataclass(frozen=True, eq=False)
class BoxMoments:
    """The moments of some rows; None stands for scores that are out of range."""

    moments: Moments | None

    def checked(self) -> BoxMoments:
        """Return these moments, or None in their place if they are too many."""
        if self.moments is not None and self.moments.values.size > MOST_ENTRIES:
            return BoxMoments(None)
        return self

    def merged(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows."""
        if self.moments is None or other.moments is None:
            return BoxMoments(None)
        return BoxMoments(self.moments.merged(other.moments)).checked()


@dataclass(frozen=True, eq=False)
class BoxTable:
    """Each box's series of its rows' gradients; None where scores are out of range."""

    made_by: BoxedLevels
    rule: BoxRule
    series: Moments | None
    value: float
    error: float

    @property
    def gradient_error(self) -> float:
        """Bound on the sum of the errors of the rows' gradients."""
        return 2.0 * self.error

    def of_block(self, index: int) -> BoxTable:
        """Return the table, which all blocks need."""
        return self

    def gradient(self, index: int, rows: OwnRows) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        query, result = self.made_by.query, np.zeros(rows.scores.size)
        placed = _placed(self.rule, query, rows)
        if placed is None or self.series is None:
            return np.full(rows.scores.size, np.nan)
        for series, weight in zip(self.series.at(placed), _sides(rows), strict=True):
            placed.add(query.scale, series, weight, result)
        return result

    def curvature(self) -> BoxCurvature:
        """Return the Hessian, to an error of 1e-6 or eps."""
        made = self.made_by
        profile = DERIVATIVE[2][made.slope]
        return BoxCurvature(made, profile, box_rule((profile,), max(made.eps, PRODUCT_EPS)))


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
class BoxCurvature:
    """The Hessian of a boxed query; a product sends the moments of rows and of their values."""

    made_by: BoxedLevels
    profile: Profile
    rule: BoxRule

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "profile": self.profile.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        named = next(each for each in DERIVATIVE[2] if each.name == state["profile"])
        self.__dict__.update(state, profile=named)

    def summary(self, index: int, rows: OwnRows, values: FloatArray) -> BoxValues:
        """Return the moments of these rows and of their values, less a mean of the block's."""
        placed = _placed(self.rule, self.made_by.query, rows)
        shift = float(values.mean())
        if placed is None:
            return BoxValues(shift, BoxMoments(None), BoxMoments(None))
        sides, moved = _sides(rows), values - shift
        ones = placed.moments(*sides)
        other = placed.moments(*(w * moved if w.size else moved for w in sides))
        return BoxValues(shift, BoxMoments(ones).checked(), BoxMoments(other).checked())

    def finish(self, merged: BoxValues) -> BoxProduct:
        """Return the sums of the Hessian's entries, and of those times values."""
        made, series = self.made_by, list[Moments | None]()
        for each in (merged.ones.moments, merged.moved.moments):
            found = None
            if each is not None:
                n_codes = made.query.n_codes
                found = _by_side(each, meet(self.rule, self.profile, each, n_codes, made.links))
            series.append(found)
        return BoxProduct(made.query, self.rule, merged.shift, *series)


@dataclass(frozen=True, eq=False)
class BoxProduct:
    """A product: series `one` times values, less the series of the partners' values."""

    query: MomentQuery
    rule: BoxRule
    shift: float
    one: Moments | None
    less: Moments | None

    def of_block(self, index: int) -> BoxProduct:
        """Return the product, which all blocks need."""
        return self

    def product(self, index: int, rows: OwnRows, values: FloatArray) -> FloatArray:
        """Return the rows' entries; O(rows)."""
        result, placed = np.zeros(values.size), _placed(self.rule, self.query, rows)
        if placed is None or self.one is None or self.less is None:
            return np.full(values.size, np.nan)
        sides = zip(self.one.at(placed), self.less.at(placed), _sides(rows), strict=True)
        for one, less, weight in sides:
            placed.add(self.query.scale, one, weight, result, v=values, shift=self.shift, less=less)
        return result
