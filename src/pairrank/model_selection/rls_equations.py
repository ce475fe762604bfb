"""The least-squares problem that RankRLS solves, as equations made a block at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.estimators._rows import Rows
from pairrank.estimators.rank_rls import RankRLS
from pairrank.objective.normal_equations import (
    block_rows,
    centred,
    centred_blocks,
    dense,
)
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import counting_order, query_codes


@dataclass(frozen=True, eq=False)
class Equations(ABC):
    """A w = b in the least-squares sense: |A w - b|^2 is the loss of RankRLS.

    The equations (rows of A and b) are grouped by query, query q from query_start[q] on; A is never
    held in memory as a whole. b has shape (n_equations, n_targets); `root` is the square root of
    each equation's weight.
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
        """The query of each equation, numbered in their order."""
        return np.repeat(np.arange(self.query_start.size - 1), np.diff(self.query_start))

    def equations_of(self, query: int) -> slice:
        """Return where the equations of a query are."""
        return slice(*map(int, self.query_start[query : query + 2]))

    @abstractmethod
    def blocks(self, starts: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A); of rows, only a long query is in pieces.

        `starts` says where the wanted queries begin, and their end; None: all queries.
        """

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


@dataclass(frozen=True, eq=False)
class CentredRows(Equations):
    """Rows of labelled data: A = V^(1/2) (X - mean of the query), b = V^(1/2) (y - its mean).

    V are the row weights, and means are weighted, so that |A w - b|^2 is the sum over queries and
    differences of w_i w_j ((y_i - y_j) - (s_i - s_j))^2 / (2 n_q), n_q the query's weight. `row_of`
    is the row of X of each equation (rows of weight 0 have none), y its labels, of b's shape.
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

    def blocks(self, starts: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A), as in `Equations`."""
        starts = self.query_start if starts is None else starts
        return centred_blocks(self.X, self.row_of, self.root, starts)

    def gram(self) -> FloatArray:
        """Return A'A; O(m d^2), or by sparse products and their correction by the means."""
        if not sparse.issparse(self.X):
            return super().gram()
        rows = self._sparse_rows()
        squares = rows.T @ rows.multiply(self.root[:, None] ** 2)
        total = np.add.reduceat(self.root**2, self.query_start[:-1])
        unit = self.root**2 / np.repeat(np.sqrt(total), np.diff(self.query_start))
        ends = (self.query_of, np.arange(unit.size))
        means = sparse.csr_array((unit, ends), shape=(total.size, unit.size)) @ rows
        return (squares - means.T @ means).toarray()

    def kernel(self) -> FloatArray:
        """Return A A'; O(m^2 d), columns of X taken a few at a time, or by sparse products."""
        if not sparse.issparse(self.X):
            return super().kernel()
        rows = self._sparse_rows()
        half = centred((rows @ rows.T).toarray(), self.root, self.query_start)
        return centred(np.ascontiguousarray(half.T), self.root, self.query_start)

    def lift_means(self, kernel: FloatArray) -> float:
        """Add c u u' to A A' for the unit vector u of each query, along which it is 0; return c."""
        shift = float(kernel.trace()) / self.root.size or 1.0
        for query in range(self.query_start.size - 1):
            rows = self.equations_of(query)
            unit = self.root[rows] / np.linalg.norm(self.root[rows])
            kernel[rows, rows] += shift * np.outer(unit, unit)
        return shift

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A; O(m) each, or O(non-zeros) for all together."""
        columns = dense(self.X[:, features][self.row_of])
        return centred(columns, self.root, self.query_start)

    def _sparse_rows(self) -> Any:
        return sparse.csr_array(self.X)[self.row_of].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Comparisons(Equations):
    """Comparisons as equations: a row of A is sqrt(weight) (x_i - x_j), b its magnitude.

    `first` is the preferred row i of each equation, `second` the other row j.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]

    @classmethod
    def build(cls, X: Any, pairs: Pairs, qid: NDArray[Any] | None) -> Comparisons:
        """Lay bound comparisons out by their groups, or else by queries."""
        magnitude = np.ones(pairs.n_pairs) if pairs.magnitude is None else pairs.magnitude
        root = np.ones(pairs.n_pairs) if pairs.weight is None else np.sqrt(pairs.weight)
        names = np.zeros(pairs.n_pairs) if qid is None else qid[pairs.i]
        queries, codes = query_codes(names if pairs.groups is None else pairs.groups)
        order, starts = counting_order(codes, queries.size)
        root = root[order]
        b = (root * magnitude[order])[:, None]
        return cls(X, b, root, starts, pairs.i[order], pairs.j[order])

    def blocks(self, starts: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A), as in `Equations`."""
        first, last = (self.query_start if starts is None else starts)[[0, -1]].tolist()
        for part in threads.blocks(last, block_rows(self.n_features), first):
            yield part, self._rows(part, slice(None))

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A; O(n_pairs) each."""
        return self._rows(slice(None), features)

    def _rows(self, part: slice, columns: slice) -> FloatArray:
        X = self.X[:, columns]
        first, second = (X[rows[part]].astype(np.float64) for rows in (self.first, self.second))
        return dense(first - second) * self.root[part, None]


def least_squares(rows: Rows) -> CentredRows | Comparisons:
    """Return the problem of labels or comparisons; a NoPairsError if there is nothing to learn."""
    preferences = RankRLS()._preferences(rows)
    if isinstance(preferences, Pairs):
        return Comparisons.build(rows.X, preferences, rows.qid)
    return CentredRows.build(rows.X, rows.y.reshape(len(rows.y), -1), rows.qid, rows.sample_weight)
