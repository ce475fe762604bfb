"""Hinges and squared hinges over levels: scores are sorted, then groups are merged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pairrank._protocols import FloatArray, MultipleCurvature
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.sorted_schedule import make_schedule
from pairrank.pair_sums.sorted_scores import Buffers, Hinge, SortedScores
from pairrank.preferences import Levels


class SortedSum(BoundSum):
    """The sum of a hinge loss over the preferences of `Levels`, with gradient and curvature.

    Small queries are summed pair by pair. In larger ones every group is sorted by score; up to six
    levels, and under any graph but the full one, each edge is then one merge of two groups; with
    more levels the groups are merged upwards in a tree. The hinge has no curvature.

    Notes
    -----
    The sort, the positions and the orders of the last scores are kept for the curvature at the same
    scores; positions and orders only up to 40 bytes per row (or 64 MB).
    """

    def __init__(self, levels: Levels, margin: float, squared: bool) -> None:
        self.levels, self.n_rows, self.smooth = levels, levels.n_rows, squared
        weight = np.empty(0) if levels.weight is None else levels.from_layout(levels.weight)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.hinge = Hinge(levels, margin, squared, weight, np.ascontiguousarray(scale))
        self.row_scale = (2.0 if squared else 1.0) * _row_scale(levels, scale)
        self.schedule = make_schedule(levels)
        self._work, self._own = Buffers(), Buffers()
        self._last: tuple[FloatArray, SortedScores] | None = None

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        state = self._sorted(scores)
        value, gradient = state.gradient()
        gradient *= self.row_scale
        self._last = (scores, state) if self.smooth else None
        return value, gradient

    def _curvature(self, scores: FloatArray) -> SortedCurvature:
        last, self._last = self._last, None
        state = last[1] if last is not None and last[0] is scores else self._sorted(scores)
        self._own = Buffers()
        return SortedCurvature(self, state)

    def _sorted(self, scores: FloatArray) -> SortedScores:
        return SortedScores(self.hinge, self.schedule, scores, self._own, self._work)


class SortedCurvature(OneByOne):
    """The generalised Hessian 2 A' D A of the squared hinge at fixed scores (Eqs. 11 to 17)."""

    def __init__(self, owner: SortedSum, state: SortedScores) -> None:
        self.n_rows, self.weight, self.state = owner.n_rows, owner.hinge.weight, state
        weight = self.weight if self.weight.size else np.ones(self.n_rows)
        self._violating = state.gamma(weight, 1.0, 1.0)
        self._scale = owner.row_scale

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self.n_rows)
        result = self.state.gamma(self.weight * v if self.weight.size else v, -1.0, -1.0)
        result += self._violating * v
        result *= self._scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._scale * self._violating


def _row_scale(levels: Levels, scale: FloatArray) -> FloatArray:
    """Return the factor of each row's gradient: its weight times its query's scale."""
    if levels.weight is None and np.ndim(levels.pair_scale) == 0:
        return np.asarray(levels.pair_scale, dtype=np.float64)
    by_row = np.repeat(scale, np.diff(levels.query_start))
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
