"""The pair sums of hinge and squared hinge over levels: routes, the sorted state, curvature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._scores import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.hinge_schedule import Schedule, make_schedule
from pairrank.pair_sums.hinge_state import Buffers, SortedScores
from pairrank.preferences import Levels


class HingeSum(BoundSum):
    """The sum of a hinge loss over the preferences of `Levels`, with gradient and curvature.

    Small queries are summed pair by pair. In larger ones every group is sorted by score; up to six
    levels, and under any graph but the full one, each edge is then one merge of two groups; with
    more levels the groups are merged upwards in a tree.


    Notes
    -----
    The sort, the positions and the orders of the last scores are kept for the curvature at the same
    scores, unless they need more than 40 bytes a row (and 64 MB): then they are found anew.
    """

    scores_are_own = False
    """Whether the scores that are sorted belong to the sum, so that no copy is kept."""

    def __init__(self, levels: Levels, margin: float, squared: bool) -> None:
        self.levels, self.margin, self.squared = levels, margin, squared
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.query_scale = scale
        self.schedule = self._schedule(levels)
        self._product_schedule: Schedule | None = None
        self.weight = None if levels.weight is None else to_user(levels, levels.weight)
        self.row_scale = _row_scale(levels, scale)
        self.work = Buffers()
        self._buffers = Buffers()
        self._states: dict[bool, SortedScores] = {}

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient by the scores, (n_rows,)."""
        scores = as_scores(scores, self.levels.n_rows)
        if not (np.isfinite(scores.sum()) or np.isfinite(scores).all()):
            return np.inf, np.full(scores.size, np.nan)
        factor = 2.0 if self.squared else 1.0
        by_row = isinstance(self.row_scale, np.ndarray)
        value, gradient = self.state(scores).gradient(
            self, factor if by_row else factor * float(self.row_scale)
        )
        if by_row:
            gradient *= self.row_scale
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
        state = self.state(as_scores(scores, self.levels.n_rows), products=True)
        if state.buffers is self._buffers:
            self._buffers = Buffers()
        return HingeCurvature(self, state)

    def counts(self, scores: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return l+ and l- of each row (Eqs. 14 to 17), weights aside.

        They count the rows that it violates with: those preferred to it, those it is preferred to.
        """
        state = self.state(as_scores(scores, self.levels.n_rows))
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


class HingeCurvature(OneByOne):
    """The generalised Hessian 2 A' D A of the squared hinge at fixed scores (Eqs. 11 to 17)."""

    def __init__(self, owner: HingeSum, state: SortedScores) -> None:
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

    def gamma(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gamma+ and gamma- of each row (Eq. 17), weights aside.

        They sum v over the rows that violate with it: those preferred to it, those it is preferred
        to.
        """
        v = as_scores(v, self.owner.levels.n_rows)
        plus = self.state.gamma(self.owner, v, 1.0, 0.0)
        return plus, self.state.gamma(self.owner, v, 0.0, 1.0)


def to_user(levels: Levels, values: FloatArray) -> FloatArray:
    """Bring a value a row of the layout to the user's order; the result may be `values`."""
    return values if levels.in_order else levels.from_layout(values)


def _row_scale(levels: Levels, scale: FloatArray) -> float | FloatArray:
    """Return what a row's gradient is multiplied by: its weight times its query's scale."""
    if levels.weight is None and np.ndim(levels.pair_scale) == 0:
        return float(levels.pair_scale)
    by_row = np.repeat(scale, np.diff(levels.query_start))
    return to_user(levels, by_row if levels.weight is None else by_row * levels.weight)
