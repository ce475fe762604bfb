"""Products with features or a kernel matrix, in a fixed order; features less large offsets."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.preferences import Differences, Levels, Pairs

_BLOCK_ENTRIES = 1 << 19
_ENTRIES_PER_FEATURE = 16
"""The least entries per feature in a block, so that adding blocks costs little."""
_UNITS = 2.0
"""The most rounding errors per term of a product that were observed to add up."""


class Design:
    """A feature matrix as the linear map from coefficients to scores.

    Every product is summed in float64, also for float32 X. A score depends on its row only, to the
    bit: not on other rows, their number or the row's place. In Fortran order its last bits may be
    others than in C order. X' v is summed over blocks of rows, whose borders depend on the shape
    only, and the blocks are added in order. X is never copied as a whole; rows that are contiguous
    in neither order are copied block by block. An overflow gives infinity or NaN without a warning;
    the solver reports it.

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
        self._is_in_columns = not self.is_sparse and X.flags.fnc
        self._width = max(1, self.n_entries // max(1, self.n_rows))

    def scores(self, w: FloatArray) -> FloatArray:
        """Return X w, (n_rows,) float64; no product where w is 0."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        if not w.any():
            return np.zeros(self.n_rows)
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
            squares = self.X[rows].astype(np.float64)
            entries = squares.data if self.is_sparse else squares
            np.square(entries, out=entries)
            return np.asarray(squares.T @ values[rows])

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


_NEGATIVE = 1e-8
"""Where v'Kv is below this part of -|K| |v|^2, the kernel is not positive semidefinite."""
_NEGATIVE_SINGLE = 1e-4


class KernelDesign:
    """Scores K a of dual coefficients a, for a kernel matrix K.

    The score functions of a and b have the inner product a'K b in the kernel's space (`matvec` is
    this metric). The gradient of a pair sum in that space is its gradient by the scores. So
    conjugate gradients take the same steps as on explicit features.

    K is symmetric and positive semidefinite: an array or a CSR matrix. A product costs as much as
    K @ v. Norms in the metric are precise to the square root of the rounding of K @ v, 1e-8 of the
    norm at zero, which is the smallest useful `tol`.
    """

    precision = Design.precision

    def __init__(self, K: Any) -> None:
        self.K, self.dtype = K, K.dtype
        self.n_rows = self.n_features = int(K.shape[0])
        self._design = Design(K)
        self._norm = 0.0
        self._tolerance = _NEGATIVE_SINGLE if K.dtype == np.float32 else _NEGATIVE

    def rounding(self) -> FloatArray:
        """Return zeros, because the gradient is that by the scores."""
        return np.zeros(self.n_features)

    def scores(self, a: FloatArray) -> FloatArray:
        """Return K a, (n_rows,) float64; raise a PairrankError where a'K a is negative."""
        with np.errstate(over="ignore", invalid="ignore"):
            result = self._design.scores(a)
            self._require_semidefinite(a, result)
        return result

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return a copy of the values, which are the gradient in the kernel's space."""
        return values.copy()

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return K v: the metric of dual coefficients."""
        return self.scores(v)

    def require_no_negative(self, matrix: FloatArray) -> None:
        """Raise a PairrankError where the matrix has a negative eigenvalue beyond rounding.

        Factorises K plus the possible rounding on its diagonal; O(n_rows^3/3).
        """
        with np.errstate(over="ignore"):
            lift = self._tolerance * float(np.abs(matrix).sum(axis=0).max(initial=0.0))
        if not 0.0 < lift < np.inf:
            return
        lifted = matrix.copy()
        lifted.flat[:: self.n_rows + 1] += lift
        try:
            linalg.cholesky(lifted, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise PairrankError(
                "the kernel matrix is not positive semidefinite: it has an eigenvalue below "
                f"{-lift:g}; take another kernel, or add to its diagonal"
            ) from None

    def _require_semidefinite(self, a: FloatArray, image: FloatArray) -> None:
        """Compare a'K a with rounding, using the norm of K estimated from past products."""
        length = float(np.linalg.norm(a))
        if length > 0.0:
            self._norm = max(self._norm, float(np.linalg.norm(image)) / length)
        form = float(a @ image)
        if form < -self._tolerance * self._norm * length * length:
            raise PairrankError(
                f"the kernel matrix is not positive semidefinite: v'Kv = {form:g} for some v; "
                "take another kernel, or add to its diagonal"
            )


FAR = 100.0
"""The offset is subtracted where features are this many times as large as their differences."""
_LOST = 1e-3
"""Warn where the relative rounding of differences in X is larger than this."""
_ROWS_TO_JUDGE = 1000
_OFFSET_ENTRIES = 1 << 20


def without_offset(X: Any, preferences: Levels | Pairs | Differences) -> Any:
    """Return X, or a copy whose features of large offsets are less one row of each query.

    Only differences within a query enter a sum over pairs, so the optimum is the same, and an
    offset of 1e9 costs no digits beyond those that X has lost already: a warning says where fewer
    than three digits of a feature's differences are left. A thousand rows decide whether a copy is
    needed. CSR rows are returned unchanged. Costs O(n_features), and O(size) time and memory where
    X is copied.
    """
    n_rows, n_features = X.shape
    if sparse.issparse(X) or not n_rows * n_features:
        return X
    origin = _first_rows(preferences, n_rows)
    rows = np.arange(0, n_rows, -(-n_rows // _ROWS_TO_JUDGE))
    with np.errstate(over="ignore", invalid="ignore"):
        some = X[rows].astype(np.float64)
        base = X[origin[rows]].astype(np.float64)
        size, spread = np.abs(some).max(axis=0), np.abs(some - base).max(axis=0)
    is_far = size > FAR * np.where(spread > 0, spread, spread.max())
    if not is_far.any() or not spread.any():
        return X
    _warn_of_lost_digits(size, spread, float(np.finfo(X.dtype).eps))
    result = np.empty_like(X, order="C")
    step = max(1, _OFFSET_ENTRIES // n_features)
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore"):
            base = np.where(is_far, X[origin[part]], X.dtype.type(0))
            np.subtract(X[part], base, out=result[part])
    return result


def _first_rows(preferences: Levels | Pairs | Differences, n_rows: int) -> NDArray[np.intp]:
    """Return for every row one row of its query."""
    if isinstance(preferences, Levels):
        starts = preferences.query_start
        first = np.arange(n_rows)
        first[preferences.row_of] = np.repeat(preferences.row_of[starts[:-1]], np.diff(starts))
        return first
    if isinstance(preferences, Pairs):
        return np.zeros(n_rows, dtype=np.intp)
    first = np.empty(preferences.query_weight.size, dtype=np.intp)
    first[preferences.query_of[::-1]] = np.arange(n_rows)[::-1]
    return first[preferences.query_of]


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
