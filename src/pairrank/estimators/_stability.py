"""What a stability bound needs to know of training rows: how far they lie, how far h can be off."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.objective.row_blocks import block_rows, cut, dense


class Limits(NamedTuple):
    """kappa and M of `pairrank.metrics.stability_bound`."""

    kappa: float
    M: float


def limits_of(
    radius: float, labels: FloatArray, *, C: float, n: int, epsilon: float = 0.0
) -> Limits:
    """Return the radius, and M that no hypothesis learnt from such rows can exceed.

    \\|h\\|^2 is at most the objective at 0, of which half of C max(0, range - epsilon)^n is the
    most that labels of this range can give; with labels centred at the middle of their range,
    |h(x) - y| <= kappa \\|h\\| + range/2.
    """
    width = float(labels.max()) - float(labels.min())
    cost = max(0.0, width - epsilon)
    largest = 0.5 * C * (cost if n == 1 else cost * cost)
    return Limits(radius, 0.5 * width + radius * float(np.sqrt(largest)))


def radius_of_rows(features: Any) -> float:
    """Return the largest distance of a row from zero, or from the mean of rows if that is less.

    Only differences of rows count, so either holds. O(n_rows n_features), and a block of memory.
    """
    n_rows, n_features = features.shape
    parts = list(cut(slice(0, n_rows), block_rows(n_features)))
    mean = sum(dense(features[part]).sum(axis=0) for part in parts) / n_rows
    from_zero = from_mean = 0.0
    for part in parts:
        block = dense(features[part])
        from_zero = max(from_zero, _largest_norm(block))
        from_mean = max(from_mean, _largest_norm(block - mean))
    return min(from_zero, from_mean)


def radius_of_kernel(K: Any) -> float:
    """Return the same of a kernel matrix, (n_rows, n_rows); O(n_rows^2)."""
    if isinstance(K, LinearOperator):
        raise PairrankError(
            "the bound needs the diagonal of the kernel matrix, of which a LinearOperator shows "
            "products only: give the matrix"
        )
    if K.shape[0] != K.shape[1]:
        raise PairrankError(
            f"the bound needs the square kernel matrix of the training rows, got shape {K.shape}"
        )
    squares = np.asarray(K.diagonal(), dtype=np.float64)
    means = np.asarray(K.mean(axis=0), dtype=np.float64).ravel()
    from_mean = squares - 2.0 * means + means.mean()
    return float(np.sqrt(max(0.0, min(squares.max(), from_mean.max()))))


def _largest_norm(block: FloatArray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", block, block).max(initial=0.0)))
