"""The pair sums of logistic and probit over levels, each query by its cheapest algorithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums._bound import (
    BoundSum,
    OneByOne,
    as_scores,
    borders_of,
    refuse_scores,
    within_bands,
)
from pairrank.pair_sums.profiles import LEAST_EPS, MOST
from pairrank.pair_sums.sigmoid_pairs import (
    Derivative,
    QuerySum,
    SigmoidPairs,
    pairs_of_queries,
)
from pairrank.preferences import Levels
from pairrank.preferences._codes import query_of_groups

KINDS = {"logistic": LOGISTIC, "probit": PROBIT}
BAND_ROWS, PAPER_ROWS = 32, 200
"""The rows of a band of small levels; of Beaulieu's series, which costs a sum per row for every
other band."""
PAIR, ROW = (1.0, 4.5), 15.0
"""Nanoseconds per pair of logistic (without row weights) and of probit, and per row.

All costs here are means of a gradient and a Hessian product, with normal scores at eps 1e-6, on one
core of an AMD EPYC.
"""
BOXED_ROW, BOXED_BAND = 28.0, 2000.0
"""Nanoseconds of boxes per row and per band."""
EXACT = 1.3
"""The speed-up that boxes need over pairs, which are exact."""


def boxes_pay(levels: Levels, kind: int) -> NDArray[np.bool_]:
    """Return the queries that take less time by boxes than pair by pair."""
    rows, n_bands = np.diff(levels.query_start), np.diff(levels.query_group).astype(np.float64)
    pair = PAIR[kind] if levels.sides[0] is None else PAIR[1]
    within = np.zeros(rows.size)
    if levels.edges is None:
        has_small = 2 * rows < BAND_ROWS * n_bands
        n_bands = np.where(has_small, rows / BAND_ROWS, n_bands)
        within = np.where(has_small, 0.5 * BAND_ROWS * rows, 0.0)
    boxed = BOXED_BAND * n_bands + BOXED_ROW * rows + pair * within
    return np.asarray(EXACT * boxed < pair * pairs_of_queries(levels) + ROW * rows)


def sigmoid_sum(levels: Levels, family: Sigmoidal, pair_sum: str, eps: float) -> SigmoidSum:
    """Return the sum of a sigmoidal loss, which may report the value of another one."""
    reported = None
    if family.value != family.slope:
        of_value = "auto" if pair_sum == "beaulieu" else pair_sum
        reported = SigmoidSum(levels, KINDS[family.value], of_value, eps)
    return SigmoidSum(levels, KINDS[family.slope], pair_sum, eps, reported)


class SigmoidSum(BoundSum):
    """The sum of a sigmoidal loss over the preferences of `Levels`.

    `kind` is LOGISTIC or PROBIT. `pair_sum` is "direct", for all pairs one by one, "boxes",
    "beaulieu" (Beaulieu's series), or "auto": each query by boxes or by its pairs, whichever costs
    less. The pairs within bands of small levels, see `borders_of`, are always summed one by one. A
    row's gradient may be off by `eps` times the weight of its pairs. `error` is 0 if all queries
    are summed pair by pair; the parts state their rounding. `reported` gives the value instead, in
    Raykar's mixture. Costs O(rows) for queries by boxes, and O(pairs) for others.
    """

    def __init__(
        self,
        levels: Levels,
        kind: int,
        pair_sum: str,
        eps: float,
        reported: SigmoidSum | None = None,
    ) -> None:
        self.levels, self.kind, self.eps, self.n_rows = levels, kind, eps, levels.n_rows
        self._reported = reported
        self._by_series = pair_sum == "beaulieu"
        self._chosen = pairs_of_queries(levels) > 0
        if pair_sum in ("auto", "direct"):
            self._chosen &= boxes_pay(levels, kind) & (pair_sum == "auto")
        rows = PAPER_ROWS if self._by_series else BAND_ROWS
        self._borders = borders_of(levels, self._chosen, rows)
        self._pairs = _pairs_of(within_bands(levels, self._chosen, self._borders), kind)
        self._query_of_band = query_of_groups(levels.query_group)[self._borders[:-1]]
        self._bind_fast()

    def costs(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the value of each query without its scale, (n_queries,)."""
        costs = np.zeros(self.levels.n_queries)
        for part in self._pairs:
            costs += np.bincount(self._query_of_band, part.costs(scores, gradient), costs.size)
        for part in self._fast:
            costs += part.costs(scores, gradient)
        return costs

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        gradient = np.zeros(scores.size)
        value = float(np.sum(self.costs(scores, gradient) * self.levels.pair_scale))
        if self._reported is not None:
            value = self._reported.at(scores).value
        return value, gradient

    def sharpen(self) -> bool:
        """Divide eps by 100, down to 1e-13; False if that is impossible."""
        if self.error == 0.0 or self.eps <= LEAST_EPS:
            return False
        if self._reported is not None:
            self._reported.sharpen()
        self.eps = max(0.01 * self.eps, LEAST_EPS)
        self._bind_fast()
        return True

    def _curvature(self, scores: FloatArray) -> SigmoidCurvature:
        return SigmoidCurvature(self.n_rows, self._derivatives(2, scores.copy()))

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs one gradient, and one more per
        vector.
        """
        scores = as_scores(scores, self.n_rows)
        if not self._in_range(scores):
            refuse_scores(self.most)
        first = SigmoidCurvature(self.n_rows, self._derivatives(1, scores))
        return np.reshape([first.matvec(v) for v in vectors], (-1, self.n_rows))

    def _derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        return [part.derivative(order, scores) for part in (*self._pairs, *self._fast)]

    def _bind_fast(self) -> None:
        self._fast: list[QuerySum] = []
        if self._chosen.any():
            self._fast = [self._boxed(self.levels, self._borders)]
            self.error, self.most = self.eps * self.levels.total_weight, MOST
            if self._by_series:
                from pairrank.pair_sums.papers.beaulieu import BeaulieuQueries

                queries = self.levels, self._chosen, self._borders
                self._fast = [BeaulieuQueries(*queries, self.eps, self._fast[0])]
        if self._reported is not None:
            self.error = max(self.error, self._reported.error)

    def _boxed(self, levels: Levels, borders: NDArray[np.int64]) -> QuerySum:
        from pairrank.pair_sums.boxes import BoxedQueries

        return BoxedQueries(levels, self._chosen, borders, self.kind, self.eps)


def _pairs_of(levels: Levels, kind: int) -> list[QuerySum]:
    return [SigmoidPairs(levels, kind)] if levels.n_pairs else []


class SigmoidCurvature(OneByOne):
    """The Hessian of a `SigmoidSum` at fixed scores."""

    def __init__(self, n_rows: int, parts: list[Derivative]) -> None:
        self.n_rows, self.parts = n_rows, parts

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return self._sums(as_scores(v, self.n_rows))

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._sums(None)

    def _sums(self, v: FloatArray | None) -> FloatArray:
        result = np.zeros(self.n_rows)
        for add in self.parts:
            add(v, result)
        return result
