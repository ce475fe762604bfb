"""Sigmoidal sums of queries by one short series over the interval of their scores."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import spans
from pairrank.pair_sums.bands import GREATEST_SHARE, Bands
from pairrank.pair_sums.profiles import COST, CURVATURE, PRODUCT_EPS, SIGMOID
from pairrank.pair_sums.sigmoid_pairs import (
    NONE,
    Derivative,
    Jobs,
    QuerySum,
    SigmoidPairs,
    batches,
    concatenated,
)
from pairrank.pair_sums.span_tables import LEAST, SpanTables, span_tables
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

PLACES_A_BATCH = 1 << 14
"""Threads share the queries in batches of about so many rows."""
PLACES_A_BLOCK = 1 << 16
"""Queries of more rows are shared by threads, in blocks of about so many rows."""
FEW_PAIRS = 1 << 17
"""Queries with at most so many pairs are summed pair by pair where their scores spread too far."""


_Others = tuple[NDArray[np.bool_], tuple[list[QuerySum], list[SigmoidPairs]]]


class Block(NamedTuple):
    """Some queries, or successive pieces of one large query."""

    queries: slice
    pieces: IntArray
    """Where the pieces of each query begin, and the end, (n_queries + 1,)."""


class Placed(NamedTuple):
    """Scores by place, and the interval and series of each query; see `compiled.spans`."""

    tables: SpanTables
    scores: FloatArray
    centre: FloatArray
    per_radius: FloatArray
    degree: IntArray
    """The number of terms; 0 for a query whose scores spread too far."""
    table: IntArray


class SpannedQueries:
    """The pairs of some queries, by one series per query and pair by pair within bands.

    All scores of a query are in one interval, where k(s_i - s_j) is a double Chebyshev series of
    ten to thirty terms; see `pairrank.compiled.spans`. It is even for order 2, so that a band of
    several levels meets itself too, and only ties are taken off pair by pair. A query whose scores
    spread too far is summed by boxes, or pair by pair if it has few pairs.

    Every row's gradient is within eps times the weight of its pairs, the value within eps times
    that of all pairs (`span_tables`); rounding adds 1e-14 of those weights. Costs O(rows * terms +
    bands * terms^2): 8 ns per row, and 0.1 us per band, at eps 1e-6 and scores of spread 6. Memory
    is 12 bytes per row, with every band filled up to whole vectors of eight rows; for an evaluation
    and for derivatives 8 more, and some hundred bytes per band.
    """

    def __init__(self, levels: Levels, bands: Bands, kind: int, eps: float) -> None:
        self.levels, self.bands, self.kind, self.eps = levels, bands, kind, eps
        self._lay_out()
        sizes = np.diff(self._piece_start[self._query_piece])
        self._batches = [
            self._blocks_of(first) if sizes[first] > PLACES_A_BLOCK else [self._block(first, stop)]
            for first, stop in _runs(sizes)
        ]
        self._others: tuple[NDArray[np.bool_], tuple[list[QuerySum], list[SigmoidPairs]]] | None = (
            None
        )
        self._tables = {
            1: span_tables((SIGMOID[kind], COST[kind]), eps),
            2: span_tables((CURVATURE[kind],), (1.0 - GREATEST_SHARE) * max(eps, PRODUCT_EPS)),
        }

    @functools.cached_property
    def within(self) -> list[SigmoidPairs]:
        """The pairs of rows of one band, if there are any."""
        return self._pairs(self.bands.within)

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        placed = self.place(1, scores)
        value = self.add(1, placed, gradient, with_value=True)
        return value + sum(
            part.value_and_gradient(scores, gradient) for part in self._others_of(1, placed)
        )

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        placed, known = self.place(order, scores), np.zeros(scores.size)
        self.add(order, placed, known)
        own = SpannedDerivative(self, order, placed, known)
        others = self._others_of(order, placed)
        return [own, *(each for part in others for each in part.derivatives(order, scores))]

    def place(self, order: int, scores: FloatArray) -> Placed:
        """Return the scores by place, and the series that each query's spread needs."""
        tables, laid = self._tables[order], np.empty(self._rows.size)
        low, high = np.full(self.bands.scale.size, np.inf), np.full(self.bands.scale.size, -np.inf)

        def lay_out(block: Block) -> tuple[FloatArray, FloatArray]:
            least, greatest = np.empty((2, block.pieces.size - 1))
            spans.lay_out(
                block.pieces, self._piece_start, self._rows, scores, laid, least, greatest
            )
            return least, greatest

        blocks = [block for batch in self._batches for block in batch]
        for (at, _), (least, greatest) in zip(blocks, threads.run(lay_out, blocks), strict=True):
            low[at], high[at] = np.minimum(low[at], least), np.maximum(high[at], greatest)
        radius = 0.5 * high - 0.5 * low
        steps = np.ceil(2.0 * np.log2(np.maximum(radius, 2.0 ** (0.5 * LEAST))))
        fits = radius <= 2.0 ** (0.5 * (LEAST + tables.degrees.size - 1))
        table = np.where(fits, np.clip(steps - LEAST, 0, tables.degrees.size - 1), 0).astype(int)
        return Placed(
            tables, laid, 0.5 * low + 0.5 * high, 1.0 / 2.0 ** (0.5 * (LEAST + table)),
            np.where(fits, tables.degrees[table], 0), table,
        )  # fmt: skip

    def add(
        self,
        order: int,
        placed: Placed,
        result: FloatArray,
        *,
        v: FloatArray = NONE,
        known: FloatArray = NONE,
        with_value: bool = False,
    ) -> float:
        """Add the sums of k over other bands, or all, to each row; return the value, if asked for.

        Row i gets scale w_i times the sum over the rows j that it is compared with of w_j k(s_i -
        s_j), where k is phi'' for order 2, and for order 1 it is S, less 1 if j is of a lower band:
        the Hessian's diagonal and the gradient. With v, and these sums as `known`, row i gets the
        same sum of k (v_i - v_j): the Hessian product and the influence.
        """
        first_places = self._rows[self._piece_start[self._query_piece[:-1]]]
        shift = v[first_places] if v.size else np.zeros(first_places.size)

        def add(batch: list[Block]) -> float:
            return self._add_batch(batch, order, placed, result, v, shift, known, with_value)

        small = [batch for batch in self._batches if len(batch) == 1]
        large = [batch for batch in self._batches if len(batch) > 1]
        return float(sum(threads.run(add, small)) + sum(map(add, large)))

    def _add_batch(
        self,
        batch: list[Block],
        order: int,
        placed: Placed,
        result: FloatArray,
        v: FloatArray,
        shift: FloatArray,
        known: FloatArray,
        with_value: bool,
    ) -> float:
        """Do this for some queries, or for the blocks of a large one, which threads share."""
        at, bands, tables = batch[0].queries, self.bands, placed.tables.tables
        degree, table, scale = placed.degree[at], placed.table[at], bands.scale[at]
        most, first = int(degree.max()), int(bands.query[at.start])
        if most == 0:
            return 0.0
        interval = placed.centre[at], placed.per_radius[at], degree

        def moments_of(block: Block) -> tuple[int, FloatArray]:
            low, high = self._piece_band[[block.pieces[0], block.pieces[-1] - 1]].tolist()
            found = np.zeros((high + 1 - low, most))
            spans.add_moments(
                block.pieces, self._piece_start, self._piece_band, low, self._rows, self._weight,
                placed.scores, v, shift[at], *interval, np.empty((4, spans.PIECE)), found,
            )  # fmt: skip
            return low - first, found

        found = threads.run(moments_of, batch)
        moments = found[0][1]
        if len(found) > 1:
            moments = np.zeros((found[-1][0] + len(found[-1][1]), most))
            for begin, part in found:
                moments[begin : begin + len(part)] += part
        series = np.empty(moments.shape)
        with_itself = bands.meets_itself if order == 2 else self._alone
        value = spans.meet(
            order, with_value, bands.query[at.start : at.stop + 1], bands.links, scale, degree,
            table, tables[0], tables[-1], with_itself, moments, np.empty((3, most)), series,
        )  # fmt: skip
        at_zero = float(CURVATURE[self.kind].function(np.zeros(1))[0])

        def add_block(block: Block) -> None:
            spans.add_series(
                block.pieces, self._piece_start, self._piece_band, first, self._rows, self._weight,
                placed.scores, v, shift[at], known, scale, *interval, at_zero, with_itself,
                np.empty((4, spans.PIECE)), series, result,
            )  # fmt: skip

        threads.run(add_block, batch)
        return float(value)

    def _block(self, first: int, stop: int) -> Block:
        return Block(slice(first, stop), self._query_piece[first : stop + 1])

    def _blocks_of(self, query: int) -> list[Block]:
        """Return blocks of the pieces of a query."""
        first, stop = self._query_piece[query : query + 2]
        sizes = np.diff(self._piece_start[first : stop + 1])
        return [
            Block(slice(query, query + 1), first + np.array([block.start, block.stop]))
            for block in batches(sizes, max(PLACES_A_BLOCK // 4, sizes.sum() // 32))
        ]

    def _lay_out(self) -> None:
        """Set the rows and weights by place, and where pieces begin, and those of each query."""
        levels, bands, vector = self.levels, self.bands, spans.VECTOR
        sizes = np.diff(bands.start, append=0)
        sizes[bands.query[1:] - 1] = 0
        whole = -(-sizes // vector) * vector
        band_start = np.cumsum(whole) - whole
        laid = np.repeat(bands.start - band_start, whole)
        laid += np.arange(laid.size)
        of_added, added = concatenated(whole - sizes)
        added += (band_start + sizes)[of_added]
        laid[added] = bands.start[of_added]
        self._rows = levels.row_of[laid].view(np.uint32)
        self._weight = np.ones(laid.size) if levels.weight is None else levels.weight[laid]
        self._weight[added] = 0.0
        n_pieces = -(-whole // spans.PIECE)
        band, piece = concatenated(n_pieces)
        self._piece_start = np.append(band_start[band] + piece * spans.PIECE, laid.size)
        self._piece_band = band
        self._query_piece = np.searchsorted(band, bands.query)
        self._alone = np.zeros(bands.start.size, dtype=bool)

    def _others_of(self, order: int, placed: Placed) -> list[QuerySum]:
        """Return the pairs within bands, and sums over queries of too wide a spread."""
        wide = placed.degree == 0
        if self._others is None or not np.array_equal(self._others[0], wide):
            self._others = wide, (self._sums_of_wide(wide), self._left_of_curvature(wide))
        sums, left = self._others[1]
        return [*sums, *(left if order == 2 else self.within)]

    def _left_of_curvature(self, wide: NDArray[np.bool_]) -> list[SigmoidPairs]:
        """Return the pairs to take off, and those within bands that do not meet themselves."""
        if self.bands.links[1].size:
            return self.within
        met = self.bands.is_even & ~wide
        return self._pairs(self.bands.ties.of_queries(met), self.bands.within.of_queries(~met))

    def _pairs(self, *jobs: Jobs) -> list[SigmoidPairs]:
        return [SigmoidPairs(self.levels, self.kind, each) for each in jobs if len(each.groups)]

    def _sums_of_wide(self, wide: NDArray[np.bool_]) -> list[QuerySum]:
        """Return sums over the pairs between bands of queries of too wide a spread."""
        queries, parts = np.flatnonzero(wide), list[QuerySum]()
        if queries.size and self.bands.links[1].size == 0:
            jobs = self.bands.between
            few = jobs.pairs <= FEW_PAIRS
            parts += self._pairs(jobs.of_queries(wide & few))
            queries = np.flatnonzero(wide & ~few)
        if queries.size:
            from pairrank.pair_sums.boxes import BoxedQueries

            parts.append(BoxedQueries(self.levels, self.bands, self.kind, self.eps, queries))
        return parts


class SpannedDerivative:
    """The derivatives of `SpannedQueries` at fixed scores; the sums without v are known."""

    def __init__(
        self, owner: SpannedQueries, order: int, placed: Placed, known: FloatArray
    ) -> None:
        self._owner, self._order, self._placed, self._known = owner, order, placed, known

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j)."""
        self._owner.add(self._order, self._placed, result, v=v, known=self._known)

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k."""
        result += self._known


def _runs(sizes: IntArray) -> list[tuple[int, int]]:
    """Return ranges of queries, a large one by itself, others of about `PLACES_A_BATCH` rows."""
    is_large = sizes > PLACES_A_BLOCK
    border = np.flatnonzero(np.diff(is_large) | is_large[1:]) + 1
    ranges = [
        (first + batch.start, first + batch.stop)
        for first, stop in zip([0, *border], [*border, sizes.size], strict=True)
        for batch in batches(sizes[first:stop], PLACES_A_BATCH)
    ]
    return [(int(first), int(stop)) for first, stop in ranges]
