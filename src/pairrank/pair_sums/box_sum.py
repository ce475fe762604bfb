"""Box sums of one function: points in boxes, their moments, and the sums at points."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pairrank import threads
from pairrank.compiled import box_grid, boxes
from pairrank.pair_sums._bound import range_of
from pairrank.pair_sums.profiles import (
    FINE_DEGREE,
    MOST,
    BoxRule,
    OutOfRangeError,
    Profile,
    box_rule,
)
from pairrank.pair_sums.sigmoid_pairs import NONE

FloatArray = NDArray[np.float64]

Code = NDArray[np.uint8] | NDArray[np.int32]

NO_CODE = np.empty(0, dtype=np.uint8)
_NO_SLOT = np.empty(0, dtype=np.int32)
_NO_ROWS = np.empty(0, dtype=np.int64)
FEW_BOXES = 4096
"""All fine boxes between the extremes are used if there are at most this many, or half as many as
points: that is faster. Else only coarse boxes with points are used."""

ROWS_A_BLOCK, MOST_BLOCKS = 1 << 16, 16
"""Threads share the points in at most so many blocks of at least so many points."""
_POINTS_PER_ENTRY = 16
"""The least points per entry of a table of moments, so that adding tables costs little."""


FEW_FAR, _SAMPLE, _REACH = 64, 1000, 4.0
"""At most so many points may be far from the others: from the middle 4/5 of a sample, by more than
four times its spread."""


class Boxes:
    """Points in the boxes of a rule, with moments of the boxes and sums at the points.

    Parameters
    ----------
    rule : BoxRule
    points : float64 array of shape (n,)
    code : uint8 or int32 array of shape (n,) or (0,)
        Points of different codes are in separate boxes; empty if all codes are 0.
    n_codes : int

    Attributes
    ----------
    keys : float64 array of shape (n_boxes,)
        floor(floor(z / h) h / H) of each coarse box, ascending.

    Raises
    ------
    OutOfRangeError
        If a point is not finite or beyond `MOST`.
    """

    def __init__(
        self,
        rule: BoxRule,
        points: FloatArray,
        code: Code = NO_CODE,
        n_codes: int = 1,
    ) -> None:
        self.rule, self.points, self.code, self.n_codes = rule, points, code, n_codes
        self._slot = _NO_SLOT
        least, greatest = range_of(points)
        if not (least >= -MOST and greatest <= MOST):
            raise OutOfRangeError(
                f"box sums need numbers between {-MOST:g} and {MOST:g}, got a range from {least:g} "
                f"to {greatest:g}; scale the features down"
            )
        first, last = _coarse_keys(np.array((least, greatest)), rule)
        far = _NO_ROWS if self._fits(last - first + 1.0) else _far_rows(points)
        if far.size:
            near = points.copy()
            near[far] = points[np.setdiff1d(np.arange(far.size + 1), far)[0]]
            first, last = _coarse_keys(np.array(range_of(near)), rule)
        self.keys, below = np.empty(0), np.empty(0)
        self._dense = self._fits(last - first + 1.0 + far.size)
        if self._dense:
            self.keys = first + np.arange(last - first + 1.0)
            if far.size:
                below, above = self._move_near(near, far, first, last)
                self.keys = np.concatenate((below, self.keys, above))
            lowest = (first - below.size) * rule.children
            self._fine = 1.0 / rule.fine, lowest, self.keys.size * rule.children
            self._blocks = self._cut(self._fine[2] * 4)
        else:
            slot = np.empty(points.size, dtype=np.int32)
            keys = boxes.occupied_boxes(points, 1.0 / rule.fine, rule.children, slot)
            self.keys, place = np.unique(keys, return_inverse=True)
            self._slot = place.astype(np.int32)[slot]
            self._blocks = self._cut(self.keys.size * rule.degree)

    def _fits(self, n_boxes: float) -> bool:
        """Return whether all of so many coarse boxes are used."""
        most = max(FEW_BOXES, self.points.size // 2)
        return n_boxes * self.n_codes * self.rule.children <= most

    def _move_near(
        self, near: FloatArray, far: NDArray[np.int64], first: float, last: float
    ) -> tuple[FloatArray, FloatArray]:
        """Place far points in boxes beside those from `first` to `last`.

        Return the true keys of the boxes below and above. `near` becomes the points.
        """
        children, place = float(self.rule.children), self.points[far] / self.rule.fine
        key = _coarse_keys(self.points[far], self.rule)
        names = np.unique(key)
        below, above = names[names < first], names[names > last]
        moved = np.where(key < first, first - below.size + np.searchsorted(below, key), key)
        moved = np.where(key > last, last + 1.0 + np.searchsorted(above, key), moved)
        end = np.nextafter((moved + 1.0) * children, -np.inf)
        near[far] = np.minimum(moved * children + (place - key * children), end) * self.rule.fine
        self.points = near
        return below, above

    def _cut(self, n_entries: int) -> list[slice]:
        """Return blocks of points, whose borders depend on sizes only; n_entries for each code."""
        n_points, least = self.points.size, _POINTS_PER_ENTRY * n_entries * self.n_codes
        return threads.blocks(n_points, max(ROWS_A_BLOCK, least, -(-n_points // MOST_BLOCKS)))

    def moments(self, weight: FloatArray, shift: float = 0.0) -> FloatArray:
        """Return the moments of all codes for weight - shift, (n,); an empty weight is 1."""
        rule, n_codes, width = self.rule, self.n_codes, 1.0 / self.rule.fine

        def moments_of(rows: slice) -> FloatArray:
            here = (self.points[rows], self.code[rows], weight[rows], shift)
            if self._dense:
                return boxes.fine_moments(*here, n_codes, *self._fine)
            return boxes.coarse_moments(
                *here, self._slot[rows], n_codes, width, rule.children, self.keys.size, rule.degree
            )

        total, *others = threads.run(moments_of, self._blocks)
        for other in others:
            total += other
        return box_grid.moments_up(total, children_map(rule)) if self._dense else total

    def add(
        self,
        factor: float,
        series: FloatArray,
        weight: FloatArray,
        result: FloatArray,
        *,
        v: FloatArray = NONE,
        shift: float = 0.0,
        less: FloatArray = NONE,
    ) -> None:
        """Add factor * weight * F, or factor * weight * ((v - shift) F - G), to `result`.

        F and G are `series` and `less` evaluated at the points; all arrays are (n,).
        """
        rule = self.rule
        down = (factor * series, factor * less)
        if self._dense:
            up, fine = children_map(rule), (self._fine[2], *self._fine[:2])
            down = (box_grid.series_down(down[0], up), box_grid.series_down(down[1], up))

        def add_to(rows: slice) -> None:
            here = (self.points[rows], self.code[rows], weight[rows], v[rows], shift)
            if self._dense:
                boxes.add_fine(*here, *fine, *down, result[rows])
            else:
                boxes.add_coarse(
                    *here, self._slot[rows], 1.0 / rule.fine, rule.children, self.keys.size,
                    rule.degree, *down, result[rows],
                )  # fmt: skip

        threads.run(add_to, self._blocks)


def _coarse_keys(points: FloatArray, rule: BoxRule) -> FloatArray:
    """Return the keys of the coarse boxes of a few points, as `boxes.coarse_key` does.

    The width of fine boxes is a power of 2, so that division and product are equal.
    """
    return np.floor(np.floor(points / rule.fine) / rule.children)


def _far_rows(points: FloatArray) -> NDArray[np.int64]:
    """Return the points far from the others, or none if there are more than `FEW_FAR`."""
    low, high = np.quantile(points[:: max(1, points.size // _SAMPLE)], (0.1, 0.9))
    reach = _REACH * (high - low)
    far = np.flatnonzero((points < low - reach) | (points > high + reach))
    return far if far.size <= FEW_FAR else _NO_ROWS


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of a box sum's sources, (n_boxes, P), by box; those of parts of them add."""

    rule: BoxRule
    keys: FloatArray
    values: FloatArray

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of sources together."""
        keys = np.union1d(self.keys, other.keys)
        values = np.zeros((keys.size, self.rule.degree))
        for part in (self, other):
            values[np.searchsorted(keys, part.keys)] += part.values
        return Moments(self.rule, keys, values)


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

    Costs O(n_sources + n_targets) and the product of the coarse boxes, whose number depends on the
    spread only. The bound is `pairrank.pair_sums.profiles.error_bound`; rounding adds about 1e-14
    times the sums of abs(q) and of abs(q k).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.pair_sums.box_sum import box_sum
    >>> from pairrank.pair_sums.profiles import ERFC
    >>> box_sum(ERFC, np.zeros(1000), np.array([-9.0, 0.0, 9.0])).round(3)
    array([2000., 1000.,    0.])
    """
    if not sources.size or not targets.size:
        return np.zeros(targets.size)
    rule = box_rule((profile,), eps)
    return evaluate(profile, targets, summarise(rule, sources, weights))


