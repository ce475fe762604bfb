"""One query in boxes: its levels' moments at fixed scores, and the sums over other levels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import box_grid
from pairrank.pair_sums import costs
from pairrank.pair_sums.box_sum import NO_CODE, Boxes, Code, coarse_blocks, limits_of
from pairrank.pair_sums.profiles import BoxRule, Profile
from pairrank.pair_sums.sigmoid_pairs import NONE
from pairrank.preferences import Levels
from pairrank.preferences._codes import group_totals, totals_around
from pairrank.preferences.ordering import scattered

_NO_TABLES = (np.empty((0, 0)), np.zeros(4))
for _table in _NO_TABLES:
    _table.flags.writeable = False


class BoxGrid:
    """One query's scores, part of those of all rows (n_rows,), in the boxes of a rule.

    `feasible` is False if the boxes
    would need more memory than of the order of the rows; then no method may be called.
    """

    def __init__(self, plan: QueryPlan, rule: BoxRule, scores: FloatArray) -> None:
        self.plan, self.rule = plan, rule
        self.scores = np.ascontiguousarray(scores[plan.rows])
        self.boxes = Boxes(rule, self.scores, plan.code, plan.n_codes)
        most = max(MANY_BOXES, self.scores.size)
        self.feasible = plan.n_codes == 1 or self.boxes.keys.size * plan.n_codes <= most

    def meet(
        self, moments: FloatArray, profile: Profile, order: int, value_of: tuple[Profile, ...] = ()
    ) -> tuple[FloatArray, float]:
        """Return the series and the value of the sums between codes; see `box_grid.meet_levels`.

        `profile` is S for order 1, phi'' for order 2. `value_of` has a cost and its even part, if
        the value is wanted.
        """
        plan, rule = self.plan, self.rule
        tables = [(coarse_blocks(x, rule), limits_of(x)) for x in value_of] or 2 * [_NO_TABLES]
        return box_grid.meet_levels(
            self.boxes.keys, moments, plan.segment, *plan.links, rule.coarse,
            coarse_blocks(profile, rule), limits_of(profile), order, *tables[0], *tables[1],
        )  # fmt: skip

    def add(
        self,
        factor: float,
        series: FloatArray,
        result: FloatArray,
        *,
        v: FloatArray = NONE,
        shift: float = 0.0,
        less: FloatArray = NONE,
    ) -> None:
        """Do what `Boxes.add` does, with the plan's weights and `result` of all rows, (n_rows,)."""
        rows, direct = self.plan.rows, isinstance(self.plan.rows, slice)
        here = result[rows] if direct else np.zeros(self.scores.size)
        self.boxes.add(factor, series, self.plan.weight, here, v=v, shift=shift, less=less)
        if not direct:
            result[rows] += here


IntArray = NDArray[np.int64]
Links = tuple[IntArray, IntArray, IntArray, IntArray]

MANY_BOXES = 4096
"""The most boxes of all codes together, or the number of rows if it is larger."""
FEW_CODES = 256
"""The most codes that are kept in a byte per row."""
GREATEST_SHARE = 7.0 / 8.0
"""The largest part of a segment's weight that one small level may have."""
SEGMENT_FACTOR = 8.0
"""1/(1 - GREATEST_SHARE): the divisor of eps that makes errors relative to the pairs' weight.

With a segment, a row's sum is over all rows, with an error of eps times their weight; rows of other
levels have at least 1/8 of it. The error of half the sum of e over a segment of weight W is
eps W^2/2, and its pairs have at least the weight (1 - 7/8) W^2/2.

The pairs within a group of weight w, in a query of weight W, may then have an error of
eps (7/8 W/w - 1) times w: with that of the boxes, eps W/8, a row's is eps (W - w).
"""

_NO_LINKS = 4 * (np.empty(0, dtype=np.int64),)


