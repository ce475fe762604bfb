"""Exact sigmoidal sums pair by pair; what the parts of a sigmoidal sum have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import sigmoid as kernels
from pairrank.compiled.sigmoid import LOGISTIC
from pairrank.preferences import Levels
from pairrank.preferences._codes import pairs_by_query, query_of_groups

IntArray = NDArray[np.int64]

PAIRS_A_THREAD = 1 << 20
"""The approximate number of pairs that a thread sums at once."""
NONE = np.empty(0)
"""No weights, or no vector."""


Derivative = Callable[[FloatArray | None, FloatArray], None]
"""Adds to each row of the second array the sum of k (v_i - v_j) over its pairs, v the first array.

Both are (n_rows,); k are first or second derivatives at fixed scores. None instead of v: adds the
sums of k, for order 2 the Hessian's diagonal."""


class QuerySum(Protocol):
    """A part of a sum: some pairs by one algorithm; arrays are (n_rows,) in the user's order."""

    def derivative(self, order: int, scores: FloatArray) -> Derivative:
        """Return the derivatives of this order; the scores must not change."""
        ...

    def costs(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the values of the queries without their scale."""
        ...


class SigmoidPairs:
    """The pairs of `Levels`, O(pairs) per evaluation; threads share the queries.

    The rounding of a row's gradient is about 2e-15 of the weight of its pairs, or 1e-14 where
    logistic scores spread by hundreds or rows have very many pairs. That of the value is the same
    part of the weight of all pairs and of itself.

    Where the logistic scores of a query spread by at most 170, S is a_j/(a_i + a_j) with
    a = exp(s): one exponential per row instead of per pair. Without weights the value is then the
    logarithm of products over many pairs. Otherwise the exponential and the normal tail are
    polynomials that vectorise (`pairrank.compiled.sigmoid`).
    """

    def __init__(self, levels: Levels, kind: int) -> None:
        self._row_of, self._kind = levels.row_of, kind
        self._size = int(levels.group_start[-1]) + kernels.VECTOR
        win, lose = levels.sides
        self._win = self._padded(win)
        self._lose = self._win if lose is win else self._padded(lose)
        self._is_weighted = win is not None
        pairs = pairs_of_queries(levels)
        self._n_queries, self._some = pairs.size, np.flatnonzero(pairs)
        self._ranges = np.column_stack((levels.query_start[:-1], levels.query_start[1:]))[
            self._some
        ]
        scale = np.asarray(levels.pair_scale, dtype=np.float64)
        self._scale = np.broadcast_to(scale, pairs.size)[self._some]
        tiles, query, self._ends = _tiles(levels, self._size)
        chosen = pairs[query] > 0
        self._tiles = np.ascontiguousarray(tiles[chosen])
        self._tile_start = np.searchsorted(query[chosen], np.append(self._some, pairs.size))
        work = pairs[self._some] + np.diff(self._ranges, axis=1).ravel()
        self._batches = batches(work, PAIRS_A_THREAD)

    def costs(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the values of the queries without their scale, (n_queries,)."""
        s, x, near = self._place(scores)
        if self._is_weighted:
            near = np.zeros_like(near)
        costs, (own, others) = np.zeros(near.size), np.zeros((2, self._size))

        def add(queries: slice) -> None:
            held, some = np.zeros(kernels.COLUMNS + kernels.VECTOR), near[queries]
            pairs = some, self._tile_start[queries.start :], self._tiles, self._ends
            kernels.gradients(
                self._kind, *pairs, s, x, self._win, self._lose, own, others, held, costs[queries]
            )
            self._settle(queries, 1.0, own, others, gradient)

        threads.run(add, self._batches)
        every = np.zeros(self._n_queries)
        every[self._some] = costs
        return every

    def derivative(self, order: int, scores: FloatArray) -> Derivative:
        """Return the derivatives of this order."""
        _, x, near = self._place(scores)

        def add_products(v: FloatArray | None, result: FloatArray) -> None:
            laid, own, others = np.zeros((3, self._size))
            if v is not None:
                laid[: self._row_of.size] = v[self._row_of]
            alone = 0.0 if v is not None else 1.0
            sign = -1.0 if order == 2 and v is not None else 1.0

            def add(queries: slice) -> None:
                held, some = np.zeros(kernels.COLUMNS + kernels.VECTOR), near[queries]
                pairs = some, self._tile_start[queries.start :], self._tiles, self._ends
                kernels.products(
                    self._kind, order, alone, *pairs, x, self._win, self._lose, laid, own, others,
                    held,
                )  # fmt: skip
                self._settle(queries, sign, own, others, result)

            threads.run(add, self._batches)

        return add_products

    def _place(self, scores: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return s, x and `near`; see `pairrank.compiled.sigmoid`."""
        s, near = np.zeros(self._size), np.zeros(len(self._ranges), dtype=bool)
        s[: self._row_of.size] = scores[self._row_of]
        x = s.copy()
        if self._kind == LOGISTIC:
            threads.run(
                lambda queries: kernels.exponentials(self._ranges[queries], s, x, near[queries]),
                self._batches,
            )
        return s, x, near

    def _settle(
        self, queries: slice, sign: float, own: FloatArray, others: FloatArray, result: FloatArray
    ) -> None:
        kernels.settle(
            self._ranges[queries], self._scale[queries], sign, self._row_of, self._win, self._lose,
            own, others, result,
        )  # fmt: skip

    def _padded(self, weight: FloatArray | None) -> FloatArray:
        result = np.ones(self._size)
        if weight is not None:
            result[: weight.size] = weight
        return result


def pairs_of_queries(levels: Levels) -> IntArray:
    """Return the number of preferences of each query, (n_queries,)."""
    sizes = np.diff(levels.group_start)
    return pairs_by_query(sizes, sizes, levels.query_group, levels.edges)


def batches(work: IntArray, size: int) -> list[slice]:
    """Cut parts into slices of about `size` of `work` (n_parts,) each, or one larger part."""
    if not work.size:
        return []
    done = np.cumsum(work)
    ends = np.searchsorted(done, np.arange(0, done[-1], size) + size) + 1
    ends = np.unique(np.minimum(ends, work.size))
    return list(map(slice, [0, *ends[:-1].tolist()], ends.tolist()))


def _tiles(levels: Levels, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return tiles of pairs (n, 4), the query of each, and where the losers of each row end.

    A tile has the places of its winners and those of its losers. Under the full graph it is a
    query, and the losers of a row end where its group begins; else it is an edge.
    """
    start, ends = levels.group_start, np.full(size, size)
    if levels.edges is None:
        ends[start[0] : start[-1]] = np.repeat(start[:-1], np.diff(start))
        low, high = levels.query_start[:-1], levels.query_start[1:]
        return np.column_stack((low, high, low, high)), np.arange(levels.n_queries), ends
    low, high = levels.edges.T
    places = (start[high], start[high + 1], start[low], start[low + 1])
    return np.column_stack(places), query_of_groups(levels.query_group)[low], ends
