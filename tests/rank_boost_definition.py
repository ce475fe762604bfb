"""RankBoost by its definition: a list of pairs, every threshold, plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


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
                h = tuple(_h(value, cut, fill) for value in column)
                found.append(Weak(feature, cut, fill, h))
    return found


def _between(low: float, high: float) -> float:
    """Return the middle, or `low` where that is rounded up to `high`."""
    middle = low / 2.0 + high / 2.0
    return middle if middle < high else low


def _h(value: float, cut: float, fill: float) -> float:
    return fill if math.isnan(value) else float(value > cut)


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
