"""The Hessian of a few thousand rows as a matrix: from all pairs, or from binned scores."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray, PairLoss
from pairrank.preferences import Levels, Pairs, merge_levels

IntArray = NDArray[np.integer[Any]]

_MOST_ROWS = 512
"""Scores of queries with more rows are binned."""
_BANDS, _CELLS = 12, 240
_ENTRIES = 1 << 16
"""Queries of a batch have at most so many pairs of rows together, unless it is one query."""


def takes_levels(preferences: Levels | Pairs) -> TypeGuard[Levels]:
    """Whether preferences are Levels, and at most 24 where the order graph is not full."""
    return isinstance(preferences, Levels) and (
        preferences.edges is None or preferences.labels.size <= 2 * _BANDS
    )


class PairHessian:
    r"""X' H X for the Hessian H of a loss over the pairs of a sample of rows.

    Queries of at most 512 rows take every pair. In a larger one the levels are merged into at most
    24 bands and the scores of each band into bins of about equal counts: rows of a bin count as
    one there, except that the diagonal of H multiplies the rows themselves. `is_exact` says that
    no query is binned. Costs O(rows * n_features * (n_features + rows of a query)), at most 240
    instead of the rows of a large query.

    `levels` are in the order of the rows of X (n_rows, n_features), float64; those of another order
    graph than the full one are at most 24.
    """

    def __init__(self, loss: PairLoss, levels: Levels, X: FloatArray) -> None:
        self._loss, self._X = loss, X
        sizes = np.diff(levels.query_start)
        self.is_exact = int(sizes.max(initial=0)) <= _MOST_ROWS
        self._above = None
        if levels.edges is not None:
            low, high = levels.group_level[levels.edges.T]
            self._above = np.zeros((levels.labels.size, levels.labels.size), dtype=bool)
            self._above[high, low] = True
        elif not self.is_exact and levels.labels.size > 2 * _BANDS:
            levels = merge_levels(levels, _BANDS)
        self._level = np.repeat(levels.group_level, np.diff(levels.group_start))
        ones = np.ones(len(X))
        self._win, self._lose = (ones if side is None else side for side in levels.sides)
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        self._batches = [
            _Batch.of(levels.query_start[queries], sizes[queries], scale[queries])
            for queries in _batches(sizes)
        ]

    def at(self, scores: FloatArray) -> FloatArray:
        """Return X' H X at the scores of the rows, (n_features, n_features)."""
        X, degree = self._X, np.zeros(len(self._X))
        result = np.zeros((X.shape[1], X.shape[1]))
        for batch in self._batches:
            if batch.rows.shape[1] > _MOST_ROWS:
                result -= self._binned(batch, scores, degree)
                continue
            rows, here = batch.rows, batch.is_row
            win, lose = (np.where(here, side[rows], 0.0) for side in (self._win, self._lose))
            below, above, cross = self._of_pairs(
                scores[rows], self._level[rows], win, lose, batch.scale,
                win[:, :, np.newaxis] * X[rows], lose[:, :, np.newaxis] * X[rows],
            )  # fmt: skip
            degree[rows[here]] = (win * below + lose * above)[here]
            result -= cross
        return result + result.T + (X * degree[:, np.newaxis]).T @ X

    def _binned(self, batch: _Batch, scores: FloatArray, degree: FloatArray) -> FloatArray:
        """Return the part of one large query; set the degrees of its rows."""
        rows = batch.rows[0]
        levels, band = np.unique(self._level[rows], return_inverse=True)
        order = np.argsort(scores[rows])
        n_bins = _CELLS // levels.size
        cell = np.empty(rows.size, dtype=np.intp)
        cell[order] = np.arange(rows.size) * n_bins // rows.size
        used, cell = np.unique(band * n_bins + cell, return_inverse=True)
        sums = sparse.csr_matrix((np.ones(rows.size), (cell, np.arange(rows.size))))
        mean = (sums @ scores[rows]) / np.bincount(cell)
        win, lose = self._win[rows], self._lose[rows]
        winners, losers = (sums @ (side[:, np.newaxis] * self._X[rows]) for side in (win, lose))
        below, above, cross = self._of_pairs(
            mean[np.newaxis], levels[used // n_bins][np.newaxis], (sums @ win)[np.newaxis],
            (sums @ lose)[np.newaxis], batch.scale, winners[np.newaxis], losers[np.newaxis],
        )  # fmt: skip
        degree[rows] = win * below[0, cell] + lose * above[0, cell]
        return cross

    def _of_pairs(
        self,
        scores: FloatArray,
        level: IntArray,
        win: FloatArray,
        lose: FloatArray,
        scale: FloatArray,
        winners: FloatArray,
        losers: FloatArray,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sums of phi'' over losers and over winners, and half of the off-diagonal part.

        All are (queries, rows of a query); winners, losers (queries, rows, n_features): weighted X.
        """
        of_winner, of_loser = (slice(None), slice(None), None), (slice(None), None)
        d = scores[of_winner] - scores[of_loser]
        phi = self._loss.phi(d.ravel(), order=2).reshape(d.shape)
        if self._above is None:
            phi *= level[of_winner] > level[of_loser]
        else:
            phi *= self._above[level[of_winner], level[of_loser]]
        phi *= scale[:, np.newaxis, np.newaxis]
        below, above = (phi @ lose[:, :, np.newaxis])[:, :, 0], (win[:, np.newaxis] @ phi)[:, 0]
        cross = (winners.transpose(0, 2, 1) @ (phi @ losers)).sum(axis=0)
        return below, above, cross


class _Batch(NamedTuple):
    """Queries of about one size."""

    rows: IntArray
    """(queries, most rows): the rows of each, filled up with row 0."""
    is_row: NDArray[np.bool_]
    """Which entries are rows of their query."""
    scale: FloatArray

    @classmethod
    def of(cls, start: IntArray, sizes: IntArray, scale: FloatArray) -> _Batch:
        """Return the batch of queries that begin at `start`."""
        counter = np.arange(int(sizes.max()))
        is_row = counter < sizes[:, np.newaxis]
        return cls(np.where(is_row, start[:, np.newaxis] + counter, 0), is_row, scale)


def _batches(sizes: IntArray) -> list[IntArray]:
    """Return the queries in batches of at most `_ENTRIES` pairs, none twice as large as another."""
    order, batches = np.argsort(sizes), []
    first = 0
    for at in range(1, order.size + 1):
        largest = int(sizes[order[at - 1]])
        is_full = largest > 2 * sizes[order[first]] or (at - first) * largest**2 > _ENTRIES
        if at - first > 1 and is_full:
            batches.append(order[first : at - 1])
            first = at - 1
    return [*batches, order[first:]] if order.size else []
