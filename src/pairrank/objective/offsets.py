"""Remove large common offsets of features by subtracting one row of each query."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankWarning
from pairrank.preferences import Differences, Levels, Pairs

FAR = 100.0
"""The offset is subtracted where features are this many times as large as their differences."""
_LOST = 1e-4
"""Warn where the relative rounding of differences in X is larger than this."""
_SAMPLE = 1000
_BLOCK_ENTRIES = 1 << 20


def without_offset(X: Any, preferences: Levels | Pairs | Differences) -> Any:
    """Return X, or a copy less one row of each query where offsets are large.

    Only differences within a query enter a sum over pairs, so the optimum is the same, and an
    offset of 1e9 costs no digits beyond those that X has lost already: a warning says where fewer
    than four digits of a feature's differences are left. A thousand rows decide whether a copy is
    needed. CSR rows are returned unchanged. Costs O(n_features), and O(size) time and memory where
    X is copied.
    """
    n_rows, n_features = X.shape
    if sparse.issparse(X) or not n_rows * n_features:
        return X
    origin = _first_rows(preferences, n_rows)
    rows = np.arange(0, n_rows, -(-n_rows // _SAMPLE))
    with np.errstate(over="ignore", invalid="ignore"):
        some = X[rows].astype(np.float64)
        base = X[_origins(origin, rows)].astype(np.float64)
        size, spread = np.abs(some).max(axis=0), np.abs(some - base).max(axis=0)
    if not (size > FAR * np.where(spread > 0, spread, spread.max())).any() or not spread.any():
        return X
    _warn_of_lost_digits(size, spread, float(np.finfo(X.dtype).eps))
    result = np.empty_like(X, order="C")
    step = max(1, _BLOCK_ENTRIES // n_features)
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        places = np.arange(n_rows)[part]
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(X[part], X[_origins(origin, places)], out=result[part])
    return result


def _first_rows(preferences: Levels | Pairs | Differences, n_rows: int) -> NDArray[np.intp] | None:
    """Return for every row one row of its query; None where there is one query."""
    if isinstance(preferences, Levels):
        starts = preferences.group_start[preferences.query_group]
        if starts.size == 2:
            return None
        first = np.arange(n_rows)
        first[preferences.row_of] = np.repeat(preferences.row_of[starts[:-1]], np.diff(starts))
        return first
    if isinstance(preferences, Pairs) or preferences.query_of is None:
        return None
    first = np.empty(preferences.query_weight.size, dtype=np.intp)
    first[preferences.query_of[::-1]] = np.arange(n_rows)[::-1]
    return first[preferences.query_of]


def _origins(origin: NDArray[np.intp] | None, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.zeros(1, dtype=np.intp) if origin is None else origin[rows]


def _warn_of_lost_digits(size: FloatArray, spread: FloatArray, unit: float) -> None:
    """Warn where rounding in X has lost most digits of a feature's differences."""
    lost = (spread > 0) & (unit * size > _LOST * spread)
    if lost.any():
        feature = int(np.argmax(lost))
        warnings.warn(
            f"feature {feature} is as large as {size[feature]:g} but differs by about "
            f"{spread[feature]:g} within a query: most digits of the differences are lost in X; "
            "subtract its mean, or standardise it, before it is rounded",
            PairrankWarning,
            stacklevel=2,
        )
