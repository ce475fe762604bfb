"""Box sums: points in boxes, their moments, which add, and the sums at points."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import boxes
from pairrank.pair_sums._bound import Links, range_of
from pairrank.pair_sums.profiles import BoxRule, Profile, box_rule
from pairrank.pair_sums.sigmoid_pairs import NONE

IntArray = NDArray[np.int64]

NO_CODE = np.empty(0, dtype=np.int32)
FEW_BOXES = 4096
"""Boxes are found by counting if there are at most this many between the extremes, or twice as many
as points, for all codes; else by sorting."""
ROWS_A_BLOCK, MOST_BLOCKS = 1 << 16, 16
"""Threads share the points in at most so many blocks of at least so many points."""
_POINTS_PER_ENTRY = 16
"""The least points per entry of a table of moments, so that adding tables costs little."""


MOST_MOMENTS = 1 << 24
"""More moments of a side than this, 128 MB, mean that points are too far apart."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of points by entry: a box that has points of a code; those of parts add."""

    code: IntArray
    """(n_entries,), ascending."""
    keys: FloatArray
    """floor(z / H) of each entry's box, ascending within each code."""
    values: FloatArray
    """By side, entry and moment, (n_sides, n_entries, P)."""

    def merged(self, other: Moments) -> Moments | None:
        """Return the moments of both sets of points; None where they are too far apart."""
        named = [each.code + 1j * each.keys for each in (self, other)]
        names = np.union1d(*named)
        if names.size * self.values.shape[2] > MOST_MOMENTS:
            return None
        values = np.zeros((len(self.values), names.size, self.values.shape[2]))
        for each, name in zip((self, other), named, strict=True):
            values[:, np.searchsorted(names, name)] += each.values
        return Moments(names.real.astype(np.int64), names.imag.copy(), values)

    def at(self, placed: Boxes) -> FloatArray:
        """Return the values of the entries of some of the points, 0 for others: (n_sides, n, P)."""
        names, wanted = (each.code + 1j * each.keys for each in (self, placed))
        place = np.searchsorted(names, wanted).clip(max=names.size - 1)
        return self.values[:, place] * (names[place] == wanted)[:, np.newaxis]


