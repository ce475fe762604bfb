"""Booster: one weak ranking after another, each from the potentials of all rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray, Status
from pairrank.compiled.weak_rankings import best_of_features
from pairrank.pair_sums.direct import ExplicitCurvature
from pairrank.pair_sums.separable import SeparableCurvature
from pairrank.preferences import Pairs, Preferences
from pairrank.rank_boost.binning import Codes
from pairrank.rank_boost.rankings import WeakRanking

_ENTRIES_A_TASK = 1 << 17
"""Threads share the features in tasks of about so many entries."""
_SEPARATED = 1e-200
"""The share of the first loss at which the weights of pairs come near to underflow."""
_ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Per row: an edge is a sum of two terms per row, each from two sums of one term per row."""

_SMOOTHING = 1e-3
"""Added to the shares of right and wrong pairs: alpha is 3.5 where h makes no mistake."""


class Round(NamedTuple):
    """A weak ranking, and its edge r: the weight of right pairs less that of wrong ones, of all."""

    ranking: WeakRanking
    edge: float


class Booster:
    """The rounds of RankBoost over the codes of some rows and preferences between them.

    `scores`, (n_rows,), are H, the sum of the weak rankings so far.
    """

    def __init__(self, codes: Codes, preferences: Preferences, rate: float = 1.0) -> None:
        self._codes, self._rate, self._pairs = codes, rate, preferences
        self._move(np.zeros(codes.n_rows))
        self._first = self._total
        n_entries = max(1, codes.codes.size // max(1, codes.n_features))
        self._tasks = threads.blocks(codes.n_features, max(1, _ENTRIES_A_TASK // n_entries))

    @property
    def loss(self) -> float:
        """The weight of all pairs, relative to that at scores of 0."""
        return self._total / self._first

    def advance(self) -> Round | Status:
        """Add the weak ranking with the largest edge, or say why there is none; O(rows) each."""
        if not self.loss > _SEPARATED:
            return Status.SEPARATED
        edge, ranking, code = self._best()
        if not abs(edge) > _ROUNDING * self._codes.n_rows:
            return Status.NO_EDGE
        h = self._values(ranking, code)
        # The loss is its own second derivative: h' H h weighs the pairs that h tells apart.
        both = float(h @ self._weights.matvec(h)) / self._total
        right, wrong = 0.5 * (both + edge), 0.5 * (both - edge)
        alpha = self._rate * 0.5 * math.log((right + _SMOOTHING) / (wrong + _SMOOTHING))
        self._move(self.scores + alpha * h)
        return Round(ranking._replace(alpha=alpha), edge)

    def _move(self, scores: FloatArray) -> None:
        """Weigh all pairs at new scores; `_potential` is the weight that a row wins by, net."""
        pairs = self._pairs
        of_pairs: Any = _ComparisonWeights if isinstance(pairs, Pairs) else SeparableCurvature
        self.scores, self._weights = scores, of_pairs(pairs, scores)
        self._total, gradient = self._weights.value_and_gradient()
        self._potential = -gradient

    def _best(self) -> tuple[float, WeakRanking, int]:
        """Return the largest edge, its weak ranking without alpha, and its code.

        Of edges that are equal but for rounding it is the first, so that neither the order of
        additions nor weights in place of repeated rows choose.
        """
        codes, n = self._codes, self._codes.n_features
        edges, code, missing = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)

        def search(part: slice, enough: float = np.inf) -> None:
            best_of_features(
                part.start, part.stop, codes.codes, codes.rows, codes.starts, codes.zero,
                codes.n_values, codes.has_missing, enough, self._potential, edges, code, missing,
            )  # fmt: skip

        threads.run(search, self._tasks)
        enough = np.abs(edges).max() - _ROUNDING * codes.n_rows * self._total
        best = int(np.argmax(np.abs(edges) >= enough))
        if enough > 0.0:
            search(slice(best, best + 1), float(enough))
        ranking = WeakRanking(best, codes.cut(best, int(code[best])), float(missing[best]), 0.0)
        return float(edges[best]) / self._total, ranking, int(code[best])

    def _values(self, ranking: WeakRanking, code: int) -> FloatArray:
        """Return h of each row, (n_rows,)."""
        codes, feature = self._codes, ranking.feature
        of_rows = codes.of_feature(feature)
        h = (of_rows > code).astype(np.float64)
        if codes.has_missing[feature]:
            h[of_rows == codes.n_values[feature]] = ranking.missing
        return h


class _ComparisonWeights(ExplicitCurvature):
    """What `SeparableCurvature` is for `Levels`: the weights of comparisons at some scores."""

    def __init__(self, pairs: Pairs, scores: FloatArray) -> None:
        with np.errstate(under="ignore", over="ignore"):
            weight = pairs.pair_scale * np.exp(scores[pairs.j] - scores[pairs.i])
        super().__init__(pairs, weight if pairs.weight is None else weight * pairs.weight)

    def value_and_gradient(self) -> tuple[float, FloatArray]:
        """Return the weight of all pairs and its gradient, (n_rows,)."""
        pairs, weight = self.pairs, self.curvature
        assert weight is not None
        lost, won = (np.bincount(rows, weight, pairs.n_rows) for rows in (pairs.j, pairs.i))
        return float(weight.sum()), (lost - won).astype(np.float64)
