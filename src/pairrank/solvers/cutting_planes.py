"""CuttingPlanes: planes below a convex function, and the minimum of the highest one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pairrank._protocols import FloatArray

_RIDGE = 1e-12
"""A proximal term, relative to the matrix, for planes that are linearly dependent."""
_MAX_STALLED = 50
"""Stop after this many active sets in a row without progress, which rounding causes."""
_SETS_PER_PLANE = 10
"""Sets tried per plane: Lawson & Hanson need about 3; rounding alone could make the sets cycle."""


def minimum_on_simplex(
    matrix: FloatArray, vector: FloatArray, start: FloatArray, accuracy: float
) -> FloatArray:
    r"""Return weights x >= 0 of sum 1 with x'Gx/2 - v'x at most `accuracy` above its minimum.

    With the gradient g = Gx - v, the value at x exceeds the minimum by at most x'g - min g (Frank &
    Wolfe 1956), which must fall below `accuracy`. The weights of the active set are moved to their
    minimum, those that would become negative leave the set, and then the weight with the least
    gradient enters (Lawson & Hanson 1974, Chapter 23).

    G is positive semidefinite. Weights outside the active set are exactly 0.0. Where rounding
    prevents the accuracy, the last weights are returned. A set of k weights costs a Cholesky
    factorisation, O(k^3), and O(n k) for the gradient. The value never rises from one set to the
    next but for rounding; at most 10 n sets are tried.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.array([0.0, 0.0, 1.0])
    >>> G, v = np.diag([1.0, 3.0, 9.0]), np.array([0.0, 0.0, -9.0])
    >>> minimum_on_simplex(G, v, start, 1e-9).round(6)
    array([0.75, 0.25, 0.  ])
    """
    vector = vector - vector.max()
    weights, ridge = start, _RIDGE * float(np.diagonal(matrix).max())
    if not 0.0 < ridge < np.inf:
        return np.eye(1, vector.size, int(np.argmax(vector)))[0]  # the matrix is zero
    inside = np.flatnonzero(weights)
    nearest, n_stalled = np.inf, 0
    for _ in range(_SETS_PER_PLANE * vector.size):
        if n_stalled > _MAX_STALLED:
            break
        weights, inside = _minimised(matrix, vector, weights, inside, ridge)
        gradient = weights[inside] @ matrix[inside] - vector
        entering = int(np.argmin(gradient))
        excess = float(weights @ gradient - gradient[entering])
        if not excess > accuracy:
            break
        n_stalled = 0 if excess < nearest else n_stalled + 1
        nearest = min(nearest, excess)
        inside = np.union1d(inside, [entering])
    return weights


def _minimised(
    matrix: FloatArray,
    vector: FloatArray,
    weights: FloatArray,
    inside: NDArray[np.intp],
    ridge: float,
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Move the weights of a set to their minimum; drop those that would be negative."""
    own = weights[inside]
    while inside.size > 1:
        wanted = _unsigned_minimum(matrix[np.ix_(inside, inside)], vector[inside], own, ridge)
        if wanted is None:
            break
        fall = np.maximum(own - wanted, np.finfo(np.float64).tiny)
        room = np.where(wanted > 0.0, np.inf, own / fall)
        length = float(room.min())
        if length == np.inf:
            own = wanted
            break
        stays = room > length
        own = np.maximum(own + length * (wanted - own), 0.0)[stays]
        inside = inside[stays]
    moved = np.zeros(weights.size)
    moved[inside] = own / own.sum()
    return moved, inside


def _unsigned_minimum(
    matrix: FloatArray, vector: FloatArray, near: FloatArray, ridge: float
) -> FloatArray | None:
    """Return the minimum over weights of sum 1 and any sign; None where rounding prevents it.

    A constant added to the matrix does not change that minimum. The matrix is then singular only
    where planes are linearly dependent.
    """
    shifted = matrix + np.diagonal(matrix).max()
    shifted[np.diag_indices_from(shifted)] += ridge
    try:
        factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    sides = np.column_stack((vector - matrix @ near, np.ones(near.size)))
    free, even = linalg.cho_solve(factor, sides, overwrite_b=True, check_finite=False).T
    wanted: FloatArray = near + free - free.sum() / even.sum() * even
    return wanted if np.isfinite(wanted).all() else None


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
