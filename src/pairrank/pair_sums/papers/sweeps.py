"""Selection tree and level counting: sweeps over the sorted scores of a query."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.layout import scatter
from pairrank.compiled.sweeps import (
    gamma_by_counting,
    gamma_by_selection_tree,
    gradient_by_counting,
    gradient_by_selection_tree,
)
from pairrank.pair_sums.sorted import SortedSum
from pairrank.pair_sums.sorted_schedule import Schedule, whole_queries
from pairrank.pair_sums.sorted_scores import BoundHinge, Buffers, SortedScores, sort_scores
from pairrank.preferences import Levels


class SweptSum(SortedSum):
    """The same sum by the paper's selection tree, or by one accumulator per level.

    It needs the full graph. Gradients and Hessian products cost O(rows log levels) by
    `"selection_tree"` and O(rows * levels) by `"level_counting"`.
    """

    def __init__(self, levels: Levels, margin: float, squared: bool, algorithm: str) -> None:
        super().__init__(levels, margin, squared)
        self.by_tree = algorithm == "selection_tree"
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

    def _sorted(self, schedule: Schedule, scores: FloatArray, buffers: Buffers) -> SortedScores:
        return SweptScores(self, schedule, scores, buffers)


class SweptScores(SortedScores):
    """Whole queries sorted by score, with the level of each row."""

    def __init__(
        self, owner: SweptSum, schedule: Schedule, scores: FloatArray, buffers: Buffers
    ) -> None:
        self.schedule, self.buffers = schedule, buffers
        self.scores = scores.copy()
        self.sorted, self.rows = sort_scores(owner, schedule, scores, buffers)
        self.level = owner.level[self.rows]
        self.weight = np.empty(0) if owner.weight is None else owner.weight[self.rows]

    def gradient(self, owner: BoundHinge, factor: float) -> tuple[float, FloatArray]:
        """Return the value, and factor times the gradient without the row's weight and scale."""
        assert isinstance(owner, SweptSum)
        sweep = gradient_by_selection_tree if owner.by_tree else gradient_by_counting
        gradient = np.zeros(self.rows.size)
        value = 0.0
        if len(owner.n_levels):
            value = sweep(
                owner.schedule.ranges, owner.swept_scale, self.sorted, self.level, owner.n_levels,
                self.weight, owner.margin, owner.squared, gradient,
            )  # fmt: skip
        return value, self._give_back(owner, gradient, factor)

    def gamma(self, owner: BoundHinge, x: FloatArray, plus: float, minus: float) -> FloatArray:
        """Return each row's sum of x over the rows that it violates with, by direction."""
        assert isinstance(owner, SweptSum)
        sweep = gamma_by_selection_tree if owner.by_tree else gamma_by_counting
        gamma = np.zeros(self.rows.size)
        if len(owner.n_levels):
            sweep(
                owner.schedule.ranges, self.sorted, self.level, owner.n_levels, x[self.rows],
                owner.margin, plus, minus, gamma,
            )  # fmt: skip
        return self._give_back(owner, gamma, 1.0)

    def _give_back(self, owner: BoundHinge, values: FloatArray, factor: float) -> FloatArray:
        result = owner.empty_result(self.schedule)
        scatter(values, self.rows, self.schedule.ranges, factor, result)
        return result
