"""Probit sums of queries by Beaulieu's series, as in Raykar 2007: the gradient in O(m)."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid import PROBIT_SCALE
from pairrank.pair_sums.papers.beaulieu import SeriesSum
from pairrank.pair_sums.sigmoid_pairs import Derivative, QuerySum
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

ERFC_SCALE = PROBIT_SCALE * math.sqrt(0.5)
"""S(d) = erfc(-ERFC_SCALE d) / 2: the sqrt(3)/(sqrt(2) pi) before Eq. 3."""


class BeaulieuQueries:
    """The part of a probit pair sum whose gradient goes by Beaulieu's series between bands.

    A row's gradient is sums of erfc over the rows that it is compared with (E- and E+ of the paper,
    Section 4), by `SeriesSum.merged_at`: two bands that are compared give one sum to each of their
    rows. The value, which the paper does not sum fast, and the derivatives at fixed scores are
    those of `boxed`, at the same eps.

    The error of a row's gradient is at most eps times the weight of its pairs: each sum has an
    error of eps per unit of weight (`SeriesRule`), and erfc counts half. Rounding adds 2e-14 of the
    weight of the row's pairs. Costs O(m) for each band that a band is compared with.
    """

    def __init__(
        self,
        levels: Levels,
        chosen: NDArray[np.bool_],
        borders: IntArray,
        eps: float,
        boxed: QuerySum,
    ) -> None:
        self._levels, self._borders, self._eps, self._boxed = levels, borders, eps, boxed
        self._queries = np.flatnonzero(chosen)

    def costs(self, scores: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add to `gradient`; return the values of the queries without their scale, (n_queries,)."""
        for query in self._queries.tolist():
            self._add_query(query, scores, gradient)
        return self._boxed.costs(scores, np.zeros(scores.size))

    def derivative(self, order: int, scores: FloatArray) -> Derivative:
        """Return the derivatives of this order; the scores must not change."""
        return self._boxed.derivative(order, scores)

    def _add_query(self, query: int, scores: FloatArray, gradient: FloatArray) -> None:
        """Add for each pair of bands the weight of the higher rows less half the sums of erfc."""
        levels = self._levels
        first, last = np.searchsorted(self._borders, levels.query_group[query : query + 2])
        groups = self._borders[first : last + 1]
        start = levels.group_start[groups]
        here = slice(start[0], start[-1])
        rows = [slice(*each) for each in itertools.pairwise((start - start[0]).tolist())]
        own = scores[levels.row_of[here]]
        win, lose = (np.ones(own.size) if side is None else side[here] for side in levels.sides)
        as_winner, as_loser = np.zeros((2, own.size))

        @functools.cache
        def series_of(band: int, wins: bool) -> SeriesSum:
            return SeriesSum(
                own[rows[band]], (win if wins else lose)[rows[band]], self._eps, ERFC_SCALE
            )

        for low, high in self._pairs_of_bands(groups):
            lower, higher = rows[low], rows[high]
            as_winner[higher] -= 0.5 * series_of(low, False).merged_at(own[higher])
            as_loser[lower] += win[higher].sum()
            as_loser[lower] -= 0.5 * series_of(high, True).merged_at(own[lower])
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[query]
        gradient[levels.row_of[here]] += scale * (win * as_winner + lose * as_loser)

    def _pairs_of_bands(self, groups: IntArray) -> list[tuple[int, int]]:
        """Return the (low, high) bands of a query that are compared; groups begin bands."""
        edges = self._levels.edges
        if edges is None:
            return list(itertools.combinations(range(groups.size - 1), 2))
        own = edges[slice(*np.searchsorted(edges[:, 0], groups[[0, -1]]))] - groups[0]
        return [(low, high) for low, high in own.tolist()]
