"""RankBoost by its definition: a list of pairs, every threshold, plain loops, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

N_ROUNDS = 4
SMOOTHING = 1e-3


class Pair(NamedTuple):
    """i is preferred to j, with a weight."""

    i: int
    j: int
    weight: float


class Weak(NamedTuple):
    """A weak ranking: feature, threshold, h of missing values, h by row."""

    feature: int
    threshold: float
    missing: float
    h: tuple[float, ...]


def weak_rankings(X: np.ndarray, kept: Sequence[int]) -> list[Weak]:
    """Return every weak ranking; thresholds lie halfway between values of kept rows."""
    found = []
    for feature, column in enumerate(X.T.astype(np.float64).tolist()):
        values = sorted({column[row] for row in kept if not math.isnan(column[row])})
        has_missing = any(math.isnan(column[row]) for row in kept)
        cuts = [*map(_between, values, values[1:])]
        if has_missing and values:
            cuts.append(-math.inf)
        fills = (0.0, 1.0) if has_missing else (0.5,)
        for cut in cuts:
            for fill in fills:
                h = tuple(fill if math.isnan(each) else float(each > cut) for each in column)
                found.append(Weak(feature, cut, fill, h))
    return found


def _between(low: float, high: float) -> float:
    """Return the middle, or `low` where that is rounded up to `high`."""
    middle = low / 2.0 + high / 2.0
    return middle if middle < high else low


class Distribution:
    """D over pairs at some scores, by their list."""

    def __init__(self, pairs: list[Pair], scores: Sequence[float]) -> None:
        self.pairs = pairs
        terms = [pair.weight * math.exp(scores[pair.j] - scores[pair.i]) for pair in pairs]
        self.total = math.fsum(terms)
        self.D = [term / self.total for term in terms]

    def edge(self, h: Sequence[float]) -> float:
        """Return r, the sum of D (h_i - h_j)."""
        return math.fsum(
            d * (h[pair.i] - h[pair.j]) for d, pair in zip(self.D, self.pairs, strict=True)
        )

    def alpha(self, h: Sequence[float], smoothing: float) -> float:
        """Return alpha by the paper's second method."""
        each = [(d, h[pair.i] - h[pair.j]) for d, pair in zip(self.D, self.pairs, strict=True)]
        right = math.fsum(d for d, difference in each if difference == 1.0)
        wrong = math.fsum(d for d, difference in each if difference == -1.0)
        return 0.5 * math.log((right + smoothing) / (wrong + smoothing))


def pair_list(pairs: Sequence[tuple], winner: Any, loser: Any, scale: Any) -> list[Pair]:
    """Return pairs of positive weight: winner's weight times loser's times `scale` of its query."""
    weighed = [Pair(i, j, float(winner[i] * loser[j] * scale(i))) for i, j in pairs]
    return [pair for pair in weighed if pair.weight > 0.0]


def features(kind: str, n_rows: int, generator: np.random.Generator) -> np.ndarray:
    """Return three columns: drawn by kind, of few values, and constant; perhaps with gaps."""
    normal = generator.normal(size=n_rows)
    first = {
        "normal": normal,
        "ties": generator.integers(0, 3, n_rows) * 0.5,
        "close": 1.0 + 1e-16 * generator.integers(0, 9, n_rows),
        "huge": 1e300 * normal,
    }[kind.removesuffix(" with gaps")]
    X = np.column_stack([first, generator.integers(-1, 2, n_rows), np.full(n_rows, 2.0)])
    if kind.endswith("with gaps"):
        X[generator.random(X.shape) < 0.3] = np.nan
    return X


KINDS = [kind + gaps for kind in ("normal", "ties", "close", "huge") for gaps in ("", " with gaps")]


def assert_rounds(ranker, X, kept, pairs):
    """Check each round at the scores before it: the edge, the ranking, alpha and the loss."""
    tolerance = 12.0 * len(X) * np.finfo(float).eps
    candidates = weak_rankings(X, kept)
    first = Distribution(pairs, np.zeros(len(X))).total
    scores, staged = np.zeros(len(X)), ranker.staged_predict(X)
    for number, parts in enumerate(zip(*ranker.rankings_, strict=True)):
        feature, threshold, missing, alpha = (part.item() for part in parts)
        now = Distribution(pairs, scores)
        edges = [now.edge(weak.h) for weak in candidates]
        best = max(map(abs, edges))
        found = [
            weak
            for weak in candidates
            if weak.feature == feature
            and weak.threshold == threshold
            and (weak.missing == missing or not np.isnan(X[kept, feature]).any())
        ]
        (weak,) = found
        assert abs(now.edge(weak.h)) >= best - tolerance
        near = {
            tuple(weak.h[row] for row in kept)
            for weak, edge in zip(candidates, edges, strict=True)
            if abs(edge) >= best - tolerance
        }
        assert tuple(weak.h[row] for row in kept) in near
        assert abs(ranker.history_[number].gradient_norm - best) <= tolerance
        wanted = ranker.learning_rate * now.alpha(weak.h, SMOOTHING)
        # An alpha is the logarithm of shares of at least SMOOTHING, known to `tolerance`.
        assert abs(alpha - wanted) <= 4.0 * tolerance / SMOOTHING
        scores = next(staged)
        np.testing.assert_allclose(
            ranker.train_score_[number + 1], Distribution(pairs, scores).total / first, rtol=1e-9
        )
    np.testing.assert_array_equal(scores, ranker.predict(X))
    if ranker.status_ == "no_edge":
        now = Distribution(pairs, scores)
        assert all(abs(now.edge(weak.h)) <= tolerance for weak in candidates)
    else:
        assert ranker.status_ == "rounds"
        assert ranker.n_estimators_ == N_ROUNDS
