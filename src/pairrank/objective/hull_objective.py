"""The objective of ConvexHullRanker: rows, the cost of their slacks, and the classes' limits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pairrank._protocols import FloatArray
from pairrank.objective.problem import without_offset
from pairrank.preferences import Levels

_PIECE_ENTRIES = 1 << 18
_PIECE_ROWS = 1 << 15
_SPARSE_PIECE_ROWS = 1 << 16
_ENTRIES_TO_KEEP = 1 << 23
_MAX_DENSE_FEATURES = 2000
_MAX_ROWS_OF_A_BASIS = 4000
_GRAM_ROWS = 1024


class Piece:
    """Consecutive rows and their groups; a group may continue in the next piece.

    `start` has the start of each group's rows in the piece, and their end.
    """

    def __init__(self, rows: slice, groups: slice, start: NDArray[np.int64]) -> None:
        self.rows, self.groups, self.start = rows, groups, start
        self._sizes = np.diff(start)

    def by_row(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values per group, (.., n_groups), at each row of the piece."""
        return np.repeat(values[..., self.groups], self._sizes, axis=-1)

    def add_rows_by_group(self, sides: FloatArray, block: Any, sums: FloatArray) -> None:
        """Add rows times their `sides`, (2, n), to the sums of groups, (2, n_groups, width)."""
        first, last = self.groups.start, self.groups.stop
        places, shape = np.arange(sides.shape[1]), (last - first, sides.shape[1])
        for side, values in enumerate(sides):
            part = sparse.csr_array((values, places, self.start), shape=shape) @ block
            sums[side, first:last] += part.toarray() if sparse.issparse(part) else part


