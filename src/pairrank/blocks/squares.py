"""Squares over all differences of a query: sums of products about means, which blocks merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import BlockLayout, CrossingRows
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

        The difference of a query's means in both sets adds to the products (Chan, Golub & LeVeque
        1979). A set without the query has weight 0.
        """
        products, query = self.products, np.union1d(self.query, other.query).astype(np.int32)
        weight, mean = np.zeros((2, query.size)), np.zeros((2, query.size, len(products)))
        for at, each in enumerate((self, other)):
            places = np.searchsorted(query, each.query)
            weight[at, places], mean[at, places] = each.weight, each.mean
        total = weight.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            apart, share = mean[1] - mean[0], weight[1] / total
            products += other.products
            products += apart.T @ (apart * (weight[0] * share)[:, None])
            return SquareSums(products, query, total, mean[0] + share[:, None] * apart)


def sums_by_query(X: Any, targets: FloatArray, rows: CrossingRows) -> SquareSums:
    """Return the sums of the columns [X, targets] of crossing rows, by query.

    Costs O(n_rows n_columns^2).
    """
    query, by_row = rows.query, rows.sample_weight
    total = np.add.reduceat(by_row, rows.start[:-1])
    query_of = np.repeat(np.arange(query.size, dtype=np.int32), np.diff(rows.start))
    with np.errstate(over="ignore", invalid="ignore"):
        found = centred_sums(X, targets, Differences(targets[:, 0], query_of, by_row, total))
    return SquareSums(found.products, query, total, found.mean)


class CrossingSquares:
    r"""A `CrossingSum` over all differences, as `pairrank.pair_sums.centred_squares`.

    A pair (i, j) of query q weighs w_i w_j/(2 n_q), so the sum is the squared norm of the centred
    residual. A summary has three numbers per query. Exact.
    """

    def summary(self, rows: CrossingRows) -> dict[int, SquareSums]:
        """Return the sums over these rows; O(rows)."""
        residual = rows.scores[:, None]
        return {0: sums_by_query(residual[:, :0], residual, rows)}

    def finish(self, merged: dict[int, SquareSums]) -> tuple[FloatArray, SquareSums]:
        """Return the totals; the sums have the means."""
        value = float(merged[0].products[0, 0])
        return np.array([value if np.isfinite(value) else np.inf, 0.0, 0.0]), merged[0]

    def entries(self, rows: CrossingRows, table: SquareSums) -> FloatArray:
        """Return 2 w (r - mean) by row; O(rows)."""
        if not np.isfinite(table.products[0, 0]):
            return np.full(rows.scores.size, np.nan)
        mean = table.mean[np.searchsorted(table.query, rows.query_of), 0]
        return 2.0 * rows.sample_weight * (rows.scores - mean)


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


def square_sums(index: int, X: Any, layout: BlockLayout, origin: FloatArray | None) -> SquareSums:
    """Return the sums of a block of differences, its normal equations; O(n_rows n_features^2).

    `origin` is subtracted from every row of X: means of crossing queries keep their digits.
    """
    own, rows = design_of(X, origin).X, layout.crossing
    sums = sums_by_query(own[rows.places], rows.label[:, None], rows)
    if not isinstance(layout.whole, Differences):
        return sums
    whole = centred_sums(own, layout.whole.target[:, None], layout.whole)
    return sums._replace(products=sums.products + whole.products)
