"""Raykar's fast sum of erfc by Beaulieu's series: parameters from eps, clusters, evaluation.

The series (Eq. 5) is erfc's Fourier series on |s| < pi/(2h): erfc(s) ~ 1 - 4/pi sum over odd n of
exp(-n^2 h^2)/n sin(2 n h s). Sines of y - z separate into those of y - c and z - c (Eq. 8), so a
cluster of sources is p pairs of coefficients.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcinv

from pairrank._protocols import FloatArray
from pairrank.compiled.sigmoid import PROBIT_SCALE
from pairrank.pair_sums.sigmoid_pairs import Derivative, QuerySum
from pairrank.preferences import Levels
from pairrank.preferences._codes import counting_order

LEAST_EPS, GREATEST_EPS = 1e-16, 0.5
"""Smaller eps would be lost in rounding; larger ones would save nothing."""
_FINEST = 2.0**32
"""Points within this many half lengths of 0 can be on a grid; at most 2^-18 of one is lost."""


@dataclass(frozen=True)
class SeriesRule:
    """The parameters of Raykar 2007, Section 5, "Choosing parameters", for an error eps.

    *Proof that a source errs by less than eps.* Let e = erfcinv(eps), e' = erfcinv(eps/2), and
    r = r_x + r_y, with r_x the half length and r_y the cutoff.

    1. Beyond the cutoff |y - z| >= r_y - r_x > e, where erfc is within eps of 2 or 0.
    2. Within it |y - z| <= r. The full series is the mean of a square wave of half period pi/(2h)
       at y - z + N/sqrt(2), N normal, as erfc is that of one step; they differ by at most
       erfc(pi/(2h) - r), and pi/(2h) - r = r/2 + 1.5 e' > e' makes that eps/2 (Eq. 6, second term).
    3. The terms left out fall, convex in n, so their sum is at most 2/pi times the integral of
       exp(-x^2 h^2)/x from 2p, which is below erfc(2 p h)/(2 sqrt(pi) p h); by the choice of p this
       is at most eps/(8p). (Eq. 6 has erfc((2p + 1) h), which holds without the convexity only from
       2p - 1 on; the paper's p makes up for it many times over.)

    So the guarantee holds, with room to spare: pi/(2h) = r + e' would do in 2 (a third fewer
    terms), r_y = e + r_x in 1, and p could fall by what 3 leaves. We keep the paper's choice and
    use the room: clusters of points at large offsets need not be r_x to the last digit.
    """

    half_length: float
    """r_x = 0.1 erfcinv(eps): sources lie in clusters of length 2 r_x."""
    cutoff: float
    """r_y = erfcinv(eps) + 2 r_x: clusters whose centre is further from a target count 2 or 0."""
    step: float
    """2h = 2 pi / (3 (r + erfcinv(eps/2)))."""
    n_terms: int
    """p = ceil(erfcinv(sqrt(pi) h eps / 4) / (2h)), the odd n = 1 .. 2p - 1."""
    scale: float
    """The sum is of erfc(scale (y - z)): lengths are divided by it, the step multiplied."""

    @property
    def damping(self) -> FloatArray:
        """4/pi exp(-n^2 h^2)/n of each odd n, (n_terms,)."""
        n = 2.0 * np.arange(self.n_terms) + 1.0
        return 4.0 / np.pi * np.exp(-((0.5 * self.step / self.scale * n) ** 2)) / n


@functools.lru_cache(maxsize=64)
def series_rule(eps: float, scale: float = 1.0) -> SeriesRule:
    """Return the paper's parameters for an error eps per unit of weight, 0 < eps < 1.

    Examples
    --------
    >>> series_rule(1e-6).n_terms
    15
    """
    eps = min(max(eps, LEAST_EPS), GREATEST_EPS)
    edge = float(erfcinv(eps))
    half_length = 0.1 * edge
    cutoff = edge + 2.0 * half_length
    h = math.pi / (3.0 * (half_length + cutoff + float(erfcinv(0.5 * eps))))
    n_terms = math.ceil(float(erfcinv(0.25 * math.sqrt(math.pi) * h * eps)) / (2.0 * h))
    return SeriesRule(half_length / scale, cutoff / scale, 2.0 * h * scale, n_terms, scale)


@dataclass(frozen=True)
class Clusters:
    """Points in clusters of length 2 r_x; each holds a point, and the centres ascend."""

    order: NDArray[np.int32]
    """The points by cluster: those of cluster k are order[start[k] : start[k + 1]]."""
    start: NDArray[np.int64]
    """(n_clusters + 1,)"""
    centre: FloatArray
    """A number within r_x of each of the cluster's points, (n_clusters,)."""