class HullObjective:
    r"""Formulation (28) without explicit slacks, and with limits shared by the edges of a class.

    .. math:: \min_{w, U, L} \sum_i c_i \max(0, s_i - L_{g(i)}, U_{g(i)} - s_i)^2
              + \tfrac12 \|w\|^2, \quad U_Q - L_P \ge 1 \text{ an edge } P \to Q

    with s = X w and c_i = nu times the row's weight. A group g is a class of one query. It has an
    upper limit L if it is the lower end of an edge, and a lower limit U if it is the higher end. In
    the paper each edge has limits t_lo and t_hi. Only the least t_lo and the greatest t_hi of a
    class bind its rows, so two limits per class are equivalent.

    Only groups with an edge are in use: `groups` are their numbers in the levels, and `row_of` the
    rows of X, group by group. `bounded` says whether each group has a lower limit (row 0), an upper
    one (row 1); `edges` are (low group, high group). Where rows are few, n_features is the size of
    a basis of them. `pieces` are rows in parts that fit into the processor's cache, and
    `takes_matrices` says whether the solver forms matrices of n_features by n_features.

    A product with X costs O(n_rows n_features). Memory beside X is 12 bytes per row and at most
    64 MB of rows in the order of the groups.
    """

    def __init__(self, X: Any, levels: Levels, nu: float) -> None:
        edges, n_all = edges_of(levels), levels.group_level.size
        self.groups = np.unique(edges)
        self.n_groups = self.groups.size
        self.edges = np.searchsorted(self.groups, edges)
        self.bounded = np.zeros((2, self.n_groups), dtype=bool)
        self.bounded[0, self.edges[:, 1]] = True
        self.bounded[1, self.edges[:, 0]] = True
        sizes = np.diff(levels.group_start)
        taken = np.zeros(n_all, dtype=bool)
        taken[self.groups] = True
        places = slice(None) if taken.all() else np.repeat(taken, sizes)
        self.row_of = levels.row_of[places]
        self.n_rows = self.row_of.size
        self._start = np.concatenate(([0], np.cumsum(sizes[self.groups])))
        self.cost = np.full(self.n_rows, float(nu))
        if levels.weight is not None:
            self.cost *= levels.weight[places]
        self._X, self._is_sparse = without_offset(X, levels), sparse.issparse(X)
        self._given = X
        self.pieces = self._make_pieces()
        self._basis: FloatArray | None = None
        self._rows = self._rows_in_order()
        self.n_features = X.shape[1] if self._rows is None else self._rows.shape[1]
        self.takes_matrices = self._basis is not None or self.n_features <= _MAX_DENSE_FEATURES

    def features(self, piece: Piece) -> Any:
        """Return the rows of a piece."""
        if self._rows is None:
            return self._X[self.row_of[piece.rows]]
        X: Any = self._rows
        if len(self.pieces) == 1:
            return X
        if not sparse.issparse(X):
            return X[piece.rows]
        first, last = X.indptr[[piece.rows.start, piece.rows.stop]]
        indptr = X.indptr[piece.rows.start : piece.rows.stop + 1] - first
        shape = (indptr.size - 1, X.shape[1])
        return sparse.csr_array((X.data[first:last], X.indices[first:last], indptr), shape=shape)

    def add_grams(
        self, piece: Piece, sides: FloatArray, gram: FloatArray, sums: FloatArray
    ) -> None:
        """Add X' diag(a + b) X of a piece to `gram`, (n_features, n_features), for `sides` a and b.

        Its rows times a and b are added to the sums of their groups, (2, n_groups, n_features).
        """
        block = self.features(piece)
        piece.add_rows_by_group(sides, block, sums)
        gram += _weighted_gram(block, sides[0] + sides[1])

    def scores(self, w: FloatArray) -> FloatArray:
        """Return the rows' scores, (n_rows,), less `offsets`."""
        result = np.empty(self.n_rows)
        with np.errstate(over="ignore", invalid="ignore"):
            for piece in self.pieces:
                result[piece.rows] = self.features(piece) @ w
        return result

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return the rows' X' v, (n_features,)."""
        result = np.zeros(self.n_features)
        with np.errstate(over="ignore", invalid="ignore"):
            for piece in self.pieces:
                result += self.features(piece).T @ values[piece.rows]
        return result

    def by_group(self, values: FloatArray) -> FloatArray:
        """Return the sums of values per row, (.., n_rows), over each group, (.., n_groups)."""
        return np.add.reduceat(values, self._start[:-1], axis=-1)

    def by_row(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return each group's values, (.., n_groups), at each of its rows, (.., n_rows)."""
        return np.repeat(values, np.diff(self._start), axis=-1)

    def rows_at(self, places: NDArray[np.int64]) -> Any:
        """Return the rows at some places."""
        return self._X[self.row_of[places]] if self._rows is None else self._rows[places]

    def diagonal(self, values: FloatArray) -> FloatArray:
        """Return the diagonal of X' diag(values) X, (n_features,)."""
        result = np.zeros(self.n_features)
        for piece in self.pieces:
            block = self.features(piece)
            squares = (
                block.multiply(block)
                if sparse.issparse(block)
                else np.square(block, dtype=np.float64)
            )
            result += squares.T @ values[piece.rows]
        return result

    def coefficients(self, w: FloatArray) -> FloatArray:
        """Return the weights of X's own features."""
        return w if self._basis is None else self._basis @ w

    def offsets(self, w: FloatArray) -> FloatArray:
        """Return what scores lack in each group because large offsets were subtracted."""
        if self._X is self._given:
            return np.zeros(self.n_groups)
        first = self.row_of[self._start[:-1]]
        with np.errstate(over="ignore", invalid="ignore"):
            origin = np.subtract(self._given[first], self._X[first], dtype=np.float64)
            return np.asarray(origin @ self.coefficients(w))

    def _make_pieces(self) -> list[Piece]:
        step = _SPARSE_PIECE_ROWS
        if not self._is_sparse:
            step = max(1, min(_PIECE_ROWS, _PIECE_ENTRIES // max(1, self._X.shape[1])))
        pieces = []
        for begin in range(0, self.n_rows, step):
            rows = slice(begin, min(begin + step, self.n_rows))
            first = int(np.searchsorted(self._start, rows.start, side="right")) - 1
            last = int(np.searchsorted(self._start, rows.stop, side="left"))
            start = np.clip(self._start[first : last + 1], rows.start, rows.stop) - rows.start
            pieces.append(Piece(rows, slice(first, last), start))
        return pieces

    def _rows_in_order(self) -> Any:
        """Return the rows group by group; None where dense ones are too many to copy.

        With fewer rows than features, the optimal w is a combination of the rows. Then X' = Q R,
        and R' replaces X, and Q w replaces w.
        """
        X, n_features = self._X, self._X.shape[1]
        few = not self._is_sparse and self.n_rows < min(n_features, _MAX_ROWS_OF_A_BASIS)
        if self.n_rows != X.shape[0] or not (np.diff(self.row_of) == 1).all():
            if not (self._is_sparse or few) and self.n_rows * n_features > _ENTRIES_TO_KEEP:
                return None
            X = X[self.row_of]
        if not few or not np.isfinite(X).all():
            return X
        self._basis, triangle = linalg.qr(X.T.astype(np.float64), mode="economic")
        return np.ascontiguousarray(triangle.T)


def _weighted_gram(block: Any, weights: FloatArray) -> FloatArray:
    if sparse.issparse(block):
        return (block.T @ (sparse.diags_array(weights) @ block)).toarray()
    gram = np.zeros((block.shape[1], block.shape[1]))
    for begin in range(0, weights.size, _GRAM_ROWS):
        rows = block[begin : begin + _GRAM_ROWS]
        gram += (rows * weights[begin : begin + _GRAM_ROWS, None]).T @ rows
    return gram


def edges_of(levels: Levels) -> NDArray[np.int64]:
    """Return the edges (low group, high group) of any graph, including the full one."""
    if levels.edges is not None:
        return levels.edges
    found = []
    for first, last in zip(levels.query_group[:-1], levels.query_group[1:], strict=True):
        low, high = np.triu_indices(last - first, 1)
        found.append(np.column_stack((low + first, high + first)))
    return np.concatenate(found).astype(np.int64)
