"""Real targets to ordinal labels, as the ordinal regression papers make them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank.exceptions import PairrankError


def discretize(y: Any, n_bins: int, *, by: str = "count") -> np.ndarray[Any, Any]:
    """Cut a real target into bins, labelled 0 to n_bins - 1 from low to high.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    n_bins : int
        Two or more.
    by : {"count", "width"}
        "count": bins of as many rows each, by the middle rank of a value, so that equal values stay
        together (Raykar's "equal sized bins"). "width": bins of one width between the least and the
        greatest value, each without its lower end (Chu and Ghahramani 2005).

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        Where equal values fill a bin, or no value falls into it, its label is absent.

    Raises
    ------
    PairrankError
        No rows, values that are not finite, fewer than two bins.

    Notes
    -----
    O(n_rows log n_rows).

    Examples
    --------
    >>> discretize([1.0, 2.0, 3.0, 100.0], 2)
    array([0, 0, 1, 1])
    >>> discretize([1.0, 2.0, 3.0, 100.0], 2, by="width")
    array([0, 0, 0, 1])
    """
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise PairrankError(f"y has the shape {values.shape}; give one number a row")
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise PairrankError(f"y[{row}] is {values[row]}; drop the row or impute a value")
    if n_bins < 2:
        raise PairrankError(f"n_bins is {n_bins}; two are the least")
    if by == "count":
        return _by_count(values, n_bins)
    if by == "width":
        edges = np.linspace(values.min(), values.max(), n_bins + 1)[1:-1]
        return np.searchsorted(edges, values, side="left").astype(np.int64)
    raise PairrankError(f"by is 'count' or 'width', not {by!r}")


def _by_count(values: np.ndarray[Any, Any], n_bins: int) -> np.ndarray[Any, Any]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    twice_middle = 2 * np.cumsum(counts) - counts
    return ((n_bins * twice_middle) // (2 * len(values))).astype(np.int64)[place]
