"""The pair sums of logistic and probit over levels, each query by its cheapest algorithm."""

from __future__ import annotations

import importlib

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import Evaluated, FloatArray, LikelihoodSum
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.profiles import LEAST_EPS, MOST, OutOfRangeError
from pairrank.pair_sums.sigmoid_pairs import Derivative, QuerySum
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

KINDS = {"logistic": LOGISTIC, "probit": PROBIT}
PARTS = {
    "direct": ("exact_pairs", "SigmoidPairs"),
    "spans": ("spans", "SpannedQueries"),
    "boxes": ("boxes", "BoxedQueries"),
    "beaulieu": ("papers.beaulieu_queries", "BeaulieuQueries"),
}
"""Where the parts of a sum are defined: queries pair by pair, in one interval, by boxes, ..."""


class SigmoidSum(BoundSum):
    """The sum of a sigmoidal loss over the preferences of `Levels`.

    `kind` is LOGISTIC or PROBIT, `queries` has those of each part of the sum by its name in
    `PARTS`. A row's gradient may be off by `eps` times the weight of its pairs. `error` is 0 if all
    queries are summed pair by pair; the parts state their rounding. Costs O(rows) for queries by
    boxes or in one interval (`SpannedQueries`), and O(pairs) for others.
    """

    def __init__(self, levels: Levels, kind: int, queries: dict[str, IntArray], eps: float) -> None:
        self.levels, self.kind, self.eps, self.n_rows = levels, kind, eps, levels.n_rows
        self.queries = {name: chosen for name, chosen in queries.items() if chosen.size}
        boxed = self.queries.get("boxes", np.empty(0, dtype=np.int64))
        n_boxed = int(np.diff(levels.query_start)[boxed].sum())
        self._boxes_check = len(self.queries) == 1 and n_boxed == self.n_rows > 0
        self._pairs = self._bind("direct") if "direct" in self.queries else None
        self._bind_parts()

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        gradient = np.zeros(scores.size)
        try:
            value = sum(part.value_and_gradient(scores, gradient) for part in self._parts)
        except OutOfRangeError:
            return np.inf, np.full(scores.size, np.nan)
        return float(value), gradient

    def _in_range(self, scores: FloatArray) -> bool:
        """Return whether all scores can be summed, or True if box sums of all rows check that.

        They need the least and the greatest score anyway, and a pass over the scores is a tenth of
        their cost.
        """
        return self._boxes_check or super()._in_range(scores)

    def sharpen(self) -> bool:
        """Divide eps by 100, down to 1e-13; False if that is impossible."""
        if self.error == 0.0 or self.eps <= LEAST_EPS:
            return False
        self.eps = max(0.01 * self.eps, LEAST_EPS)
        self._bind_parts()
        return True

    def _curvature(self, scores: FloatArray) -> SigmoidCurvature:
        return SigmoidCurvature(self.n_rows, self._derivatives(2, scores.copy()))

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs one gradient, and one more per
        vector.
        """
        derivatives = self._derivatives(1, self._require_in_range(scores))
        result = np.zeros(np.shape(vectors))
        for vector, row in zip(vectors, result, strict=True):
            v = as_scores(vector, self.n_rows)
            for derivative in derivatives:
                derivative.product(v, row)
        return result

    def _derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        return [each for part in self._parts for each in part.derivatives(order, scores)]

    def _bind_parts(self) -> None:
        fast = [self._bind(name) for name in self.queries if name != "direct"]
        self._parts = fast if self._pairs is None else [self._pairs, *fast]
        self.error = self.eps * self.levels.total_weight if fast else 0.0
        if fast:
            self.most = MOST

    def _bind(self, name: str) -> QuerySum:
        """Import and return the part of this name."""
        module, attribute = PARTS[name]
        part = getattr(importlib.import_module(f"pairrank.pair_sums.{module}"), attribute)
        return part(self.levels, self.queries[name], self.kind, self.eps)


class SigmoidCurvature(OneByOne):
    """The Hessian of a `SigmoidSum` at fixed scores."""

    def __init__(self, n_rows: int, parts: list[Derivative]) -> None:
        self.n_rows, self.parts = n_rows, parts

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v, result = as_scores(v, self.n_rows), np.zeros(self.n_rows)
        for part in self.parts:
            part.product(v, result)
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        result = np.zeros(self.n_rows)
        for part in self.parts:
            part.diagonal(result)
        return result


class MixedSum:
    """Raykar's mixture: the value of one loss and the gradient of another."""

    def __init__(self, reported: LikelihoodSum, followed: LikelihoodSum) -> None:
        self.reported, self.followed = reported, followed

    @property
    def error(self) -> float:
        """The larger of both errors."""
        return max(self.reported.error, self.followed.error)

    def at(self, scores: FloatArray) -> Evaluated:
        """Return the value of the one and the rest of the other; two pair sums."""
        value = self.reported.at(scores).value
        return self.followed.at(scores)._replace(value=value, error=self.error)

    def sharpen(self) -> bool:
        """Sharpen both; False if neither can be sharpened."""
        return any([part.sharpen() for part in (self.reported, self.followed)])

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return the rows' shares of the gradient; see `LikelihoodSum`."""
        return self.followed.influence(scores, vectors)
