"""One query in boxes: its levels' moments at fixed scores, and the sums over other levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import box_grid, boxes
from pairrank.pair_sums.box_sum import (
    FEW_BOXES,
    children_map,
    coarse_blocks,
    limits_of,
    occupied,
    span,
)
from pairrank.pair_sums.profiles import BoxRule, Profile
from pairrank.preferences import Levels
from pairrank.preferences._codes import group_totals

_NONE = np.empty(0)
_NO_PLACES = np.empty(0, dtype=np.int32)
_NO_TABLES = (np.empty((0, 0)), np.zeros(4))
for _table in _NO_TABLES:
    _table.flags.writeable = False


class BoxGrid:
    """One query's scores in the boxes of a rule.

    Parameters
    ----------
    plan : QueryPlan
    rule : BoxRule
    scores : float64 array of shape (n_rows,)
        In the user's order, all queries.
    keep : bool
        Store the box of every row, 12 bytes each, for many sums at the same scores.

    Attributes
    ----------
    scores : float64 array of shape (n,)
        Those of the query.
    feasible : bool
        False where the boxes would need more memory than of the order of the rows; then no other
        method may be called.
    """

    def __init__(
        self, plan: QueryPlan, rule: BoxRule, scores: FloatArray, *, keep: bool = False
    ) -> None:
        self.plan, self.rule = plan, rule
        self.scores = np.ascontiguousarray(scores[plan.rows])
        self.extremes = boxes.least_and_greatest(self.scores)
        self.keys, self._slot, self._at, self._u = _NONE, _NO_PLACES, _NO_PLACES, _NONE
        first, count = span(self.extremes, rule)
        self.fine = count * plan.n_codes * rule.children <= max(FEW_BOXES, self.scores.size // 4)
        if self.fine:
            self.keys = first + np.arange(count)
            if keep:
                self._at, self._u = np.empty(self.scores.size, np.int32), np.empty(self.scores.size)
                boxes.fine_places(self.scores, plan.code, *self._fine, self._at, self._u)
        else:
            self._find_boxes(first, count)
        self.feasible = self.keys.size > 0

    @property
    def _fine(self) -> tuple[float, float, int]:
        """1/h, the key of the first fine box, and the number of fine boxes per code."""
        children = self.rule.children
        return 1.0 / self.rule.fine, self.keys[0] * children, self.keys.size * children

    def _find_boxes(self, first: float, count: float) -> None:
        """Find the coarse box of every row, among all boxes or only those with rows."""
        most = max(4 * FEW_BOXES, self.scores.size) // self.plan.n_codes
        if count <= most:
            self.keys = first + np.arange(count)
            self._slot = np.empty(self.scores.size, np.int32)
            width = (1.0 / self.rule.fine, self.rule.children)
            boxes.boxes_from(self.scores, *width, first, self._slot)
            return
        keys, self._slot = occupied(self.rule, self.scores)
        self.keys = keys if keys.size <= most or self.plan.n_codes == 1 else _NONE

    def moments(self, weight: FloatArray, shift: float = 0.0) -> FloatArray:
        """Return the moments of every code for weight - shift, (n,); an empty weight is 1."""
        plan, rule = self.plan, self.rule
        rows = (self.scores, plan.code, weight, shift)
        if self.fine:
            fine = boxes.fine_moments(*rows, plan.n_codes, *self._fine, self._at, self._u)
            return box_grid.moments_up(fine, children_map(rule))
        return boxes.coarse_moments(
            *rows, self._slot, plan.n_codes, 1.0 / rule.fine, rule.children, self.keys.size,
            rule.degree,
        )  # fmt: skip

    def meet(
        self,
        moments: FloatArray,
        profile: Profile,
        *,
        subtract_lower: bool = False,
        value_of: tuple[Profile, ...] = (),
    ) -> tuple[FloatArray, float]:
        """Return the series and the value of the sums between codes; see `box_grid.meet_levels`.

        `value_of` has a cost and its even part, if the value is wanted.
        """
        plan, rule = self.plan, self.rule
        tables = [(coarse_blocks(x, rule), limits_of(x)) for x in value_of] or 2 * [_NO_TABLES]
        return box_grid.meet_levels(
            self.keys, moments, plan.segment, plan.below, plan.below_start, plan.above,
            plan.above_start, rule.coarse, coarse_blocks(profile, rule), limits_of(profile),
            subtract_lower, *tables[0], *tables[1],
        )  # fmt: skip

    def add(
        self,
        factor: float,
        series: FloatArray,
        result: FloatArray,
        *,
        v: FloatArray = _NONE,
        shift: float = 0.0,
        less: FloatArray = _NONE,
    ) -> None:
        """Add factor * weight * F, or factor * weight * ((v - shift) F - G), to `result`.

        F and G are `series` and `less` evaluated at the rows. `v` has the query's rows, (n,), and
        `result` all rows.
        """
        plan = self.plan
        direct = isinstance(plan.rows, slice)
        here = result[plan.rows] if direct else np.zeros(self.scores.size)
        rows = (self.scores, plan.code, plan.weight, v, shift)
        if self.fine:
            up = children_map(self.rule)
            down = (box_grid.series_down(series, up), box_grid.series_down(less, up))
            per_fine, first, n_boxes = self._fine
            places = (self._at, self._u)
            boxes.add_fine(*rows, n_boxes, per_fine, first, factor, *down, here, *places)
        else:
            rule = self.rule
            boxes.add_coarse(
                *rows, self._slot, 1.0 / rule.fine, rule.children, self.keys.size, rule.degree,
                factor, series, less, here,
            )  # fmt: skip
        if not direct:
            result[plan.rows] += here


IntArray = NDArray[np.int64]

LARGE_LEVEL = 24
"""Levels of at least this many rows have separate boxes; smaller ones share those of a segment."""
LARGE_EDGE = 2_000
"""Edges of more pairs than this use boxes, others are summed pair by pair."""
GREATEST_SHARE = 7.0 / 8.0
"""The largest part of a segment's weight that one small level may have."""
SEGMENT_FACTOR = 8.0
"""1/(1 - GREATEST_SHARE): the divisor of eps that makes errors relative to the pairs' weight.

With a segment, a row's sum is over all rows, with an error of eps times their weight; rows of other
levels have at least 1/8 of it. The error of half the sum of e over a segment of weight W is
eps W^2/2, and its pairs have at least the weight (1 - 7/8) W^2/2.
"""

