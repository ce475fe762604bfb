"""The pair sums of hinge and squared hinge over levels: routes, the sorted state, curvature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.losses.hinge_schedule import Schedule, make_schedule
from pairrank.preferences import Levels
from pairrank.sums.blocks import VECTOR, gamma_in_blocks, gradient_in_blocks
from pairrank.sums.hinge import (
    gamma_over_edges,
    gradient_over_edges,
    positions_over_edges,
    running_sums,
)
from pairrank.sums.layout import gather, scatter_add
from pairrank.sums.merging import gamma_over_tree, gradient_over_tree, plan_tree
from pairrank.sums.sorting import scratch, sort_segments

_PLAN_BYTES_A_ROW = 40
_PLAN_BYTES = 64 << 20
_NO_WEIGHT = np.empty(0)
_NO_STARTS = np.empty(0, dtype=np.int64)


class HingeSum:
    """The sum of a hinge loss over the preferences of `Levels`, with gradient and curvature.

    Small queries are summed pair by pair. In larger ones every group is sorted by score; up to six
    levels, and under any graph but the full one, each edge is then one merge of two groups; with
    more levels the groups are merged upwards in a tree. Made by `SquaredHinge.sum_over` and
    `Hinge.sum_over`.

    Notes
    -----
    The sort, the positions and the orders of the last scores are kept for the curvature at the same
    scores, unless they need more than 40 bytes a row (and 64 MB): then they are found anew.
    """

    def __init__(self, levels: Levels, margin: float, squared: bool) -> None:
        self.levels, self.margin, self.squared = levels, margin, squared
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.query_scale = scale
        self.schedule = self._schedule(levels)
        self._product_schedule: Schedule | None = None
        self.weight = None if levels.weight is None else to_user(levels, levels.weight)
        self.row_scale = _row_scale(levels, scale)
        self._states: dict[bool, SortedScores] = {}

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient by the scores, (n_rows,)."""
        scores = self._as_scores(scores)
        if not np.isfinite(scores).all():
            return np.inf, np.full(scores.size, np.nan)
        gradient = np.zeros(scores.size)
        value = self.state(scores).gradient(self, gradient)
        gradient *= self.row_scale * (2.0 if self.squared else 1.0)
        return (np.inf if np.isnan(value) else float(value)), gradient

    def curvature(self, scores: FloatArray) -> HingeCurvature:
        """Return the generalised Hessian at these scores (Lee & Lin, Eq. 11).

        Raises
        ------
        PairrankError
            For the hinge, which has none.
        """
        if not self.squared:
            raise PairrankError("the hinge has no curvature to solve with; use SquaredHinge")
        return HingeCurvature(self, self.state(self._as_scores(scores), products=True))

    def counts(self, scores: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return l+ and l- of each row: how many rows it violates with that are preferred to it,
        and that it is preferred to (Eqs. 14 to 17), weights aside.
        """
        state = self.state(self._as_scores(scores))
        ones = np.ones(self.levels.n_rows)
        plus = state.gamma(self, ones, 1.0, 0.0)
        return plus.astype(np.int64), state.gamma(self, ones, 0.0, 1.0).astype(np.int64)

    def state(self, scores: FloatArray, *, products: bool = False) -> SortedScores:
        """Return what is fixed while the scores are, from the last call if they are the same.

        Gradients and Hessian products share it, unless small queries are better treated apart.
        """
        schedule = self._schedule_of_products() if products else self.schedule
        key = schedule is not self.schedule
        known = self._states.get(key)
        if known is None or not np.array_equal(known.scores, scores):
            self._states.pop(key, None)
            known = self._states[key] = self._sorted(schedule, scores)
        return known

    def _schedule_of_products(self) -> Schedule:
        if self._product_schedule is None:
            schedule = make_schedule(self.levels, products=True)
            same = np.array_equal(schedule.ranges, self.schedule.ranges)
            self._product_schedule = self.schedule if same else schedule
        return self._product_schedule

    def _schedule(self, levels: Levels) -> Schedule:
        return make_schedule(levels)

    def _sorted(self, schedule: Schedule, scores: FloatArray) -> SortedScores:
        return SortedScores(self, schedule, scores)

    def _as_scores(self, scores: FloatArray) -> FloatArray:
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if scores.shape != (self.levels.n_rows,):
            raise PairrankError(
                f"scores have shape {scores.shape}, but there are {self.levels.n_rows} rows"
            )
        return scores


class SortedScores:
    """What is fixed while the scores are: sorted groups, positions, and merge orders."""

    def __init__(self, owner: HingeSum, schedule: Schedule, scores: FloatArray) -> None:
        levels = owner.levels
        self.schedule = schedule
        self.scores = scores.copy()
        self.sorted, self.rows = sort_scores(schedule, levels, scores)
        self.weight = _NO_WEIGHT
        if owner.weight is not None and len(schedule.ranges):
            self.weight = np.empty(self.rows.size)
            gather(owner.weight, self.rows, self.weight)
        self.starts, self.positions = self._edge_positions(owner)
        self.tree_starts = _starts(schedule.nodes[:, 2] - schedule.nodes[:, 0], 5, levels)
        self.tree: tuple[NDArray[np.int32], NDArray[np.bool_]] | None = None
        self.merged_rows = _merge_rows(schedule, levels, scores, self.rows)

    def gradient(self, owner: HingeSum, result: FloatArray) -> float:
        """Add every pair to `result`, but for the row's own weight and scale; return the value."""
        schedule, levels = self.schedule, owner.levels
        value = self._pair_by_pair(owner, result)
        if not len(schedule.ranges):
            return value
        gradient = np.zeros(self.rows.size)
        if len(schedule.edges):
            value += gradient_over_edges(
                schedule.edges, owner.query_scale[schedule.edge_query], levels.group_start,
                self.sorted, self.weight, owner.margin, owner.squared, self.starts, self.positions,
                np.empty((5, _longest_group(schedule, levels))), gradient,
            )  # fmt: skip
        if len(schedule.nodes):
            longest, longest_run = _longest_node(schedule)
            value += gradient_over_tree(
                schedule.nodes, owner.query_scale[schedule.node_query], self.sorted.copy(),
                self.weight.copy(), owner.margin, owner.squared, np.empty((5, longest_run)),
                np.empty(longest + 2), np.empty(longest, np.int32), np.empty(longest, np.bool_),
                gradient,
            )  # fmt: skip
        scatter_add(gradient, self.merged_rows, schedule.ranges, 1.0, result)
        return value

    def _pair_by_pair(self, owner: HingeSum, result: FloatArray) -> float:
        schedule, levels = self.schedule, owner.levels
        if not len(schedule.jobs):
            return 0.0
        return gradient_in_blocks(
            schedule.jobs, owner.query_scale[schedule.job_query], _edges(levels),
            levels.group_start, levels.row_of, self.scores,
            _NO_WEIGHT if levels.weight is None else levels.weight, owner.margin,
            owner.squared, np.empty((3, _longest_job(schedule, levels))), result,
        )  # fmt: skip

    def gamma(self, owner: HingeSum, x: FloatArray, plus: float, minus: float) -> FloatArray:
        """Return each row's sum of x over the rows that it violates with, by direction."""
        schedule, levels = self.schedule, owner.levels
        result = np.zeros(levels.n_rows)
        if len(schedule.jobs):
            gamma_in_blocks(
                schedule.jobs, _edges(levels), levels.group_start, levels.row_of, self.scores,
                x, owner.margin, plus, minus, np.empty((3, _longest_job(schedule, levels))), result,
            )  # fmt: skip
        if not len(schedule.ranges):
            return result
        carried = np.empty(self.rows.size)
        gather(x, self.rows, carried)
        gamma = np.zeros(self.rows.size)
        if len(schedule.edges):
            forward = np.empty(self.rows.size + levels.group_start.size - 1)
            backward = np.empty_like(forward)
            running_sums(carried, levels.group_start[1:], forward, backward)
            gamma_over_edges(
                schedule.edges, levels.group_start, self.sorted, forward, backward, owner.margin,
                self.starts, self.positions, plus, minus, gamma,
            )  # fmt: skip
        if len(schedule.nodes):
            self._gamma_over_tree(owner, plus, minus, carried, gamma)
        scatter_add(gamma, self.merged_rows, schedule.ranges, 1.0, result)
        return result

    def _gamma_over_tree(
        self, owner: HingeSum, plus: float, minus: float, carried: FloatArray, gamma: FloatArray
    ) -> None:
        nodes = self.schedule.nodes
        longest, _ = _longest_node(self.schedule)
        runs = np.empty(longest + 2)
        if len(self.tree_starts) and self.tree is None:
            total = int(self.tree_starts[-1] + nodes[-1, 2] - nodes[-1, 0])
            self.tree = np.empty(total, np.int32), np.empty(total, np.bool_)
            plan_tree(nodes, self.tree_starts, self.sorted.copy(), owner.margin, runs, *self.tree)
        plan = self.tree or (np.empty(longest, np.int32), np.empty(longest, np.bool_))
        gamma_over_tree(
            nodes, self.tree_starts, self.sorted if self.tree else self.sorted.copy(),
            owner.margin, plus, minus, runs, *plan, carried, gamma,
        )  # fmt: skip

    def _edge_positions(self, owner: HingeSum) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        edges, start = self.schedule.edges, owner.levels.group_start
        sizes = np.diff(start)[edges].sum(axis=1)
        starts = _starts(sizes, 4, owner.levels)
        if not len(starts):
            return starts, np.empty(int(sizes.max(initial=0)), np.int32)
        positions = np.empty(int(sizes.sum()), np.int32)
        positions_over_edges(edges, start, self.sorted, owner.margin, starts, positions)
        return starts, positions


class HingeCurvature:
    """The generalised Hessian 2 A' D A of the squared hinge at fixed scores (Eqs. 11 to 17)."""

    def __init__(self, owner: HingeSum, state: SortedScores) -> None:
        self.owner, self.state = owner, state
        weight = np.ones(owner.levels.n_rows) if owner.weight is None else owner.weight
        self._violating = state.gamma(owner, weight, 1.0, 1.0)
        self._scale = 2.0 * owner.row_scale

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        owner = self.owner
        v = owner._as_scores(v)
        x = v if owner.weight is None else owner.weight * v
        result = self.state.gamma(owner, x, -1.0, -1.0)
        result += self._violating * v
        result *= self._scale
        return result

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows) in C order."""
        result = np.empty_like(vectors, dtype=np.float64)
        for at, vector in enumerate(vectors):
            result[at] = self.matvec(vector)
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._scale * self._violating

    def gamma(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gamma+ and gamma- of Eq. 17: the sums of v over the rows that violate with each
        row and are preferred to it, and that it is preferred to, weights aside.
        """
        v = self.owner._as_scores(v)
        plus = self.state.gamma(self.owner, v, 1.0, 0.0)
        return plus, self.state.gamma(self.owner, v, 0.0, 1.0)


