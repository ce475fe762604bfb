"""The least-squares problem of RankRLS: rows centred by query, or comparisons, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank.preferences import Levels, Pairs

FloatArray = NDArray[np.float64]

_BLOCK_ENTRIES = 1 << 21
_FLAT = 1e-13


class LeastSquares(Protocol):
    """A w = b in the least-squares sense: |A w - b|^2 is the loss of RankRLS.

    Rows of A and b stand by query. A is made a block of rows at a time, and never whole.
    """

    @property
    def b(self) -> FloatArray:
        """The targets, (n_equations, n_targets)."""
        ...

    @property
    def root(self) -> FloatArray:
        """The square root of each equation's weight, (n_equations,)."""
        ...

    @property
    def query_start(self) -> NDArray[np.int64]:
        """Where each query's equations begin, (n_queries + 1,)."""
        ...

    @property
    def query_of(self) -> NDArray[np.int64]:
        """The query of each equation, (n_equations,)."""
        ...

    @property
    def n_features(self) -> int:
        """The columns of A."""
        ...

    @property
    def n_pairs(self) -> int:
        """The number of differences or comparisons behind the equations."""
        ...

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A): whole queries, and a long query in pieces."""
        ...

    def query_blocks(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the same for one query alone."""
        ...

    def gram(self) -> FloatArray:
        """Return A'A, (n_features, n_features)."""
        ...

    def kernel(self) -> FloatArray:
        """Return A A', (n_equations, n_equations)."""
        ...

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A, (n_equations, n_columns)."""
        ...


def moments(problem: LeastSquares, values: FloatArray) -> FloatArray:
    """Return A' v for each column of `values`; one pass over the rows."""
    result = np.zeros((problem.n_features, values.shape[1]))
    for part, block in problem.blocks():
        result += block.T @ values[part]
    return result


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows of labelled data: A = V^(1/2) (X - mean of the query), b = V^(1/2) (y - its mean).

    V are the row weights, and means are weighted, so that |A w - b|^2 is the sum over queries and
    differences of w_i w_j ((y_i - y_j) - (s_i - s_j))^2 / (2 n_q), n_q the query's weight.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    row_of : array of shape (n_equations,)
        The row behind each equation; rows of weight 0 are left out.
    y : float64 array of shape (n_equations, n_targets)
        The labels.
    b, root, query_start
        As in `LeastSquares`.
    """

    X: Any
    row_of: NDArray[np.int32]
    y: FloatArray
    b: FloatArray
    root: FloatArray
    query_start: NDArray[np.int64]

    @classmethod
    def build(
        cls, X: Any, y: FloatArray, qid: NDArray[Any] | None, sample_weight: FloatArray | None
    ) -> CentredRows:
        """Lay checked rows out by query; y has shape (n_rows, n_targets)."""
        layout = Levels.build(np.zeros(y.shape[0]), qid, sample_weight=sample_weight)
        root = np.ones(layout.row_of.size) if layout.weight is None else np.sqrt(layout.weight)
        labels = y[layout.row_of]
        b = _centred(labels.copy(), root, layout.query_start)
        return cls(X, layout.row_of, labels, b, root, layout.query_start)

    @property
    def n_features(self) -> int:
        """The columns of X."""
        return int(self.X.shape[1])

    @property
    def n_pairs(self) -> int:
        """The number of differences, m_q^2 a query."""
        return int(np.square(np.diff(self.query_start)).sum())

    @property
    def query_of(self) -> NDArray[np.int64]:
        """The query of each equation, numbered as they stand."""
        return _codes(self.query_start)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A): whole queries, and a long query in pieces."""
        limit = max(1, _BLOCK_ENTRIES // max(1, self.n_features))
        for part, starts in _whole_queries(self.query_start, limit):
            if part.stop - part.start > limit:
                yield from self._pieces(part, limit)
            else:
                yield part, _centred(self._rows(part), self.root[part], starts)

    def query_blocks(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A) of one query, a long one in pieces."""
        limit = max(1, _BLOCK_ENTRIES // max(1, self.n_features))
        yield from self._pieces(slice(*map(int, self.query_start[query : query + 2])), limit)

    def gram(self) -> FloatArray:
        """Return A'A; O(m d^2), or by sparse products and their correction by the means."""
        if sparse.issparse(self.X):
            weighted = self._weighted()
            means = self._indicator().T @ weighted
            return (weighted.T @ weighted).toarray() - (means.T @ means).toarray()
        result = np.zeros((self.n_features, self.n_features))
        for _, block in self.blocks():
            result += block.T @ block
        return result

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
        result = np.zeros((self.root.size, self.root.size))
        step = max(1, _BLOCK_ENTRIES // max(1, self.root.size))
        for first in range(0, self.n_features, step):
            columns = self.columns(slice(first, first + step))
            result += columns @ columns.T
        return result

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A; O(m) each, or O(non-zeros) for all together."""
        columns = _dense(self.X[:, features][self.row_of])
        return _centred(columns, self.root, self.query_start)

    def _rows(self, part: slice) -> FloatArray:
        return _dense(self.X[self.row_of[part]])

    def _pieces(self, part: slice, limit: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows of one long query, its mean found in a pass of its own."""
        pieces = list(_cut(part, limit))
        origin = self._rows(slice(part.start, part.start + 1))
        total = np.zeros(self.n_features)
        for piece in pieces:
            total += self.root[piece] ** 2 @ (self._rows(piece) - origin)
        mean = total / np.square(self.root[part]).sum()
        for piece in pieces:
            yield piece, ((self._rows(piece) - origin) - mean) * self.root[piece, None]

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


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons as equations: a row of A is sqrt(weight) (x_i - x_j), b its magnitude.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    first, second : arrays of shape (n_equations,)
        The preferred row and the other.
    b, root, query_start
        As in `LeastSquares`.
    """

    X: Any
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    b: FloatArray
    root: FloatArray
    query_start: NDArray[np.int64]

    @classmethod
    def build(cls, X: Any, pairs: Pairs, codes: NDArray[np.int32] | None) -> Comparisons:
        """Lay bound comparisons out by the query of their rows."""
        magnitude = np.ones(pairs.n_pairs) if pairs.magnitude is None else pairs.magnitude
        root = np.ones(pairs.n_pairs) if pairs.weight is None else np.sqrt(pairs.weight)
        order, ends = np.arange(pairs.n_pairs), np.array([], dtype=np.int64)
        if codes is not None:
            order = np.argsort(codes[pairs.i], kind="stable")
            ends = np.flatnonzero(np.diff(codes[pairs.i[order]])) + 1
        starts = np.concatenate(([0], ends, [pairs.n_pairs]))
        root = root[order]
        b = (root * magnitude[order])[:, None]
        return cls(X, pairs.i[order], pairs.j[order], b, root, starts)

    @property
    def n_features(self) -> int:
        """The columns of X."""
        return int(self.X.shape[1])

    @property
    def n_pairs(self) -> int:
        """The number of comparisons."""
        return int(self.root.size)

    @property
    def query_of(self) -> NDArray[np.int64]:
        """The query of each equation, numbered as they stand."""
        return _codes(self.query_start)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A): whole queries, and a long query in pieces."""
        limit = max(1, _BLOCK_ENTRIES // max(1, self.n_features))
        for part, _ in _whole_queries(self.query_start, limit):
            for piece in _cut(part, limit):
                yield piece, self._rows(piece, slice(None))

    def query_blocks(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A) of one query, a long one in pieces."""
        limit = max(1, _BLOCK_ENTRIES // max(1, self.n_features))
        for piece in _cut(slice(*map(int, self.query_start[query : query + 2])), limit):
            yield piece, self._rows(piece, slice(None))

    def gram(self) -> FloatArray:
        """Return A'A; O(n_pairs d^2)."""
        result = np.zeros((self.n_features, self.n_features))
        for _, block in self.blocks():
            result += block.T @ block
        return result

    def kernel(self) -> FloatArray:
        """Return A A'; O(n_pairs^2 d)."""
        result = np.zeros((self.root.size, self.root.size))
        step = max(1, _BLOCK_ENTRIES // max(1, self.root.size))
        for first in range(0, self.n_features, step):
            columns = self.columns(slice(first, first + step))
            result += columns @ columns.T
        return result

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A; O(n_pairs) each."""
        return self._rows(slice(None), features)

    def _rows(self, part: slice, columns: slice) -> FloatArray:
        X = self.X[:, columns]
        first, second = (X[rows[part]].astype(np.float64) for rows in (self.first, self.second))
        return _dense(first - second) * self.root[part, None]


def _codes(query_start: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(query_start.size - 1), np.diff(query_start))


def _dense(rows: Any) -> FloatArray:
    """Return a copy of rows as a dense float64 array."""
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return dense.astype(np.float64)


def _whole_queries(
    query_start: NDArray[np.int64], limit: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield parts of whole queries, each of at most `limit` equations or one longer query.

    With each comes where its queries begin, counted from its own start.
    """
    start, last = 0, query_start.size - 1
    while start < last:
        reach = query_start[start] + limit
        stop = max(start + 1, int(np.searchsorted(query_start, reach, "right")) - 1)
        first = int(query_start[start])
        yield slice(first, int(query_start[stop])), query_start[start : stop + 1] - first
        start = stop


def _cut(part: slice, limit: int) -> Iterator[slice]:
    for first in range(part.start, part.stop, limit):
        yield slice(first, min(first + limit, part.stop))


def _centred(values: FloatArray, root: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Centre whole queries by their weighted means in place, and weigh them.

    The first row is taken off before the mean: what is constant within a query becomes 0 to the
    bit, and an offset costs no digits.
    """
    lengths = np.diff(starts)
    values -= np.repeat(values[starts[:-1]], lengths, axis=0)
    weight = (root**2)[:, None]
    total = np.add.reduceat(weight[:, 0], starts[:-1])[:, None]
    means = np.add.reduceat(values * weight, starts[:-1], axis=0) / total
    values -= np.repeat(means, lengths, axis=0)
    values *= root[:, None]
    return values
