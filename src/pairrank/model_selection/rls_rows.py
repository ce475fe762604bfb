"""Labelled rows as the least-squares problem of RankRLS: centred by query, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank.model_selection.rls_problem import Equations
from pairrank.objective.row_blocks import centred, centred_blocks, centred_query, dense
from pairrank.preferences import Levels

FloatArray = NDArray[np.float64]

_FLAT = 1e-13


@dataclass(frozen=True, eq=False)
class CentredRows(Equations):
    """Rows of labelled data: A = V^(1/2) (X - mean of the query), b = V^(1/2) (y - its mean).

    V are the row weights, and means are weighted, so that |A w - b|^2 is the sum over queries and
    differences of w_i w_j ((y_i - y_j) - (s_i - s_j))^2 / (2 n_q), n_q the query's weight.

    Attributes
    ----------
    X, b, root, query_start
        As in `Equations`.
    row_of : array of shape (n_equations,)
        The row behind each equation; rows of weight 0 are left out.
    y : float64 array of shape (n_equations, n_targets)
        The labels.
    """

    row_of: NDArray[np.int32]
    y: FloatArray

    @classmethod
    def build(
        cls, X: Any, y: FloatArray, qid: NDArray[Any] | None, sample_weight: FloatArray | None
    ) -> CentredRows:
        """Lay checked rows out by query; y has shape (n_rows, n_targets)."""
        layout = Levels.build(np.zeros(y.shape[0]), qid, sample_weight=sample_weight)
        root = np.ones(layout.row_of.size) if layout.weight is None else np.sqrt(layout.weight)
        labels = y[layout.row_of]
        b = centred(labels.copy(), root, layout.query_start)
        return cls(X, b, root, layout.query_start, layout.row_of, labels)

    @property
    def n_pairs(self) -> int:
        """The number of differences, m_q^2 a query."""
        return int(np.square(np.diff(self.query_start)).sum())

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A): whole queries, and a long query in pieces."""
        return centred_blocks(self.X, self.row_of, self.root, self.query_start)

    def query_blocks(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A) of one query, a long one in pieces."""
        part = slice(*map(int, self.query_start[query : query + 2]))
        return centred_query(self.X, self.row_of, self.root, part)

    def gram(self) -> FloatArray:
        """Return A'A; O(m d^2), or by sparse products and their correction by the means."""
        if sparse.issparse(self.X):
            weighted = self._weighted()
            means = self._indicator().T @ weighted
            return (weighted.T @ weighted).toarray() - (means.T @ means).toarray()
        return super().gram()

    def kernel(self) -> FloatArray:
        """Return A A'; O(m^2 d), columns of X taken a few at a time, or by sparse products."""
        if sparse.issparse(self.X):
            weighted, means = self._weighted(), self._indicator()
            result = (weighted @ weighted.T).toarray()
            raw = result.diagonal().copy()
            result -= means @ (means.T @ result)
            result -= (means @ (means.T @ result.T)).T
            flat = result.diagonal() <= _FLAT * raw
            result[flat], result[:, flat] = 0.0, 0.0
            return result
        return super().kernel()

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A; O(m) each, or O(non-zeros) for all together."""
        columns = dense(self.X[:, features][self.row_of])
        return centred(columns, self.root, self.query_start)

    def _weighted(self) -> Any:
        scale = sparse.diags_array(self.root)
        return (scale @ sparse.csr_array(self.X)[self.row_of].astype(np.float64)).tocsr()

    def _indicator(self) -> Any:
        """Return the matrix whose columns are the queries' unit vectors: L = I - P P'."""
        lengths = np.diff(self.query_start)
        total = np.add.reduceat(self.root**2, self.query_start[:-1])
        values = self.root / np.repeat(np.sqrt(total), lengths)
        shape = (self.root.size, lengths.size)
        return sparse.csr_array((values, (np.arange(self.root.size), self.query_of)), shape=shape)