def summarise(rule: BoxRule, sources: FloatArray, weights: FloatArray | None = None) -> Moments:
    """Return the moments of sources, (n_sources,) at least one, O(n_sources)."""
    placed = Boxes(rule, sources)
    values = placed.moments(NONE if weights is None else weights)
    return Moments(rule, placed.keys, values.reshape(-1, rule.degree))


def evaluate(profile: Profile, targets: FloatArray, moments: Moments) -> FloatArray:
    """Return the sums at targets, (n_targets,) at least one, from the moments of all sources."""
    placed, result = Boxes(moments.rule, targets), np.zeros(targets.size)
    placed.add(1.0, _series_at(profile, placed.keys, moments), NONE, result)
    return result


def product_of(profile: Profile, targets: Moments, sources: Moments) -> float:
    """Return the sum of q_i q_j k(t_i - z_j) over all targets and sources, from their moments."""
    return float(_series_at(profile, targets.keys, sources) @ targets.values.reshape(-1))


def _series_at(profile: Profile, keys: FloatArray, sources: Moments) -> FloatArray:
    """Return the series of the boxes with these keys, (n_boxes * P,)."""
    rule = sources.rule
    series = np.empty(keys.size * rule.degree)
    box_grid.product(
        keys, sources.keys, sources.values.reshape(-1), coarse_blocks(profile, rule),
        limits_of(profile), rule.coarse, series,
    )  # fmt: skip
    return series


