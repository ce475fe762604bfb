"""Sigmoidal sums of queries by one short series over the interval of their scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import spans
from pairrank.pair_sums.bands import Bands
from pairrank.pair_sums.boxes import BoxedQueries
from pairrank.pair_sums.profiles import COST, CURVATURE, PRODUCT_EPS, SIGMOID
from pairrank.pair_sums.sigmoid_pairs import (
    NONE,
    Derivative,
    Jobs,
    QuerySum,
    SigmoidPairs,
    batches,
)
from pairrank.pair_sums.span_tables import LEAST, MOST_TERMS, span_tables
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PLACES_A_BATCH = 1 << 14
"""Threads share the queries in batches of about so many rows."""
PLACES_A_BLOCK = 1 << 16
"""Queries of more rows are shared by threads, in blocks of about so many rows."""
FEW_PAIRS = 1 << 17
"""Queries with at most so many pairs are summed pair by pair where their scores spread too far."""


class SpannedQueries:
    """The pairs of rows of different bands of some queries, by one series per query.

    All scores of a query are in one interval, where k(s_i - s_j) is a double Chebyshev series of
    ten to thirty terms; see `pairrank.compiled.spans`. A query whose scores spread too far is
    summed by boxes, or pair by pair if it has few pairs.

    Every row's gradient is within eps times the weight of its pairs, the value within eps times
    that of all pairs (`span_tables`); rounding adds 1e-14 of those weights. Costs O(rows * terms +
    bands * terms^2): 8 ns per row, and 0.1 us per band, at eps 1e-6 and scores of spread 6. Memory
    is 12 bytes per row, with every band filled up to whole vectors of eight rows, and some hundred
    bytes per band during an evaluation.
    """

    def __init__(self, levels: Levels, bands: Bands, kind: int, eps: float) -> None:
        self.levels, self.bands, self.kind, self.eps = levels, bands, kind, eps
        self._lay_out()
        sizes = np.diff(self._piece_start[self._query_piece])
        self._large = np.flatnonzero(sizes > PLACES_A_BLOCK).tolist()
        small = np.flatnonzero(sizes <= PLACES_A_BLOCK)
        runs = np.split(small, np.flatnonzero(np.diff(small) > 1) + 1) if small.size else []
        self._batches = [
            slice(batch.start + int(run[0]), batch.stop + int(run[0]))
            for run in runs
            for batch in batches(sizes[run], PLACES_A_BATCH)
        ]
        self._others: tuple[NDArray[np.bool_], list[QuerySum]] | None = None
        self._tables = {
            1: span_tables((SIGMOID[kind], COST[kind]), eps),
            2: span_tables((CURVATURE[kind],), max(eps, PRODUCT_EPS)),
        }

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        value, others = self.add(1, scores, gradient, with_value=True)
        return value + sum(part.value_and_gradient(scores, gradient) for part in others)

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        known = np.zeros(scores.size)
        _, others = self.add(order, scores, known)
        own = SpannedDerivative(self, order, scores, known)
        return [own, *(each for part in others for each in part.derivatives(order, scores))]

    def add(
        self,
        order: int,
        scores: FloatArray,
        result: FloatArray,
        *,
        v: FloatArray = NONE,
        known: FloatArray = NONE,
        with_value: bool = False,
    ) -> tuple[float, list[QuerySum]]:
        """Add the sums of `pairrank.compiled.spans.sums_in_spans`.

        Return the value, if it is asked for, and the sums of queries of too wide a spread.
        """
        table, query = self._tables[order], self.bands.query
        wide = np.zeros(self.bands.scale.size, dtype=bool)

        def add_batch(batch: slice) -> float:
            of_batch = slice(batch.start, batch.stop + 1)
            n_bands = int(np.diff(query[of_batch]).max())
            moments, series = np.empty((2, n_bands, MOST_TERMS))
            return float(
                spans.sums_in_spans(
                    order, with_value, query[of_batch], self._query_piece[of_batch],
                    self._piece_start, self._piece_band, self._rows, self.bands.scale[batch],
                    scores, self._weight, v, known, LEAST, table.tables[0], table.tables[-1],
                    table.degrees, self.bands.links, np.empty((4, spans.PIECE)), moments, series,
                    np.empty((2, MOST_TERMS)), wide[batch], result,
                )
            )  # fmt: skip

        value = sum(threads.run(add_batch, self._batches))
        for at in self._large:
            value += self._add_large(at, order, scores, result, v, known, with_value, wide)
        return value, self._otherwise(wide) if wide.any() else []

    def _add_large(
        self,
        at: int,
        order: int,
        scores: FloatArray,
        result: FloatArray,
        v: FloatArray,
        known: FloatArray,
        with_value: bool,
        wide: NDArray[np.bool_],
    ) -> float:
        """Add the sums of one large query, whose pieces threads share."""
        tables, blocks = self._tables[order], self._blocks_of(at)
        low, high = np.transpose(
            threads.run(lambda block: spans.ends(scores, self._rows[self._places(block)]), blocks)
        )
        t = spans.table_of(low.min(), high.max(), LEAST, tables.degrees.size)
        wide[at] = t < 0 or np.isnan([*low, *high]).any()
        if wide[at]:
            return 0.0
        degree, scale = int(tables.degrees[t]), float(self.bands.scale[at])
        centre, per_radius = 0.5 * low.min() + 0.5 * high.max(), 1.0 / 2.0 ** (0.5 * (LEAST + t))
        first, stop = self.bands.query[at : at + 2]
        shift = float(v[self._rows[self._piece_start[self._query_piece[at]]]]) if v.size else 0.0
        interval = centre, per_radius, degree

        def of_block(block: slice) -> tuple[IntArray, IntArray]:
            return self._piece_start[block.start : block.stop + 1], self._piece_band[block]

        def moments_of(block: slice) -> tuple[int, FloatArray]:
            own = self._piece_band[block]
            found = np.zeros((own[-1] - own[0] + 1, degree))
            spans.add_moments(
                *of_block(block), own[0], self._rows, self._weight, scores, v, shift, *interval,
                np.empty((4, spans.PIECE)), found,
            )  # fmt: skip
            return int(own[0] - first), found

        moments, series = np.zeros((2, stop - first - 1, degree))
        for begin, found in threads.run(moments_of, blocks):
            moments[begin : begin + len(found)] += found
        value = spans.meet(
            order, with_value, degree, moments, self.bands.links, first, tables.tables[0][t],
            tables.tables[-1][t], np.empty((2, degree)), series,
        )  # fmt: skip

        def add_block(block: slice) -> None:
            spans.add_series(
                *of_block(block), first, self._rows, self._weight, scores, v, shift, known, scale,
                *interval, np.empty((4, spans.PIECE)), series, result,
            )  # fmt: skip

        threads.run(add_block, blocks)
        return scale * float(value)

    def _blocks_of(self, at: int) -> list[slice]:
        """Return blocks of the pieces of a query."""
        first, stop = self._query_piece[at : at + 2]
        sizes = np.diff(self._piece_start[first : stop + 1])
        return [
            slice(first + block.start, first + block.stop)
            for block in batches(sizes, max(PLACES_A_BLOCK // 4, sizes.sum() // 32))
        ]

    def _places(self, pieces: slice) -> slice:
        return slice(self._piece_start[pieces.start], self._piece_start[pieces.stop])

    def _lay_out(self) -> None:
        """Set the rows and weights by place, and where pieces begin, and those of each query."""
        levels, bands, vector = self.levels, self.bands, spans.VECTOR
        sizes = np.diff(bands.start, append=0)
        sizes[bands.query[1:] - 1] = 0
        whole = -(-sizes // vector) * vector
        band_start = np.cumsum(whole) - whole
        place = np.arange(whole.sum()) - np.repeat(band_start, whole)
        inside = place < np.repeat(sizes, whole)
        laid = np.repeat(bands.start, whole) + np.where(inside, place, 0)
        self._rows = levels.row_of[laid].view(np.uint32)
        self._weight = np.where(inside, 1.0 if levels.weight is None else levels.weight[laid], 0.0)
        n_pieces = -(-whole // spans.PIECE)
        band = np.repeat(np.arange(whole.size), n_pieces)
        piece = np.arange(band.size) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
        self._piece_start = np.append(band_start[band] + piece * spans.PIECE, whole.sum())
        self._piece_band = band
        self._query_piece = np.searchsorted(band, bands.query)

    def _otherwise(self, wide: NDArray[np.bool_]) -> list[QuerySum]:
        """Return other sums over the queries of too wide a spread, and keep them."""
        if self._others is None or not np.array_equal(self._others[0], wide):
            bands, queries, parts = self.bands, np.flatnonzero(wide), list[QuerySum]()
            if bands.links[1].size == 0:
                jobs = bands.between
                few = jobs.pairs[queries] <= FEW_PAIRS
                if few.any():
                    at = queries[few]
                    own = Jobs(jobs.groups[at], jobs.scale[at], jobs.pairs[at], jobs.group_start)
                    parts.append(SigmoidPairs(self.levels, self.kind, own))
                queries = queries[~few]
            if queries.size:
                parts.append(BoxedQueries(self.levels, bands, self.kind, self.eps, queries))
            self._others = (wide, parts)
        return self._others[1]


class SpannedDerivative:
    """The derivatives of `SpannedQueries` at fixed scores; the sums without v are known."""

    def __init__(
        self, owner: SpannedQueries, order: int, scores: FloatArray, known: FloatArray
    ) -> None:
        self._owner, self._order, self._scores, self._known = owner, order, scores, known

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._owner.add(self._order, self._scores, result, v=v, known=self._known)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        result += self._known
