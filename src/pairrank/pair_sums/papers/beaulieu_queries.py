"""Probit sums of queries by Beaulieu's series, as in Raykar 2007: the gradient in O(m)."""

from __future__ import annotations

import functools
import math

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid import PROBIT, PROBIT_SCALE
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.bands import Bands
from pairrank.pair_sums.papers.beaulieu import SeriesSum
from pairrank.pair_sums.sigmoid_pairs import NONE, Derivative
from pairrank.pair_sums.spans import SpannedQueries
from pairrank.preferences import Levels

ERFC_SCALE = PROBIT_SCALE * math.sqrt(0.5)
"""S(d) = erfc(-ERFC_SCALE d) / 2: the sqrt(3)/(sqrt(2) pi) before Eq. 3."""


class BeaulieuQueries:
    """The part of a probit pair sum whose gradient goes by Beaulieu's series between bands.

    A row's gradient is sums of erfc over the rows that it is compared with (E- and E+ of the paper,
    Section 4), by `SeriesSum.merged_at`: two bands that are compared give one sum to each of their
    rows. The value, which the paper does not sum fast, and the derivatives at fixed scores are
    those of `SpannedQueries` at the same eps.

    The error of a row's gradient is at most eps times the weight of its pairs: each sum has an
    error of eps per unit of weight (`SeriesRule`), and erfc counts half. Rounding adds 2e-14 of the
    weight of the row's pairs. Costs O(m) for each band that a band is compared with.
    """

    def __init__(self, levels: Levels, bands: Bands, kind: int, eps: float) -> None:
        if kind != PROBIT:
            raise PairrankError(
                "Beaulieu's series adds up erfc, so it serves the probit loss alone: choose "
                "another route or another loss"
            )
        self._levels, self._bands, self._eps = levels, bands, eps
        self._spanned = SpannedQueries(levels, bands, kind, eps)

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        for query, scale in enumerate(self._bands.scale):
            self._add_query(query, float(scale), scores, gradient)
        for part in self._spanned.within:
            part.value_and_gradient(scores, gradient)
        return self._spanned.value_and_gradient(scores, np.zeros(scores.size))

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        return self._spanned.derivatives(order, scores)

    def _add_query(
        self, query: int, scale: float, scores: FloatArray, gradient: FloatArray
    ) -> None:
        """Add for each pair of bands the weight of the higher rows less half the sums of erfc."""
        levels, start, links = self._levels, self._bands.start, self._bands.links
        first, last = self._bands.query[query : query + 2] - [0, 1]
        here = slice(start[first], start[last])
        own = scores[levels.row_of[here]]
        weight = np.ones(own.size) if levels.weight is None else levels.weight[here]
        force = np.zeros(own.size)

        def rows_of(band: int) -> slice:
            return slice(start[band] - here.start, start[band + 1] - here.start)

        @functools.cache
        def series_of(band: int) -> SeriesSum:
            rows = rows_of(band)
            weights = NONE if levels.weight is None else weight[rows]
            return SeriesSum(own[rows], weights, self._eps, ERFC_SCALE)

        for high in range(first, last):
            full = not links[1].size
            for low in range(first, high) if full else links[0][slice(*links[1][high : high + 2])]:
                lower, higher = rows_of(low), rows_of(high)
                force[higher] -= 0.5 * series_of(low).merged_at(own[higher])
                force[lower] += weight[higher].sum()
                force[lower] -= 0.5 * series_of(high).merged_at(own[lower])
        gradient[levels.row_of[here]] += scale * force * weight