class Boxes:
    """Points in the boxes of a rule, with moments of the boxes and sums at the points.

    `points` (n,), at least one; `code` (n,) int32, below `n_codes`, or empty if all are 0: points
    of different codes have entries of their own. `code` and `keys` (n_entries,) then are those of
    the entries. Points are finite and at most `MOST`.

    Costs O(n), or O(n log n) where points lie so far apart that there are more boxes than points.
    """

    def __init__(
        self, rule: BoxRule, points: FloatArray, code: NDArray[np.int32] = NO_CODE, n_codes: int = 1
    ) -> None:
        self.rule, self.points, self.n_codes = rule, points, n_codes
        least, greatest = range_of(points)
        first, last = np.floor(least / rule.width), np.floor(greatest / rule.width)
        n_boxes = (last - first + 1.0) * n_codes
        if n_boxes <= max(FEW_BOXES, 2 * points.size):
            n_boxes = int(last - first) + 1
            entry = np.empty(points.size, dtype=np.int32)
            is_used = np.zeros(n_boxes * n_codes, dtype=bool)
            shares = threads.blocks(points.size, ROWS_A_BLOCK)
            threads.run(
                lambda rows: boxes.find_boxes(
                    points[rows], code[rows], 1.0 / rule.width, first, n_boxes, entry[rows], is_used
                ),
                shares,
            )
            used = np.flatnonzero(is_used)
            self.code, self.keys = used // n_boxes, first + used % n_boxes
            number = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
            threads.run(lambda rows: boxes.renumber(number, entry[rows]), shares)
        else:
            key = np.floor(points / rule.width)
            names, at = np.unique((code if code.size else 0) + 1j * key, return_inverse=True)
            self.code, self.keys = names.real.astype(np.int64), names.imag.copy()
            entry = at.astype(np.int32)
        self._entry = entry
        n_entries = self.keys.size * rule.degree
        least_rows = max(
            ROWS_A_BLOCK, _POINTS_PER_ENTRY * n_entries, -(-points.size // MOST_BLOCKS)
        )
        self._blocks = threads.blocks(points.size, least_rows)

    def moments(self, *weights: FloatArray) -> Moments:
        """Return the moments for several weights, as if of several sides; an empty one is 1."""
        size = self.keys.size, self.rule.degree

        def moments_of(rows: slice) -> FloatArray:
            found, part = np.zeros((len(weights), *size)), np.zeros(size)
            for weight, total in zip(weights, found, strict=True):
                boxes.add_moments(
                    self.points[rows], self._entry[rows], self.keys, weight[rows],
                    1.0 / self.rule.width, part, total,
                )  # fmt: skip
            return found

        total, *others = threads.run(moments_of, self._blocks)
        for other in others:
            total += other
        return Moments(self.code, self.keys, total)

    def add(self, series: FloatArray, weight: FloatArray, result: FloatArray) -> None:
        """Add weight * F to `result`: F is `series`, (n_entries, P), at the points; others (n,)."""

        def add_to(rows: slice) -> None:
            boxes.add_series(
                self.points[rows], self._entry[rows], self.keys, weight[rows],
                1.0 / self.rule.width, series, result[rows],
            )  # fmt: skip

        threads.run(add_to, self._blocks)


def meet(
    rule: BoxRule,
    profile: Profile,
    moments: Moments,
    query_code: IntArray,
    links: Links,
    *,
    above: bool,
    lowered: bool = False,
) -> FloatArray:
    """Return the series of each entry over the losers below its code, or the winners above it.

    `query_code` (n_queries + 1,): where the codes of each query begin. The first side of the
    moments is that of winners, the last that of losers. `lowered` subtracts the weight of the
    sources. The result is (n_entries, P). Costs O(entries) products of some boxes, and
    O(codes * boxes) of each query.
    """
    start = np.searchsorted(moments.code, np.arange(query_code[-1] + 1))
    sources = np.ascontiguousarray(moments.values[0 if above else -1]).ravel()
    result = np.empty(sources.size)
    boxes.meet(
        query_code, moments.keys, start, sources, above, *(links[2:] if above else links[:2]),
        blocks_of(profile, rule), limits_of(profile), rule.width, lowered,
        np.empty((2, moments.keys.size)), np.empty(sources.size), result,
    )  # fmt: skip
    return result.reshape(-1, rule.degree)


def box_sum(
    profile: Profile,
    sources: FloatArray,
    targets: FloatArray,
    weights: FloatArray | None = None,
    *,
    eps: float = 1e-6,
) -> FloatArray:
    """Return sum_j q_j k(t_i - z_j) at every target t_i, to eps times the sum of abs(q).

    sources z (n_sources,) and targets t (n_targets,) have absolute values up to 1e305. weights q
    (n_sources,) are of any sign; None: 1 each. eps is below 1 and raised to 1e-13 if smaller.

    Costs O(n_sources + n_targets) and the product of the boxes, whose number depends on the spread
    only. The bound is `pairrank.pair_sums.profiles.error_bound`; rounding adds about 1e-14 times
    the sums of abs(q) and of abs(q k).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.pair_sums.box_sum import box_sum
    >>> from pairrank.pair_sums.profiles import ERFC
    >>> box_sum(ERFC, np.zeros(1000), np.array([-9.0, 0.0, 9.0])).round(3)
    array([2000., 1000.,    0.])
    """
    result = np.zeros(targets.size)
    if sources.size and targets.size:
        rule = box_rule((profile,), eps, 2.0 ** round(math.log2(sources.size)))
        moments = Boxes(rule, sources).moments(NONE if weights is None else weights)
        placed = Boxes(rule, targets)
        series = np.empty(placed.keys.size * rule.degree)
        boxes.product(
            placed.keys, moments.keys, moments.values.reshape(-1), blocks_of(profile, rule),
            limits_of(profile), rule.width, series,
        )  # fmt: skip
        placed.add(series.reshape(-1, rule.degree), NONE, result)
    return result


@functools.lru_cache(maxsize=64)
def blocks_of(profile: Profile, rule: BoxRule) -> FloatArray:
    """Return k between boxes as coefficients of T_a(target) T_b(source).

    The shape is (P, (2W + 1) P): row a has the sources from W boxes below to W above the target's,
    b fastest, so that every output of a product is one contiguous dot product. Read only.
    """
    n, near = rule.degree, rule.near
    node = chebyshev.chebpts1(n)
    to_coefficients = 2.0 / n * chebyshev.chebvander(node, n - 1).T
    to_coefficients[0] *= 0.5
    away = np.arange(-near, near + 1)[:, np.newaxis, np.newaxis]
    within = 0.5 * (node[:, np.newaxis] - node)
    values = profile.function(rule.width * (within - away))
    coefficients = np.einsum("ai,bj,dij->adb", *2 * (to_coefficients,), values, optimize=True)
    blocks = np.ascontiguousarray(coefficients).reshape(n, -1)
    blocks.flags.writeable = False
    return blocks


@functools.lru_cache(maxsize=64)
def limits_of(profile: Profile) -> FloatArray:
    """Return (c, b) on the left and on the right as one array, (4,)."""
    limits = np.array([*profile.left, *profile.right])
    limits.flags.writeable = False
    return limits
