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
    """A weak ranking: feature, threshold (None: graded), h of missing values, h by row."""

    feature: int
    threshold: float | None
    missing: float
    h: tuple[float, ...]


def weak_rankings(
    X: np.ndarray, kept: Sequence[int], *, graded: bool = False, abstain: bool = False
) -> list[Weak]:
    """Return every weak ranking; thresholds lie halfway between values of kept rows."""
    found = []
    for feature, column in enumerate(X.T.astype(np.float64).tolist()):
        values = sorted({column[row] for row in kept if not math.isnan(column[row])})
        has_missing = any(math.isnan(column[row]) for row in kept)
        cuts: list[float | None] = [*map(_between, values, values[1:])]
        if has_missing and values:
            cuts.append(-math.inf)
        if graded:
            cuts = [None] if values else []
        fills = (0.0, 1.0) if has_missing and not abstain else (0.5,)
        for cut in cuts:
            for fill in fills:
                h = tuple(_h(value, cut, fill, values) for value in column)
                found.append(Weak(feature, cut, fill, h))
    return found


def _between(low: float, high: float) -> float:
    """Return the middle, or `low` where that is rounded up to `high`."""
    middle = low / 2.0 + high / 2.0
    return middle if middle < high else low


def _h(value: float, cut: float | None, fill: float, values: list[float]) -> float:
    if math.isnan(value):
        return fill
    if cut is not None:
        return 1.0 if value > cut else 0.0
    low, width = values[0] / 2.0, values[-1] / 2.0 - values[0] / 2.0
    return min(max((value / 2.0 - low) / width, 0.0), 1.0) if width else float(value > values[0])


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

    def alpha(self, h: Sequence[float], method: str, smoothing: float) -> float:
        """Return alpha by one of the paper's methods."""
        differences = [h[pair.i] - h[pair.j] for pair in self.pairs]
        if method == "third":
            right, wrong = (1.0 + self.edge(h)) / 2.0, (1.0 - self.edge(h)) / 2.0
        elif method == "second" and set(differences) <= {-1.0, 0.0, 1.0}:
            each = list(zip(self.D, differences, strict=True))
            right = math.fsum(d for d, difference in each if difference == 1.0)
            wrong = math.fsum(d for d, difference in each if difference == -1.0)
        else:
            return self._least(differences, smoothing)
        return 0.5 * math.log((right + smoothing) / (wrong + smoothing))

    def _least(self, differences: list[float], smoothing: float) -> float:
        """Return the alpha of the least smoothed loss, by bisection of its slope."""

        def slope(alpha: float) -> float:
            terms = [
                -d * e * math.exp(-alpha * e) for d, e in zip(self.D, differences, strict=True)
            ]
            return math.fsum(terms) + 2.0 * smoothing * math.sinh(alpha)

        low, high = -50.0, 50.0
        for _ in range(200):
            middle = (low + high) / 2.0
            low, high = (low, middle) if slope(middle) > 0.0 else (middle, high)
        return (low + high) / 2.0


def pair_list(pairs: Sequence[tuple], winner: Any, loser: Any, scale: Any) -> list[Pair]:
    """Return pairs of positive weight: winner's weight times loser's times `scale` of its query."""
    weighed = [Pair(i, j, float(winner[i] * loser[j] * scale(i))) for i, j in pairs]
    return [pair for pair in weighed if pair.weight > 0.0]
