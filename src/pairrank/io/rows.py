"""Rows: what a file of rows holds, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from scipy import sparse


class Rows(NamedTuple):
    """The rows of a file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Features, float64 or float32.
    y : ndarray of shape (n_rows,) or None
        Labels: float64, or text where the classes are named; None where no label was asked for.
    qid : ndarray of shape (n_rows,) or None
        Query of each row: int64, float64 or text.
    weight : ndarray of shape (n_rows,) or None
        Row weights, float64.
    feature_names : list of str or None
    comments : list of str or None
        What follows `#` in svmlight text, one string a row, empty where there is none.
    """

    X: np.ndarray[Any, Any] | sparse.csr_array
    y: np.ndarray[Any, Any] | None
    qid: np.ndarray[Any, Any] | None = None
    weight: np.ndarray[Any, Any] | None = None
    feature_names: list[str] | None = None
    comments: list[str] | None = None


def check_rows(rows: Rows) -> None:
    """Raise where the parts of `rows` do not fit together; O(1)."""
    if rows.X.ndim != 2:
        raise PairrankError(f"X has {rows.X.ndim} dimensions; rows need two, (n_rows, n_features)")
    n_rows, n_features = rows.X.shape
    if n_rows == 0:
        raise PairrankError("there are no rows to write")
    for name in ("y", "qid", "weight", "comments"):
        part = getattr(rows, name)
        if part is not None and len(part) != n_rows:
            raise PairrankError(f"{name} has {len(part)} elements, X has {n_rows} rows")
    if rows.feature_names is not None and len(rows.feature_names) != n_features:
        raise PairrankError(
            f"feature_names has {len(rows.feature_names)} names, X has {n_features} columns"
        )
