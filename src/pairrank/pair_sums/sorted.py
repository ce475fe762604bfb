"""Hinges and squared hinges over levels: scores are sorted, then groups are merged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray, MultipleCurvature
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.sorted_schedule import make_schedule
from pairrank.pair_sums.sorted_scores import Buffers, Hinge, Scratch, SortedScores
from pairrank.preferences import Levels

ROWS_A_PART = 1 << 14
"""Threads share the queries in parts of about so many rows."""
_PLAN_BYTES_A_ROW = 40
_PLAN_BYTES = 64 << 20


class SortedSum(BoundSum):
    """The sum of a hinge loss over the preferences of `Levels`, with gradient and curvature.

    Small queries are summed pair by pair. In larger ones every group is sorted by score; up to six
    levels, and under any graph but the full one, each edge is then one merge of two groups; with
    more levels the groups are merged upwards in a tree. The hinge has no curvature.

    Notes
    -----
    The sort, the positions and the orders of the last scores are kept for the curvature at the same
    scores; positions and orders only up to 40 bytes per row (or 64 MB). Threads share the queries.
    """

    def __init__(self, levels: Levels, margin: float, squared: bool) -> None:
        self.levels, self.n_rows, self.smooth = levels, levels.n_rows, squared
        self.weight = np.empty(0) if levels.weight is None else levels.from_layout(levels.weight)
        self.row_scale = (2.0 if squared else 1.0) * _row_scale(levels)
        self._plans = [
            (Hinge(part, margin, squared, self.weight, query_scale(part)), make_schedule(part))
            for part in levels.parts(ROWS_A_PART)
        ]
        self._work, self._own = Scratch(), [Buffers() for _ in self._plans]
        self._last: tuple[FloatArray, list[SortedScores]] | None = None

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        states, gradient = self._sorted(scores), np.zeros(self.n_rows)
        value = sum(threads.run(lambda state: state.gradient(gradient), states))
        gradient *= self.row_scale
        self._last = (scores, states) if self.smooth else None
        return value, gradient

    def _curvature(self, scores: FloatArray) -> SortedCurvature:
        last, self._last = self._last, None
        states = last[1] if last is not None and last[0] is scores else self._sorted(scores)
        self._own = [Buffers() for _ in self._own]
        return SortedCurvature(self, states)

    def _sorted(self, scores: FloatArray) -> list[SortedScores]:
        if self.smooth and any(schedule.keeps_scores for _, schedule in self._plans):
            scores = scores.copy()
        n_rows = max(1, self.levels.row_of.size)
        most_a_row = max(_PLAN_BYTES_A_ROW, _PLAN_BYTES / n_rows)

        def sort(part: int) -> SortedScores:
            hinge, schedule = self._plans[part]
            most = most_a_row * hinge.levels.row_of.size
            return SortedScores(hinge, schedule, scores, self._own[part], self._work, most)

        return threads.run(sort, range(len(self._plans)))


class SortedCurvature(OneByOne):
    """The generalised Hessian 2 A' D A of the squared hinge at fixed scores (Eqs. 11 to 17)."""

    def __init__(self, owner: SortedSum, states: Sequence[SortedScores]) -> None:
        self.n_rows, self.weight, self.states = owner.n_rows, owner.weight, states
        weight = self.weight if self.weight.size else np.ones(self.n_rows)
        self._violating = self._gamma(weight, 1.0)
        self._scale = owner.row_scale

    def _gamma(self, x: FloatArray, sign: float) -> FloatArray:
        result = np.zeros(self.n_rows)
        threads.run(lambda state: state.gamma(x, sign, sign, result), self.states)
        return result

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self.n_rows)
        result = self._gamma(self.weight * v if self.weight.size else v, -1.0)
        result += self._violating * v
        result *= self._scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._scale * self._violating


def query_scale(levels: Levels) -> FloatArray:
    """Return the factor of the pairs of each query, (n_queries,)."""
    scale = np.asarray(levels.pair_scale, dtype=np.float64)
    return np.ascontiguousarray(np.broadcast_to(scale, levels.n_queries))


def _row_scale(levels: Levels) -> FloatArray:
    """Return the factor of each row's gradient: its weight times its query's scale."""
    if levels.weight is None and np.ndim(levels.pair_scale) == 0:
        return np.asarray(levels.pair_scale, dtype=np.float64)
    by_row = np.repeat(query_scale(levels), np.diff(levels.query_start))
    return levels.from_layout(by_row if levels.weight is None else by_row * levels.weight)


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