@dataclass(frozen=True, eq=False)
class QueryPlan:
    """The layout of one query of n rows for a box sum."""

    query: int
    rows: slice | NDArray[np.int32]
    """The rows of X, in the user's order."""
    code: Code
    """Each row's code, in that order, or empty if there is a single code."""
    weight: FloatArray
    """In that order; empty if all weights are 1."""
    segment: NDArray[np.bool_]
    """Whether a code is a segment, which is a run of small levels, (n_codes,)."""
    links: Links
    """The codes below and above each, as `meet_levels` takes them; empty if the graph is full."""
    level_start: IntArray
    """Where the rows of each level begin in the query's part of the layout, (n_levels + 1,)."""
    first_level: IntArray
    """Where the levels of each code begin if the graph is full, (n_codes + 1,)."""
    small_edges: IntArray
    """The edges that are summed pair by pair, (n, 2)."""
    segment_weight: FloatArray = field(default_factory=lambda: NONE)
    """The weight of rows of segments and 0 for others, in layout order; empty without segments."""
    lower_weight: FloatArray = field(default_factory=lambda: NONE)
    """Scale * weight * (the weight of lower levels of its segment + half the own weight), in the
    user's order."""
    balance: FloatArray = field(default_factory=lambda: NONE)
    """Weight * (the weight of lower levels of its segment less that of higher ones), likewise."""
    tied: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The groups of two or more rows in segments."""
    tied_share: FloatArray = field(default_factory=lambda: NONE)
    """The error that a sum within each of these groups may have, in eps and the group's weight."""

    @property
    def n_codes(self) -> int:
        """The number of codes."""
        return self.segment.size

    def around(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of values, in layout order, over lower and higher levels of each code.

        Both (n_levels,).
        """
        return totals_around(np.add.reduceat(values, self.level_start[:-1]), self.first_level)


def make_plan(levels: Levels, query: int, large_level: int, scale: float) -> QueryPlan:
    """Return the plan of a query in O(rows + edges log edges); see `costs.LARGE_LEVELS`.

    `scale` is a factor on the query's pairs.
    """
    first, last = levels.query_group[query : query + 2]
    starts = levels.group_start[first : last + 1]
    here = slice(starts[0], starts[-1])
    row_of, sizes = levels.row_of[here], np.diff(starts)
    weight = None if levels.weight is None else levels.weight[here]
    rows, place = _in_order(row_of)
    links: Links = _NO_LINKS
    small_edges = np.empty((0, 2), dtype=np.int64)
    if levels.edges is None:
        totals = group_totals(sizes, starts - starts[0], weight)
        code_of, segment = _codes_of_full(sizes, totals, large_level)
    else:
        bounds = np.searchsorted(levels.edges[:, 0], [first, last])
        edges = levels.edges[bounds[0] : bounds[1]]
        low, high = edges.T - first
        large = sizes[low] * sizes[high] > costs.LARGE_EDGE
        small_edges = edges[~large]
        code_of, links = _codes_of_graph(sizes.size, edges[large] - first)
        segment = np.zeros(code_of.max() + 1, dtype=bool)
    code: Code = NO_CODE
    if segment.size > 1:
        small = np.uint8 if segment.size <= FEW_CODES else np.int32
        code = scattered(np.repeat(code_of.astype(small), sizes), place)
    plan = QueryPlan(
        query, rows, code, NONE if weight is None else scattered(weight, place), segment, links,
        starts - starts[0], np.append(0, np.cumsum(np.bincount(code_of))), small_edges,
    )  # fmt: skip
    in_segment = segment[code_of]
    if not in_segment.any():
        return plan
    w = np.where(np.repeat(in_segment, sizes), 1.0 if weight is None else weight, 0.0)
    below, above = (np.repeat(sums, sizes) for sums in plan.around(w))
    tied = in_segment & (sizes > 1)
    return replace(
        plan,
        segment_weight=w,
        lower_weight=scattered(scale * w * (below + 0.5 * w), place),
        balance=scattered(w * (below - above), place),
        tied=first + np.flatnonzero(tied),
        tied_share=(1.0 - 1.0 / SEGMENT_FACTOR) * totals.sum() / totals[tied] - 1.0,
    )


def _in_order(row_of: NDArray[np.int32]) -> tuple[slice | NDArray[np.int32], NDArray[np.int32]]:
    """Return a query's rows, ascending, and the place of each row of the layout among them."""
    low, high = int(row_of.min()), int(row_of.max())
    if high - low + 1 == row_of.size:
        return slice(low, high + 1), row_of - np.int32(low) if low else row_of
    order = np.argsort(row_of)
    return row_of[order], scattered(np.arange(row_of.size, dtype=np.int32), order)


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
            return code_of, members > 1
        alone |= heavy


def _codes_of_graph(n_levels: int, joined: IntArray) -> tuple[IntArray, Links]:
    """Return each level's code and the links between codes, none of which is a segment.

    Levels without a large edge share one code without links.
    """
    coded = np.unique(joined)
    code_of = np.full(n_levels, coded.size)
    code_of[coded] = np.arange(coded.size)
    low, high = code_of[joined].T
    counts = np.arange(code_of.max() + 2)
    by_high, by_low = np.argsort(high, kind="stable"), np.argsort(low, kind="stable")
    links = (
        low[by_high], np.searchsorted(high[by_high], counts),
        high[by_low], np.searchsorted(low[by_low], counts),
    )  # fmt: skip
    return code_of, links
