"""The pair sum of a tube over all differences: a hinge from every query to itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.tube import less_labels
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._scores import as_scores
from pairrank.pair_sums.hinge_schedule import Schedule
from pairrank.pair_sums.hinge_sums import HingeCurvature, HingeSum
from pairrank.preferences import Differences, Levels

SMALL_QUERY = 64
"""Queries of at most so many rows are summed pair by pair."""


class TubeSum(HingeSum):
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
    solve a program over all n_rows^2 pairs instead. What it keeps is told at `HingeSum`.
    """

    scores_are_own = True

    def __init__(self, differences: Differences, epsilon: float, squared: bool) -> None:
        super().__init__(_as_groups(differences), -epsilon, squared)
        self.target = differences.target

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient by the scores, (n_rows,)."""
        if not self.squared:
            self._states.clear()  # Nothing else will be asked at the last scores.
        return super().value_and_gradient(self._less_labels(scores))

    def curvature(self, scores: FloatArray) -> HingeCurvature:
        """Return the generalised Hessian at these scores.

        Raises
        ------
        PairrankError
            For n = 1, which has none.
        """
        if not self.squared:
            raise PairrankError("a tube with n = 1 has no curvature to solve with; use n = 2")
        return super().curvature(self._less_labels(scores))

    def _less_labels(self, scores: FloatArray) -> FloatArray:
        levels = self.levels
        scores = as_scores(scores, levels.n_rows)
        kept_all = levels.row_of.size == levels.n_rows
        result = np.empty(levels.n_rows) if kept_all else np.zeros(levels.n_rows)
        less_labels(scores, self.target, levels.row_of, levels.query_start, result)
        return result

    def _schedule(self, levels: Levels) -> Schedule:
        return _queries_apart(levels, SMALL_QUERY)

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
