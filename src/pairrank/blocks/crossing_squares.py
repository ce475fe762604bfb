"""Squares over crossing queries: weights, means and sums of squares of residuals are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks.crossing_parts import OwnRows

IntArray = NDArray[np.int64]


@dataclass(eq=False)
class Residuals:
    """Weighted residuals of queries: sum of w, mean and sum of w (r - mean)^2, (n_queries,) each.

    A mean is `origin` + `rest`. The origin is a score near zero of the query, so that an offset
    which all scores share is subtracted exactly and costs no digits.
    """

    query: IntArray
    weight: FloatArray
    origin: FloatArray
    rest: FloatArray
    squares: FloatArray

    def merged(self, other: Residuals) -> Residuals:
        """Return the sums over both sets of rows, by the formula of Chan, Golub and LeVeque."""
        query = np.union1d(self.query, other.query)
        first, second = self._at(query), other._at(query)
        ours, theirs = np.isin(query, self.query), np.isin(query, other.query)
        origin = np.where(ours, first.origin, second.origin)
        weight = first.weight + second.weight
        share = np.divide(second.weight, weight, out=np.zeros(query.size), where=weight > 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (second.origin - first.origin) + second.rest - first.rest
            apart = np.where(ours & theirs, apart, 0.0)
            between = np.where(ours & theirs, first.weight * share * apart * apart, 0.0)
        rest = np.where(ours, first.rest + share * apart, second.rest)
        return Residuals(query, weight, origin, rest, first.squares + second.squares + between)

    def _at(self, query: IntArray) -> Residuals:
        """Return the sums of these queries, zeros for those without."""
        at = np.searchsorted(query, self.query)
        made = []
        for values in (self.weight, self.origin, self.rest, self.squares):
            full = np.zeros(query.size)
            full[at] = values
            made.append(full)
        return Residuals(query, *made)

    def centred(self, rows: OwnRows, values: FloatArray, label: FloatArray) -> FloatArray:
        """Return the rows' values less labels, minus the query's mean."""
        at = np.empty(0, dtype=np.int64)
        if self.query.size > 1:
            at = np.searchsorted(self.query, rows.query)
        with np.errstate(over="ignore", invalid="ignore"):
            result = (values - _by_row(self.origin, at)) - _by_row(self.rest, at)
            return result - label if label.size else result


def residuals_of(rows: OwnRows, values: FloatArray, label: FloatArray) -> Residuals:
    """Return the sums over one block of values less labels; O(rows)."""
    query, of_row = _numbered(rows.query)
    weight = rows.weight[0] if len(rows.weight) else None
    total = _sums(of_row, query.size, np.ones(values.size) if weight is None else weight)
    origin = _nearest_zero(of_row, query.size, values)
    with np.errstate(over="ignore", invalid="ignore"):
        residual = values - _by_row(origin, of_row)
        residual = residual - label if label.size else residual
        rest = np.zeros(query.size)
        for _ in range(2):
            left = residual - _by_row(rest, of_row)
            left = _sums(of_row, query.size, left if weight is None else weight * left)
            rest += np.divide(left, total, out=np.zeros(query.size), where=total > 0.0)
        left = residual - _by_row(rest, of_row)
        squares = _sums(of_row, query.size, (left if weight is None else weight * left) * left)
    return Residuals(query.astype(np.int64), total, origin, rest, squares)


def _sums(of_row: IntArray, n_queries: int, values: FloatArray) -> FloatArray:
    """Return the sum of the values of each query, (n_queries,)."""
    if n_queries == 1:
        return values.sum(keepdims=True)
    return np.bincount(of_row, values, n_queries).astype(np.float64)


def _by_row(of_queries: FloatArray, of_row: IntArray) -> Any:
    """Return a value per query as one per row, or as a number where there is one query."""
    return of_queries[0] if of_queries.size == 1 else of_queries[of_row]


def _nearest_zero(of_row: IntArray, n_queries: int, values: FloatArray) -> FloatArray:
    """Return the value nearest to zero of each query, (n_queries,)."""
    size = np.abs(values)
    if n_queries == 1:
        return values[[int(np.argmin(size))]]
    least = np.full(n_queries, np.inf)
    np.minimum.at(least, of_row, size)
    nearest = np.flatnonzero(size <= least[of_row])
    result = np.zeros(n_queries)
    result[of_row[nearest]] = values[nearest]
    return result


def _numbered(query: NDArray[np.int32]) -> tuple[NDArray[np.int32], IntArray]:
    """Return the distinct queries, ascending, and each row's place among them.

    O(n) where the rows of a query are together.
    """
    starts = np.flatnonzero(np.concatenate(([True], query[1:] != query[:-1])))
    distinct, place = np.unique(query[starts], return_inverse=True)
    if distinct.size == 1:
        return distinct, place
    return distinct, np.repeat(place, np.diff(np.append(starts, query.size)))


class SquaredResiduals:
    r"""The sum over all differences of crossing queries: `pairrank.pair_sums.centred_squares`.

    A pair (i, j) of query q weighs w_i w_j/(2 n_q), so the sum is the squared norm of the centred
    residual. A summary has six numbers per query. Exact.
    """

    def summary(self, index: int, rows: OwnRows) -> Residuals:
        """Return the sums over these rows."""
        return residuals_of(rows, rows.scores, rows.label)

    def finish(self, merged: Residuals) -> SquareTable:
        """Return value and means."""
        value = float(merged.squares.sum())
        return SquareTable(merged, value if np.isfinite(value) else np.inf)

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False


@dataclass(frozen=True, eq=False)
class SquareTable:
    """The mean residuals of all crossing queries."""

    merged: Residuals
    value: float
    error: float = 0.0
    gradient_error: float = 0.0

    def gradient(self, index: int, rows: OwnRows) -> FloatArray:
        """Return 2 w (r - mean), the rows' gradients; O(rows). NaN where the value is infinite."""
        if not np.isfinite(self.value):
            return np.full(rows.scores.size, np.nan)
        return _twice(rows, self.merged.centred(rows, rows.scores, rows.label))

    def curvature(self) -> SquareCurvature:
        """Return the Hessian, the same at all scores."""
        return SquareCurvature()


def _twice(rows: OwnRows, centred: FloatArray) -> FloatArray:
    return 2.0 * (rows.weight[0] * centred if len(rows.weight) else centred)


_NO_LABEL = np.empty(0)


class SquareCurvature:
    """Twice the centring matrix of Airola et al. 2010, Eq. 4, with row weights."""

    def summary(self, index: int, rows: OwnRows, values: FloatArray) -> Residuals:
        """Return the sums over these values."""
        return residuals_of(rows, values, _NO_LABEL)

    def finish(self, merged: Residuals) -> SquareProduct:
        """Return the means."""
        return SquareProduct(merged)


@dataclass(frozen=True, eq=False)
class SquareProduct:
    """A product: twice the weighted values less their query's mean."""

    merged: Residuals

    def product(self, index: int, rows: OwnRows, values: FloatArray) -> FloatArray:
        """Return the rows' entries; O(rows)."""
        return _twice(rows, self.merged.centred(rows, values, _NO_LABEL))
