"""The pair sums of logistic and probit over levels, each query by its cheapest algorithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import Evaluated, FloatArray, LikelihoodSum
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.bands import Bands, make_bands
from pairrank.pair_sums.profiles import LEAST_EPS, MOST
from pairrank.pair_sums.sigmoid_pairs import Derivative, QuerySum, SigmoidPairs, jobs_of_queries
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

KINDS = {"logistic": LOGISTIC, "probit": PROBIT}
PAPER_ROWS = 200
"""The rows of a band of Beaulieu's series, which costs a sum per row for every other band."""


class SigmoidSum(BoundSum):
    """The sum of a sigmoidal loss over the preferences of `Levels`.

    `kind` is LOGISTIC or PROBIT. `queries` has those that are summed pair by pair ("direct"), by
    one series each ("spans"), by box sums ("boxes") or by Beaulieu's series ("beaulieu"). The pairs
    that fast sums leave out, see `Bands`, are summed pair by pair too. A row's gradient may be off
    by `eps` times the weight of its pairs. `error` is 0 if all queries are summed pair by pair; the
    parts state their rounding. Costs O(rows) for queries by series or boxes, and O(pairs) for
    others.
    """

    def __init__(self, levels: Levels, kind: int, queries: dict[str, IntArray], eps: float) -> None:
        self.levels, self.kind, self.eps, self.n_rows = levels, kind, eps, levels.n_rows
        self.queries = {name: chosen for name, chosen in queries.items() if chosen.size}
        direct = self.queries.get("direct")
        jobs = [] if direct is None else [jobs_of_queries(levels, direct)]
        self._bands = {
            name: make_bands(levels, chosen, PAPER_ROWS if name == "beaulieu" else None)
            for name, chosen in self.queries.items()
            if name != "direct"
        }
        jobs += [bands.within for name, bands in self._bands.items() if name == "boxes"]
        self._pairs = [SigmoidPairs(levels, kind, each) for each in jobs if len(each.groups)]
        self._bind_parts()

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        gradient = np.zeros(scores.size)
        value = sum(part.value_and_gradient(scores, gradient) for part in self._parts)
        return float(value), gradient

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
        fast = [self._bind(name, bands) for name, bands in self._bands.items()]
        self._parts = [*self._pairs, *fast]
        self.error = self.eps * self.levels.total_weight if fast else 0.0
        if fast:
            self.most = MOST

    def _bind(self, name: str, bands: Bands) -> QuerySum:
        """Return the part of this name; modules are imported when they are needed."""
        if name == "boxes":
            from pairrank.pair_sums.boxes import BoxedQueries

            every = np.arange(bands.scale.size)
            return BoxedQueries(self.levels, bands, self.kind, self.eps, every)
        if name == "beaulieu":
            from pairrank.pair_sums.papers.beaulieu_queries import BeaulieuQueries

            return BeaulieuQueries(self.levels, bands, self.kind, self.eps)
        from pairrank.pair_sums.spans import SpannedQueries

        return SpannedQueries(self.levels, bands, self.kind, self.eps)


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
