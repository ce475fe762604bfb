"""Design: products with a feature matrix, dense or CSR, that never copy it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

FloatArray = NDArray[np.float64]

_BLOCK_ENTRIES = 1 << 21
_UNITS = 2.0
"""Roundings of a term of a product that add up at the most, as far as seen."""


class Design:
    """A feature matrix as the linear map from coefficients to scores.

    Products run over blocks of rows: in float32 a block is summed in float32, blocks in float64,
    so that rounding does not grow with the rows; only vectors are cast, never X. What overflows
    is infinite or NaN, without a warning: the solver says it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float64 or float32

    Notes
    -----
    A product costs O(n_rows n_features), or O(non-zeros), and O(block) memory beside its result.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.is_sparse = sparse.issparse(X)
        self.dtype = X.dtype
        self.n_entries = max(1, X.nnz if self.is_sparse else X.size)
        self._width = max(1, self.n_entries // max(1, self.n_rows))
        whole = self.is_sparse and self.dtype == np.float64
        self._entries = self.n_entries if whole else _BLOCK_ENTRIES

    @property
    def precision(self) -> float:
        """The relative rounding to expect of a sum of many products."""
        return 1e-12 if self.dtype == np.float64 else 1e-7

    def scores(self, w: FloatArray) -> FloatArray:
        """Return X w, (n_rows,) float64."""
        vector = w.astype(self.dtype, copy=False)
        result = np.empty(self.n_rows)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, block in self._blocks():
                result[rows] = block @ vector
        return result

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return X' v, (n_features,) float64."""
        result = np.zeros(self.n_features)
        largest = np.abs(values).max(initial=0.0)
        if not 0 < largest < np.inf:
            return result if largest == 0 else np.full(self.n_features, np.nan)
        scale = 1.0 if self.dtype == np.float64 else largest
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, block in self._blocks():
                vector = values[rows] if scale == 1.0 else values[rows] / scale
                result += block.T @ vector.astype(self.dtype, copy=False)
            return result if scale == 1.0 else result * scale

    def rounding(self) -> FloatArray:
        """Return what rounding may add to each entry of X' v, for v of norm 1, (n_features,).

        The terms of an entry come to no more than the norm of its feature; as large a part of them
        may be lost by v's own rounding and by that of the sums, which are blocked.
        """
        unit = _UNITS * float(np.finfo(self.dtype).eps)
        return unit * np.sqrt(self.squares_transposed(np.ones(self.n_rows)))

    def squares_transposed(self, values: FloatArray) -> FloatArray:
        """Return (X * X)' v, (n_features,) float64; squares are made a block at a time.

        In float64: those of float32 numbers from 1e-22 down or 1e19 up are none in float32.
        """
        result = np.zeros(self.n_features)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, block in self._blocks(_BLOCK_ENTRIES):
                double = block.astype(np.float64, copy=False)
                squares = double.multiply(double) if self.is_sparse else np.square(double)
                result += squares.T @ values[rows]
        return result

    def _blocks(self, entries: int | None = None) -> Any:
        step = max(1, -(-(entries or self._entries) // self._width))
        for start in range(0, self.n_rows, step):
            rows = slice(start, min(start + step, self.n_rows))
            yield rows, self.X if rows == slice(0, self.n_rows) else self._block(rows)

    def _block(self, rows: slice) -> Any:
        if not self.is_sparse:
            return self.X[rows]
        X = self.X
        first, last = X.indptr[rows.start], X.indptr[rows.stop]
        indptr = X.indptr[rows.start : rows.stop + 1] - first
        shape = (rows.stop - rows.start, self.n_features)
        parts = (X.data[first:last], X.indices[first:last], indptr)
        return sparse.csr_array(parts, shape=shape, copy=False)


def norm_of(values: FloatArray) -> float:
    """Return the Euclidean norm, of huge and tiny numbers too."""
    return float(linalg.norm(values, check_finite=False))
