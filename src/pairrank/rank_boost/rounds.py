"""Booster: one weak ranking after another, each from the potentials of all rows."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray, Status
from pairrank.compiled.weak_rankings import best_of_features
from pairrank.preferences import Preferences
from pairrank.rank_boost.alphas import newton, second_method, third_method
from pairrank.rank_boost.binning import Codes
from pairrank.rank_boost.pair_weights import weigher
from pairrank.rank_boost.rankings import WeakRanking

AlphaMethod = Literal["second", "third", "newton"]

_ENTRIES_A_TASK = 1 << 17
"""Threads share the features in tasks of about so many entries."""
_SEPARATED = 1e-200
"""The share of the first loss at which the weights of pairs come near to underflow."""
_ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Per row: an edge is a sum of two terms per row, each from two sums of one term per row."""


class Round(NamedTuple):
    """What a round added.

    Attributes
    ----------
    ranking : WeakRanking
    edge : float
        r, from -1 to 1: the weight of the right pairs less that of the wrong ones, of all.
    """

    ranking: WeakRanking
    edge: float


class Booster:
    """The rounds of RankBoost over the codes of some rows and preferences between them.

    Attributes
    ----------
    scores : float64 array of shape (n_rows,)
        H, the sum of the weak rankings so far.
    loss : float
        The weight of all pairs at these scores, of the weight at scores of 0.
    """

    def __init__(
        self,
        codes: Codes,
        preferences: Preferences,
        *,
        alpha_method: AlphaMethod,
        smoothing: float,
        abstain: bool,
    ) -> None:
        self._codes, self._weigh = codes, weigher(preferences)
        self._method, self._smoothing, self._abstain = alpha_method, smoothing, abstain
        self.scores = np.zeros(codes.n_rows)
        self._now = self._weigh(self.scores)
        self._first = self._now.total
        n_entries = max(1, codes.codes.size // max(1, codes.n_features))
        self._tasks = threads.blocks(codes.n_features, max(1, _ENTRIES_A_TASK // n_entries))

    @property
    def loss(self) -> float:
        """The weight of all pairs, relative to that at scores of 0."""
        return self._now.total / self._first

    def advance(self) -> Round | Status:
        """Add the weak ranking with the largest edge, or say why there is none; O(rows) each."""
        if not self.loss > _SEPARATED:
            return Status.SEPARATED
        edge, ranking, code = self._best()
        if not abs(edge) > _ROUNDING * self._codes.n_rows:
            return Status.NO_EDGE
        h = self._values(ranking, code)
        alpha = self._alpha(edge, ranking, h)
        self.scores = self.scores + alpha * h
        self._now = self._weigh(self.scores)
        return Round(ranking._replace(alpha=alpha), edge)

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
                codes.n_values, codes.has_missing, codes.value_start, codes.values,
                not self._abstain, enough, self._now.potential, edges, code, missing,
            )  # fmt: skip

        threads.run(search, self._tasks)
        enough = np.abs(edges).max() - _ROUNDING * codes.n_rows * self._now.total
        best = int(np.argmax(np.abs(edges) >= enough))
        if enough > 0.0:
            search(slice(best, best + 1), float(enough))
        if codes.values.size:
            ends = float(codes.least[best]), float(codes.most[best])
        else:
            ends = (codes.cut(best, int(code[best])),) * 2
        ranking = WeakRanking(best, *ends, float(missing[best]), 0.0)
        return float(edges[best]) / self._now.total, ranking, int(code[best])

    def _values(self, ranking: WeakRanking, code: int) -> FloatArray:
        """Return h of each row, (n_rows,)."""
        codes, feature = self._codes, ranking.feature
        of_rows = codes.of_feature(feature)
        if codes.values.size:
            start, stop = codes.value_start[feature : feature + 2]
            return np.append(codes.values[start:stop], ranking.missing)[of_rows]
        h = (of_rows > code).astype(np.float64)
        if codes.has_missing[feature]:
            h[of_rows == codes.n_values[feature]] = ranking.missing
        return h

    def _alpha(self, edge: float, ranking: WeakRanking, h: FloatArray) -> float:
        if self._method == "third":
            return third_method(edge, self._smoothing)
        abstains = self._codes.has_missing[ranking.feature] and ranking.missing == 0.5
        if self._method == "second" and not abstains:
            return second_method(self._now, h, self._smoothing)
        start = third_method(edge, self._smoothing)
        return newton(self._weigh, self.scores, self._now, h, self._smoothing, start)
