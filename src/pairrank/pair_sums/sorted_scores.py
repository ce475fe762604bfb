"""The sorted scores of a hinge sum at fixed scores: groups, positions and merge orders."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.layout import gather, scatter
from pairrank.compiled.sorted_blocks import sums_in_blocks
from pairrank.compiled.sorted_edges import gamma_over_edges, gradient_over_edges
from pairrank.compiled.sorted_tree import gamma_over_tree, gradient_over_tree
from pairrank.compiled.sorting import sort_segments
from pairrank.pair_sums.sorted_schedule import IntArray, Schedule
from pairrank.preferences import Levels

_PLAN_BYTES_A_ROW = 40
_PLAN_BYTES = 64 << 20


class Hinge(NamedTuple):
    """A hinge, and the rows that it is summed over."""

    levels: Levels
    margin: float
    squared: bool
    weight: FloatArray
    """Of each row, in the user's order; empty if all are 1."""
    query_scale: FloatArray


class Buffers:
    """Arrays by name, reused from call to call: fresh memory would cost as much as the sums."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, size: int, dtype: Any = np.float64) -> NDArray[Any]:
        """Return an array with arbitrary contents."""
        held = self._held.get(name)
        if held is None or held.size < size:
            held = self._held[name] = np.empty(size, dtype)
        return held[:size]


class SortedScores:
    """Sorted groups, their positions in one another and merge orders, at fixed scores.

    The first pass over the pairs finds positions and orders. They are kept for further passes,
    which a hinge has none of, unless they need much memory: then every pass finds them. The arrays
    of `own` are those of this object, those of `work` are scratch for any.
    """

    def __init__(
        self, hinge: Hinge, schedule: Schedule, scores: FloatArray, own: Buffers, work: Buffers
    ) -> None:
        self.hinge, self.schedule, self._work = hinge, schedule, work
        levels, edges, nodes = hinge.levels, schedule.edges, schedule.nodes
        self._scores = scores.copy() if len(schedule.jobs) else scores
        size, spare = levels.row_of.size, _lines(work, levels)
        self._sorted, self._rows = own("sorted", size), own("rows", size, np.int32)
        sort_scores(levels, schedule.segments, scores, self._sorted, self._rows, spare)
        self._merged_rows = self._rows
        if len(nodes):
            # One sort of whole queries costs less than moving the rows in every merge.
            self._merged_rows = own("merged rows", size, np.int32)
            ranges, merged = schedule.tree_ranges, spare[2, :size]
            sort_scores(levels, ranges, scores, merged, self._merged_rows, spare)
        by_edge = np.diff(levels.group_start)[edges[:, :2]].sum(axis=1)
        by_node = nodes[:, 2] - nodes[:, 0]
        most = max(_PLAN_BYTES, _PLAN_BYTES_A_ROW * levels.row_of.size)
        self._kept = hinge.squared and 4 * by_edge.sum() + 5 * by_node.sum() <= most
        self._found = False
        starts, size = self._places(by_edge)
        self._edge_plan = starts, own("edge positions", size, np.int32)
        starts, size = self._places(by_node)
        self._tree_plan = starts, own("positions", size, np.int32), own("upper", size, np.bool_)

    def _places(self, sizes: IntArray) -> tuple[IntArray, int]:
        """Return where each part of the positions begins, and the length of all."""
        if self._kept:
            return np.cumsum(sizes) - sizes, int(sizes.sum())
        return np.zeros_like(sizes), int(sizes.max(initial=0))

    def gradient(self) -> tuple[float, FloatArray]:
        """Return the value, and the gradient without the row's own weight and scale."""
        (levels, margin, squared, weight, scale), schedule = self.hinge, self.schedule
        value, result = 0.0, np.zeros(levels.n_rows)
        if len(schedule.segments):
            laid = self._laid(weight) if weight.size else weight
            gradient, lines = self._zeros(), _lines(self._work, levels)
            value += gradient_over_edges(
                schedule.edges, scale, levels.group_start, self._sorted, laid, margin, squared,
                *self._edge_plan, lines, gradient,
            )  # fmt: skip
            value += gradient_over_tree(
                schedule.nodes, scale, self._sorted, laid, margin, squared, *self._tree_plan,
                lines, gradient,
            )  # fmt: skip
            self._found = self._kept
            scatter(gradient, self._merged_rows, result)
        value += self._in_blocks(weight, squared, 1.0, -1.0, result)
        return value, result

    def gamma(self, x: FloatArray, plus: float, minus: float) -> FloatArray:
        """Return each row's sum of x over the rows that it violates with, by direction.

        `plus` multiplies what less preferred rows get (gamma+ of Eq. 17), `minus` what preferred
        rows get (gamma-).
        """
        (levels, margin, _, _, _), schedule = self.hinge, self.schedule
        result = np.zeros(levels.n_rows)
        if len(schedule.segments):
            laid, gamma, lines = self._laid(x), self._zeros(), _lines(self._work, levels)
            gamma_over_edges(
                schedule.edges, levels.group_start, self._sorted, laid, margin, self._found,
                *self._edge_plan, plus, minus, lines, gamma,
            )  # fmt: skip
            gamma_over_tree(
                schedule.nodes, self._sorted, laid, margin, self._found, *self._tree_plan, plus,
                minus, lines, gamma,
            )  # fmt: skip
            self._found = self._kept
            scatter(gamma, self._merged_rows, result)
        self._in_blocks(x, False, plus, minus, result)
        return result

    def _in_blocks(
        self, x: FloatArray, squared: bool, plus: float, minus: float, result: FloatArray
    ) -> float:
        levels, jobs = self.hinge.levels, self.schedule.jobs
        edges = np.empty((0, 2), dtype=np.int64) if levels.edges is None else levels.edges
        return float(
            sums_in_blocks(
                jobs, self.hinge.query_scale, edges, levels.group_start, levels.row_of,
                self._scores, x, self.hinge.margin, squared, plus, minus, result,
            )
        )  # fmt: skip

    def _laid(self, values: FloatArray) -> FloatArray:
        laid = self._work("laid", self._rows.size)
        gather(values, self._rows, laid)
        return laid

    def _zeros(self) -> FloatArray:
        zeros = self._work("sums", self._rows.size)
        zeros[:] = 0.0
        return zeros


def _lines(work: Buffers, levels: Levels) -> FloatArray:
    """Return the scratch of all compiled loops, (6, n_rows + n_groups + 3)."""
    size = levels.row_of.size + levels.group_start.size + 3
    return work("lines", 6 * size).reshape(6, size)


def sort_scores(
    levels: Levels,
    segments: IntArray,
    scores: FloatArray,
    laid: FloatArray,
    rows: NDArray[np.int32],
    spare: FloatArray,
) -> None:
    """Write the scores sorted within each segment, and the rows; others stay in the layout."""
    laid[:], rows[:] = 0.0, levels.row_of
    sort_segments(scores, levels.row_of, segments, laid, rows, spare[0], spare[1].view(np.int32))
