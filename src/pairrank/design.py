"""Design: products with a feature matrix, dense or CSR, in a fixed order of additions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray

_BLOCK_ENTRIES = 1 << 19
_ENTRIES_PER_FEATURE = 16
"""The least entries per feature in a block, so that adding blocks costs little."""
_UNITS = 2.0
"""The most rounding errors per term of a product that were observed to add up."""


class Design:
    """A feature matrix as the linear map from coefficients to scores.

    Every product is summed in float64, also for float32 X. A score depends on its row only, to the
    bit: not on other rows, their number, the row's place or the memory order. X' v is summed over
    blocks of rows, whose borders depend on the shape only, and the blocks are added in order. X is
    never copied as a whole; rows that are contiguous in neither order are copied block by block. An
    overflow gives infinity or NaN without a warning; the solver reports it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float64 or float32

    Notes
    -----
    A product costs O(n_rows n_features), or O(non-zeros), and O(n_features) memory per block in
    addition to its result. Threads share the blocks.
    """

    precision = 1e-12
    """The relative rounding error to expect of a sum of many products."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.is_sparse = sparse.issparse(X)
        self.dtype = X.dtype
        self.n_entries = max(1, X.nnz if self.is_sparse else X.size)
        dense = not self.is_sparse
        self._is_in_columns = dense and X.flags.f_contiguous and not X.flags.c_contiguous
        self._width = max(1, self.n_entries // max(1, self.n_rows))

    def scores(self, w: FloatArray) -> FloatArray:
        """Return X w, (n_rows,) float64."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        result = np.empty(self.n_rows)
        threads.run(lambda rows: self._multiply(rows, w, result[rows]), self._blocks())
        return result

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return X' v, (n_features,) float64."""
        values = np.ascontiguousarray(values, dtype=np.float64)

        def weighted_sum(rows: slice) -> FloatArray:
            part = np.zeros(self.n_features)
            self._add_weighted(rows, values[rows], part)
            return part

        return self._sum(threads.run(weighted_sum, self._blocks()))

    def _multiply(self, rows: slice, w: FloatArray, out: FloatArray) -> None:
        """Set out to X w for some rows."""
        products = _products()
        if self.is_sparse:
            products.sparse_row_products(*self._sparse_rows(rows), w, out)
        elif self._is_in_columns:
            products.row_products_of_columns(self.X.T, rows.start, rows.stop, w, out)
        else:
            products.row_products(np.ascontiguousarray(self.X[rows]), w, out)

    def _add_weighted(self, rows: slice, values: FloatArray, out: FloatArray) -> None:
        """Add X' v for some rows to out."""
        products = _products()
        if self.is_sparse:
            products.add_weighted_sparse_rows(*self._sparse_rows(rows), values, out)
        elif self._is_in_columns:
            products.add_weighted_rows_of_columns(self.X.T, rows.start, rows.stop, values, out)
        else:
            products.add_weighted_rows(np.ascontiguousarray(self.X[rows]), values, out)

    def rounding(self) -> FloatArray:
        """Return a bound on the rounding error of each entry of X' v, for v of norm 1.

        The absolute terms of an entry sum to at most the norm of its feature. The rounding of v and
        of the sums, which are blocked, each lose a few units of that.
        """
        unit = _UNITS * float(np.finfo(np.float64).eps)
        return unit * np.sqrt(self.squares_transposed(np.ones(self.n_rows)))

    def squares_transposed(self, values: FloatArray) -> FloatArray:
        """Return (X * X)' v, (n_features,) float64, block by block."""

        def weighted_sum(rows: slice) -> FloatArray:
            if not self.is_sparse:
                return np.square(self.X[rows], dtype=np.float64).T @ values[rows]
            X, part = self.X, np.zeros(self.n_features)
            starts = X.indptr[rows.start : rows.stop + 1]
            entries = slice(int(starts[0]), int(starts[-1]))
            squares = np.square(X.data[entries], dtype=np.float64)
            places = X.indices[entries], starts - starts[0]
            _products().add_weighted_sparse_rows(squares, *places, values[rows], part)
            return part

        with np.errstate(over="ignore", invalid="ignore"):
            return self._sum(threads.run(weighted_sum, self._blocks()))

    def _sum(self, parts: Sequence[NDArray[Any]]) -> FloatArray:
        """Return the sum of the blocks' results, added in order."""
        result = np.zeros(self.n_features)
        with np.errstate(over="ignore", invalid="ignore"):
            for part in parts:
                result += part
        return result

    def _blocks(self) -> list[slice]:
        """Return slices of rows whose borders depend on the shape only."""
        entries = max(_BLOCK_ENTRIES, _ENTRIES_PER_FEATURE * self.n_features)
        return threads.blocks(self.n_rows, max(1, -(-entries // self._width)))

    def _sparse_rows(self, rows: slice) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the data and indices of X, and where the given rows begin in them."""
        return self.X.data, self.X.indices, self.X.indptr[rows.start : rows.stop + 1]


@functools.cache
def _products() -> Any:
    """Return the compiled products, imported when they are needed first."""
    from pairrank.compiled import products

    return products
