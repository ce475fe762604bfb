"""Squares over all differences of a query: sums of products about means, which blocks merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import CrossingRows, Finished, Passes
from pairrank.blocks.catalog import Catalog, design_of
from pairrank.exceptions import PairrankError
from pairrank.objective import centred_sums
from pairrank.preferences import Differences

LARGEST_EQUATIONS = 5000
"""More features than this have no normal equations: 200 MB travel for each block."""
_SMALL = 1000
_FLOP, _ENTRY, _ITERATIONS = 1e-10, 1.1e-8, 30
"""Seconds of a multiplication in a matrix product, and of an entry of X that a pass reads and
multiplies; the least number of iterations of a fit."""


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
        weight, mean = np.zeros(query.size), np.empty((query.size, products.shape[0]))
        weight[ours] = self.weight
        weight[theirs] += other.weight
        mean[theirs] = other.mean
        mean[ours] = self.mean
        both, at, its = np.intersect1d(self.query, other.query, return_indices=True)
        places = np.searchsorted(query, both)
        with np.errstate(over="ignore", invalid="ignore"):
            apart, share = other.mean[its] - self.mean[at], other.weight[its] / weight[places]
            mean[places] += share[:, None] * apart
            products += apart.T @ (apart * (self.weight[at] * share)[:, None])
        return SquareSums(products, query, weight, mean)


def sums_by_query(
    X: Any,
    targets: FloatArray,
    query: NDArray[np.int32],
    start: NDArray[np.int64],
    weight: FloatArray,
) -> SquareSums:
    """Return the sums of the columns [X, targets] of rows of positive weight, query by query.

    `query` and `start` are those of a `BlockLayout`, and `weight` its weights. Costs
    O(n_rows n_columns^2).
    """
    width = X.shape[1] + targets.shape[1]
    if not query.size:
        return SquareSums(np.zeros((width, width)), query, np.empty(0), np.empty((0, width)))
    by_row = weight[0] if len(weight) else np.ones(len(targets))
    total, query_of = np.add.reduceat(by_row, start[:-1]), None
    if query.size > 1:
        query_of = np.repeat(np.arange(query.size, dtype=np.int32), np.diff(start))
    with np.errstate(over="ignore", invalid="ignore"):
        found = centred_sums(X, targets, Differences(targets[:, 0], query_of, by_row, total))
    return SquareSums(found.products, query, total, found.mean)


class SquaredResiduals:
    r"""The sum over all differences of crossing queries: `pairrank.pair_sums.centred_squares`.

    A pair (i, j) of query q weighs w_i w_j/(2 n_q), so the sum is the squared norm of the centred
    residual. A summary has three numbers per query. Exact. The Hessian, the same at all scores, is
    twice the centring matrix of Airola et al. 2010, Eq. 4, with row weights: its products are the
    gradients of the sum for labels of 0.
    """

    def summary(self, rows: CrossingRows) -> SquareSums:
        """Return the sums over these rows; O(rows)."""
        residual = rows.residual[:, None]
        return sums_by_query(residual[:, :0], residual, rows.query, rows.start, rows.weight)

    def finish(self, merged: SquareSums) -> Finished:
        """Return the value; the sums have the means."""
        value = float(merged.products[0, 0])
        return Finished(self, merged, value if np.isfinite(value) else np.inf)

    def entries(self, rows: CrossingRows, merged: SquareSums) -> FloatArray:
        """Return 2 w (r - mean) by row; O(rows). NaN where the value is infinite."""
        if not np.isfinite(merged.products[0, 0]):
            return np.full(rows.scores.size, np.nan)
        mean = merged.mean[:, 0][np.searchsorted(merged.query, rows.query)]
        centred = rows.residual - np.repeat(mean, np.diff(rows.start))
        return 2.0 * (rows.weight[0] * centred if len(rows.weight) else centred)

    def curvature(self, merged: SquareSums) -> SquaredResiduals:
        """Return the Hessian."""
        return self

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False


def few_enough(catalog: Catalog, is_asked_for: bool) -> bool:
    """Return whether the equations cost less than iterations, or are asked for.

    A PairrankError says that equations that are asked for are too many.
    """
    d = catalog.n_features
    if is_asked_for and d > LARGEST_EQUATIONS:
        raise PairrankError(
            f'solver="direct" would send a matrix of {d} x {d} for each block, at most '
            f'{LARGEST_EQUATIONS} is sensible: use solver="cg"'
        )
    cheap = d <= _SMALL and _FLOP * d**2 <= _ITERATIONS * _ENTRY * catalog.width
    return is_asked_for or cheap


def summed_squares(passes: Passes, origin: FloatArray | None) -> SquareSums:
    """Return the normal equations of squares of all blocks, by one pass."""
    return passes.reduce(square_sums, origin, SquareSums.merged)


def square_sums(index: int, X: Any, layout: Any, origin: FloatArray | None) -> SquareSums:
    """Return the sums of a block with a `DifferenceLayout`; O(n_rows (n_features + n_targets)^2).

    `origin` is subtracted from every row of X: means of crossing queries keep their digits.
    """
    own, targets = design_of(X, origin).X, layout.targets
    crossing: Any = layout.rows
    if layout.query.size == 1 and crossing.size == layout.n_rows:
        crossing = slice(None)  # no copy
    sums = sums_by_query(
        own[crossing], targets[crossing], layout.query, layout.start, layout.weight
    )
    if layout.whole is None:
        return sums
    whole = centred_sums(own, targets, layout.whole)
    return sums._replace(products=sums.products + whole.products)
