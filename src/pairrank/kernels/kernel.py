"""Kernel: k(x, x') by name, as a callable or as a matrix, and its explicit features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from pairrank import _validation as validation
from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.design import Design
from pairrank.exceptions import PairrankError
from pairrank.kernels.columns import kernel_values
from pairrank.kernels.landmarks import (
    landmarks_from_arrays,
    landmarks_to_arrays,
    plan_landmarks,
    sample_landmarks,
    spectrum_of,
)

NAMES = ("rbf", "poly", "precomputed")

_BLOCK_ENTRIES = 1 << 21


class Kernel(BaseEstimator):
    r"""A positive semidefinite kernel, and features z(x) with z(x).z(x') = k(x, x').

    .. math::
        \text{rbf: } e^{-\gamma \|x - x'\|^2} \qquad
        \text{poly: } (\gamma \, x \cdot x' + c_0)^{degree}

    With landmarks l_1, .., l_b, their kernel matrix U diag(lambda) U' and k_b(x) the vector of
    k(x, l_i), the features are

    .. math:: z(x) = diag(\lambda)^{-1/2} U^T k_b(x)

    so that a linear ranker on z is the kernel's ranker f(x) = sum over i of alpha_i k(x, l_i), with
    the kernel's norm as its penalty. "exact" takes every training row as a landmark: inner products
    with a training row are k(x, x'). "nystroem" takes rows sampled without replacement: inner
    products are exact between landmarks; elsewhere they are those of projections on the landmarks'
    span. A kernel of rank at most n_landmarks is exact on all rows; poly of p features has rank at
    most (p + degree)! / (p! degree!).

    A ranker's ``kernel=`` takes a kernel or its name. Methods take X as an ndarray or CSR matrix of
    shape (n_rows, n_features), float64 or float32, finite.

    Parameters
    ----------
    function : "rbf", "poly", "precomputed" or callable, default "rbf"
        A callable takes matrices of shapes (a, n_features) and (b, n_features) and returns the
        (a, b) matrix of kernel values; it is called on tiles of 64 rows. With "precomputed", rows
        are rows of the kernel matrix: k(x, every training row). "linear" is not a kernel here,
        because its features are the rows themselves.
    gamma : float, "scale" or None, default None
        Of "rbf" and "poly"; None is 1/n_features. "scale" is 1/(n_features times the variance of
        X), or 1 where the variance is 0, as in scikit-learn.
    degree : int, default 3
        Of "poly". Raykar's quadratic kernel (x.y + c)^2 has degree 2, gamma 1 and
        coef0 c.
    coef0 : float, default 1.0
        Of "poly"; it must be at least 0, so that the kernel is positive semidefinite.
    method : "auto", "exact" or "nystroem", default "auto"
        The landmarks: every training row, or a sample of them. "auto" is "exact" up to 2,000
        training rows (or up to `n_components` of them, where that is given), "nystroem" beyond.
    n_components : int or None, default None
        The number of landmarks of "nystroem", at most n_rows; None is 500, or all rows if there are
        fewer. Must be None with "exact".
    random_state : int, RandomState or None, default None
        Seeds the sample of landmarks; None is the ranker's seed, or else a fixed one.

    Attributes
    ----------
    n_components_ : int
        The number of features: the rank of the landmarks' kernel matrix.
    method_ : "exact" or "nystroem"
        The method in use.
    gamma_ : float or None
        The gamma in use.
    landmarks_ : ndarray or CSR matrix of shape (n_landmarks, n_features), or ndarray of int64
        Rows of X, of its dtype; with "precomputed" their numbers.
    projection_ : ndarray of shape (n_landmarks, n_components_)
        U diag(lambda)^(-1/2).
    eigenvalues_ : ndarray of shape (n_components_,)
        lambda, descending.
    tolerance_ : float
        Between landmarks, inner products differ from k by at most this, apart from rounding:
        eigenvalues up to it were dropped (see `pairrank.kernels.landmarks.spectrum_of`).
    n_features_in_ : int
        The number of features of X.

    Notes
    -----
    With b landmarks, fitting costs b^2 kernel values and O(b^3), and memory 3 b^2 numbers ("exact":
    b = n_rows); features cost b kernel values and O(b n_components_) per row. Rows are transformed
    in blocks, which need about 50 MB in addition to the result. Symmetry and eigenvalues are
    checked between landmarks only. float32 rows give float32 features, computed in float64.

    References
    ----------
    C. Williams and M. Seeger, "Using the Nystroem method to speed up kernel machines", NIPS 13,
    2001.

    Examples
    --------
    >>> from pairrank import Kernel
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Z = Kernel("rbf", gamma=0.5).fit(X).transform(X)
    >>> (Z @ Z.T).round(3)
    array([[1.   , 0.607, 0.011],
           [0.607, 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """

    def __init__(
        self,
        function: Literal["rbf", "poly", "precomputed"] | Callable[[Any, Any], Any] = "rbf",
        *,
        gamma: float | Literal["scale"] | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        method: Literal["auto", "exact", "nystroem"] = "auto",
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.function = function
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.n_components = n_components
        self.random_state = random_state

    @property
    def is_precomputed(self) -> bool:
        """Whether the input is rows of the kernel matrix."""
        return isinstance(self.function, str) and self.function == "precomputed"

    def check(self) -> None:
        """Raise a PairrankError if the kernel is unknown or a parameter is out of range."""
        if not callable(self.function) or isinstance(self.function, type):
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
        validation.check_choices(self)
        size = self.n_components
        if size is not None:
            validation.check_number(size, "n_components", low=1, inclusive=True, integer=True)
            if self.method == "exact":
                raise PairrankError(
                    f'n_components = {size} with method="exact", which uses every row: leave it '
                    'None, or use "auto" or "nystroem"'
                )

    def fit(self, X: Any) -> Self:
        """Choose the landmarks and decompose their kernel matrix.

        Raises a PairrankError if the kernel matrix is not square, finite, symmetric and positive
        semidefinite, a parameter is out of range, or there are fewer rows than landmarks wanted.
        """
        self.check()
        n_rows, self.n_features_in_ = X.shape
        if self.is_precomputed:
            require_square(X)
        self.method_, n_landmarks = plan_landmarks(self.method, self.n_components, n_rows)
        self.gamma_ = self._resolved_gamma(X)
        chosen = sample_landmarks(n_rows, n_landmarks, self.random_state)
        rows = X if n_landmarks == n_rows else X[chosen]
        self.landmarks_ = chosen if self.is_precomputed else (rows.copy() if rows is X else rows)
        matrix = np.concatenate([values for _, values in self._blocks(rows)])
        precision = float(np.finfo(matrix.dtype).eps)
        spectrum = spectrum_of(matrix.astype(np.float64, copy=False), precision)
        self.eigenvalues_, self.tolerance_ = spectrum.eigenvalues, spectrum.tolerance
        self.projection_ = spectrum.vectors / np.sqrt(spectrum.eigenvalues)
        return self

    def fit_transform(self, X: Any) -> NDArray[Any]:
        """Fit and return `transform` of the training rows."""
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of rows, (n_rows, n_components_), float32 where X is, else float64.

        Raises a PairrankError if a kernel value is not finite, or X has other features than the
        training rows.
        """
        features = np.empty((X.shape[0], self.n_components_), dtype=X.dtype)
        for rows, values in self._blocks(X):
            with np.errstate(over="ignore", invalid="ignore"):
                features[rows] = values @ self.projection_
            _check_finite(features[rows], rows.start)
        return features

    def scores(self, X: Any, coef: FloatArray) -> FloatArray:
        """Return transform(X) @ coef, float64, as sum of alpha_i k(x, l_i), without the features.

        Costs one kernel value per row and landmark.
        """
        result = np.empty(X.shape[0])
        weights = Design(self.projection_).scores(coef)
        for rows, values in self._blocks(X):
            result[rows] = Design(values).scores(weights)
        return result

    def saved_params(self) -> dict[str, Any]:
        """Return the plain values that a model file stores in addition to `arrays`.

        A model file refuses a callable.
        """
        return {
            "function": self.function,
            "gamma": self.gamma_,
            "degree": int(self.degree),
            "coef0": float(self.coef0),
            "method": self.method_,
            "tolerance": self.tolerance_,
            "n_features": self.n_features_in_,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fitted arrays by name; CSR landmarks as their three parts."""
        return {
            **landmarks_to_arrays(self.landmarks_),
            "projection": self.projection_,
            "eigenvalues": self.eigenvalues_,
        }

    @classmethod
    def from_arrays(cls, params: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the fitted kernel of its `saved_params()` and `arrays()`; others are ignored.

        Raises a PairrankError if something is missing or shapes do not fit.
        """
        try:
            names = ("function", "gamma", "degree", "coef0", "method")
            kernel = cls(**{name: params[name] for name in names})
            kernel.check()
            kernel.method_ = params["method"]
            kernel.tolerance_ = float(params["tolerance"])
            kernel.n_features_in_ = int(params["n_features"])
            kernel.projection_ = np.ascontiguousarray(arrays["projection"], dtype=np.float64)
            kernel.eigenvalues_ = np.asarray(arrays["eigenvalues"], dtype=np.float64)
            kernel.landmarks_ = landmarks_from_arrays(arrays, kernel.n_features_in_)
            kernel.gamma_ = None if params["gamma"] is None else float(params["gamma"])
        except (KeyError, TypeError, ValueError) as error:
            raise PairrankError(f"these are not the arrays of a Kernel: {error}") from None
        kernel._check_shapes()
        return kernel

    def _resolved_gamma(self, X: Any) -> float | None:
        """Return gamma as a number, chosen from the training rows; O(size)."""
        if self.function not in ("rbf", "poly"):
            return None
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
        return float(gamma)

    @property
    def n_components_(self) -> int:
        """The number of features."""
        return int(self.projection_.shape[1])

    def _blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield blocks of rows with their kernel values at the landmarks."""
        if X.shape[1] != self.n_features_in_:
            raise PairrankError(
                f"X has {X.shape[1]} features, but the kernel's landmarks have "
                f"{self.n_features_in_}; give rows like the training rows"
            )
        in_full = not (sparse.issparse(X) and sparse.issparse(self.landmarks_))
        width = max(self.landmarks_.shape[0], X.shape[1] if in_full else 1)
        for rows in threads.blocks(X.shape[0], max(1, _BLOCK_ENTRIES // width)):
            yield rows, kernel_values(self, X[rows], first=rows.start)

    def _check_shapes(self) -> None:
        """Raise a PairrankError where the shapes of arrays do not match."""
        landmarks, n_features = self.landmarks_, self.n_features_in_
        if self.is_precomputed:
            fits = landmarks.ndim == 1 and bool(((landmarks >= 0) & (landmarks < n_features)).all())
        else:
            fits = landmarks.ndim == 2 and landmarks.shape[1] == n_features
        fits &= (
            self.projection_.ndim == 2
            and landmarks.shape[0] == self.projection_.shape[0]
            and self.eigenvalues_.shape == self.projection_.shape[1:]
        )
        if not fits:
            raise PairrankError(
                "these are not the arrays of a Kernel: landmarks of shape "
                f"{self.landmarks_.shape}, projection of shape {self.projection_.shape}"
            )


def require_square(K: Any) -> None:
    """Raise a PairrankError where the kernel matrix of the training rows is not square."""
    if K.shape[0] != K.shape[1]:
        raise PairrankError(
            f'kernel="precomputed" takes the square kernel matrix of the training rows, got shape '
            f"{K.shape}; pass k(training, training) to fit, k(rows, training) to predict"
        )


def _check_finite(features: NDArray[Any], first: int) -> None:
    """Raise a PairrankError that names a row whose features overflow."""
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise PairrankError(
            f"the kernel's features of row {first + int(np.argmin(finite))} overflow "
            f"{features.dtype}; scale X, or give it in float64"
        )


def _variance(X: Any) -> float:
    """Return the variance of all entries of X, in float64."""
    entries = X.data if sparse.issparse(X) else X
    size = X.shape[0] * X.shape[1]
    mean = entries.sum(dtype=np.float64) / size
    squares = np.square(entries - mean, dtype=np.float64).sum()
    return float((squares + (size - entries.size) * mean**2) / size)
