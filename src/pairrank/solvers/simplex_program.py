"""Minimise a convex quadratic over the simplex by an active set method."""

from __future__ import annotations

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
        return _vertex(vector)
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


def _vertex(vector: FloatArray) -> FloatArray:
    """Return the vertex of the simplex that minimises -vector'x, for a matrix of zero."""
    weights = np.zeros(vector.size)
    weights[np.argmax(vector)] = 1.0
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
