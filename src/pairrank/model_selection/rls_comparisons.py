"""Comparisons as the least-squares problem of RankRLS, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.model_selection.rls_problem import Equations
from pairrank.objective.row_blocks import block_rows, cut, dense, whole_queries
from pairrank.preferences import Pairs

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparisons(Equations):
    """Comparisons as equations: a row of A is sqrt(weight) (x_i - x_j), b its magnitude.

    Attributes
    ----------
    X, b, root, query_start
        As in `Equations`.
    first, second : arrays of shape (n_equations,)
        The preferred row and the other.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]

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
        return cls(X, b, root, starts, pairs.i[order], pairs.j[order])

    @property
    def n_pairs(self) -> int:
        """The number of comparisons."""
        return int(self.root.size)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A): whole queries, and a long query in pieces."""
        limit = block_rows(self.n_features)
        for part, _ in whole_queries(self.query_start, limit):
            for piece in cut(part, limit):
                yield piece, self._rows(piece, slice(None))

    def query_blocks(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A) of one query, a long one in pieces."""
        limit = block_rows(self.n_features)
        for piece in cut(slice(*map(int, self.query_start[query : query + 2])), limit):
            yield piece, self._rows(piece, slice(None))

    def columns(self, features: slice) -> FloatArray:
        """Return columns of A; O(n_pairs) each."""
        return self._rows(slice(None), features)

    def _rows(self, part: slice, columns: slice) -> FloatArray:
        X = self.X[:, columns]
        first, second = (X[rows[part]].astype(np.float64) for rows in (self.first, self.second))
        return dense(first - second) * self.root[part, None]
