"""Hinges, squared hinges and tubes over levels: scores are sorted, then groups are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature
from pairrank.compiled.sorted import less_labels
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.sorted_schedule import Schedule, make_schedule
from pairrank.pair_sums.sorted_scores import Buffers, SortedScores
from pairrank.preferences import Differences, Levels

SMALL_TUBE_QUERY = 64
"""Queries of a tube of at most so many rows are summed pair by pair."""


class SortedSum(BoundSum):
    """The sum of a hinge loss over the preferences of `Levels`, with gradient and curvature.

    Small queries are summed pair by pair. In larger ones every group is sorted by score; up to six
    levels, and under any graph but the full one, each edge is then one merge of two groups; with
    more levels the groups are merged upwards in a tree. The hinge has no curvature.

    Notes
    -----
    The sort, the positions and the orders of the last scores are kept for the curvature at the same
    scores, unless they need more than 40 bytes a row (and 64 MB): then they are found anew.
    """

    scores_are_own = False
    """Whether the scores that are sorted belong to the sum, so that no copy is kept."""

    def __init__(self, levels: Levels, margin: float, squared: bool) -> None:
        self.levels, self.n_rows, self.margin = levels, levels.n_rows, margin
        self.squared = self.smooth = squared
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.query_scale = scale
        self.schedule = self._schedule(levels)
        self._product_schedule: Schedule | None = None
        self.weight = None if levels.weight is None else to_user(levels, levels.weight)
        self.row_scale = _row_scale(levels, scale)
        self.work = Buffers()
        self._buffers = Buffers()
        self._states: dict[bool, SortedScores] = {}

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        factor = 2.0 if self.squared else 1.0
        by_row = isinstance(self.row_scale, np.ndarray)
        value, gradient = self.state(scores).gradient(
            self, factor if by_row else factor * float(self.row_scale)
        )
        if by_row:
            gradient *= self.row_scale
        return value, gradient

    def _curvature(self, scores: FloatArray) -> SortedCurvature:
        state = self.state(scores, products=True)
        if state.buffers is self._buffers:
            self._buffers = Buffers()
        return SortedCurvature(self, state)

    def state(self, scores: FloatArray, *, products: bool = False) -> SortedScores:
        """Return what is fixed while the scores are, from the last call if they are the same.

        Gradients and Hessian products share it, unless small queries are better treated apart.
        """
        schedule = self._schedule_of_products() if products else self.schedule
        key = schedule is not self.schedule
        known = self._states.get(key)
        if known is None or not known.is_at(scores):
            self._states.pop(key, None)
            buffers = Buffers() if key else self._buffers
            known = self._states[key] = self._sorted(schedule, scores, buffers)
        return known

    def empty_result(self, schedule: Schedule) -> FloatArray:
        """Return an array a row: zeros, or anything where every row is one that is sorted."""
        n_sorted = int(np.diff(schedule.ranges, axis=1).sum())
        n_rows = self.levels.n_rows
        return np.empty(n_rows) if n_sorted == n_rows else np.zeros(n_rows)

    def _schedule_of_products(self) -> Schedule:
        if self._product_schedule is None:
            schedule = make_schedule(self.levels, products=True)
            same = np.array_equal(schedule.ranges, self.schedule.ranges)
            self._product_schedule = self.schedule if same else schedule
        return self._product_schedule

    def _schedule(self, levels: Levels) -> Schedule:
        return make_schedule(levels)

    def _sorted(self, schedule: Schedule, scores: FloatArray, buffers: Buffers) -> SortedScores:
        return SortedScores(self, schedule, scores, buffers)


class SortedCurvature(OneByOne):
    """The generalised Hessian 2 A' D A of the squared hinge at fixed scores (Eqs. 11 to 17)."""

    def __init__(self, owner: SortedSum, state: SortedScores) -> None:
        self.owner, self.state = owner, state
        weight = np.ones(owner.levels.n_rows) if owner.weight is None else owner.weight
        self._violating = state.gamma(owner, weight, 1.0, 1.0)
        self._scale = 2.0 * owner.row_scale

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        owner = self.owner
        v = as_scores(v, owner.levels.n_rows)
        x = v if owner.weight is None else owner.weight * v
        result = self.state.gamma(owner, x, -1.0, -1.0)
        result += self._violating * v
        result *= self._scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._scale * self._violating


def to_user(levels: Levels, values: FloatArray) -> FloatArray:
    """Bring a value a row of the layout to the user's order; the result may be `values`."""
    return values if levels.in_order else levels.from_layout(values)


def _row_scale(levels: Levels, scale: FloatArray) -> float | FloatArray:
    """Return what a row's gradient is multiplied by: its weight times its query's scale."""
    if levels.weight is None and np.ndim(levels.pair_scale) == 0:
        return float(levels.pair_scale)
    by_row = np.repeat(scale, np.diff(levels.query_start))
    return to_user(levels, by_row if levels.weight is None else by_row * levels.weight)


