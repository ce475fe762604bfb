"""Logistic and probit over a crossing query by boxes: Chebyshev moments per level are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.blocks.crossing_cells import codes_of
from pairrank.blocks.crossing_grid import union
from pairrank.blocks.crossing_parts import OwnRows
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.compiled import box_grid
from pairrank.pair_sums._bound import range_of
from pairrank.pair_sums.box_sum import Boxes, coarse_blocks, limits_of
from pairrank.pair_sums.cell_grid import window_of
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
_FURTHER = 1.7
"""Boxes cover so many times the windows of cells: few rows, whose number varies, lie beyond."""
_FEW_BOXES = 64


class BoxedLevels:
    """The sum of a sigmoidal loss over one crossing query, as by `pairrank.pair_sums.boxes`.

    Every level has its own boxes on an absolute grid. A row's gradient is within eps times the
    weight of its pairs, the value within eps times that of all. Rounding adds about 1e-14 of both.
    Scores beyond 1e305, or so far apart that a table would have more than 2^24 numbers, give the
    value infinity.
    """

    def __init__(self, family: Sigmoidal, query: MomentQuery, eps: float) -> None:
        self.slope, self.value = KINDS[family.slope], KINDS[family.value]
        self.query, self.eps = query, max(eps, LEAST_EPS)

    def _rule(self) -> BoxRule:
        return box_rule((DERIVATIVE[1][self.slope], COST[self.value]), self.eps)

    def summary(self, index: int, rows: OwnRows) -> BoxMoments:
        """Return the moments of these rows; O(rows + boxes)."""
        placed = _placed(self._rule(), self.query, rows)
        if placed is None:
            return BoxMoments.out_of_range()
        moments = np.stack([placed.moments(weight) for weight in _sides(rows)])
        return BoxMoments.of(placed, moments, self.query)

    def finish(self, merged: BoxMoments) -> BoxTable:
        """Return value, errors and each box's series; O(levels boxes) products of boxes."""
        query, rule = self.query, self._rule()
        if not merged.is_valid:
            return BoxTable(self, rule, merged.keys, merged.values, np.inf, 0.0)
        others = _others(query, merged.values)
        slope, cost = DERIVATIVE[1][self.slope], COST[self.value]
        series, value, weight = np.zeros(merged.values.shape), 0.0, 0.0
        for code in range(query.n_codes):
            below, above = others(code)
            own, total = merged.values[0, code], float(below[:, 0].sum())
            value += float(np.vdot(_product(rule, cost, merged.keys, below), own))
            weight += float(own[:, 0].sum()) * total
            series[0, code] += _product(rule, slope, merged.keys, below)
            series[0, code, :, 0] -= total
            series[-1, code] += _product(rule, slope, merged.keys, above)
        error = query.scale * self.eps * weight
        return BoxTable(self, rule, merged.keys, series, query.scale * value, error)

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


def _others(query: MomentQuery, values: FloatArray) -> Any:
    """Return a function from a code to the moments of losers below it, and of winners above it."""
    winners, losers = values[0], values[-1]
    if query.edges is None:
        none = np.zeros((1, *losers.shape[1:]))
        below = np.concatenate((none, np.cumsum(losers, axis=0)))
        above = np.concatenate((np.cumsum(winners[::-1], axis=0)[::-1], none))
        return lambda code: (below[code], above[code + 1])
    low, high = query.edges.T
    return lambda code: (
        losers[low[high == code]].sum(axis=0),
        winners[high[low == code]].sum(axis=0),
    )


def _product(rule: BoxRule, profile: Profile, keys: FloatArray, moments: FloatArray) -> FloatArray:
    """Return the series of the boxes, (n_boxes, P), over sources in the same boxes."""
    series = np.empty(moments.size)
    box_grid.product(
        keys, keys, np.ascontiguousarray(moments).reshape(-1), coarse_blocks(profile, rule),
        limits_of(profile), rule.coarse, series,
    )  # fmt: skip
    return series.reshape(moments.shape)


