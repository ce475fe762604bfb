"""Sigmoidal sums of queries by the moments of boxes of every level, or band of levels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.pair_sums._bound import FULL, Links, by_user, links_of
from pairrank.pair_sums.box_sum import Boxes, Moments, meet
from pairrank.pair_sums.profiles import (
    COST,
    DERIVATIVE,
    LEAST_EPS,
    PRODUCT_EPS,
    BoxRule,
    box_rule,
)
from pairrank.pair_sums.sigmoid_pairs import NONE, Derivative, batches
from pairrank.preferences import Levels
from pairrank.preferences.sampling import ranges

IntArray = NDArray[np.int64]

ROWS_A_BATCH = 1 << 15
"""Threads share the queries in batches of about so many rows, or one larger query."""


class LevelBoxes:
    """The sum of a sigmoidal loss over queries, by the moments of boxes, which add.

    Rows have codes, for levels or bands; those of one code are not compared. Every code has its own
    boxes on an absolute grid. A row's gradient is a sum of S over the rows above it and below it,
    less the weight of those below.

    Every row's gradient is within eps times the weight of its pairs, the value within eps times
    that of all pairs; the bound is `pairrank.pair_sums.profiles.error_bound`. Rounding adds about
    1e-14 of those weights, and 1e-14 of the value. Costs O(rows), and a product of some boxes for
    each box with rows of a code: at most one per row, however far scores lie apart.

    `slope` and `value` are the codes of the losses that give the derivatives and the value, `links`
    the codes below and above each code. `query_code` (n_queries + 1,) is where the codes of each
    query begin.
    """

    rows_per_code = 1000.0
    """What the cheapest boxes are chosen for."""

    def __init__(
        self, slope: int, value: int, links: Links, eps: float, query_code: IntArray
    ) -> None:
        self.slope, self.value, self.links, self.eps = slope, value, links, max(eps, LEAST_EPS)
        self.query_code, self.n_codes = query_code, int(query_code[-1])

    def rule(self, order: int) -> BoxRule:
        """Return the boxes of the gradient and the value, or those of the Hessian."""
        slope = DERIVATIVE[order][self.slope]
        if order == 1:
            return box_rule((slope, COST[self.value]), self.eps, self.rows_per_code)
        return box_rule((slope,), max(self.eps, PRODUCT_EPS), self.rows_per_code)

    def placed(self, order: int, scores: FloatArray, code: NDArray[np.int32]) -> Boxes:
        """Return rows in boxes, for scores up to `MOST`."""
        return Boxes(self.rule(order), scores, code, self.n_codes)

    def series(self, order: int, moments: Moments) -> Moments:
        """Return the series of each entry, by side, over the codes below and above its own."""
        profile, result = DERIVATIVE[order][self.slope], np.zeros(moments.values.shape)
        for side, above in ((0, False), (-1, True)):
            result[side] += meet(
                self.rule(order), profile, moments, self.query_code, self.links, above=above,
                lowered=order == 1 and not above,
            )  # fmt: skip
        return Moments(moments.code, moments.keys, result)

    def costs(self, moments: Moments) -> FloatArray:
        """Return the sum of the losses of each query, without the scale, (n_queries,)."""
        rule, profile = self.rule(1), COST[self.value]
        series = meet(rule, profile, moments, self.query_code, self.links, above=False)
        costs = np.einsum("ij,ij->i", series, moments.values[0])
        by_code = np.bincount(moments.code, costs, self.n_codes)
        return np.add.reduceat(by_code, self.query_code[:-1])


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

    def derivative(self, order: int, scores: FloatArray) -> Derivative:
        """Return the derivatives of this order; the scores must not change."""
        parts = threads.run(lambda part: _BatchDerivative(part, order, scores), self._parts)

        def add_products(v: FloatArray | None, result: FloatArray) -> None:
            threads.run(lambda part: part.add(v, result), parts)

        return add_products


class _Batch(LevelBoxes):
    """Some queries in memory; their rows are given by the scores of all rows."""

    def __init__(
        self, levels: Levels, queries: IntArray, borders: IntArray, kind: int, eps: float
    ) -> None:
        first_band = np.searchsorted(borders, levels.query_group)
        n_bands = np.diff(first_band)[queries]
        bands = ranges(first_band[queries], first_band[queries + 1])
        starts = levels.group_start[borders]
        start, sizes = starts[bands], np.diff(starts)[bands]
        query_code = np.append(0, np.cumsum(n_bands))
        links = FULL
        if levels.edges is not None:  # Then a band is a level.
            code_of = np.full(levels.group_level.size, -1)
            code_of[borders[bands]] = np.arange(bands.size)
            edges = code_of[levels.edges]
            links = links_of(edges[edges[:, 0] >= 0], bands.size)
        super().__init__(kind, kind, links, eps, query_code)
        places: Any = slice(int(start[0]), int(start[-1] + sizes[-1]))
        if places.stop - places.start > sizes.sum():
            places = ranges(start, start + sizes)
        code = np.repeat(np.arange(bands.size, dtype=np.int32), sizes)
        sides = levels.sides[: 1 if levels.roles is None else 2]
        weight = [NONE if side is None else side[places] for side in sides]
        self.queries, self._query_of = queries, np.repeat(np.arange(queries.size), n_bands)
        self.rows, (self.code, *self.weight) = by_user(levels.row_of[places], code, *weight)
        pair_scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
        self.scale_of_codes = pair_scale[queries][self._query_of]
        self.rows_per_code = 2.0 ** round(math.log2(code.size / bands.size))

    def add_gradient(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the value of each query without its scale."""
        placed = self.placed(1, scores[self.rows], self.code)
        moments = placed.moments(*self.weight)
        own = gradient[self.rows]
        self.add_sums(1, placed, moments, own)
        gradient[self.rows] = own
        return self.costs(moments)

    def sums(self, order: int, placed: Boxes, moments: Moments) -> FloatArray:
        """Return the series at the rows, times their weights and the scales of their queries."""
        result = np.zeros(placed.points.size)
        self.add_sums(order, placed, moments, result)
        return result

    def add_sums(self, order: int, placed: Boxes, moments: Moments, result: FloatArray) -> None:
        """Add `sums` to `result`, (n,)."""
        series = self.series(order, moments).values
        series *= self.scale_of_codes[moments.code][:, np.newaxis]
        for each, weight in zip(series, self.weight, strict=True):
            placed.add(each, weight, result)

    def less_mean(self, v: FloatArray) -> FloatArray:
        """Return the rows' entries of a vector, less their mean over the query."""
        own = v[self.rows]
        if self.queries.size == 1:
            return np.asarray(own - own.mean())
        query = self._query_of[self.code]
        return np.asarray(own - (np.bincount(query, own) / np.bincount(query))[query])


class _BatchDerivative:
    """The derivatives of a `_Batch` at fixed scores."""

    def __init__(self, owner: _Batch, order: int, scores: FloatArray) -> None:
        self._owner, self._order = owner, order
        self._placed = placed = owner.placed(order, scores[owner.rows], owner.code)
        self._alone = owner.sums(order, placed, placed.moments(*owner.weight))
        """The sums of k."""

    def add(self, v: FloatArray | None, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j), or of k; see `Derivative`."""
        owner, placed, own = self._owner, self._placed, self._alone
        if v is not None:
            moved = owner.less_mean(v)
            weights = (side * moved if side.size else moved for side in owner.weight)
            own = own * moved - owner.sums(self._order, placed, placed.moments(*weights))
        result[owner.rows] += own
