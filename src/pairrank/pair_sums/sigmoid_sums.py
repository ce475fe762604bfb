"""The pair sums of logistic and probit over levels: each query by the part that serves it best."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, LikelihoodSum, MultipleCurvature
from pairrank.compiled.sigmoids import LOGISTIC, PROBIT
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._scores import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.box_rule import MOST
from pairrank.pair_sums.direct_queries import DirectQueries
from pairrank.pair_sums.sigmoid_schedule import divide_queries
from pairrank.preferences import Levels, Pairs, Preferences

IntArray = NDArray[np.int64]

KINDS = {"logistic": LOGISTIC, "probit": PROBIT}
LEAST_EPS = 1e-13
"""Below this, rounding rules."""


class QueryCurvature(Protocol):
    """The Hessian of a part of a sum, at fixed scores."""

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times `v` to `result`."""
        ...

    def diagonal(self, result: FloatArray) -> None:
        """Add the diagonal to `result`."""
        ...


class QuerySum(Protocol):
    """A part of a sum: some queries by one algorithm; arrays are (n_rows,) in the user's order."""

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        ...

    def curvature(self, scores: FloatArray) -> QueryCurvature:
        """Return the Hessian at these scores."""
        ...

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add to `result` what `LikelihoodSum.influence` says."""
        ...


def bind(
    preferences: Preferences, reported: str, followed: str, route: str, eps: float
) -> LikelihoodSum:
    """Return the sum whose value is that of one loss, and whose gradient that of another."""
    followed_sum = _bind_one(preferences, KINDS[followed], route, eps)
    if reported == followed:
        return followed_sum
    reported_route = "auto" if route == "beaulieu" else route
    return MixedSum(_bind_one(preferences, KINDS[reported], reported_route, eps), followed_sum)


def _bind_one(preferences: Preferences, kind: int, route: str, eps: float) -> LikelihoodSum:
    if isinstance(preferences, Pairs):
        from pairrank.pair_sums.pairs_sigmoid import PairsSigmoidSum

        return PairsSigmoidSum(preferences, kind)
    return SigmoidSum(preferences, kind, route, eps)


class SigmoidSum(BoundSum):
    """The sum of a sigmoidal loss over the preferences of `Levels`.



    Parameters
    ----------
    levels : Levels
    kind : int
        LOGISTIC or PROBIT of `pairrank.compiled.sigmoids`.
    route : "auto", "boxes", "beaulieu" or "direct"
        See `pairrank.pair_sums.bind`.
    eps : float
        What a row's gradient may be off by, as a part of the weight of its pairs.

    Notes
    -----
    It costs O(rows) for queries by boxes or in one interval (`SpannedQueries`), and O(pairs) for
    those pair by pair. `error` is 0 where all queries go pair by pair; rounding is stated in the
    parts.
    """

    def __init__(self, levels: Levels, kind: int, route: str, eps: float) -> None:
        self.levels, self.kind, self.eps = levels, kind, eps
        self._queries = divide_queries(levels, kind, route)
        self._direct = self._bind("direct")
        self._bind_parts()

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient by the scores, (n_rows,).

        They are infinite and NaN where a score is not finite, or beyond 1e305 in a fast sum.
        """
        scores = as_scores(scores, self.levels.n_rows)
        if not self._in_range(scores):
            return np.inf, np.full(scores.size, np.nan)
        gradient = np.zeros(scores.size)
        value = sum(part.value_and_gradient(scores, gradient) for part in self._parts)
        return float(value), gradient

    def sharpen(self) -> bool:
        """Lower eps a hundredfold, to 1e-13 at the least; False where that cannot be."""
        if self.error == 0.0 or self.eps <= LEAST_EPS:
            return False
        self.eps = max(0.01 * self.eps, LEAST_EPS)
        self._bind_parts()
        return True

    def curvature(self, scores: FloatArray) -> SigmoidCurvature:
        """Return the Hessian at these scores."""
        scores = self._checked(scores)
        return SigmoidCurvature(self, [part.curvature(scores) for part in self._parts])

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, a row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs as much as a gradient a vector.
        """
        scores = self._checked(scores)
        result = np.zeros(np.shape(vectors))
        for vector, row in zip(vectors, result, strict=True):
            v = as_scores(vector, self.levels.n_rows)
            for part in self._parts:
                part.influence(scores, v, row)
        return result

    def _checked(self, scores: FloatArray) -> FloatArray:
        scores = as_scores(scores, self.levels.n_rows)
        if not self._in_range(scores):
            raise PairrankError(
                f"scores must be finite numbers between {-self._most:g} and {self._most:g} here; "
                "scale the features down"
            )
        return scores

    def _in_range(self, scores: FloatArray) -> bool:
        """Return whether no score is NaN or greater than this sum can take."""
        return bool(-self._most <= scores.min() and scores.max() <= self._most)

    def _bind_parts(self) -> None:
        fast = [self._bind(name) for name in self._queries if name != "direct"]
        self._parts = [part for part in (self._direct, *fast) if part is not None]
        exact = all(part is None for part in fast)
        self._most = np.finfo(np.float64).max if exact else MOST
        self.error = 0.0 if exact else self.eps * self.levels.total_weight

    def _bind(self, name: str) -> QuerySum | None:
        queries = self._queries.get(name)
        if queries is None or not queries.size:
            return None
        made = (self.levels, queries, self.kind, self.eps)
        if name == "direct":
            return DirectQueries(*made)
        if name == "beaulieu":
            from pairrank.pair_sums.papers.beaulieu_queries import BeaulieuQueries

            return BeaulieuQueries(*made)
        if name == "spans":
            from pairrank.pair_sums.spanned_queries import SpannedQueries

            return SpannedQueries(*made)
        from pairrank.pair_sums.boxed_queries import BoxedQueries

        return BoxedQueries(*made)


class SigmoidCurvature(OneByOne):
    """The Hessian of a `SigmoidSum` at fixed scores."""

    def __init__(self, owner: SigmoidSum, parts: list[QueryCurvature]) -> None:
        self.owner, self.parts = owner, parts

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self.owner.levels.n_rows)
        result = np.zeros(v.size)
        for part in self.parts:
            part.product(v, result)
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        result = np.zeros(self.owner.levels.n_rows)
        for part in self.parts:
            part.diagonal(result)
        return result


class MixedSum(BoundSum):
    """Raykar's mixture: one loss's value is reported, another's gradient followed."""

    def __init__(self, reported: LikelihoodSum, followed: LikelihoodSum) -> None:
        self.reported, self.followed = reported, followed
        self.error = max(reported.error, followed.error)

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the value of the one and the gradient of the other; two pair sums."""
        value, _ = self.reported.value_and_gradient(scores)
        return value, self.followed.value_and_gradient(scores)[1]

    def sharpen(self) -> bool:
        """Sharpen both; False where neither can be."""
        sharpened = [part.sharpen() for part in (self.reported, self.followed)]
        self.error = max(self.reported.error, self.followed.error)
        return any(sharpened)

    def curvature(self, scores: FloatArray) -> MultipleCurvature:
        """Return the Hessian of the loss that is followed."""
        return self.followed.curvature(scores)

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return the rows' shares in the gradient that is followed; see `LikelihoodSum`."""
        return self.followed.influence(scores, vectors)
