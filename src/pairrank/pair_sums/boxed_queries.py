"""Sigmoidal sums of queries in memory by box sums."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.pair_sums._bound import FULL, by_user, links_of
from pairrank.pair_sums.box_sum import Boxes, Moments
from pairrank.pair_sums.boxes import CodedRows, LevelBoxes
from pairrank.pair_sums.sigmoid_pairs import NONE, batches, runs
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

ROWS_A_BATCH = 1 << 15
"""Threads share the queries in batches of about so many rows, or one larger query."""


class BoxedQueries:
    """The pairs of rows of different bands of the chosen queries, by box sums.

    See `LevelBoxes` for errors and costs. Threads share small queries in batches, and the rows of
    large ones. Memory is of the order of the rows, during an evaluation.
    """

    def __init__(
        self, levels: Levels, chosen: NDArray[np.bool_], borders: IntArray, kind: int, eps: float
    ) -> None:
        queries, self._n_queries = np.flatnonzero(chosen), chosen.size
        rows = np.diff(levels.query_start)[queries]
        cuts = np.flatnonzero(np.diff(rows > ROWS_A_BATCH, prepend=False))
        parts = [
            queries[first:stop][batch]
            for first, stop in itertools.pairwise([0, *cuts.tolist(), queries.size])
            for batch in batches(rows[first:stop], ROWS_A_BATCH)
        ]
        self._parts = [_Batch(levels, part, borders, kind, eps) for part in parts]

    def costs(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the values of the queries without their scale, (n_queries,)."""
        costs = np.zeros(self._n_queries)

        def add(part: _Batch) -> None:
            costs[part.queries] = part.add_gradient(scores, gradient)

        threads.run(add, self._parts)
        return costs

    def derivative(self, order: int, scores: FloatArray) -> BoxedDerivative:
        """Return the derivatives of this order; the scores must not change."""
        return BoxedDerivative([_BatchDerivative(part, order, scores) for part in self._parts])


class BoxedDerivative:
    """The derivatives of `BoxedQueries` at fixed scores."""

    def __init__(self, parts: list[_BatchDerivative]) -> None:
        self._parts = parts

    def products(self, vectors: FloatArray, results: FloatArray) -> None:
        """Add the sums of k (v_i - v_j) of each vector."""
        threads.run(lambda part: part.add_products(vectors, results), self._parts)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k, of order 2."""
        threads.run(lambda part: part.add_diagonal(result), self._parts)


class _Batch(LevelBoxes):
    """Some queries in memory; their rows are given by the scores of all rows."""

    def __init__(
        self, levels: Levels, queries: IntArray, borders: IntArray, kind: int, eps: float
    ) -> None:
        first_band = np.searchsorted(borders, levels.query_group)
        n_bands = np.diff(first_band)[queries]
        bands = runs(first_band[queries], n_bands)
        starts = levels.group_start[borders]
        start, sizes = starts[bands], np.diff(starts)[bands]
        query_code = np.append(0, np.cumsum(n_bands))
        links = FULL
        if levels.edges is not None:  # Then a band is a level.
            code_of = np.full(levels.group_level.size, -1)
            code_of[borders[bands]] = np.arange(bands.size)
            edges = code_of[levels.edges]
            links = links_of(edges[edges[:, 0] >= 0], bands.size)
        super().__init__(kind, kind, bands.size, links, 1.0, eps, query_code)
        places: Any = slice(int(start[0]), int(start[-1] + sizes[-1]))
        if places.stop - places.start > sizes.sum():
            places = runs(start, sizes)
        code = np.repeat(np.arange(bands.size, dtype=np.int32), sizes)
        sides = levels.sides[: 1 if levels.roles is None else 2]
        weight = [NONE if side is None else side[places] for side in sides]
        self.queries, self._query_of = queries, np.repeat(np.arange(queries.size), n_bands)
        self.rows, (self._code, *self.weight) = by_user(levels.row_of[places], code, *weight)
        pair_scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        self.scale_of_codes = pair_scale[queries][self._query_of]
        self.rows_per_code = 2.0 ** round(math.log2(code.size / bands.size))

    def coded(self, rows: FloatArray) -> CodedRows:
        """Return the scores, codes and weights of the rows."""
        return CodedRows(rows[self.rows], self._code, self.weight)

    def add_gradient(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the value of each query without its scale."""
        placed = self.placed(1, self.coded(scores))
        if placed is None:
            gradient[self.rows] = np.nan
            return np.full(self.queries.size, np.inf)
        moments = placed.moments(*self.weight)
        own = gradient[self.rows]
        self.add(placed, self.scaled_series(1, moments), own[np.newaxis])
        gradient[self.rows] = own
        return self.costs(moments)

    def scaled_series(self, order: int, moments: Moments) -> FloatArray:
        """Return the series times the scales of the queries, (n_sides, n_columns, n_entries, P)."""
        series = self.series(order, moments).values
        series *= self.scale_of_codes[moments.code][:, np.newaxis]
        return series.reshape(len(series), -1, *series.shape[-2:])

    def add(self, placed: Boxes, series: FloatArray, results: FloatArray) -> None:
        """Add the series at the rows, times their weights, to the results (n_columns, n)."""
        for each, weight in zip(series, self.weight, strict=True):
            for column, result in zip(each, results, strict=True):
                placed.add(column, weight, result)

    def less_means(self, vectors: FloatArray) -> FloatArray:
        """Return the rows' entries of each vector, less their means over the query."""
        own = np.ascontiguousarray(vectors[:, self.rows])
        if self.queries.size == 1:
            return own - own.mean(axis=1, keepdims=True)
        query = self._query_of[self._code]
        sizes = np.bincount(query)
        return np.array([each - (np.bincount(query, each) / sizes)[query] for each in own])


class _BatchDerivative:
    """The derivatives of a `_Batch` at fixed scores."""

    def __init__(self, owner: _Batch, order: int, scores: FloatArray) -> None:
        placed = owner.placed(order, owner.coded(scores))
        assert placed is not None, "sums are asked for their curvature at finite scores"
        self._owner, self._order, self._placed = owner, order, placed
        self._alone = np.zeros((1, placed.points.size))
        """The sums of k."""
        owner.add(placed, owner.scaled_series(order, placed.moments(*owner.weight)), self._alone)

    def add_products(self, vectors: FloatArray, results: FloatArray) -> None:
        """Add the sums of k (v_i - v_j) of each vector."""
        owner, placed, moved = self._owner, self._placed, self._owner.less_means(vectors)
        of_values = [side * moved if side.size else moved for side in owner.weight]
        found = placed.moments(*itertools.chain(*of_values))
        by_side = found.values.reshape(len(of_values), len(moved), *found.values.shape[1:])
        series = owner.scaled_series(self._order, replace(found, values=by_side))
        own = self._alone * moved
        owner.add(placed, -series, own)
        results[:, owner.rows] += own

    def add_diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        result[self._owner.rows] += self._alone[0]