def _nodes(n: int) -> FloatArray:
    return np.cos((np.arange(n) + 0.5) * np.pi / n)


def _to_coefficients(n: int) -> FloatArray:
    """Return the matrix from values at n Chebyshev nodes to Chebyshev coefficients: a DCT."""
    degree, node = np.arange(n)[:, np.newaxis], np.arange(n) + 0.5
    matrix = 2.0 / n * np.cos(degree * node * np.pi / n)
    matrix[0] *= 0.5
    return matrix


@functools.lru_cache(maxsize=64)
def coarse_blocks(profile: Profile, rule: BoxRule) -> FloatArray:
    """Return k between coarse boxes as coefficients of T_a(target) T_b(source).

    The shape is (P, (2W + 1) P): row a has the sources from W boxes below to W above the target's,
    b fastest, so that every output of a product is one contiguous dot product. Read only.
    """
    n, near = rule.degree, rule.near
    node = _nodes(n)
    away = np.arange(-near, near + 1)[:, np.newaxis, np.newaxis]
    within = 0.5 * (node[:, np.newaxis] - node)
    values = profile.function(rule.coarse * (within - away))
    coefficients = np.einsum("ai,bj,dij->adb", *2 * (_to_coefficients(n),), values, optimize=True)
    blocks = np.ascontiguousarray(coefficients).reshape(n, -1)
    blocks.flags.writeable = False
    return blocks


@functools.lru_cache(maxsize=64)
def limits_of(profile: Profile) -> FloatArray:
    """Return (c, b) on the left and on the right as one array, (4,)."""
    limits = np.array([*profile.left, *profile.right])
    limits.flags.writeable = False
    return limits


@functools.lru_cache(maxsize=64)
def children_map(rule: BoxRule) -> FloatArray:
    """Return T_b of a coarse box as polynomials of u in its fine boxes, (P, children p).

    u goes from -1/2 to 1/2 over a fine box; powers of u are fastest. The map takes moments from
    fine to coarse boxes and polynomials back. Read only.
    """
    child = np.arange(rule.children)[:, np.newaxis]
    v = (2.0 * child + 1.0 + _nodes(FINE_DEGREE)) / rule.children - 1.0
    values = chebyshev.chebvander(v, rule.degree - 1)
    to_powers = np.zeros((FINE_DEGREE, FINE_DEGREE))
    for degree in range(FINE_DEGREE):
        powers = chebyshev.cheb2poly([0.0] * degree + [1.0])
        to_powers[: degree + 1, degree] = powers * 2.0 ** np.arange(degree + 1)
    fitted = to_powers @ _to_coefficients(FINE_DEGREE)
    result = np.ascontiguousarray(np.einsum("ki,cib->bck", fitted, values))
    result = result.reshape(rule.degree, -1)
    result.flags.writeable = False
    return result
