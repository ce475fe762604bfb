"""The least of a convex quadratic over the simplex, by an active set of weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pairrank._protocols import FloatArray

_RIDGE = 1e-12
"""What draws weights to where they are, as a part of the matrix: planes may depend on others."""
_PATIENCE = 50
"""End where this many sets in a row have come no nearer: the rest is rounding."""
_SETS_PER_PLANE = 10
"""Sets tried per plane: Lawson & Hanson need about 3; rounding alone could make the sets cycle."""


def minimum_on_simplex(
    matrix: FloatArray, vector: FloatArray, start: FloatArray, accuracy: float
) -> FloatArray:
    r"""Return weights x >= 0 of sum 1 with x'Gx/2 - v'x at most `accuracy` above its least.

    With the gradient g = Gx - v, no weights of the simplex have less than the value at x by more
    than x'g - min g (Frank & Wolfe 1956): that is what must fall below `accuracy`. Weights of a set
    are moved to their minimum, those that would fall below 0 leave it, and then the one of least
    gradient enters (Lawson & Hanson 1974, Chapter 23).

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        G, positive semidefinite.
    vector : ndarray of shape (n,)
        v.
    start : ndarray of shape (n,)
        Weights on the simplex; the nearer to the answer the fewer sets are tried.
    accuracy : float
        Where rounding does not let it be reached, the last weights are returned.

    Returns
    -------
    ndarray of shape (n,)
        Weights outside the last set are 0.0.

    Notes
    -----
    A set of k weights costs a Cholesky factorisation, O(k^3), and O(n k) for the gradient. No value
    is above that of the set before but for rounding; at most 10 n sets are tried.

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
    nearest, waited = np.inf, 0
    for _ in range(_SETS_PER_PLANE * vector.size):
        if waited > _PATIENCE:
            break
        weights, inside = _settled(matrix, vector, weights, inside, ridge)
        gradient = weights[inside] @ matrix[inside] - vector
        entering = int(np.argmin(gradient))
        excess = float(weights @ gradient - gradient[entering])
        if not excess > accuracy:
            break
        waited = 0 if excess < nearest else waited + 1
        nearest = min(nearest, excess)
        inside = np.union1d(inside, [entering])
    return weights


def _vertex(vector: FloatArray) -> FloatArray:
    """Return all weight where a linear function is least: there is no curvature."""
    weights = np.zeros(vector.size)
    weights[np.argmax(vector)] = 1.0
    return weights


def _settled(
    matrix: FloatArray,
    vector: FloatArray,
    weights: FloatArray,
    inside: NDArray[np.intp],
    ridge: float,
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Move the weights of a set to their minimum, and let go of those that would be negative."""
    own = weights[inside]
    while inside.size > 1:
        wanted = _on_plane(matrix[np.ix_(inside, inside)], vector[inside], own, ridge)
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


def _on_plane(
    matrix: FloatArray, vector: FloatArray, near: FloatArray, ridge: float
) -> FloatArray | None:
    """Return the minimum over weights of sum 1 and any sign; None where rounding hides it.

    A constant added to the matrix changes nothing for such weights, and leaves it singular only
    where planes depend on one another.
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
