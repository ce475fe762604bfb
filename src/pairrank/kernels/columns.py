"""The values of a kernel between rows and landmarks, checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import distance
from sklearn.metrics import pairwise

from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from pairrank.kernels.kernel import Kernel

_TILE_ROWS = 64
"""The rows in every call of a function."""


def kernel_values(kernel: Kernel, X: Any, first: int = 0) -> NDArray[Any]:
    """Return k(x, l) for rows x and landmarks l of a fitted kernel, (n_rows, n_landmarks).

    A PairrankError names a value that is not finite, with rows counted from `first`. "rbf" and
    "poly" are computed in float64 for any dtype. Squared distances of dense rows are sums of
    squared differences, which lose no digits to an offset; those of CSR rows come from inner
    products. A function is called on tiles of a fixed number of rows, the last one filled up with
    copies of its last row, so that no value depends on the number of rows.

    Costs O(n_rows n_landmarks n_features), or O(n_landmarks non-zeros).
    """
    with np.errstate(all="ignore"):
        values = _evaluate(kernel, X)
    finite = np.isfinite(values)
    if not finite.all():
        row, column = (int(at) for at in np.unravel_index(np.argmin(finite), finite.shape))
        raise PairrankError(
            f"the kernel of row {first + row} with landmark {column} is {values[row, column]}: "
            "kernel values must be finite; scale the features, or correct the kernel"
        )
    return values


def _evaluate(kernel: Kernel, X: Any) -> NDArray[Any]:
    function, landmarks = kernel.function, kernel.landmarks_
    gamma: Any = kernel.gamma_
    if kernel.is_precomputed:
        return _dense(X if landmarks.size == X.shape[1] else X[:, landmarks])
    if callable(function):
        return _called(function, X, landmarks)
    X, landmarks = (rows.astype(np.float64, copy=False) for rows in (X, landmarks))
    if function == "poly":
        degree, coef0 = float(kernel.degree), float(kernel.coef0)
        polynomial = partial(pairwise.polynomial_kernel, degree=degree, gamma=gamma, coef0=coef0)
        return _called(polynomial, X, landmarks)
    if sparse.issparse(X) and sparse.issparse(landmarks):
        return np.asarray(pairwise.rbf_kernel(X, landmarks, gamma))
    return np.exp(-gamma * distance.cdist(_dense(X), _dense(landmarks), "sqeuclidean"))


def _called(function: Callable[[Any, Any], Any], X: Any, landmarks: Any) -> NDArray[Any]:
    """Return a function's values, tile by tile."""
    tiles = [np.empty((0, landmarks.shape[0]))]
    for start in range(0, X.shape[0], _TILE_ROWS):
        rows = np.arange(start, start + _TILE_ROWS)
        tiles.append(_tile(function, X[np.minimum(rows, X.shape[0] - 1)], landmarks))
    return np.concatenate(tiles)[: X.shape[0]]


def _tile(function: Callable[[Any, Any], Any], X: Any, landmarks: Any) -> NDArray[Any]:
    values = _dense(function(X, landmarks))
    wanted = (X.shape[0], landmarks.shape[0])
    if values.shape != wanted or values.dtype.kind not in "fiub":
        raise PairrankError(
            f"the kernel returned {values.dtype} of shape {values.shape} for {wanted[0]} and "
            f"{wanted[1]} rows; a callable k(X, Y) returns the matrix of numbers, one row for "
            "each row of X, one column for each row of Y"
        )
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
