"""The second and third route of hinge sums: sweeps over the sorted scores of a query."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.losses.hinge_schedule import Schedule, whole_queries
from pairrank.losses.hinge_sums import HingeSum, SortedScores, sort_scores
from pairrank.preferences import Levels


class SweptHingeSum(HingeSum):
    """The same sum by the paper's selection tree, or by one accumulator a level.

    For the full graph; under another graph every route goes edge by edge. O(rows log levels) by
    `"selection_tree"`, O(rows * levels) by `"direct"`, for a gradient as for a Hessian product.
    """

    def __init__(self, levels: Levels, margin: float, squared: bool, route: str) -> None:
        super().__init__(levels, margin, squared)
        self.by_tree = route == "selection_tree"
        groups = np.diff(levels.query_group)
        self.n_levels = np.ascontiguousarray(groups[groups > 1])
        self.swept_scale = self.query_scale[groups > 1]
        level = np.arange(levels.group_level.size) - np.repeat(levels.query_group[:-1], groups)
        self.level = np.zeros(levels.n_rows, dtype=np.int32)
        self.level[levels.row_of] = np.repeat(level, np.diff(levels.group_start))

    def _schedule(self, levels: Levels) -> Schedule:
        return whole_queries(levels)

    def _schedule_of_products(self) -> Schedule:
        return self.schedule

    def _sorted(self, schedule: Schedule, scores: FloatArray) -> SortedScores:
        return SweptScores(self, schedule, scores)


class SweptScores(SortedScores):
    """Whole queries sorted by score, with the level of each row."""

    def __init__(self, owner: SweptHingeSum, schedule: Schedule, scores: FloatArray) -> None:
        self.schedule = schedule
        self.scores = scores.copy()
        self.sorted, self.rows = sort_scores(schedule, owner.levels, scores)
        self.level = owner.level[self.rows]
        self.weight = np.empty(0) if owner.weight is None else owner.weight[self.rows]

    def gradient(self, owner: HingeSum, result: FloatArray) -> float:
        """Add every pair to `result`; return their value."""
        from pairrank.sums.direct import gradient_by_counting
        from pairrank.sums.selection_tree import gradient_by_selection_tree

        assert isinstance(owner, SweptHingeSum)
        sweep = gradient_by_selection_tree if owner.by_tree else gradient_by_counting
        if not len(owner.n_levels):
            return 0.0
        gradient = np.zeros(self.rows.size)
        value = sweep(
            self.schedule.ranges, owner.swept_scale, self.sorted, self.level, owner.n_levels,
            self.weight, owner.margin, owner.squared, gradient,
        )  # fmt: skip
        self._give_back(owner, gradient, result)
        return float(value)

    def gamma(self, owner: HingeSum, x: FloatArray, plus: float, minus: float) -> FloatArray:
        """Return each row's sum of x over the rows that it violates with, by direction."""
        from pairrank.sums.direct import gamma_by_counting
        from pairrank.sums.selection_tree import gamma_by_selection_tree

        assert isinstance(owner, SweptHingeSum)
        sweep = gamma_by_selection_tree if owner.by_tree else gamma_by_counting
        result = np.zeros(owner.levels.n_rows)
        if len(owner.n_levels):
            gamma = np.zeros(self.rows.size)
            sweep(
                self.schedule.ranges, self.sorted, self.level, owner.n_levels, x[self.rows],
                owner.margin, plus, minus, gamma,
            )  # fmt: skip
            self._give_back(owner, gamma, result)
        return result

    def _give_back(self, owner: HingeSum, values: FloatArray, result: FloatArray) -> None:
        from pairrank.sums.layout import scatter_add

        scatter_add(values, self.rows, self.schedule.ranges, 1.0, result)
