"""The sorted scores of a hinge sum at fixed scores: groups, positions and merge orders."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.layout import gather, scatter
from pairrank.compiled.sorted_blocks import VECTOR, gamma_in_blocks, gradient_in_blocks
from pairrank.compiled.sorted_edges import (
    gamma_over_edges,
    gradient_over_edges,
    positions_over_edges,
    running_sums,
)
from pairrank.compiled.sorted_tree import gamma_over_tree, gradient_over_tree, plan_tree
from pairrank.compiled.sorting import cells, sort_segments
from pairrank.pair_sums.sorted_schedule import Schedule
from pairrank.preferences import Levels

_PLAN_BYTES_A_ROW = 40
_PLAN_BYTES = 64 << 20
_NO_WEIGHT = np.empty(0)
_NO_STARTS = np.empty(0, dtype=np.int64)


class Buffers:
    """Arrays by name, reused from call to call to save their allocation."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, size: int, dtype: Any = np.float64) -> NDArray[Any]:
        """Return an array of the size with arbitrary contents."""
        held = self._held.get(name)
        if held is None or held.size < size:
            self._held.pop(name, None)
            held = self._held[name] = np.empty(size, dtype)
        return held[:size]

    def wide(self, n_lines: int, size: int) -> NDArray[Any]:
        """Return the scratch that every kernel shares, of shape (n_lines, size)."""
        return self("wide", n_lines * size).reshape(n_lines, size)


class BoundHinge(Protocol):
    """A hinge bound to levels, as `SortedScores` uses it."""

    levels: Levels
    margin: float
    squared: bool
    weight: FloatArray | None
    query_scale: FloatArray
    work: Buffers
    scores_are_own: bool

    def empty_result(self, schedule: Schedule) -> FloatArray:
        """Return an array of one number per row, to be filled."""
        ...


