"""Standardized rows for networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.sparsefuncs import inplace_column_scale

from pairrank import threads
from pairrank.exceptions import PairrankError

_BLOCK_ROWS = 1 << 14


def fit_scaler(ranker: Any, X: Any, weight: Any) -> None:
    """Set what a ranker with `standardize` subtracts from its features and divides them by.

    Features that are constant are divided by 1. Sparse rows are not centred.
    """
    for name in ("feature_mean_", "feature_scale_"):
        ranker.__dict__.pop(name, None)
    if not ranker.standardize:
        return
    is_dense = not sparse.issparse(X)
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = StandardScaler(with_mean=is_dense).fit(X, sample_weight=weight)
    wrong = ~(np.isfinite(scaler.scale_) & np.isfinite(scaler.mean_))
    if wrong.any():
        raise PairrankError(
            f"feature {int(wrong.argmax())} of X is too large to be standardized: scale it down"
        )
    ranker.feature_scale_ = scaler.scale_
    if is_dense:
        ranker.feature_mean_ = scaler.mean_


def standardized(ranker: Any, X: Any, dtype: np.dtype[Any]) -> Any:
    """Return rows as the ranker's network takes them; sparse rows stay sparse if they can.

    Raises a PairrankError where a value overflows.
    """
    scale, mean = getattr(ranker, "feature_scale_", None), getattr(ranker, "feature_mean_", None)
    is_sparse = sparse.issparse(X)
    if is_sparse and mean is not None:
        X, is_sparse = X.toarray(), False
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse:
            result = X.astype(np.float64) if scale is not None else X
            if scale is not None:
                inplace_column_scale(result, 1.0 / scale)
            result = result.astype(dtype, copy=False)
            values = result.data
        else:
            result = values = _dense(X, mean, scale, dtype)
    if not np.isfinite(values).all():
        raise PairrankError(
            f"X has values that are too large for {np.dtype(dtype).name}"
            + (" once they are standardized" if scale is not None else "")
            + ": scale them down, or pass float64"
        )
    return result


def _dense(X: NDArray[Any], mean: Any, scale: Any, dtype: Any) -> NDArray[Any]:
    if scale is None:
        return X.astype(dtype, copy=False)
    result = np.empty(X.shape, dtype)
    for rows in threads.blocks(X.shape[0], _BLOCK_ROWS):
        block = X[rows].astype(np.float64)
        if mean is not None:
            block -= mean
        result[rows] = block / scale
    return result