def make_clusters(points: FloatArray, half_length: float) -> Clusters:
    """Cut the line uniformly into clusters, or the sorted points if they lie far apart.

    O(n) where a grid over the points' range has at most max(1024, 2n) cells, else O(n log n).
    """
    low, high = float(points.min()), float(points.max())
    cells = (high / (2.0 * half_length)) - (low / (2.0 * half_length))
    furthest = max(abs(low), abs(high))
    if cells <= max(1024, 2 * points.size) and furthest <= _FINEST * half_length:
        return _on_a_grid(points, low, half_length)
    from pairrank.compiled.beaulieu import follow_clusters

    order = np.argsort(points, kind="stable").astype(np.int32)
    start = np.empty(points.size + 1, dtype=np.int64)
    centre = np.empty(points.size)
    n_clusters = follow_clusters(points[order], half_length, start, centre)
    return Clusters(order, start[: n_clusters + 1].copy(), centre[:n_clusters].copy())


def _on_a_grid(points: FloatArray, low: float, half_length: float) -> Clusters:
    cell = points - low
    cell /= 2.0 * half_length
    cell_of = cell.astype(np.int32)
    order, starts = counting_order(cell_of, int(cell_of.max()) + 1)
    occupied = np.flatnonzero(np.diff(starts))
    start = np.append(starts[occupied], points.size)
    centre = low + (2.0 * occupied.astype(np.float64) + 1.0) * half_length
    return Clusters(order, start, centre)


class SeriesSum:
    """E(y) = sum_i q_i erfc(scale (y - z_i)) as series of clusters (Raykar 2007, Eqs. 7 to 11).

    `sources` z are finite, at least one; `weights` q are empty if all are 1. Points are never
    multiplied by `scale`, so that far points lose no digits. Costs O(n_sources p) to build and 16 p
    bytes per occupied cluster. The error at any target is at most eps sum |q|, by `SeriesRule`,
    plus 1e-14 sum |q| of rounding (2e-15 measured).
    """

    def __init__(
        self, sources: FloatArray, weights: FloatArray, eps: float, scale: float = 1.0
    ) -> None:
        from pairrank.compiled.beaulieu import series_of_clusters

        self.rule = rule = series_rule(eps, scale)
        clusters = make_clusters(sources, rule.half_length)
        self.centre = clusters.centre
        self.a = np.empty((self.centre.size, rule.n_terms))
        self.b = np.empty_like(self.a)
        self.total_after = np.empty(self.centre.size + 1)
        series_of_clusters(
            sources, weights, clusters.order, clusters.start, self.centre, rule.step, rule.damping,
            self.a, self.b, self.total_after,
        )  # fmt: skip

    def at(self, targets: FloatArray) -> FloatArray:
        """Return E at each target as the paper does, O(p l) each for l influential clusters."""
        from pairrank.compiled.beaulieu import series_at_targets

        out = np.empty(targets.size)
        series_at_targets(
            targets, self.centre, self.a, self.b, self.total_after, self.rule.step,
            self.rule.cutoff, out,
        )  # fmt: skip
        return out


IntArray = NDArray[np.int64]

ERFC_SCALE = PROBIT_SCALE * math.sqrt(0.5)
"""S(d) = erfc(-ERFC_SCALE d) / 2: the sqrt(3)/(sqrt(2) pi) before Eq. 3."""


class BeaulieuQueries:
    """The part of a probit pair sum whose gradient goes by Beaulieu's series between bands.

    A row's gradient is sums of erfc over the rows that it is compared with (E- and E+ of the paper,
    Section 4), by `SeriesSum.at`: two bands that are compared give one sum to each of their
    rows. The value, which the paper does not sum fast, and the derivatives at fixed scores are
    those of `boxed`, at the same eps.

    The error of a row's gradient is at most eps times the weight of its pairs: each sum has an
    error of eps per unit of weight (`SeriesRule`), and erfc counts half. Rounding adds 2e-14 of the
    weight of the row's pairs. Costs O(p l) for each row and band that it is compared with.
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
            as_winner[higher] -= 0.5 * series_of(low, False).at(own[higher])
            as_loser[lower] += win[higher].sum()
            as_loser[lower] -= 0.5 * series_of(high, True).at(own[lower])
        scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[query]
        gradient[levels.row_of[here]] += scale * (win * as_winner + lose * as_loser)

    def _pairs_of_bands(self, groups: IntArray) -> list[tuple[int, int]]:
        """Return the (low, high) bands of a query that are compared; groups begin bands."""
        edges = self._levels.edges
        if edges is None:
            return list(itertools.combinations(range(groups.size - 1), 2))
        own = edges[slice(*np.searchsorted(edges[:, 0], groups[[0, -1]]))] - groups[0]
        return [(low, high) for low, high in own.tolist()]
