"""Values of features as small whole numbers, once per fit, so that a round needs no sort."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.rank_boost.rankings import columns_of, entries_of

MOST_EXACT_ROWS = 1 << 16
"""Up to so many rows every distinct value is kept; its code then fits into two bytes."""
MOST_BINS = 256
"""The codes of one byte, that of missing values included."""

_NONE = np.empty(0, dtype=np.int64)


class Codes(NamedTuple):
    """The values of all features as codes that rise with the value; missing values have the last.

    Attributes
    ----------
    codes : array of uint8, uint16 or uint32
        (n_features, n_rows); of sparse rows (1, n_entries), by feature.
    rows, starts : int array
        Of sparse rows the row of each entry, and where the entries of each feature begin.
    zero : int64 array
        Of sparse rows the code of 0 of each feature.
    n_values : int64 array of shape (n_features,)
        The number of codes of values.
    has_missing : bool array of shape (n_features,)
        Whether values that count are missing.
    cuts, cut_start : float64 array, int64 array of shape (n_features + 1,)
        The thresholds of each feature: a code exceeds k where the value exceeds the k-th.
    n_rows : int
    """

    codes: NDArray[Any]
    rows: NDArray[Any]
    starts: NDArray[np.int64]
    zero: NDArray[np.int64]
    n_values: NDArray[np.int64]
    has_missing: NDArray[np.bool_]
    cuts: FloatArray
    cut_start: NDArray[np.int64]
    n_rows: int

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.n_values.size)

    def of_feature(self, feature: int) -> NDArray[Any]:
        """Return the code of each row, (n_rows,)."""
        if not self.starts.size:
            column: NDArray[Any] = self.codes[feature]
            return column
        part = slice(*self.starts[feature : feature + 2])
        column = np.full(self.n_rows, self.zero[feature], dtype=self.codes.dtype)
        column[self.rows[part]] = self.codes[0, part]
        return column

    def cut(self, feature: int, code: int) -> float:
        """Return the threshold above a code; code -1 is below every value."""
        return -np.inf if code < 0 else float(self.cuts[self.cut_start[feature] + code])


class _Survey(NamedTuple):
    """The thresholds of a feature, its number of codes of values, and what is missing."""

    cuts: FloatArray
    n_values: int
    has_missing: bool
    """Whether values that count are missing."""
    needs_code: bool
    """Whether any value is missing."""


def encode(X: Any, weight: FloatArray | None, n_bins: int | None) -> Codes:
    """Return the values of X, (n_rows, n_features), as codes; NaN is a missing value.

    Bins have about equal weight; values of rows of weight 0 do not count. `n_bins` is the most
    codes of a feature; None: one code per distinct value. Costs a sort per feature, by several
    threads. Keeps 1 byte per entry with at most 256 codes, else 2 or 4, and of sparse rows 4 more.
    """
    from pairrank.compiled.weak_rankings import write_codes

    n_rows, n_features = X.shape
    matrix = _Matrix(columns_of(X), weight)
    surveys = threads.run(lambda each: matrix.survey(each, n_bins), range(n_features))
    n_values = np.array([each.n_values for each in surveys], dtype=np.int64)
    needs_code = np.array([each.needs_code for each in surveys])
    kind = np.min_scalar_type(max(0, int((n_values - 1 + needs_code).max())))
    is_sparse = sparse.issparse(X)
    codes = np.empty((1, matrix.X.nnz) if is_sparse else (n_features, n_rows), dtype=kind)
    starts = matrix.X.indptr.astype(np.int64) if is_sparse else _NONE

    def write(feature: int) -> None:
        part = codes[0, starts[feature] : starts[feature + 1]] if is_sparse else codes[feature]
        values = entries_of(matrix.X, feature)[0]
        write_codes(values, surveys[feature].cuts, n_values[feature], part)

    threads.run(write, range(n_features))
    zeros = [np.searchsorted(each.cuts, 0.0) for each in surveys] if is_sparse else []
    return Codes(
        codes=codes,
        rows=matrix.X.indices if is_sparse else np.empty(0, dtype=np.int32),
        starts=starts,
        zero=np.array(zeros, dtype=np.int64),
        n_values=n_values,
        has_missing=np.array([each.has_missing for each in surveys]),
        cuts=np.concatenate([each.cuts for each in surveys]),
        cut_start=np.concatenate(([0], np.cumsum([each.cuts.size for each in surveys]))),
        n_rows=n_rows,
    )


class _Matrix:
    """A matrix by columns, and the weights of its rows."""

    def __init__(self, X: Any, weight: FloatArray | None) -> None:
        self.X, self.weight = X, weight
        self.n_rows = X.shape[0] if weight is None else int(np.count_nonzero(weight))
        self.total = float(X.shape[0] if weight is None else weight.sum())

    def survey(self, feature: int, n_bins: int | None) -> _Survey:
        """Return the thresholds of a feature, and what its codes must hold."""
        values, rows = entries_of(self.X, feature)
        missing = np.isnan(values)
        needs_code, weight = bool(missing.any()), None
        if self.weight is not None:
            weight = self.weight[rows]
            counted = weight > 0
            values, missing, weight = values[counted], missing[counted], weight[counted]
        has_missing = bool(missing.any())
        stored = float(values.size if weight is None else weight.sum())
        zeros = max(0.0, self.total - stored) if values.size < self.n_rows else None
        if has_missing:
            values, weight = values[~missing], None if weight is None else weight[~missing]
        cuts = _thresholds(values, weight, zeros, None if n_bins is None else n_bins - needs_code)
        n_values = cuts.size + bool(values.size or zeros)
        return _Survey(cuts, n_values, has_missing, needs_code)


def _thresholds(
    values: NDArray[Any], weight: FloatArray | None, zeros: float | None, n_bins: int | None
) -> FloatArray:
    """Return the thresholds of weighted values; `zeros` is the weight of further zeros."""
    if weight is None:
        distinct, counts = np.unique(values, return_counts=True)
    else:
        distinct, place = np.unique(values, return_inverse=True)
        counts = np.bincount(place, weight, distinct.size)
    weights = counts.astype(np.float64)
    distinct = distinct.astype(np.float64)
    if zeros is not None:
        at = int(np.searchsorted(distinct, 0.0))
        if at == distinct.size or distinct[at] != 0.0:
            distinct, weights = np.insert(distinct, at, 0.0), np.insert(weights, at, 0.0)
        weights[at] += zeros
    above = np.arange(1, distinct.size)
    if n_bins is not None and distinct.size > n_bins:
        ends = np.cumsum(weights)
        wanted = np.arange(1, n_bins) * ends[-1] / n_bins
        above = np.unique(np.searchsorted(ends, wanted, side="right"))
        above = above[(above > 0) & (above < distinct.size)]
    low, high = distinct[above - 1], distinct[above]
    cuts = 0.5 * low + 0.5 * high
    return np.where((low <= cuts) & (cuts < high), cuts, low)  # the middle may round up to `high`