def sort_scores(
    schedule: Schedule, levels: Levels, scores: FloatArray
) -> tuple[FloatArray, NDArray[np.int32]]:
    """Return the scores sorted within each segment of the schedule, and their rows."""
    if not len(schedule.ranges):
        return np.empty(0), np.empty(0, np.int32)
    longest = int(np.diff(schedule.segments, axis=1).max())
    whole = int(np.diff(schedule.ranges, axis=1).sum()) == levels.row_of.size
    laid = np.empty(levels.row_of.size) if whole else np.zeros(levels.row_of.size)
    rows = np.empty_like(levels.row_of) if whole else levels.row_of.copy()
    sort_segments(scores, levels.row_of, schedule.segments, laid, rows, *scratch(longest))
    return laid, rows


def _merge_rows(
    schedule: Schedule, levels: Levels, scores: FloatArray, rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the rows as the tree leaves them: the queries that are trees sorted as a whole.

    One sort costs less than to carry the rows through every merge; both are stable.
    """
    if not len(schedule.tree_ranges):
        return rows
    merged = rows.copy()
    longest = int(np.diff(schedule.tree_ranges, axis=1).max())
    spare = np.empty(rows.size)
    sort_segments(scores, levels.row_of, schedule.tree_ranges, spare, merged, *scratch(longest))
    return merged


def _starts(sizes: NDArray[np.int64], item: int, levels: Levels) -> NDArray[np.int64]:
    """Return where the plan of each edge or node starts, or nothing where it takes too much."""
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


def to_user(levels: Levels, values: FloatArray) -> FloatArray:
    """Bring a value a row of the layout to the user's order; the result may be `values`."""
    return values if levels.in_order else levels.from_layout(values)


def _row_scale(levels: Levels, scale: FloatArray) -> float | FloatArray:
    """Return what a row's gradient is multiplied by: its weight times its query's scale."""
    if levels.weight is None and np.ndim(levels.pair_scale) == 0:
        return float(levels.pair_scale)
    by_row = np.repeat(scale, np.diff(levels.query_start))
    return to_user(levels, by_row if levels.weight is None else by_row * levels.weight)
