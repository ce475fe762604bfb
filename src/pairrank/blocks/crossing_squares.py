"""Squares over crossing queries: weights, means and sums of squares of residuals are merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks.crossing_queries import OwnRows


@dataclass(eq=False)
class Residuals:
    """Residuals of queries: sum of w, mean and sum of w (r - mean)^2, (n_queries,) each."""

    query: NDArray[np.int32]
    """Ascending."""
    weight: FloatArray
    mean: FloatArray
    squares: FloatArray

    def merged(self, other: Residuals) -> Residuals:
        """Return the sums over both sets of rows, by the formula of Chan, Golub and LeVeque."""
        query = np.union1d(self.query, other.query)
        first, second = self._at(query), other._at(query)
        weight = first.weight + second.weight
        share = np.divide(second.weight, weight, out=np.zeros(query.size), where=weight > 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = second.mean - first.mean
            mean = np.where(share < 1.0, first.mean + share * apart, second.mean)
            between = np.where((share > 0) & (share < 1), first.weight * share * apart * apart, 0.0)
        return Residuals(query, weight, mean, first.squares + second.squares + between)

    def _at(self, query: NDArray[np.int32]) -> Residuals:
        """Return the sums of these queries, zeros for those without."""
        full = np.zeros((3, query.size))
        full[:, np.searchsorted(query, self.query)] = self.weight, self.mean, self.squares
        return Residuals(query, *full)


class SquaredResiduals:
    r"""The sum over all differences of crossing queries: `pairrank.pair_sums.centred_squares`.

    A pair (i, j) of query q weighs w_i w_j/(2 n_q), so the sum is the squared norm of the centred
    residual. A summary has four numbers per query. Exact. The Hessian, the same at all scores, is
    twice the centring matrix of Airola et al. 2010, Eq. 4, with row weights: its products are the
    gradients of the sum for labels of 0.
    """

    def summary(self, rows: OwnRows) -> Residuals:
        """Return the sums over these rows; O(rows)."""
        residual, begin = _residuals(rows), rows.start[:-1]
        weight = rows.weight[0] if len(rows.weight) else np.ones(residual.size)
        total, sizes = np.add.reduceat(weight, begin), np.diff(rows.start)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.add.reduceat(weight * residual, begin)
            mean = np.divide(sums, total, out=np.zeros(total.size), where=total > 0.0)
            left = residual - np.repeat(mean, sizes)
            return Residuals(rows.query, total, mean, np.add.reduceat(weight * left * left, begin))

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

    def entries(self, rows: OwnRows) -> FloatArray:
        """Return 2 w (r - mean) by row; O(rows). NaN where the value is infinite."""
        if not np.isfinite(self.value):
            return np.full(rows.scores.size, np.nan)
        mean = self.merged.mean[np.searchsorted(self.merged.query, rows.query)]
        centred = _residuals(rows) - np.repeat(mean, np.diff(rows.start))
        return 2.0 * (rows.weight[0] * centred if len(rows.weight) else centred)

    def curvature(self) -> SquaredResiduals:
        """Return the Hessian."""
        return SquaredResiduals()


def _residuals(rows: OwnRows) -> FloatArray:
    """Return scores less labels, or the values of a product."""
    with np.errstate(over="ignore", invalid="ignore"):
        return rows.scores - rows.label if rows.values is None else rows.values