_NO_LINKS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class QueryPlan:
    """The layout of one query for a box sum; positions are its rows in the user's order.

    Attributes
    ----------
    query : int
    rows : slice or int32 array of shape (n,)
        The rows of X.
    level_code : int64 array of shape (n_levels,)
        The code of each level of the query.
    code : int32 array of shape (n,) or (0,)
        Each row's code; empty if there is a single code.
    weight : float64 array of shape (n,) or (0,)
    segment : bool array of shape (n_codes,)
        Whether a code is a segment, which is a run of small levels.
    below, below_start, above, above_start : int64 arrays
        The codes that edges join, for graphs other than the full one.
    lower_weight, balance : float64 arrays of shape (n,) or (0,)
        For rows of segments: weight * (the weight below in the segment, plus half the row's own);
        weight * (the weight below less that above, in the segment). Else 0.
    self_weight : float64 array of shape (n,) or (0,)
        The weight of rows of segments, else 0.
    runs : int64 array of shape (n_runs, 4)
        The runs summed pair by pair by `pairrank.compiled.box_pairs.pairs_of_runs`: small edges,
        and levels of two or more rows in segments.
    """

    query: int
    rows: slice | NDArray[np.int32]
    level_code: IntArray
    code: NDArray[np.int32]
    weight: FloatArray
    segment: NDArray[np.bool_]
    below: IntArray
    below_start: IntArray
    above: IntArray
    above_start: IntArray
    lower_weight: FloatArray
    balance: FloatArray
    self_weight: FloatArray
    runs: IntArray

    @property
    def n_codes(self) -> int:
        """The number of codes."""
        return self.segment.size


def make_plan(levels: Levels, query: int, large_level: int) -> QueryPlan:
    """Return the plan of a query in O(rows + edges log edges); see `LARGE_LEVEL`."""
    first, last = int(levels.query_group[query]), int(levels.query_group[query + 1])
    starts = levels.group_start[first : last + 1]
    row_of = levels.row_of[starts[0] : starts[-1]]
    sizes = np.diff(starts)
    weight = None if levels.weight is None else levels.weight[starts[0] : starts[-1]]
    totals = group_totals(sizes, starts - starts[0], weight)
    runs = np.empty((0, 4), dtype=np.int64)
    links = (_NO_LINKS, _NO_LINKS, _NO_LINKS, _NO_LINKS)
    if levels.edges is None:
        code_of, segment = _codes_of_full(sizes, totals, large_level)
    else:
        bounds = np.searchsorted(levels.edges[:, 0], [first, last])
        joined = levels.edges[bounds[0] : bounds[1]] - first
        large = sizes[joined[:, 0]] * sizes[joined[:, 1]] > LARGE_EDGE
        runs = np.column_stack(
            [starts[joined[~large, end] + step] for end in (0, 1) for step in (0, 1)]
        )
        code_of, segment, links = _codes_of_graph(sizes.size, joined[large])
    place = _Places(row_of, levels.n_rows)
    by_row = np.repeat(code_of, sizes).astype(np.int32)
    code = place.in_order(by_row) if segment.size > 1 else np.empty(0, dtype=np.int32)
    in_segment = segment[code_of]
    lower_weight = balance = self_weight = _NONE
    if in_segment.any():
        w = np.ones(row_of.size) if weight is None else weight
        below, above = weights_around(code_of, totals, segment)
        member = np.repeat(in_segment, sizes)
        lower_weight = place.in_order(
            np.where(member, w * (np.repeat(below, sizes) + 0.5 * w), 0.0)
        )
        balance = place.in_order(np.where(member, w * np.repeat(below - above, sizes), 0.0))
        self_weight = place.in_order(np.where(member, w, 0.0))
        chosen = np.flatnonzero(in_segment & (sizes > 1))
        ends = (starts[chosen], starts[chosen + 1])
        runs = np.column_stack((*ends, ends[0], ends[0]))
    return QueryPlan(
        query, place.rows, code_of, code, _NONE if weight is None else place.in_order(weight),
        segment, *links, lower_weight, balance, self_weight, runs,
    )  # fmt: skip


