"""Squares over crossing queries: weights, means and sums of products about them are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks.crossing_queries import OwnRows


class SquareSums(NamedTuple):
    """Sums of products of some columns about the means of queries, of some blocks.

    A crossing query is centred by the mean of its rows in these blocks, which therefore travels.
    """

    products: FloatArray
    """(n_columns, n_columns)."""
    query: NDArray[np.int32]
    """The numbers of the crossing queries of these blocks, ascending."""
    weight: FloatArray
    mean: FloatArray
    """(n_queries, n_columns)."""

    def merged(self, other: SquareSums) -> SquareSums:
        """Return the sums of two sets of blocks together; may write into the products.

        The means of a query in both sets differ, and their difference adds to the products (Chan,
        Golub & LeVeque 1979).
        """
        products = self.products
        products += other.products
        query = np.union1d(self.query, other.query).astype(np.int32)
        ours, theirs = (np.searchsorted(query, each.query) for each in (self, other))
        weight, share = np.zeros(query.size), np.zeros(query.size)
        weight[ours] = self.weight
        weight[theirs] += other.weight
        share[theirs] = _divided(other.weight, weight[theirs])
        mean = np.empty((query.size, products.shape[0]))
        mean[theirs] = other.mean
        mean[ours] = self.mean
        both, at, its = np.intersect1d(self.query, other.query, return_indices=True)
        places = np.searchsorted(query, both)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = other.mean[its] - self.mean[at]
            mean[places] += share[places, None] * apart
            products += apart.T @ (apart * (self.weight[at] * share[places])[:, None])
        return SquareSums(products, query, weight, mean)


class SquaredResiduals:
    r"""The sum over all differences of crossing queries: `pairrank.pair_sums.centred_squares`.

    A pair (i, j) of query q weighs w_i w_j/(2 n_q), so the sum is the squared norm of the centred
    residual. A summary has three numbers per query. Exact. The Hessian, the same at all scores, is
    twice the centring matrix of Airola et al. 2010, Eq. 4, with row weights: its products are the
    gradients of the sum for labels of 0.
    """

    def summary(self, rows: OwnRows) -> SquareSums:
        """Return the sums over these rows; O(rows)."""
        residual, begin = _residuals(rows), rows.start[:-1]
        weight = rows.weight[0] if len(rows.weight) else np.ones(residual.size)
        total, sizes = np.add.reduceat(weight, begin), np.diff(rows.start)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = _divided(np.add.reduceat(weight * residual, begin), total)
            centred = residual - np.repeat(mean, sizes)
            products = np.full((1, 1), weight @ (centred * centred))
        return SquareSums(products, rows.query, total, mean[:, None])

    def finish(self, merged: SquareSums) -> SquareTable:
        """Return value and means."""
        value = float(merged.products[0, 0])
        return SquareTable(merged, value if np.isfinite(value) else np.inf)

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False


@dataclass(frozen=True, eq=False)
class SquareTable:
    """The mean residuals of all crossing queries."""

    merged: SquareSums
    value: float
    error: float = 0.0
    gradient_error: float = 0.0

    def entries(self, rows: OwnRows) -> FloatArray:
        """Return 2 w (r - mean) by row; O(rows). NaN where the value is infinite."""
        if not np.isfinite(self.value):
            return np.full(rows.scores.size, np.nan)
        mean = self.merged.mean[:, 0][np.searchsorted(self.merged.query, rows.query)]
        centred = _residuals(rows) - np.repeat(mean, np.diff(rows.start))
        return 2.0 * (rows.weight[0] * centred if len(rows.weight) else centred)

    def curvature(self) -> SquaredResiduals:
        """Return the Hessian."""
        return SquaredResiduals()


def _residuals(rows: OwnRows) -> FloatArray:
    """Return scores less labels, or the values of a product."""
    with np.errstate(over="ignore", invalid="ignore"):
        return rows.scores - rows.label if rows.values is None else rows.values


def _divided(sums: FloatArray, weight: FloatArray) -> FloatArray:
    """Return sums / weight, 0 where the weight is 0."""
    return np.divide(sums, weight, out=np.zeros(weight.size), where=weight > 0.0)
