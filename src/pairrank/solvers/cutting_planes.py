"""CuttingPlanes: planes below a convex function, in bounded memory, and their minimum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.solvers.simplex_program import minimum_on_simplex

_FIRST = 16
_MOST_BYTES = 1 << 28
_FEWEST = 16
_PATIENCE = 30
"""A plane without weight in this many successive minima is dropped."""


class ModelMinimum(NamedTuple):
    """The minimiser of penalty/2 |w|^2 + the highest plane, and a lower bound of its value."""

    w: FloatArray
    lower_bound: float
    score_norm: float
    """The weighted mean of the planes' score norms."""


class CuttingPlanes:
    r"""The model max over t of (a_t'w + b_t) of a convex function (Teo et al. 2010, Eq. 7).

    Its minimum with penalty/2 \|w\|^2 is w = -A'x/penalty, where the weights x on the simplex
    maximise b'x - \|A'x\|^2/(2 penalty): a lower bound of the function itself for every x (Eq. 9).

    At most `max_planes` are kept; fewer where they would take more than 256 MB, but at least 16.
    When one more comes, the lighter half of the planes is replaced by the weighted sum of all,
    which leaves the bound unchanged (Kiwiel, Mathematical Programming 27, 1983). Planes that have
    long had no weight are dropped first. A new plane costs O(n_planes n_features), a minimum the
    same and one `minimum_on_simplex`.
    """

    def __init__(self, n_features: int, penalty: float, max_planes: int) -> None:
        within = max(_FEWEST, _MOST_BYTES // (8 * max(1, n_features)))
        self.penalty, self.max_planes = penalty, min(max_planes, within)
        self.n_planes = 0
        self._slopes = np.empty((min(_FIRST, self.max_planes), n_features))
        self._offsets, self._score_norms = np.empty((2, self.max_planes))
        self._products = np.empty((self.max_planes, self.max_planes))
        self._weights = np.zeros(self.max_planes)
        self._idle = np.zeros(self.max_planes, dtype=np.int64)

    def add(self, slope: FloatArray, offset: float, score_norm: float = 0.0) -> None:
        """Add the plane slope'w + offset; the error of its slope grows with `score_norm`."""
        if self.n_planes == self.max_planes:
            self._merge()
        self._append(slope, offset, score_norm)

    def minimum(self, accuracy: float) -> ModelMinimum:
        """Return the model's minimum to an accuracy of its value; then drop idle planes."""
        n = self.n_planes
        quadratic = self._products[:n, :n] / self.penalty
        start = self._weights[:n]
        weights = minimum_on_simplex(quadratic, self._offsets[:n], start, accuracy)
        w = weights @ self._slopes[:n] / -self.penalty
        bound = float(weights @ self._offsets[:n]) - 0.5 * self.penalty * float(w @ w)
        self._weights[:n] = weights
        self._idle[:n] += 1
        self._idle[:n][weights > 0.0] = 0
        score_norm = float(weights @ self._score_norms[:n])
        self._keep(np.flatnonzero(self._idle[:n] <= _PATIENCE))
        return ModelMinimum(w, bound, score_norm)

    def _merge(self) -> None:
        """Replace the lighter half of the planes by the weighted sum of all."""
        n = self.n_planes
        slope = self._weights[:n] @ self._slopes[:n]
        offset, score_norm = (
            float(self._weights[:n] @ v[:n]) for v in (self._offsets, self._score_norms)
        )
        heaviest = np.argsort(-self._weights[:n], kind="stable")[: n // 2]
        self._keep(np.sort(heaviest))
        self._weights[: self.n_planes] = 0.0
        self._append(slope, offset, score_norm)
        self._weights[self.n_planes - 1] = 1.0

    def _append(self, slope: FloatArray, offset: float, score_norm: float) -> None:
        n = self.n_planes
        if n == self._slopes.shape[0]:
            wider = np.empty((min(2 * n, self.max_planes), slope.size))
            wider[:n] = self._slopes
            self._slopes = wider
        self._slopes[n], self._offsets[n], self._score_norms[n] = slope, offset, score_norm
        self._weights[n], self._idle[n] = float(n == 0), 0
        self._products[n, : n + 1] = self._slopes[: n + 1] @ slope
        self._products[: n + 1, n] = self._products[n, : n + 1]
        self.n_planes = n + 1

    def _keep(self, kept: NDArray[np.intp]) -> None:
        if kept.size == self.n_planes:
            return
        n = kept.size
        for place, plane in enumerate(kept):
            if place != plane:
                self._slopes[place] = self._slopes[plane]
        self._products[:n, :n] = self._products[np.ix_(kept, kept)]
        for values in (self._offsets, self._score_norms, self._weights, self._idle):
            values[:n] = values[kept]
        self.n_planes = n
