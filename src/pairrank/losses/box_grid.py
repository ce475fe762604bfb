"""The rows of one query in boxes, at fixed scores: moments, and what levels make of each other."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.fast_sums.box_rule import BoxRule
from pairrank.fast_sums.box_tables import children_map, coarse_blocks, limits_of
from pairrank.fast_sums.profiles import Profile
from pairrank.losses.box_plan import QueryPlan
from pairrank.sums import box_levels
from pairrank.sums.boxes import least_and_greatest

_NONE = np.empty(0)


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
        self.extremes = least_and_greatest(self.scores)
        self._widths, self._up = np.array([rule.fine, rule.coarse]), children_map(rule)
        self.keys, *self._places = box_levels.boxes_of_levels(
            self.scores, plan.code, plan.n_codes, self.extremes, self._widths, self._up, keep
        )
        self.feasible = self.keys.size > 0

    def moments(self, weight: FloatArray, shift: float = 0.0) -> FloatArray:
        """Return the moments of every code under weight - shift, (n,), or 1 if it is empty."""
        return box_levels.moments_of_levels(
            self.scores, self.plan.code, weight, shift, self.plan.n_codes, self.keys,
            *self._places, self._widths, self._up,
        )  # fmt: skip

    def series(self, moments: FloatArray, profile: Profile, *, pulls: bool = False) -> FloatArray:
        """Return what the codes make of one another; see `box_levels.series_of_levels`."""
        plan, rule = self.plan, self.rule
        return box_levels.series_of_levels(
            self.keys, moments, plan.segment, plan.below, plan.below_start, plan.above,
            plan.above_start, coarse_blocks(profile, rule), limits_of(profile), rule.coarse, pulls,
        )  # fmt: skip

    def value(self, moments: FloatArray, cost: Profile, even: Profile) -> float:
        """Return the sum of the cost between codes and of half of its even part in segments."""
        plan, rule = self.plan, self.rule
        return box_levels.value_of_levels(
            self.keys, moments, plan.segment, plan.below, plan.below_start,
            coarse_blocks(cost, rule), limits_of(cost), coarse_blocks(even, rule), limits_of(even),
            rule.coarse,
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
        box_levels.add_levels(
            self.scores, plan.code, plan.weight, v, shift, self.keys, *self._places, self._widths,
            self._up, factor, series, less, here,
        )  # fmt: skip
        if not direct:
            result[plan.rows] += here
