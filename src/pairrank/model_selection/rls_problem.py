"""The least-squares problem that RankRLS is, its rows made a block at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pairrank.objective.row_blocks import block_rows

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Equations(ABC):
    """A w = b in the least-squares sense: |A w - b|^2 is the loss of RankRLS.

    Rows of A and b, the equations, stand by query; A is never made whole.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    b : float64 array of shape (n_equations, n_targets)
        The targets.
    root : float64 array of shape (n_equations,)
        The square root of each equation's weight.
    query_start : int64 array of shape (n_queries + 1,)
        Where each query's equations begin.
    """

    X: Any
    b: FloatArray
    root: FloatArray
    query_start: NDArray[np.int64]

    @property
    def n_features(self) -> int:
        """The columns of X and of A."""
        return int(self.X.shape[1])

    @property
    def query_of(self) -> NDArray[np.int64]:
        """The query of each equation, numbered as they stand."""
        return np.repeat(np.arange(self.query_start.size - 1), np.diff(self.query_start))

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """The number of differences or comparisons behind the equations."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A): whole queries, and a long query in pieces."""

    @abstractmethod
    def query_blocks(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A) of one query, a long one in pieces."""

    @abstractmethod
    def columns(self, features: slice) -> FloatArray:
        """Return columns of A, (n_equations, n_columns)."""

    def moments(self, values: FloatArray) -> FloatArray:
        """Return A' v for each column of `values`; one pass over the rows."""
        result = np.zeros((self.n_features, values.shape[1]))
        for part, block in self.blocks():
            result += block.T @ values[part]
        return result

    def gram(self) -> FloatArray:
        """Return A'A; O(n_equations d^2)."""
        result = np.zeros((self.n_features, self.n_features))
        for _, block in self.blocks():
            result += block.T @ block
        return result

    def kernel(self) -> FloatArray:
        """Return A A'; O(n_equations^2 d), columns of X taken a few at a time."""
        result = np.zeros((self.root.size, self.root.size))
        step = block_rows(self.root.size)
        for first in range(0, self.n_features, step):
            columns = self.columns(slice(first, first + step))
            result += columns @ columns.T
        return result

    def without(self, left_out: NDArray[np.bool_]) -> Self:
        """Return the problem of all other equations; of rows, whole queries must be left out."""
        kept = ~left_out
        lengths = np.bincount(self.query_of[kept])
        whole = ("X", "query_start")
        rows = {f.name: getattr(self, f.name)[kept] for f in fields(self) if f.name not in whole}
        starts = np.concatenate(([0], np.cumsum(lengths[lengths > 0])))
        return replace(self, query_start=starts, **rows)
