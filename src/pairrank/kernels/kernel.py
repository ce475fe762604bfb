"""Kernel: k(x, x') by name, as a callable or as a precomputed matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import distance
from sklearn.metrics import pairwise

from pairrank import _validation as validation
from pairrank.exceptions import PairrankError

FloatArray = NDArray[np.float64]

NAMES = ("rbf", "poly", "precomputed")

_TILE_ROWS = 64
"""The rows in every call of a function."""


@dataclass(frozen=True)
class Kernel:
    r"""A positive semidefinite kernel and its parameters, checked.

    .. math::
        \text{rbf: } e^{-\gamma \|x - x'\|^2} \qquad
        \text{poly: } (\gamma \, x \cdot x' + c_0)^{degree}

    Raykar's quadratic kernel (x.y + c)^2 is poly with degree 2, gamma 1 and coef0 c. "linear" is
    not a kernel here, because its features are the rows themselves.

    Attributes
    ----------
    function : "rbf", "poly", "precomputed" or callable
        A callable takes matrices of shapes (a, n_features) and (b, n_features) and returns the
        (a, b) matrix of kernel values; it is called on tiles of 64 rows. With "precomputed", rows
        are rows of the kernel matrix: k(x, every training row).
    gamma : float, "scale" or None
        The gamma of rbf and poly, as in scikit-learn: None is 1/n_features, "scale" is
        1/(n_features times the variance of X), or 1 where the variance is 0.
    degree : int
        The degree of poly, at least 1.
    coef0 : float
        The constant of poly, at least 0, so that the kernel is positive semidefinite.

    Raises
    ------
    PairrankError
        If the kernel is unknown or a parameter is out of range.

    Examples
    --------
    >>> Kernel("poly", gamma=1.0, degree=2).columns(np.eye(2))(np.array([[1.0, 2.0]]))
    array([[4., 9.]])
    """

    function: str | Callable[[Any, Any], Any]
    gamma: float | str | None = None
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            if isinstance(self.function, str) and self.function == "linear":
                raise PairrankError(
                    'kernel="linear" is the ranker without a kernel: use kernel=None'
                )
            validation.check_choice(self.function, "kernel (a name or a callable)", NAMES)
        if self.gamma is not None and self.gamma != "scale":
            if isinstance(self.gamma, str):
                raise PairrankError(f'gamma must be a number, "scale" or None; got {self.gamma!r}')
            validation.check_number(self.gamma, "gamma")
        validation.check_number(self.degree, "degree", low=1, inclusive=True, integer=True)
        validation.check_number(self.coef0, "coef0", inclusive=True)

    @property
    def is_precomputed(self) -> bool:
        """Whether the input is rows of the kernel matrix."""
        return isinstance(self.function, str) and self.function == "precomputed"

    def resolved(self, X: Any) -> Kernel:
        """Return the kernel with its gamma as a number, chosen from the training rows; O(size)."""
        if self.function not in ("rbf", "poly"):
            return self
        gamma = self.gamma
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if gamma is None:
                gamma = 1.0 / X.shape[1]
            elif gamma == "scale":
                variance = _variance(X)
                gamma = float(1.0 / (X.shape[1] * np.float64(variance))) if variance else 1.0
        if not 0 < float(gamma) < np.inf:
            raise PairrankError(
                f'gamma="scale" is {gamma} on these rows: X is too large or too small in size; '
                "scale its features, or give gamma as a number"
            )
        return replace(self, gamma=float(gamma), degree=int(self.degree), coef0=float(self.coef0))

    def columns(self, landmarks: Any) -> KernelColumns:
        """Return the kernel's columns at the landmarks, rows or (precomputed) their numbers."""
        return KernelColumns(self, landmarks)


class KernelColumns:
    """The columns k(., landmarks) of a kernel matrix, called with rows; an error if not finite.

    "rbf" and "poly" are computed in float64 for any dtype. Squared distances of dense rows are sums
    of squared differences, which lose no digits to an offset; those of CSR rows come from inner
    products. A function is called on tiles of a fixed number of rows, the last one filled up with
    copies of its last row, so that no value depends on the number of rows.

    `landmarks` are rows, an ndarray or CSR matrix (n_landmarks, n_features), or the numbers of
    columns of a precomputed matrix. The kernel's gamma is a number; None is 1/n_features. A call
    with a rows costs O(a n_landmarks n_features), or O(n_landmarks non-zeros).
    """

    def __init__(self, kernel: Kernel, landmarks: Any) -> None:
        self.kernel, self.landmarks = kernel, landmarks
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
        gamma = 1.0 / X.shape[1] if self.kernel.gamma is None else float(self.kernel.gamma)
        X, landmarks = (rows.astype(np.float64, copy=False) for rows in (X, self.landmarks))
        if function == "poly":
            return self._called(functools.partial(self._polynomial, gamma), X)
        if sparse.issparse(X) and sparse.issparse(landmarks):
            return np.asarray(pairwise.rbf_kernel(X, landmarks, gamma))
        return np.exp(-gamma * distance.cdist(_dense(X), _dense(landmarks), "sqeuclidean"))

    def _polynomial(self, gamma: float, X: Any, landmarks: Any) -> NDArray[Any]:
        landmarks = landmarks.astype(np.float64, copy=False)
        degree, coef0 = float(self.kernel.degree), float(self.kernel.coef0)
        return np.asarray(pairwise.polynomial_kernel(X, landmarks, degree, gamma, coef0))

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


def _variance(X: Any) -> float:
    """Return the variance of all entries of X, in float64."""
    entries = X.data if sparse.issparse(X) else X
    size = X.shape[0] * X.shape[1]
    mean = entries.sum(dtype=np.float64) / size
    squares = np.square(entries - mean, dtype=np.float64).sum()
    return float((squares + (size - entries.size) * mean**2) / size)
