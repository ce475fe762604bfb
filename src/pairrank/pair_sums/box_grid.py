"""The rows of one query in boxes, at fixed scores: moments, and what levels make of each other."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled import box_levels, box_products, boxes
from pairrank.pair_sums.box_plan import QueryPlan
from pairrank.pair_sums.box_rule import BoxRule
from pairrank.pair_sums.box_sum import FEW_BOXES, occupied, span
from pairrank.pair_sums.box_tables import children_map, coarse_blocks, limits_of
from pairrank.pair_sums.profiles import Profile

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
        Write down where every row is, 12 bytes each, for many sums at the same scores.

    Attributes
    ----------
    scores : float64 array of shape (n,)
        Those of the query.
    feasible : bool
        False where there are more boxes than memory of the order of the rows; then nothing else
        may be asked for.
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
        """1/h, the key of the first fine box, and how many there are for each code."""
        children = self.rule.children
        return 1.0 / self.rule.fine, self.keys[0] * children, self.keys.size * children

    def _find_boxes(self, first: float, count: float) -> None:
        """Give every row its coarse box: of all between the extremes, or of those with rows."""
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
        """Return the moments of every code under weight - shift, (n,), or 1 if it is empty."""
        plan, rule = self.plan, self.rule
        rows = (self.scores, plan.code, weight, shift)
        if self.fine:
            fine = boxes.fine_moments(*rows, plan.n_codes, *self._fine, self._at, self._u)
            return box_products.moments_up(fine, children_map(rule))
        return boxes.coarse_moments(
            *rows, self._slot, plan.n_codes, 1.0 / rule.fine, rule.children, self.keys.size,
            rule.degree,
        )  # fmt: skip

    def meet(
        self,
        moments: FloatArray,
        profile: Profile,
        *,
        pulls: bool = False,
        value_of: tuple[Profile, ...] = (),
    ) -> tuple[FloatArray, float]:
        """Return what the codes make of one another; see `box_levels.meet_levels`.

        `value_of` is a cost and its even part, where the value is wanted too.
        """
        plan, rule = self.plan, self.rule
        tables = [(coarse_blocks(x, rule), limits_of(x)) for x in value_of] or 2 * [_NO_TABLES]
        return box_levels.meet_levels(
            self.keys, moments, plan.segment, plan.below, plan.below_start, plan.above,
            plan.above_start, rule.coarse, coarse_blocks(profile, rule), limits_of(profile), pulls,
            *tables[0], *tables[1],
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

        F and G are the series and those of `less`, at the rows; `v` is the query's, (n,), `result`
        has all rows.
        """
        plan = self.plan
        direct = isinstance(plan.rows, slice)
        here = result[plan.rows] if direct else np.zeros(self.scores.size)
        rows = (self.scores, plan.code, plan.weight, v, shift)
        if self.fine:
            up = children_map(self.rule)
            down = (box_products.series_down(series, up), box_products.series_down(less, up))
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
