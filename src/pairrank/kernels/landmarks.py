"""Landmarks of a kernel: how many and which training rows, and how a file stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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
    """Return the landmarks stored by `landmarks_to_arrays`; KeyError where one is missing."""
    if "landmarks" in arrays:
        return arrays["landmarks"]
    data, indices, indptr = (arrays[f"landmarks_{part}"] for part in _CSR_PARTS)
    return sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, n_features))
