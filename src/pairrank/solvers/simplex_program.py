"""The least of a convex quadratic over the simplex, by a primal-dual interior point method."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from pairrank._protocols import FloatArray

_MOST_STEPS = 60
_TO_THE_WALL = 0.995
_RIDGE = 1e-15
"""What is added to the diagonal of a matrix of size 1, lest rounding make it indefinite."""


def minimum_on_simplex(matrix: FloatArray, vector: FloatArray, accuracy: float) -> FloatArray:
    r"""Return weights x >= 0 of sum 1 with x'Gx/2 - v'x at most `accuracy` above its least.

    With the gradient g = Gx - v, no weights of the simplex have less than the value at x by more
    than x'g - min g (Frank & Wolfe 1956): that is what must fall below `accuracy`, and what the
    complementarity of an interior point method bounds. All iterates are feasible, primal and dual.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        G, positive semidefinite.
    vector : ndarray of shape (n,)
        v.
    accuracy : float
        Where rounding does not let it be reached, the best weights met are returned.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    Ten to twenty Cholesky factorisations of an n x n matrix.

    References
    ----------
    S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on
    Optimization 2, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> minimum_on_simplex(np.diag([1.0, 3.0, 9.0]), np.array([0.0, 0.0, -9.0]), 1e-9).round(6)
    array([0.75, 0.25, 0.  ])
    """
    n = vector.size
    vector = vector - vector.max()
    scale = max(float(np.abs(matrix).max()), -float(vector.min()))
    weights = np.full(n, 1.0 / n)
    if n == 1 or not 0.0 < scale < np.inf:
        return weights
    matrix, vector, accuracy = matrix / scale, vector / scale, accuracy / scale
    gradient = matrix @ weights - vector
    slack = gradient - gradient.min()
    slack += max(float(slack.mean()), _RIDGE)
    best, least = weights, np.inf
    for _ in range(_MOST_STEPS):
        gradient = matrix @ weights - vector
        excess = float(weights @ gradient - gradient.min())
        if excess < least:
            best, least = weights, excess
        if excess <= accuracy:
            break
        moved = _step(matrix, weights, slack)
        if moved is None:
            break
        weights, slack = moved
    best = np.maximum(best, 0.0)
    return np.asarray(best / best.sum())


def _step(
    matrix: FloatArray, weights: FloatArray, slack: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Take Mehrotra's step, one length for both; None where rounding leaves none."""
    bent = matrix.copy()
    bent[np.diag_indices_from(bent)] += slack / weights + _RIDGE
    try:
        factor = linalg.cho_factor(bent, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    even = linalg.cho_solve(factor, np.ones(weights.size), check_finite=False)

    def direction(products: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve for the changes that make up for what the products of the two lack."""
        free = linalg.cho_solve(factor, products / weights, check_finite=False)
        change = free - free.sum() / even.sum() * even
        return change, (products - slack * change) / weights

    products = weights * slack
    change, slack_change = direction(-products)
    length = min(_furthest(weights, change), _furthest(slack, slack_change))
    foretold = (weights + length * change) @ (slack + length * slack_change)
    centre = (foretold / products.sum()) ** 3 * products.mean()
    change, slack_change = direction(centre - products - change * slack_change)
    furthest = min(_furthest(weights, change), _furthest(slack, slack_change))
    length = min(1.0, _TO_THE_WALL * furthest)
    weights, slack = weights + length * change, slack + length * slack_change
    if not (weights.min() > 0.0 and slack.min() > 0.0 and np.isfinite(weights.sum())):
        return None
    return weights, slack


def _furthest(values: FloatArray, change: FloatArray) -> float:
    """Return how far along the change, up to 1, all values stay positive."""
    falling = change < 0.0
    return min(1.0, float((values[falling] / -change[falling]).min(initial=1.0)))
