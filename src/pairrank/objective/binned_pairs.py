"""The Hessian of the pairs of dense rows whose scores are rounded to bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray, PairLoss
from pairrank.preferences import Levels

_WIDTH, _WIDEST = 0.125, 0.25
"""The width of a bin of scores, doubled once if the table would be too large: margins near 1 give
scores of that size."""
_MOST_QUERIES = 32
_SMALL = 1 << 20
"""So many entries of sums take little memory, however small X is."""


class BinnedPairs:
    """X' H X for the second derivatives H of a pair loss at scores rounded to bins.

    Rows of one level and one bin are one group. The second derivative of two groups is its mean
    over rows that are spread evenly in their bins, which is the second difference of the loss. So
    the result is the Hessian of other scores, near the given ones, and has no negative eigenvalue.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    levels : Levels
        Over the rows of X.
    loss : PairLoss
        Its value must be that of its gradient.

    Notes
    -----
    It keeps the rows of X in the order of the levels. A matrix costs O(n_rows n_features^2), and
    the product of a table of bins by bins with the sums of X over each level's bins. `at` gives
    None where this would take longer, where the sums of X over a query's groups would take more
    than half the memory of X, and for many queries.
    """

    def __init__(self, X: FloatArray, levels: Levels, loss: PairLoss) -> None:
        self.levels, self.loss = levels, loss
        self.is_possible = 0 < levels.n_queries <= _MOST_QUERIES
        self.X = X[levels.row_of] if self.is_possible else X

    def at(self, scores: FloatArray) -> FloatArray | None:
        """Return X' H X at the scores (n_rows,), or None."""
        if not self.is_possible:
            return None
        levels = self.levels
        layout = scores[levels.row_of]
        width = self._width(layout)
        if width is None:
            return None
        degrees = np.empty(layout.size)
        coupled = np.zeros((self.X.shape[1],) * 2)
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        for query, start in enumerate(levels.query_start[:-1]):
            rows = slice(start, levels.query_start[query + 1])
            degrees[rows], of_pairs = self._of_query(query, rows, layout[rows], width)
            degrees[rows] *= scale[query]
            coupled += scale[query] * of_pairs
        gram: FloatArray = self.X.T @ (self.X * degrees[:, np.newaxis])
        return gram - coupled - coupled.T

    def _width(self, layout: FloatArray) -> float | None:
        """Return the width of the bins, or None where they would be too many."""
        start = self.levels.query_start[:-1]
        span = np.maximum.reduceat(layout, start) - np.minimum.reduceat(layout, start)
        n_levels = np.diff(self.levels.query_group)
        width, most = _WIDTH, max(_SMALL, self.X.size // 2)
        while width <= _WIDEST:
            n_bins = span / width + 1.0
            is_small = np.max(n_levels * n_bins) * self.X.shape[1] <= most
            if is_small and np.sum(n_levels * n_bins**2) <= self.X.size:
                return width
            width *= 2.0
        return None

    def _of_query(
        self, query: int, rows: slice, scores: FloatArray, width: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the sums of second derivatives by row and the part of winners with losers.

        The part is the sum over the pairs (i, j) of a second derivative times x_i x_j'.
        """
        levels, (first, last) = self.levels, self.levels.query_group[query : query + 2]
        bins = ((scores - scores.min()) / width).astype(np.int32)
        n_levels, n_bins = int(last - first), int(bins.max()) + 1
        n_groups, shape = n_levels * n_bins, (n_levels, n_bins)
        level = np.arange(n_levels, dtype=np.int32)
        group = n_bins * np.repeat(level, np.diff(levels.group_start[first : last + 1])) + bins
        won, lost = (np.ones(scores.size) if side is None else side[rows] for side in levels.sides)
        winners, losers = (
            np.bincount(group, side, n_groups).reshape(shape) for side in (won, lost)
        )
        table = self._table(n_bins, width)
        degrees = won * self._over_lower(first, losers @ table.T).reshape(-1)[group]
        degrees += lost * self._over_higher(first, winners @ table).reshape(-1)[group]
        of_winners = _sums_by(group, won, self.X[rows], n_groups)
        of_losers = of_winners
        if levels.roles is not None:
            of_losers = _sums_by(group, lost, self.X[rows], n_groups)
        below = self._over_lower(first, of_losers.reshape(*shape, -1))
        return degrees, of_winners.T @ np.matmul(table, below).reshape(n_groups, -1)

    def _over_lower(self, first: int, values: FloatArray) -> FloatArray:
        """Return, for each level of a query, the sum of the values of those it is preferred to.

        `values` has a first axis of levels, and so has the result; `first` is their first group.
        """
        if self.levels.edges is not None:
            return self._over_edges(first, values, to=1)
        result = np.zeros_like(values)
        np.cumsum(values[:-1], axis=0, out=result[1:])
        return result

    def _over_higher(self, first: int, values: FloatArray) -> FloatArray:
        """Return, for each level, the sum of the values of those preferred to it."""
        if self.levels.edges is not None:
            return self._over_edges(first, values, to=0)
        return self._over_lower(first, values[::-1])[::-1]

    def _over_edges(self, first: int, values: FloatArray, to: int) -> FloatArray:
        """Return the sums over edges by the level at their end `to`: 0, the lower one, or 1."""
        edges, n_levels = self.levels.edges, len(values)
        assert edges is not None
        its_edges = slice(*np.searchsorted(edges[:, 0], (first, first + n_levels)))
        own = edges[its_edges] - first
        joined = sparse.csr_array(
            (np.ones(len(own)), (own[:, to], own[:, 1 - to])), (n_levels, n_levels)
        )
        return np.asarray(joined @ values.reshape(n_levels, -1)).reshape(values.shape)

    def _table(self, n_bins: int, width: float) -> FloatArray:
        """Return the second derivative of a winner's bin and a loser's, (n_bins, n_bins)."""
        values = self.loss.phi(width * np.arange(-n_bins, n_bins + 1, dtype=np.float64))
        second = np.diff(values, 2) / width**2
        place = np.arange(n_bins)
        return np.maximum(second, 0.0)[place[:, np.newaxis] - place + n_bins - 1]


def _sums_by(
    group: NDArray[np.int32], weight: FloatArray, X: FloatArray, n_groups: int
) -> FloatArray:
    """Return the weighted sums of the rows of each group, (n_groups, n_features)."""
    starts = np.arange(group.size + 1, dtype=np.int32)
    by_row = sparse.csc_array((weight, group, starts), (n_groups, group.size))
    return np.asarray(by_row @ X)
