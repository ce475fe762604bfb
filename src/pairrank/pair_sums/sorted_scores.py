"""The sorted scores of a hinge sum at fixed scores: groups, positions and merge orders."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.hinge_offsets import add_hinge_offsets
from pairrank.compiled.layout import gather, scatter, scatter_add
from pairrank.compiled.sorted_blocks import sums_in_blocks
from pairrank.compiled.sorted_edges import gamma_over_edges, gradient_over_edges
from pairrank.compiled.sorted_tree import gamma_over_tree, gradient_over_tree
from pairrank.compiled.sorting import sort_segments
from pairrank.pair_sums.sorted_schedule import IntArray, Schedule
from pairrank.preferences import Levels


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


class Scratch(threading.local, Buffers):
    """Buffers of each thread's own."""


class SortedScores:
    """Sorted groups, their positions in one another and merge orders, at fixed scores.

    The first pass over the pairs finds positions and orders. They are kept for further passes,
    which a hinge has none of, unless they need more than `most` bytes: then every pass finds them.
    The arrays of `own` are those of this object, those of `work` are scratch for any. `scores` must
    not change. Once positions are found and kept, several threads may call `gamma`.
    """

    def __init__(
        self,
        hinge: Hinge,
        schedule: Schedule,
        scores: FloatArray,
        own: Buffers,
        work: Scratch,
        most: float,
    ) -> None:
        self.hinge, self.schedule, self._work, self._scores = hinge, schedule, work, scores
        levels, edges, nodes = hinge.levels, schedule.edges, schedule.nodes
        if not len(schedule.segments):
            self._found = True
            return
        size, spare = levels.row_of.size, _lines(work, levels, schedule, hinge.squared)
        self._sorted, self._rows = own("sorted", size), own("rows", size, np.int32)
        sort_scores(levels, schedule.segments, scores, self._sorted, self._rows, spare)
        self._merged_rows = self._rows
        if len(nodes):
            # One sort of whole queries costs less than moving the rows in every merge.
            self._merged_rows = own("merged rows", size, np.int32)
            ranges, merged = schedule.tree_ranges, spare[2, :size]
            self._merged_rows[:] = self._rows
            sort_segments(
                scores, levels.row_of, ranges, merged, self._merged_rows, spare[0],
                spare[1].view(np.int32),
            )  # fmt: skip
        by_edge = np.diff(levels.group_start)[edges[:, :2]].sum(axis=1)
        by_node = nodes[:, 2] - nodes[:, 0]
        self._kept = hinge.squared and 4 * by_edge.sum() + 5 * by_node.sum() <= most
        self._found = False
        self._held = own if self._kept else work
        self._by_edge, self._by_node = self._places(by_edge), self._places(by_node)

    def _places(self, sizes: IntArray) -> tuple[IntArray, int]:
        """Return where each part of the positions begins, and the length of all."""
        if self._kept:
            return np.cumsum(sizes) - sizes, int(sizes.sum())
        return np.zeros_like(sizes), int(sizes.max(initial=0))

    @property
    def _edge_plan(self) -> tuple[IntArray, NDArray[np.int32]]:
        starts, size = self._by_edge
        return starts, self._held("edge positions", size, np.int32)

    @property
    def _tree_plan(self) -> tuple[IntArray, NDArray[np.int32], NDArray[np.bool_]]:
        starts, size = self._by_node
        return starts, self._held("positions", size, np.int32), self._held("upper", size, np.bool_)

    def gradient(self, result: FloatArray) -> float:
        """Write the gradient without the row's own weight and scale; return the value."""
        (levels, margin, squared, weight, scale), schedule = self.hinge, self.schedule
        value = 0.0
        if len(schedule.segments):
            laid = self._laid(weight) if weight.size else weight
            gradient, lines = self._zeros(), _lines(self._work, levels, schedule, squared)
            if len(schedule.edges):
                summed = np.zeros((2, levels.group_start.size - 1), np.bool_)
                value += gradient_over_edges(
                    schedule.edges, scale, levels.group_start, self._sorted, laid, margin, squared,
                    *self._edge_plan, summed, lines, gradient,
                )  # fmt: skip
            if len(schedule.nodes):
                value += gradient_over_tree(
                    schedule.nodes, scale, self._sorted, laid, margin, squared, *self._tree_plan,
                    lines, gradient,
                )  # fmt: skip
            self._found = self._kept
            scatter(gradient, self._merged_rows, result)
        return value + self._pair_by_pair(weight, squared, 1.0, -1.0, result)

    def gamma(self, x: FloatArray, plus: float, minus: float, result: FloatArray) -> None:
        """Write each row's sum of x over the rows that it violates with, by direction.

        `plus` multiplies what less preferred rows get (gamma+ of Eq. 17), `minus` what preferred
        rows get (gamma-).
        """
        (levels, margin, _, _, _), schedule = self.hinge, self.schedule
        if len(schedule.segments):
            laid, gamma = self._laid(x), self._zeros()
            lines = _lines(self._work, levels, schedule, self.hinge.squared)
            if len(schedule.edges):
                gamma_over_edges(
                    schedule.edges, levels.group_start, self._sorted, laid, margin, self._found,
                    *self._edge_plan, plus, minus, lines, gamma,
                )  # fmt: skip
            if len(schedule.nodes):
                gamma_over_tree(
                    schedule.nodes, self._sorted, laid, margin, self._found, *self._tree_plan,
                    plus, minus, lines, gamma,
                )  # fmt: skip
            self._found = self._kept
            scatter(gamma, self._merged_rows, result)
        self._pair_by_pair(x, False, plus, minus, result)

    def _pair_by_pair(
        self, x: FloatArray, squared: bool, plus: float, minus: float, result: FloatArray
    ) -> float:
        levels, schedule, hinge, value = self.hinge.levels, self.schedule, self.hinge, 0.0
        how = (hinge.margin, squared, plus, minus)
        if len(schedule.jobs):
            value += sums_in_blocks(
                schedule.jobs, hinge.query_scale, schedule.job_edges, levels.group_start,
                levels.row_of, self._scores, x, *how, result,
            )  # fmt: skip
        if schedule.near is not None:
            places, distances, scale = schedule.near
            rows = levels.row_of[places]
            laid, laid_x, sums = (
                self._work(name, rows.size) for name in ("near", "x", "near sums")
            )
            gather(self._scores, rows, laid)
            if x.size:
                gather(x, rows, laid_x)
            sums[:] = 0.0
            value += add_hinge_offsets(distances, scale, laid, laid_x if x.size else x, *how, sums)
            scatter_add(sums, rows, result)
        return float(value)

    def _laid(self, values: FloatArray) -> FloatArray:
        laid = self._work("laid", self._rows.size)
        gather(values, self._rows, laid)
        return laid

    def _zeros(self) -> FloatArray:
        zeros = self._work("sums", self._rows.size)
        zeros[:] = 0.0
        return zeros


def _lines(work: Scratch, levels: Levels, schedule: Schedule, squared: bool) -> FloatArray:
    """Return the scratch of all compiled loops, (3 to 6, n_rows + n_groups + 3)."""
    size = levels.row_of.size + levels.group_start.size + 3
    n_lines = 6 if len(schedule.nodes) else 5 if squared else 3
    return work("lines", n_lines * size).reshape(n_lines, size)


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
