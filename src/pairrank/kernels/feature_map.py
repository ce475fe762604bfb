"""FeatureMap: explicit features whose inner products are the values of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import _validation as validation
from pairrank.design import Design
from pairrank.exceptions import PairrankError
from pairrank.kernels.kernel import FloatArray, Kernel, KernelColumns
from pairrank.kernels.landmarks import (
    landmarks_from_arrays,
    landmarks_to_arrays,
    plan_landmarks,
    sample_landmarks,
)
from pairrank.kernels.spectrum import Spectrum, spectrum_of

_BLOCK_ENTRIES = 1 << 21


class FeatureMap:
    r"""Explicit features z(x) with z(x).z(x') = k(x, x'), exactly or by Nystroem's approximation.

    With landmarks l_1, .., l_b, their kernel matrix U diag(lambda) U' and k_b(x) the vector of
    k(x, l_i),

    .. math:: z(x) = diag(\lambda)^{-1/2} U^T k_b(x)

    so that a linear ranker on z is the kernel's ranker f(x) = sum over i of alpha_i k(x, l_i), with
    the kernel's norm as its penalty. "exact" takes every training row as a landmark: inner products
    with a training row are k(x, x'). "nystroem" takes rows sampled without replacement: inner
    products are exact between landmarks; elsewhere they are those of projections on the landmarks'
    span. A kernel of rank at most n_landmarks is exact on all rows; poly of p features has rank at
    most (p + degree)! / (p! degree!).

    Methods take X as an ndarray or CSR matrix of shape (n_rows, n_features), float64 or float32,
    finite. With "precomputed", X has the kernel between its rows and all training rows.

    Parameters
    ----------
    kernel : "rbf", "poly", "precomputed" or callable
        See `pairrank.kernels.Kernel`.
    gamma : float, "scale" or None, default None
        The gamma of rbf and poly; None is 1/n_features.
    degree : int, default 3
        The degree of poly.
    coef0 : float, default 1.0
        The constant of poly.
    kernel_features : "auto", "exact" or "nystroem", default "auto"
        "auto" is "exact" up to 2,000 training rows (or up to `n_components` of them, where that is
        given), "nystroem" beyond.
    n_components : int, optional
        The number of landmarks of "nystroem", at most n_rows; None is 500, or all rows if there are
        fewer. Must be None with "exact".
    random_state : int, RandomState or None, default None
        Seeds the sample of landmarks; None is a fixed seed.

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
        eigenvalues up to it were dropped (see `pairrank.kernels.spectrum.spectrum_of`).
    n_features_in_ : int

    Raises
    ------
    PairrankError
        If the kernel is unknown or a parameter is out of range.

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
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Z = FeatureMap("rbf", gamma=0.5).fit(X).transform(X)
    >>> (Z @ Z.T).round(3)
    array([[1.   , 0.607, 0.011],
           [0.607, 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any],
        *,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: str = "auto",
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = Kernel(kernel, gamma, degree, coef0)
        validation.check_choice(kernel_features, "kernel_features", ("auto", "exact", "nystroem"))
        if n_components is not None:
            validation.check_number(
                n_components, "n_components", low=1, inclusive=True, integer=True
            )
            if kernel_features == "exact":
                raise PairrankError(
                    f'n_components = {n_components} with kernel_features="exact", which uses '
                    'every row: leave it None, or use "auto" or "nystroem"'
                )
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """Choose the landmarks and decompose their kernel matrix.

        Raises a PairrankError if the kernel matrix is not square, finite, symmetric and positive
        semidefinite, or there are fewer rows than landmarks wanted.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any) -> NDArray[Any]:
        """Fit and return `transform` of the training rows, at no further cost for "exact"."""
        spectrum = self._learn(X)
        if self.method_ == "nystroem":
            return self.transform(X)
        features = spectrum.vectors * np.sqrt(spectrum.eigenvalues)
        with np.errstate(over="ignore"):
            features = features.astype(X.dtype, copy=False)
        _check_finite(features, 0)
        return features

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

    def params(self) -> dict[str, Any]:
        """Return the plain values that a model file stores in addition to `arrays`.

        Raises a PairrankError if the kernel is a callable: a model file holds no code.
        """
        kernel = self.kernel
        if callable(kernel.function):
            raise PairrankError(
                f"the kernel is a callable, {kernel.function!r}; a model file holds no code, so it "
                "cannot be saved: use a kernel by name, or pickle the estimator"
            )
        return {
            "kernel": kernel.function,
            "gamma": self.gamma_,
            "degree": int(kernel.degree),
            "coef0": float(kernel.coef0),
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
        """Return the fitted map whose `params()` and `arrays()` these are; others are ignored.

        Raises a PairrankError if something is missing or shapes do not fit.
        """
        try:
            parameters = {name: params[name] for name in ("kernel", "gamma", "degree", "coef0")}
            feature_map = cls(**parameters, kernel_features=params["method"])
            feature_map.method_ = params["method"]
            feature_map.tolerance_ = float(params["tolerance"])
            feature_map.n_features_in_ = int(params["n_features"])
            feature_map.projection_ = np.ascontiguousarray(arrays["projection"], dtype=np.float64)
            feature_map.eigenvalues_ = np.asarray(arrays["eigenvalues"], dtype=np.float64)
            feature_map.landmarks_ = landmarks_from_arrays(arrays, feature_map.n_features_in_)
        except (KeyError, TypeError, ValueError) as error:
            raise PairrankError(f"these are not the arrays of a FeatureMap: {error}") from None
        feature_map.gamma_ = params["gamma"]
        feature_map._check_shapes()
        return feature_map

    def _learn(self, X: Any) -> Spectrum:
        """Fit, and return the spectrum of the landmarks' kernel matrix."""
        n_rows, self.n_features_in_ = X.shape
        precomputed = self.kernel.is_precomputed
        if precomputed and n_rows != self.n_features_in_:
            raise PairrankError(
                f'kernel="precomputed" takes the square kernel matrix of the training rows, got '
                f"shape {X.shape}; give k(training, training) to fit, k(rows, training) to predict"
            )
        self.method_, n_landmarks = plan_landmarks(self.kernel_features, self.n_components, n_rows)
        self.gamma_ = self.kernel.resolved(X).gamma
        chosen = sample_landmarks(n_rows, n_landmarks, self.random_state)
        rows = X if n_landmarks == n_rows else X[chosen]
        self.landmarks_ = chosen if precomputed else (rows.copy() if rows is X else rows)
        spectrum = spectrum_of(*self._kernel_matrix(rows, chosen))
        self.eigenvalues_ = spectrum.eigenvalues
        self.projection_ = spectrum.vectors / np.sqrt(spectrum.eigenvalues)
        self.tolerance_ = spectrum.tolerance
        return spectrum

    @property
    def n_components_(self) -> int:
        """The number of features."""
        return int(self.projection_.shape[1])

    def _kernel_matrix(self, rows: Any, chosen: NDArray[np.int64]) -> tuple[FloatArray, float]:
        """Return the landmarks' kernel matrix in float64, and its relative rounding error."""
        matrix = np.empty((chosen.size, chosen.size))
        precision = float(np.finfo(np.float64).eps)
        for block, values in self._blocks(rows):
            matrix[block] = values
            precision = max(precision, float(np.finfo(values.dtype).eps))
        return matrix, precision

    def _blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield blocks of rows with their kernel values at the landmarks."""
        if X.shape[1] != self.n_features_in_:
            raise PairrankError(
                f"X has {X.shape[1]} features, but the kernel's landmarks have "
                f"{self.n_features_in_}; give rows like the training rows"
            )
        columns: KernelColumns = replace(self.kernel, gamma=self.gamma_).columns(self.landmarks_)
        n_landmarks = columns.n_landmarks
        in_full = not (sparse.issparse(X) and sparse.issparse(self.landmarks_))
        step = max(1, _BLOCK_ENTRIES // max(n_landmarks, X.shape[1] if in_full else 1))
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            yield rows, columns(X[rows], first=start)

    def _check_shapes(self) -> None:
        """Raise a PairrankError where the shapes of arrays do not match."""
        n_features = self.n_features_in_
        wide = n_features if self.landmarks_.ndim == 2 else None
        fits = (
            self.projection_.ndim == 2
            and self.landmarks_.shape[0] == self.projection_.shape[0]
            and self.eigenvalues_.shape == self.projection_.shape[1:]
            and (wide is None) == self.kernel.is_precomputed
            and (self.landmarks_.shape[1] == wide if wide else self.landmarks_.max() < n_features)
        )
        if not fits:
            raise PairrankError(
                "these are not the arrays of a FeatureMap: landmarks of shape "
                f"{self.landmarks_.shape}, projection of shape {self.projection_.shape}"
            )


def _check_finite(features: NDArray[Any], first: int) -> None:
    """Raise a PairrankError that names a row whose features overflow."""
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise PairrankError(
            f"the kernel's features of row {first + int(np.argmin(finite))} overflow "
            f"{features.dtype}; scale X, or give it in float64"
        )