@dataclass(eq=False)
class BoxMoments:
    """Moments of some rows by side, code and box, (S, C, n_boxes, P), for boxes with `keys`.

    No moments at all stand for scores that are out of range.
    """

    keys: FloatArray
    values: FloatArray

    @classmethod
    def out_of_range(cls) -> BoxMoments:
        """Return what stands for scores that are out of range."""
        return cls(np.empty(0), np.empty(0))

    @classmethod
    def of(cls, placed: Boxes, moments: FloatArray, query: MomentQuery) -> BoxMoments:
        """Return the moments of the boxes with rows, and of those of a window around them."""
        rule = placed.rule
        values = moments.reshape(len(moments), query.n_codes, placed.keys.size, rule.degree)
        used = np.asarray(values.any(axis=(0, 1, 3)))
        used[0] |= not used.any()
        keys = union(placed.keys[used], _window_keys(rule, placed.points))
        if keys.size * values[:, :, 0].size > MOST_ENTRIES:
            return cls.out_of_range()
        return cls(placed.keys[used], values[:, :, used]).aligned(keys)

    @property
    def is_valid(self) -> bool:
        """Whether all scores are in range."""
        return self.keys.size > 0

    def aligned(self, keys: FloatArray) -> BoxMoments:
        """Return the same moments for more boxes."""
        if np.array_equal(keys, self.keys):
            return self
        return BoxMoments(keys, _aligned(self.values, self.keys, keys))

    def merged(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows."""
        if not (self.is_valid and other.is_valid):
            return BoxMoments.out_of_range()
        result = self.aligned(union(self.keys, other.keys))
        if result.values.size > MOST_ENTRIES:
            return BoxMoments.out_of_range()
        result.values[:, :, np.searchsorted(result.keys, other.keys)] += other.values
        return result


def _aligned(values: FloatArray, keys: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the entries of the boxes that are wanted, 0 for those without."""
    result = np.zeros((*values.shape[:2], wanted.size, values.shape[-1]))
    at = np.searchsorted(wanted, keys).clip(max=wanted.size - 1)
    found = wanted[at] == keys
    result[:, :, at[found]] = values[:, :, found]
    return result


def _window_keys(rule: BoxRule, points: FloatArray) -> FloatArray:
    """Return the boxes of a window around the points, if they are few."""
    low, high = range_of(points)
    with np.errstate(over="ignore", invalid="ignore"):
        start, stop = window_of(points, low, high, slack=1.0)
        more = 0.5 * (_FURTHER - 1.0) * (stop - start)
        start, stop = max(start - more, 2.0 * low - high), min(stop + more, 2.0 * high - low)
        first, last = (np.floor(end / rule.coarse) for end in (start, stop))
    if not 0 <= last - first < _FEW_BOXES:
        return np.empty(0)
    return np.asarray(first + np.arange(last - first + 1.0))


@dataclass(frozen=True, eq=False)
class BoxTable:
    """Each box's series of its rows' gradients, (S, C, n_boxes, P)."""

    made_by: BoxedLevels
    rule: BoxRule
    keys: FloatArray
    series: FloatArray
    value: float
    error: float

    @property
    def gradient_error(self) -> float:
        """Bound on the sum of the errors of the rows' gradients."""
        return 2.0 * self.error

    def gradient(self, index: int, rows: OwnRows) -> FloatArray:
        """Return the rows' gradients; O(rows). NaN where the value is infinite."""
        query, result = self.made_by.query, np.zeros(rows.scores.size)
        placed = _placed(self.rule, query, rows)
        if placed is None or not self.keys.size:
            return np.full(rows.scores.size, np.nan)
        series = _aligned(self.series, self.keys, placed.keys)
        for side, weight in enumerate(_sides(rows)):
            placed.add(query.scale, series[side].reshape(-1), weight, result)
        return result

    def curvature(self) -> BoxCurvature:
        """Return the Hessian, to an error of 1e-6 or eps."""
        made = self.made_by
        profile = DERIVATIVE[2][made.slope]
        return BoxCurvature(made.query, profile, box_rule((profile,), max(made.eps, PRODUCT_EPS)))


@dataclass(eq=False)
class BoxValues:
    """The moments of rows, and of their values less `shift`."""

    shift: float
    ones: BoxMoments
    moved: BoxMoments

    def merged(self, other: BoxValues) -> BoxValues:
        """Return the moments of both sets of rows."""
        moved = BoxMoments(
            other.moved.keys, other.moved.values + (other.shift - self.shift) * other.ones.values
        )
        return BoxValues(self.shift, self.ones.merged(other.ones), self.moved.merged(moved))


@dataclass(frozen=True, eq=False)
class BoxCurvature:
    """The Hessian of a boxed query; a product sends the moments of rows and of their values."""

    query: MomentQuery
    profile: Profile
    rule: BoxRule

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "profile": self.profile.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        named = next(each for each in DERIVATIVE[2] if each.name == state["profile"])
        self.__dict__.update(state, profile=named)

    def summary(self, index: int, rows: OwnRows, values: FloatArray) -> BoxValues:
        """Return the moments of these rows and of their values, less a mean of the block's."""
        placed = _placed(self.rule, self.query, rows)
        shift = float(values.mean())
        if placed is None:
            return BoxValues(shift, BoxMoments.out_of_range(), BoxMoments.out_of_range())
        sides = _sides(rows)
        moved = values - shift
        ones = np.stack([placed.moments(weight) for weight in sides])
        other = np.stack([placed.moments(w * moved if w.size else moved) for w in sides])
        both = BoxMoments.of(placed, np.concatenate((ones, other)), self.query)
        n = len(sides)
        return BoxValues(
            shift, BoxMoments(both.keys, both.values[:n]), BoxMoments(both.keys, both.values[n:])
        )

    def finish(self, merged: BoxValues) -> BoxProduct:
        """Return the sums of the Hessian's entries, and of those times values."""
        series = []
        for moments in (merged.ones, merged.moved):
            found, others = np.zeros(moments.values.shape), _others(self.query, moments.values)
            for code in range(self.query.n_codes if moments.is_valid else 0):
                below, above = others(code)
                found[0, code] += _product(self.rule, self.profile, moments.keys, below)
                found[-1, code] += _product(self.rule, self.profile, moments.keys, above)
            series.append(found)
        return BoxProduct(self.query, self.rule, merged.ones.keys, merged.shift, *series)


@dataclass(frozen=True, eq=False)
class BoxProduct:
    """A product: series `one` times values, less the series of the partners' values."""

    query: MomentQuery
    rule: BoxRule
    keys: FloatArray
    shift: float
    one: FloatArray
    less: FloatArray

    def product(self, index: int, rows: OwnRows, values: FloatArray) -> FloatArray:
        """Return the rows' entries; O(rows)."""
        result, placed = np.zeros(values.size), _placed(self.rule, self.query, rows)
        if placed is None or not self.keys.size:
            return np.full(values.size, np.nan)
        one, less = (_aligned(each, self.keys, placed.keys) for each in (self.one, self.less))
        for side, weight in enumerate(_sides(rows)):
            placed.add(
                self.query.scale, one[side].reshape(-1), weight, result,
                v=values, shift=self.shift, less=less[side].reshape(-1),
            )  # fmt: skip
        return result
