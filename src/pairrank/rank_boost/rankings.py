"""Rankings: the weak rankings of a ranker as arrays, and the scores that they add up to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray

_ENTRIES_A_BLOCK = 1 << 18
"""Threads share the rows in blocks of about so many entries."""


class WeakRanking(NamedTuple):
    """One weak ranking h of a feature, and its weight in the scores.

    h is 1 above `threshold` and else 0; `missing` is h of a missing value.
    """

    feature: int
    threshold: float
    missing: float
    alpha: float

    def values(self, X: Any) -> FloatArray:
        """Return h of each row of a matrix by columns, (n_rows,)."""
        values, rows = entries_of(X, self.feature)
        column = np.zeros(X.shape[0])
        column[rows] = values
        h = (column > self.threshold).astype(np.float64)
        h[np.isnan(column)] = self.missing
        return h


class Rankings(NamedTuple):
    """Weak rankings as arrays of one length, in the order of their rounds."""

    features: NDArray[np.int64]
    thresholds: FloatArray
    missing: FloatArray
    alphas: FloatArray

    @classmethod
    def of(cls, found: list[WeakRanking]) -> Self:
        """Return a list of weak rankings as arrays."""
        parts = list(zip(*found, strict=True)) or [()] * len(cls._fields)
        return cls(
            np.array(parts[0], dtype=np.int64), *(np.array(each, float) for each in parts[1:])
        )

    def scores(self, X: Any) -> FloatArray:
        """Return the scores of rows, (n_rows,): the sum of alpha h; O(n_rows n_rankings)."""
        scores = np.zeros(X.shape[0])
        if sparse.issparse(X):
            for stage in self.staged(X):
                scores = stage
            return scores
        from pairrank.compiled.weak_rankings import add_rankings

        def add(rows: slice) -> None:
            add_rankings(np.ascontiguousarray(X[rows]), *self, scores[rows])

        threads.run(add, threads.blocks(len(X), max(1, _ENTRIES_A_BLOCK // max(1, X.shape[1]))))
        return scores

    def staged(self, X: Any) -> Iterator[FloatArray]:
        """Yield the scores of rows after each weak ranking; the array is changed by the next."""
        scores, X = np.zeros(X.shape[0]), columns_of(X)
        for parts in zip(*(part.tolist() for part in self), strict=True):
            ranking = WeakRanking(*parts)
            scores += ranking.alpha * ranking.values(X)
            yield scores


def columns_of(X: Any) -> Any:
    """Return a matrix by columns: dense unchanged, sparse as CSC without repeated entries."""
    if not sparse.issparse(X):
        return X
    by_column = X.tocsc()
    by_column.sum_duplicates()
    return by_column


def entries_of(X: Any, feature: int) -> tuple[NDArray[Any], NDArray[Any] | slice]:
    """Return the values of a feature and their rows; of a sparse matrix the stored ones."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X[:, feature]), slice(None)
    part = slice(*X.indptr[feature : feature + 2])
    return X.data[part], X.indices[part]
