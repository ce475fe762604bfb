"""discretize: real targets to ordinal labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pairrank.exceptions import PairrankError


def discretize(
    y: ArrayLike, n_bins: int, *, by: Literal["count", "width"] = "count"
) -> np.ndarray[Any, Any]:
    """Cut a real target into bins, labelled 0 to n_bins - 1 from low to high.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    n_bins : int
        At least 2.
    by : {"count", "width"}
        "count": bins of equal numbers of rows, by the middle rank of a value, so that equal values
        get one label (Raykar's "equal sized bins"). "width": bins of equal width between the least
        and the greatest value, each without its lower end (Chu and Ghahramani 2005).

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        The label of an empty bin is absent.

    Raises
    ------
    PairrankError
        If there is no row, a value is not finite, or there are fewer than two bins.

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
        raise PairrankError(f"y must have one number per row (got shape {values.shape})")
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise PairrankError(f"y[{row}] is {values[row]}; drop the row or impute a value")
    if n_bins < 2:
        raise PairrankError(f"n_bins must be at least 2 (got {n_bins})")
    if by == "count":
        return _by_count(values, n_bins)
    if by == "width":
        if np.abs(values).max() > 0.5 * np.finfo(np.float64).max:
            values = 0.5 * values  # so that the width of all bins together is finite
        edges = np.linspace(values.min(), values.max(), n_bins + 1)[1:-1]
        return np.searchsorted(edges, values, side="left").astype(np.int64)
    raise PairrankError(f"by must be 'count' or 'width' (got {by!r})")


def _by_count(values: np.ndarray[Any, Any], n_bins: int) -> np.ndarray[Any, Any]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    twice_middle = 2 * np.cumsum(counts) - counts
    return ((n_bins * twice_middle) // (2 * len(values))).astype(np.int64)[place]
