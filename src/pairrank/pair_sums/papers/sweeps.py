"""Selection tree and level counting: sweeps over the sorted scores of a query."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.sorting import sort_segments
from pairrank.compiled.sweeps import sums_by_sweeps
from pairrank.pair_sums.sorted import Hinge, Part, PartState


class SweptByTree(PartState):
    """A part whose whole queries are sorted by score, and swept: Lee & Lin's Algorithm 2.

    It needs the full graph. Gradients and Hessian products cost O(rows log levels).
    """

    by_tree = True

    def __init__(self, part: Part, scores: FloatArray, margin: float) -> None:
        levels, self.part, self.scores = part.levels, part, scores[part.levels.row_of]
        n_rows, groups = self.scores.size, np.diff(levels.query_group)
        several = groups > 1
        self._ranges = np.column_stack((levels.query_start[:-1], levels.query_start[1:]))[several]
        self._n_levels, self._scale = groups[several], part.scale[several]
        level = np.arange(levels.group_level.size) - np.repeat(levels.query_group[:-1], groups)
        self._level = np.repeat(level, np.diff(levels.group_start))
        spare, (self._places, rows) = np.empty((2, n_rows)), np.empty((2, n_rows), np.int32)
        here = np.arange(n_rows, dtype=np.int32)
        sort_segments(self.scores, here, self._ranges, spare[0], self._places, spare[1], rows)

    def sums(
        self, hinge: Hinge, c: float, winner: FloatArray, loser: FloatArray, *, counted: bool
    ) -> tuple[float, FloatArray]:
        """Return the cost of all pairs, and the sums by row; see `PartState.sums`."""
        sums, value = np.zeros((2, self.scores.size)), 0.0
        if len(self._ranges):
            value = sums_by_sweeps(
                self.by_tree, self._ranges, c * self._scale, self._places, self.scores, self._level,
                self._n_levels, winner, loser, hinge.margin, hinge.squared and not counted,
                not counted, sums,
            )  # fmt: skip
        return float(value), sums


class SweptByLevel(SweptByTree):
    """The same with one accumulator per level, O(rows * levels)."""

    by_tree = False


KINDS = {"selection_tree": SweptByTree, "level_counting": SweptByLevel}
"""The states of parts by the name of the algorithm."""