class _Places:
    """The rows of a query in the user's order, and the map from the layout to them."""

    def __init__(self, row_of: NDArray[np.int32], n_rows: int) -> None:
        low, high = int(row_of.min()), int(row_of.max())
        self._at: NDArray[np.int32] | None = None
        self.rows: slice | NDArray[np.int32]
        if high - low + 1 == row_of.size:
            self.rows = slice(low, high + 1)
            self._at = row_of if low == 0 else row_of - np.int32(low)
            self._order = None
        else:
            self._order = np.argsort(row_of, kind="stable")
            self.rows = row_of[self._order]

    def in_order(self, values: NDArray) -> NDArray:
        """Bring values per place of the layout to the user's order."""
        if self._order is not None:
            return values[self._order]
        result = np.empty_like(values)
        result[self._at] = values
        return result


def _codes_of_full(
    sizes: IntArray, totals: FloatArray, large_level: int
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return each level's code and which codes are segments, for the full graph."""
    alone = sizes >= large_level
    while True:
        new = np.ones(sizes.size, dtype=bool)
        new[1:] = alone[1:] | alone[:-1]
        code_of = np.cumsum(new) - 1
        members = np.bincount(code_of)
        share = totals / np.bincount(code_of, totals)[code_of]
        heavy = ~alone & (members[code_of] > 1) & (share > GREATEST_SHARE)
        if not heavy.any():
            lonely = members == 1
            return code_of, ~lonely
        alone |= heavy


def _codes_of_graph(
    n_levels: int, joined: IntArray
) -> tuple[IntArray, NDArray[np.bool_], tuple[IntArray, IntArray, IntArray, IntArray]]:
    """Return each level's code, that no code is a segment, and the links between codes.

    Levels without a large edge share one code without links.
    """
    code_of = np.zeros(n_levels, dtype=np.int64)
    coded = np.unique(joined)
    code_of[coded] = np.arange(coded.size)
    if coded.size < n_levels:
        idle = np.ones(n_levels, dtype=bool)
        idle[coded] = False
        code_of[idle] = coded.size
    n_codes = coded.size + (coded.size < n_levels)
    low, high = code_of[joined].T
    counts = np.arange(n_codes + 1)
    by_high, by_low = np.argsort(high, kind="stable"), np.argsort(low, kind="stable")
    links = (
        low[by_high], np.searchsorted(high[by_high], counts),
        high[by_low], np.searchsorted(low[by_low], counts),
    )  # fmt: skip
    return code_of, np.zeros(n_codes, dtype=bool), links


def weights_around(
    level_code: IntArray, totals: FloatArray, segment: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return each level's sums of `totals`, (n_levels,), below and above it in its segment."""
    below, above = np.zeros(totals.size), np.zeros(totals.size)
    starts = np.searchsorted(level_code, np.arange(segment.size + 1))
    for code in np.flatnonzero(segment):
        here = slice(starts[code], starts[code + 1])
        below[here][1:] = _running(totals[here])[:-1]
        above[here][:-1] = _running(totals[here][::-1])[-2::-1]
    return below, above


def _running(values: FloatArray) -> FloatArray:
    """Return cumulative sums by blocks, with 2 sqrt(n) successive roundings instead of n."""
    width = math.isqrt(values.size) + 1
    blocks = np.zeros((-(-values.size // width), width))
    blocks.reshape(-1)[: values.size] = values
    blocks = np.cumsum(blocks, axis=1)
    blocks[1:] += np.cumsum(blocks[:-1, -1])[:, np.newaxis]
    return blocks.reshape(-1)[: values.size]
