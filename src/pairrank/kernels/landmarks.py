"""Landmarks of a kernel: which training rows, their kernel matrix's spectrum, their storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError

EXACT_UP_TO = 2000
"""The most training rows for which "auto" is "exact"."""
DEFAULT_COMPONENTS = 500
"""The default number of landmarks of "nystroem"."""

_CSR_PARTS = ("data", "indices", "indptr")


def plan_landmarks(method: str, n_components: int | None, n_rows: int) -> tuple[str, int]:
    """Return "exact" or "nystroem", and the number of landmarks.

    Raises a PairrankError if more landmarks are asked for than there are rows.

    Examples
    --------
    >>> plan_landmarks("auto", None, 2000), plan_landmarks("auto", None, 2001)
    (('exact', 2000), ('nystroem', 500))
    """
    at_most = EXACT_UP_TO if n_components is None else n_components
    if method == "exact" or (method == "auto" and n_rows <= at_most):
        return "exact", n_rows
    if n_components is None:
        return "nystroem", min(DEFAULT_COMPONENTS, n_rows)
    if n_components > n_rows:
        raise PairrankError(
            f"n_components = {n_components} is more than the {n_rows} training rows: use at most "
            'n_rows, or method="auto", which then uses all rows'
        )
    return "nystroem", n_components


def sample_landmarks(n_rows: int, n_landmarks: int, random_state: Any) -> NDArray[np.int64]:
    """Return the row numbers of landmarks, distinct and ascending; None is a fixed seed."""
    if n_landmarks == n_rows:
        return np.arange(n_rows, dtype=np.int64)
    from sklearn.utils import check_random_state
    from sklearn.utils.random import sample_without_replacement

    generator = check_random_state(0 if random_state is None else random_state)
    chosen = sample_without_replacement(n_rows, n_landmarks, random_state=generator)
    return np.sort(chosen.astype(np.int64, copy=False))


def landmarks_to_arrays(landmarks: Any) -> dict[str, NDArray[Any]]:
    """Return landmarks as plain arrays: one, or the three parts of a CSR matrix."""
    if not sparse.issparse(landmarks):
        return {"landmarks": landmarks}
    return {f"landmarks_{part}": getattr(landmarks, part) for part in _CSR_PARTS}


def landmarks_from_arrays(arrays: Mapping[str, NDArray[Any]], n_features: int) -> Any:
    """Return the landmarks stored by `landmarks_to_arrays`.

    KeyError where one is missing, ValueError where they are no CSR matrix.
    """
    if "landmarks" in arrays:
        return arrays["landmarks"]
    data, indices, indptr = (arrays[f"landmarks_{part}"] for part in _CSR_PARTS)
    landmarks = sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, n_features))
    landmarks.check_format(full_check=True)
    return landmarks


class Spectrum(NamedTuple):
    """An approximation `vectors * eigenvalues @ vectors.T` of a kernel matrix K."""

    eigenvalues: FloatArray
    """(n_kept,), descending, each above `tolerance`."""
    vectors: FloatArray
    """The orthonormal eigenvectors, (n_landmarks, n_kept)."""
    tolerance: float
    """The largest difference from K in any entry, apart from rounding."""


def spectrum_of(matrix: FloatArray, precision: float) -> Spectrum:
    """Return the eigenvalues of a kernel matrix above its rounding, with their vectors.

    An eigenvalue is kept if it is above 1e-12 times the largest k(x, x), above 16 `precision` times
    the largest eigenvalue, and above the size of the most negative eigenvalue, which must be a
    rounding error. The dropped part has no entry larger than its largest eigenvalue.

    `matrix` (n_landmarks, n_landmarks), C-contiguous, is overwritten. `precision` is the relative
    rounding error of its entries. Asymmetry and negative eigenvalues are accepted up to its square
    root, relative to the largest entry and eigenvalue; beyond it, or if the matrix is zero, a
    PairrankError is raised. Costs O(n_landmarks^3) and two more matrices of its size.

    Examples
    --------
    >>> spectrum_of(np.array([[2.0, 2.0], [2.0, 2.0]]), 2e-16).eigenvalues
    array([4.])
    """
    accepted = np.sqrt(precision)
    _check_symmetric(matrix, accepted)
    largest_diagonal = float(matrix.diagonal().max(initial=0.0))
    eigenvalues, vectors = linalg.eigh(
        matrix.T, overwrite_a=True, check_finite=False, driver="evd", lower=False
    )
    top = float(max(eigenvalues[-1], -eigenvalues[0]))
    lowest = float(eigenvalues[0])
    if lowest < -accepted * top:
        raise PairrankError(
            f"the kernel is not positive semidefinite: its matrix of {matrix.shape[0]} rows has "
            f"eigenvalues from {lowest:.6g} to {eigenvalues[-1]:.6g}; use another kernel, or add "
            f"at least {-lowest:.6g} to the matrix's diagonal"
        )
    if top == 0.0:
        raise PairrankError(
            "the kernel is zero between all rows, so there is nothing to learn: use another "
            "kernel, or other parameters"
        )
    tolerance = max(1e-12 * largest_diagonal, 16.0 * precision * top, -lowest)
    kept = eigenvalues > tolerance
    return Spectrum(
        np.ascontiguousarray(eigenvalues[kept][::-1]),
        np.ascontiguousarray(vectors[:, kept][:, ::-1]),
        tolerance,
    )


def _check_symmetric(matrix: FloatArray, accepted: float) -> None:
    """Raise a PairrankError that names the pair of rows whose two kernel values differ most."""
    gaps = np.abs(matrix - matrix.T)
    if gaps.max() > accepted * np.abs(matrix).max():
        row, column = (int(at) for at in np.unravel_index(np.argmax(gaps), gaps.shape))
        raise PairrankError(
            f"the kernel is not symmetric: k(row {row}, row {column}) = {matrix[row, column]:.6g} "
            f"but k(row {column}, row {row}) = {matrix[column, row]:.6g}; average the two"
        )
