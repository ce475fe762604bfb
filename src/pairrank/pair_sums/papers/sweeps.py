"""Selection tree and level counting: sweeps over the sorted scores of a query."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.layout import scatter
from pairrank.compiled.sweeps import sums_by_sweeps
from pairrank.pair_sums.sorted import SortedSum, query_scale
from pairrank.pair_sums.sorted_scores import SortedScores, sort_scores
from pairrank.preferences import Levels


class SweptSum(SortedSum):
    """The same sum by the paper's selection tree, or by one accumulator per level.

    It needs the full graph. Gradients and Hessian products cost O(rows log levels) by
    `"selection_tree"` and O(rows * levels) by `"level_counting"`.
    """

    def __init__(self, levels: Levels, margin: float, squared: bool, algorithm: str) -> None:
        super().__init__(levels, margin, squared)
        self.margin, self.squared = margin, squared
        self.by_tree = algorithm == "selection_tree"
        groups = np.diff(levels.query_group)
        several = groups > 1
        self.n_levels = groups[several]
        self.ranges = np.column_stack((levels.query_start[:-1], levels.query_start[1:]))[several]
        self.swept_scale = query_scale(levels)[several]
        level = np.arange(levels.group_level.size) - np.repeat(levels.query_group[:-1], groups)
        self.level = np.zeros(levels.n_rows, dtype=np.int32)
        self.level[levels.row_of] = np.repeat(level, np.diff(levels.group_start))

    def _sorted(self, scores: FloatArray) -> list[SortedScores]:
        return [SweptScores(self, scores)]


class SweptScores(SortedScores):
    """Whole queries sorted by score, with the level of each row."""

    def __init__(self, owner: SweptSum, scores: FloatArray) -> None:
        self.owner = owner
        n_kept = owner.levels.row_of.size
        self._sorted, self._rows = np.empty(n_kept), np.empty(n_kept, np.int32)
        spare = np.empty((2, n_kept))
        sort_scores(owner.levels, owner.ranges, scores, self._sorted, self._rows, spare)
        self._level = owner.level[self._rows]

    def gradient(self, result: FloatArray) -> float:
        """Write the gradient without the row's own weight and scale; return the value."""
        owner = self.owner
        return self._sweep(owner.weight, owner.squared, True, 1.0, -1.0, result)

    def gamma(self, x: FloatArray, plus: float, minus: float, result: FloatArray) -> None:
        """Write each row's sum of x over the rows that it violates with, by direction."""
        self._sweep(x, False, False, plus, minus, result)

    def _sweep(
        self,
        weight: FloatArray,
        squared: bool,
        moments: bool,
        plus: float,
        minus: float,
        result: FloatArray,
    ) -> float:
        owner = self.owner
        value, sums = 0.0, np.zeros(self._rows.size)
        if len(owner.ranges):
            value = sums_by_sweeps(
                owner.by_tree, owner.ranges, owner.swept_scale, self._sorted, self._level,
                owner.n_levels, weight[self._rows] if weight.size else weight, owner.margin,
                squared, moments, plus, minus, sums,
            )  # fmt: skip
        scatter(sums, self._rows, result)
        return float(value)
