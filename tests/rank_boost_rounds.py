"""Checks of RankBoost's rounds, one by one, against a list of pairs."""

from __future__ import annotations

import numpy as np

from rank_boost_definition import Distribution, weak_rankings

N_ROUNDS = 4
SMOOTHING = 1e-3


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
