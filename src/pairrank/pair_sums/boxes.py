"""Sigmoidal pair sums by box sums: every band of levels has boxes of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.bands import FULL, Bands, Links
from pairrank.pair_sums.box_sum import Boxes, Moments, meet
from pairrank.pair_sums.profiles import COST, DERIVATIVE, PRODUCT_EPS, box_rule
from pairrank.pair_sums.sigmoid_pairs import NONE, Derivative
from pairrank.preferences import Levels


class BoxedQueries:
    """The pairs of rows of different bands of some queries, by box sums.

    A row's gradient is a sum of S over the rows of other bands, less the weight of the lower ones.
    Every band has its own moments, and the sum uses those of the other bands.

    Every row's gradient is within eps times the weight of its pairs, the value within eps times
    that of all pairs; the bound is `pairrank.pair_sums.profiles.error_bound`. Rounding adds about
    1e-14 of those weights, and 1e-14 of the value. Scores may be up to 1e305.

    Costs O(rows), and a product of some boxes for each box with rows of a band: at most one per
    row, however far scores lie apart. Memory is of the order of the rows, during an evaluation.
    `queries` are places among those of the bands.
    """

    def __init__(
        self, levels: Levels, bands: Bands, kind: int, eps: float, queries: NDArray[np.int64]
    ) -> None:
        self.parts = [_Query(levels, bands, kind, eps, query) for query in queries.tolist()]

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        return sum(part.value_and_gradient(scores, gradient) for part in self.parts)

    def derivatives(self, order: int, scores: FloatArray) -> list[Derivative]:
        """Return the derivatives of this order; the scores must not change."""
        return [BoxedDerivative(part, order, scores) for part in self.parts]


class _Query:
    """The pairs of one query of some bands."""

    def __init__(self, levels: Levels, bands: Bands, kind: int, eps: float, query: int) -> None:
        first, stop = bands.query[query : query + 2]
        start = bands.start[first:stop]
        here = slice(start[0], start[-1])
        self.kind, self.scale, self.n_codes = kind, float(bands.scale[query]), start.size - 1
        self.rows = levels.row_of[here]
        self.weight = NONE if levels.weight is None else levels.weight[here]
        self.code = np.repeat(np.arange(self.n_codes, dtype=np.int32), np.diff(start))
        self.links = _own_links(bands.links, first, stop - 1)
        self.rules = {
            1: box_rule((DERIVATIVE[1][kind], COST[kind]), eps),
            2: box_rule((DERIVATIVE[2][kind],), max(eps, PRODUCT_EPS)),
        }

    def place(self, order: int, scores: FloatArray) -> Boxes:
        """Return the query's rows in boxes."""
        return Boxes(self.rules[order], scores[self.rows], self.code, self.n_codes)

    def series(self, order: int, moments: Moments) -> FloatArray:
        """Return the series of each entry over the codes below and above its own."""
        profile = DERIVATIVE[order][self.kind]
        below, above = meet(
            self.rules[order], profile, moments, self.n_codes, self.links, lowered=order == 1
        )
        return np.asarray(below + above)

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add to `gradient`, and return the part of the value."""
        placed = self.place(1, scores)
        moments, own = placed.moments(self.weight), np.zeros(self.rows.size)
        placed.add(self.scale, self.series(1, moments), self.weight, own)
        gradient[self.rows] += own
        costs, _ = meet(self.rules[1], COST[self.kind], moments, self.n_codes, self.links)
        return self.scale * float(np.vdot(costs, moments.values[0]))


class BoxedDerivative:
    """The derivatives of one query by boxes; the series of k alone are computed once."""

    def __init__(self, owner: _Query, order: int, scores: FloatArray) -> None:
        self._owner, self._order, self._boxes = owner, order, owner.place(order, scores)
        self._series = owner.series(order, self._boxes.moments(owner.weight))

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the sums of k (v_i - v_j), for v relative to its mean."""
        owner, placed = self._owner, self._boxes
        own, found = v[owner.rows], np.zeros(owner.rows.size)
        own -= own.mean()
        moved = placed.moments(owner.weight * own if owner.weight.size else own)
        less = owner.series(self._order, moved)
        placed.add(owner.scale, self._series, owner.weight, found, v=own, less=less)
        result[owner.rows] += found

    def diagonal(self, result: FloatArray) -> None:
        """Add the sums of k, of order 2."""
        owner, found = self._owner, np.zeros(self._owner.rows.size)
        self._boxes.add(owner.scale, self._series, owner.weight, found)
        result[owner.rows] += found


def _own_links(links: Links, first: int, stop: int) -> Links:
    """Return the links of the bands of one query, by their place in it."""
    if not links[1].size:
        return FULL
    own = []
    for codes, start in (links[:2], links[2:]):
        begin = start[first : stop + 1]
        own += [codes[begin[0] : begin[-1]] - first, begin - begin[0]]
    return own[0], own[1], own[2], own[3]
