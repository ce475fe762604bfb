"""KernelColumns: the values of a kernel between rows and landmarks, checked."""

from __future__ import annotations

from collections.abc import Callable
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


class KernelColumns:
    """The columns k(., landmarks) of a kernel matrix, called with rows; an error if not finite.

    "rbf" and "poly" are computed in float64 for any dtype. Squared distances of dense rows are sums
    of squared differences, which lose no digits to an offset; those of CSR rows come from inner
    products. A function is called on tiles of a fixed number of rows, the last one filled up with
    copies of its last row, so that no value depends on the number of rows.

    `landmarks` are rows, an ndarray or CSR matrix (n_landmarks, n_features), or the numbers of
    columns of a precomputed matrix. A call with a rows costs O(a n_landmarks n_features), or
    O(n_landmarks non-zeros).
    """

    def __init__(self, kernel: Kernel, gamma: Any, landmarks: Any) -> None:
        self.kernel, self.gamma, self.landmarks = kernel, gamma, landmarks
        self.n_landmarks = landmarks.shape[0]

    def __call__(self, X: Any, first: int = 0) -> NDArray[Any]:
        """Return the values of rows, (n_rows, n_landmarks); errors count rows from `first`."""
        with np.errstate(all="ignore"):
            values = self._evaluate(X)
        finite = np.isfinite(values)
        if not finite.all():
            row, column = (int(at) for at in np.unravel_index(np.argmin(finite), finite.shape))
            raise PairrankError(
                f"the kernel of row {first + row} with landmark {column} is {values[row, column]}: "
                "kernel values must be finite; scale the features, or correct the kernel"
            )
        return values

    def _evaluate(self, X: Any) -> NDArray[Any]:
        function = self.kernel.function
        if self.kernel.is_precomputed:
            whole = self.n_landmarks == X.shape[1]
            return _dense(X if whole else X[:, self.landmarks])
        if callable(function):
            return self._called(function, X)
        X, landmarks = (rows.astype(np.float64, copy=False) for rows in (X, self.landmarks))
        if function == "poly":
            return self._called(self._polynomial, X)
        if sparse.issparse(X) and sparse.issparse(landmarks):
            return np.asarray(pairwise.rbf_kernel(X, landmarks, self.gamma))
        return np.exp(-self.gamma * distance.cdist(_dense(X), _dense(landmarks), "sqeuclidean"))

    def _polynomial(self, X: Any, landmarks: Any) -> NDArray[Any]:
        landmarks = landmarks.astype(np.float64, copy=False)
        degree, coef0 = float(self.kernel.degree), float(self.kernel.coef0)
        return np.asarray(pairwise.polynomial_kernel(X, landmarks, degree, self.gamma, coef0))

    def _called(self, function: Callable[[Any, Any], Any], X: Any) -> NDArray[Any]:
        """Return a function's values, tile by tile."""
        tiles = [np.empty((0, self.n_landmarks))]
        for start in range(0, X.shape[0], _TILE_ROWS):
            rows = np.arange(start, start + _TILE_ROWS)
            tiles.append(self._tile(function, X[np.minimum(rows, X.shape[0] - 1)]))
        return np.concatenate(tiles)[: X.shape[0]]

    def _tile(self, function: Callable[[Any, Any], Any], X: Any) -> NDArray[Any]:
        values = _dense(function(X, self.landmarks))
        wanted = (X.shape[0], self.n_landmarks)
        if values.shape != wanted or values.dtype.kind not in "fiub":
            raise PairrankError(
                f"the kernel returned {values.dtype} of shape {values.shape} for {wanted[0]} and "
                f"{wanted[1]} rows; a callable k(X, Y) returns the matrix of numbers, one row for "
                "each row of X, one column for each row of Y"
            )
        return values if values.dtype.kind == "f" else values.astype(np.float64)


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