class SortedScores:
    """Sorted groups, positions and merge orders at fixed scores.

    It owns the arrays of `buffers`; those of `owner.work` are shared scratch.
    """

    def __init__(
        self, owner: BoundHinge, schedule: Schedule, scores: FloatArray, buffers: Buffers
    ) -> None:
        levels = owner.levels
        self.schedule, self.buffers = schedule, buffers
        self.scores = scores if owner.scores_are_own else _copied(buffers, "scores", scores)
        self.sorted, self.rows = sort_scores(owner, schedule, scores, buffers)
        self.weight = _NO_WEIGHT
        if owner.weight is not None and len(schedule.ranges):
            self.weight = buffers("weight", self.rows.size)
            gather(owner.weight, self.rows, self.weight)
        self.starts, self.positions = self._edge_positions(owner)
        self.tree_starts = _starts(schedule.nodes[:, 2] - schedule.nodes[:, 0], 5, levels)
        self.tree: tuple[NDArray[np.int32], NDArray[np.bool_]] | None = None
        self.merged_rows = self._merge_rows(owner)

    def is_at(self, scores: FloatArray) -> bool:
        """Whether these are the scores; a few are compared first."""
        step = max(1, scores.size // 64)
        if not np.array_equal(self.scores[::step], scores[::step]):
            return False
        return np.array_equal(self.scores, scores)

    def gradient(self, owner: BoundHinge, factor: float) -> tuple[float, FloatArray]:
        """Return the value, and factor times the gradient without the row's weight and scale."""
        schedule, levels = self.schedule, owner.levels
        result = owner.empty_result(schedule)
        value = 0.0
        if len(schedule.ranges):
            value = self._gradient_of_sorted(owner, factor, result)
        if len(schedule.jobs):
            value += gradient_in_blocks(
                schedule.jobs, owner.query_scale[schedule.job_query], _edges(levels),
                levels.group_start, levels.row_of, self.scores,
                _NO_WEIGHT if levels.weight is None else levels.weight, owner.margin,
                owner.squared, factor, owner.work.wide(3, _longest_job(schedule, levels)), result,
            )  # fmt: skip
        return value, result

    def _gradient_of_sorted(self, owner: BoundHinge, factor: float, result: FloatArray) -> float:
        schedule, levels, work = self.schedule, owner.levels, owner.work
        value = 0.0
        gradient = work("gradient", self.rows.size)
        gradient[:] = 0.0
        if len(schedule.edges):
            value += gradient_over_edges(
                schedule.edges, owner.query_scale[schedule.edge_query], levels.group_start,
                self.sorted, self.weight, owner.margin, owner.squared, self.starts, self.positions,
                work.wide(5, _longest_group(schedule, levels)), gradient,
            )  # fmt: skip
        if len(schedule.nodes):
            longest, longest_run = _longest_node(schedule)
            value += gradient_over_tree(
                schedule.nodes, owner.query_scale[schedule.node_query],
                _copied(work, "tree scores", self.sorted), self.weight.copy(), owner.margin,
                owner.squared, work.wide(5, longest_run), work("runs", longest + 4),
                work("positions", longest, np.int32), work("upper", longest, np.bool_), gradient,
            )  # fmt: skip
        scatter(gradient, self.merged_rows, schedule.ranges, factor, result)
        return value

    def gamma(self, owner: BoundHinge, x: FloatArray, plus: float, minus: float) -> FloatArray:
        """Return each row's sum of x over the rows that it violates with, by direction."""
        schedule, levels = self.schedule, owner.levels
        result = owner.empty_result(schedule)
        if len(schedule.ranges):
            self._gamma_of_sorted(owner, x, plus, minus, result)
        if len(schedule.jobs):
            gamma_in_blocks(
                schedule.jobs, _edges(levels), levels.group_start, levels.row_of, self.scores, x,
                owner.margin, plus, minus, owner.work.wide(3, _longest_job(schedule, levels)),
                result,
            )  # fmt: skip
        return result

    def _gamma_of_sorted(
        self, owner: BoundHinge, x: FloatArray, plus: float, minus: float, result: FloatArray
    ) -> None:
        schedule, levels, work = self.schedule, owner.levels, owner.work
        size = self.rows.size + levels.group_start.size - 1
        forward, backward, last = work.wide(3, size)
        carried, gamma = last[: self.rows.size], work("gradient", self.rows.size)
        gather(x, self.rows, carried)
        gamma[:] = 0.0
        if len(schedule.edges):
            running_sums(carried, levels.group_start[1:], forward, backward)
            gamma_over_edges(
                schedule.edges, levels.group_start, self.sorted, forward, backward, owner.margin,
                self.starts, self.positions, plus, minus, gamma,
            )  # fmt: skip
        if len(schedule.nodes):
            nodes = schedule.nodes
            longest, _ = _longest_node(schedule)
            runs = work("runs", longest + 4)
            plan = self._plan(owner, runs)
            scores = self.sorted
            if plan is None:
                plan = work("positions", longest, np.int32), work("upper", longest, np.bool_)
                scores = _copied(work, "tree scores", scores)
            gamma_over_tree(
                nodes, self.tree_starts, scores, owner.margin, plus, minus, runs, *plan, carried,
                gamma,
            )  # fmt: skip
        scatter(gamma, self.merged_rows, schedule.ranges, 1.0, result)

    def _plan(
        self, owner: BoundHinge, runs: FloatArray
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
        """Return positions and merge orders of the whole tree; None if they need much memory."""
        if self.tree is None and len(self.tree_starts):
            nodes = self.schedule.nodes
            total = int(self.tree_starts[-1] + nodes[-1, 2] - nodes[-1, 0])
            self.tree = np.empty(total, np.int32), np.empty(total, np.bool_)
            scores = _copied(owner.work, "tree scores", self.sorted)
            plan_tree(nodes, self.tree_starts, scores, owner.margin, runs, *self.tree)
        return self.tree

    def _merge_rows(self, owner: BoundHinge) -> NDArray[np.int32]:
        """Return the rows in the order after all merges: queries with a tree sorted as a whole.

        One sort costs less than moving the rows in every merge; both are stable.
        """
        ranges = self.schedule.tree_ranges
        if not len(ranges):
            return self.rows
        merged = self.buffers("merged rows", self.rows.size, np.int32)
        merged[:] = self.rows
        spare = owner.work("gradient", self.rows.size)
        _sort(owner, self.scores, ranges, spare, merged)
        return merged

    def _edge_positions(self, owner: BoundHinge) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        edges, start = self.schedule.edges, owner.levels.group_start
        sizes = np.diff(start)[edges].sum(axis=1)
        starts = _starts(sizes, 4, owner.levels)
        if not len(starts):
            return starts, self.buffers("positions", int(sizes.max(initial=0)), np.int32)
        positions = self.buffers("positions", int(sizes.sum()), np.int32)
        positions_over_edges(edges, start, self.sorted, owner.margin, starts, positions)
        return starts, positions


def sort_scores(
    owner: BoundHinge, schedule: Schedule, scores: FloatArray, buffers: Buffers
) -> tuple[FloatArray, NDArray[np.int32]]:
    """Return the scores sorted within each segment of the schedule, and their rows."""
    if not len(schedule.ranges):
        return np.empty(0), np.empty(0, np.int32)
    row_of = owner.levels.row_of
    laid, rows = buffers("sorted", row_of.size), buffers("rows", row_of.size, np.int32)
    if int(np.diff(schedule.ranges, axis=1).sum()) < row_of.size:
        laid[:], rows[:] = 0.0, row_of
    _sort(owner, scores, schedule.segments, laid, rows)
    return laid, rows


def _sort(
    owner: BoundHinge,
    scores: FloatArray,
    segments: NDArray[np.int64],
    laid: FloatArray,
    rows: NDArray[np.int32],
) -> None:
    longest = int(np.diff(segments, axis=1).max())
    spare_rows = owner.work("spare rows", longest, np.int32)
    ends = owner.work("ends", cells(longest), np.int32)
    spare = owner.work.wide(1, longest)[0]
    sort_segments(scores, owner.levels.row_of, segments, laid, rows, spare, spare_rows, ends)


def _copied(work: Buffers, name: str, values: FloatArray) -> FloatArray:
    copy = work(name, values.size)
    copy[:] = values
    return copy


def _starts(sizes: NDArray[np.int64], item: int, levels: Levels) -> NDArray[np.int64]:
    """Return the start of the plan of each edge or node; empty if plans need much memory."""
    total = int(sizes.sum())
    if item * total > max(_PLAN_BYTES, _PLAN_BYTES_A_ROW * levels.row_of.size):
        return _NO_STARTS
    return np.cumsum(sizes) - sizes


def _edges(levels: Levels) -> NDArray[np.int64]:
    return np.empty((0, 2), dtype=np.int64) if levels.edges is None else levels.edges


def _longest_job(schedule: Schedule, levels: Levels) -> int:
    jobs = schedule.jobs
    return int((levels.group_start[jobs[:, 1]] - levels.group_start[jobs[:, 0]]).max()) + VECTOR


def _longest_group(schedule: Schedule, levels: Levels) -> int:
    return int(np.diff(levels.group_start)[schedule.edges].max())


def _longest_node(schedule: Schedule) -> tuple[int, int]:
    low, middle, high = schedule.nodes.T
    return int((high - low).max()), int(max((middle - low).max(), (high - middle).max()))