class SortedTerms(BoundSum):
    """The sum of c max(0, m - d)^p over several terms (m, p, c), each by sorting; exact."""

    def __init__(self, levels: Levels, terms: Sequence[tuple[float, int, float]]) -> None:
        self.n_rows = levels.n_rows
        self._parts = [(c, SortedSum(levels, m, power == 2)) for m, power, c in terms]
        self.smooth = all(part.smooth for _, part in self._parts)

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros(self.n_rows)
        for c, part in self._parts:
            found = part.at(scores)
            value += c * found.value
            gradient += c * found.gradient
        return value, gradient

    def _curvature(self, scores: FloatArray) -> TermsCurvature:
        return TermsCurvature([(c, part.at(scores).curvature()) for c, part in self._parts])


class TermsCurvature(OneByOne):
    """The Hessian of a `SortedTerms` at fixed scores."""

    def __init__(self, parts: list[tuple[float, MultipleCurvature]]) -> None:
        self._parts = parts

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return np.sum([c * part.matvec(v) for c, part in self._parts], axis=0)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return np.sum([c * part.diagonal() for c, part in self._parts], axis=0)


class TubeSum(SortedSum):
    r"""The sum of a tube loss over all `Differences`, with gradient and curvature.

    With t = s - y, of any two rows of a query at most one, the one of the greater t, is more than
    epsilon above the other, and

    .. math:: \sum_q \frac1{2 n_q} \sum_{i, j \in q} w_i w_j \max(0, |t_j - t_i| - \varepsilon)^n
        = \sum_q \frac1{n_q} \sum_{i, j \in q} w_i w_j \max(0, -\varepsilon - (t_i - t_j))^n,

    which is a hinge of margin -epsilon from the query's rows to themselves: one sort of t, one
    merge of the sorted t with itself, and running sums of terms that are never negative, so that
    neither an offset nor a huge score costs digits.

    Notes
    -----
    O(n_rows log n_rows) by the sort, for queries of any size; Cortes et al. 2007, Section 3.2,
    solve a program over all n_rows^2 pairs instead. What it keeps is told at `SortedSum`.
    """

    scores_are_own = True

    def __init__(self, differences: Differences, epsilon: float, squared: bool) -> None:
        super().__init__(_as_groups(differences), -epsilon, squared)
        self.target = differences.target

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        if not self.squared:
            self._states.clear()  # Nothing else will be asked at the last scores.
        return super().at(self._less_labels(scores))

    def _less_labels(self, scores: FloatArray) -> FloatArray:
        levels = self.levels
        scores = as_scores(scores, levels.n_rows)
        kept_all = levels.row_of.size == levels.n_rows
        result = np.empty(levels.n_rows) if kept_all else np.zeros(levels.n_rows)
        less_labels(scores, self.target, levels.row_of, levels.query_start, result)
        return result

    def _schedule(self, levels: Levels) -> Schedule:
        return _queries_apart(levels, SMALL_TUBE_QUERY)

    def _schedule_of_products(self) -> Schedule:
        if self._product_schedule is None:
            small = len(self.schedule.jobs) > 0
            self._product_schedule = _queries_apart(self.levels, 0) if small else self.schedule
        return self._product_schedule


def _as_groups(differences: Differences) -> Levels:
    """Lay each query's rows out as one group that has an edge to itself, scaled by 1/n_q.

    Weights that are equal within each query are part of the scale: what all rows share costs
    neither time nor memory.
    """
    query_of, weight = differences.query_of, differences.weight
    labels = np.zeros(differences.n_rows)
    levels = Levels.build(labels, query_of, graph="chain", sample_weight=weight)
    first = levels.row_of[levels.query_start[:-1]]
    total = differences.query_weight[0 if query_of is None else query_of[first]]
    scale = 1.0 / np.broadcast_to(total, levels.n_queries)
    if levels.weight is not None:
        shared = levels.weight[levels.query_start[:-1]]
        if (levels.weight == np.repeat(shared, np.diff(levels.query_start))).all():
            scale = shared * (shared / total)
            levels = replace(levels, weight=None)
    loops = np.repeat(np.arange(levels.n_queries), 2).reshape(-1, 2)
    return replace(levels, edges=loops, pair_scale=scale if scale.size != 1 else float(scale[0]))


def _queries_apart(levels: Levels, small_query: int) -> Schedule:
    """Sum small queries pair by pair, and sort the others."""
    rows = np.diff(levels.query_start)
    queries = np.arange(levels.n_queries)
    small = queries[(rows > 1) & (rows <= small_query)]
    large = queries[rows > max(small_query, 1)]
    none = np.empty((0, 3), dtype=np.int64)
    ranges = np.column_stack((levels.query_start[large], levels.query_start[large + 1]))
    return Schedule(
        segments=ranges,
        ranges=ranges,
        jobs=np.column_stack((small, small + 1, small, small + 1)),
        job_query=small,
        edges=np.column_stack((large, large)),
        edge_query=large,
        tree_ranges=none[:, :2],
        nodes=none,
        node_query=none[:, 0],
    )
