"""The box sum of one function: moments of sources, evaluated at targets."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pairrank.compiled import box_grid, boxes
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.profiles import FINE_DEGREE, MOST, BoxRule, Profile, box_rule

FloatArray = NDArray[np.float64]

_NO_WEIGHT = np.empty(0)
_NO_CODE = np.empty(0, dtype=np.int32)
FEW_BOXES = 1024
"""A grid has all boxes between the extremes if there are at most this many, or a quarter of the
points."""
POINTS_A_BOX = 4


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of a box sum's sources; those of parts of the sources add.

    Attributes
    ----------
    rule : BoxRule
    keys : float64 array of shape (n_boxes,)
        floor(floor(z / h) h / H) of each coarse box, ascending.
    values : float64 array of shape (n_boxes, P)
        The sums of weight * T_k(v) over each box, v from -1 to 1 over it.
    """

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

    Parameters
    ----------
    profile : Profile
        k.
    sources, targets : float64 arrays of shape (n_sources,) and (n_targets,)
        z and t, finite, of absolute values up to 1e305.
    weights : float64 array of shape (n_sources,), optional
        q, of any sign; None: 1 each.
    eps : float
        Between 0 and 1; raised to 1e-13 if smaller.

    Returns
    -------
    float64 array of shape (n_targets,)

    Notes
    -----
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
    q = _NO_WEIGHT if weights is None else weights
    first, count = span(boxes.least_and_greatest(sources), rule)
    if count * rule.children <= _most(sources.size):
        n_boxes = int(count) * rule.children
        fine = boxes.fine_moments(
            sources,
            _NO_CODE,
            q,
            0.0,
            1,
            1.0 / rule.fine,
            first * rule.children,
            n_boxes,
            _NO_CODE,
            _NO_WEIGHT,
        )
        keys = first + np.arange(count)
        values = box_grid.moments_up(fine, children_map(rule))
    else:
        keys, slot = occupied(rule, sources)
        values = boxes.coarse_moments(
            sources, _NO_CODE, q, 0.0, slot, 1, 1.0 / rule.fine, rule.children, keys.size,
            rule.degree,
        )  # fmt: skip
    return Moments(rule, keys, values.reshape(keys.size, rule.degree))


def evaluate(profile: Profile, targets: FloatArray, moments: Moments) -> FloatArray:
    """Return the sums at targets, (n_targets,) at least one, from the moments of all sources."""
    rule = moments.rule
    first, count = span(boxes.least_and_greatest(targets), rule)
    dense = count * rule.children <= _most(targets.size)
    if dense:
        keys, slot = first + np.arange(count), _NO_CODE
    else:
        keys, slot = occupied(rule, targets)
    series = np.empty(keys.size * rule.degree)
    box_grid.product(
        keys, moments.keys, moments.values.reshape(-1), coarse_blocks(profile, rule),
        limits_of(profile), rule.coarse, series,
    )  # fmt: skip
    result = np.zeros(targets.size)
    none = _NO_WEIGHT
    if dense:
        fine = box_grid.series_down(series, children_map(rule))
        boxes.add_fine(
            targets, _NO_CODE, none, none, 0.0, keys.size * rule.children, 1.0 / rule.fine,
            first * rule.children, 1.0, fine, none, result, _NO_CODE, none,
        )  # fmt: skip
    else:
        boxes.add_coarse(
            targets, _NO_CODE, none, none, 0.0, slot, 1.0 / rule.fine, rule.children, keys.size,
            rule.degree, 1.0, series, none, result,
        )  # fmt: skip
    return result


def product_of(profile: Profile, targets: Moments, sources: Moments) -> float:
    """Return the sum of q_i q_j k(t_i - z_j) over all targets and sources, from their moments."""
    rule = targets.rule
    series = np.empty(targets.values.size)
    box_grid.product(
        targets.keys, sources.keys, sources.values.reshape(-1), coarse_blocks(profile, rule),
        limits_of(profile), rule.coarse, series,
    )  # fmt: skip
    return float(series @ targets.values.reshape(-1))


def occupied(rule: BoxRule, points: FloatArray) -> tuple[FloatArray, NDArray[np.int32]]:
    """Return the keys of the coarse boxes with points, ascending, and each point's box index."""
    slot = np.empty(points.size, dtype=np.int32)
    keys = boxes.occupied_boxes(points, 1.0 / rule.fine, rule.children, slot)
    order = np.argsort(keys)
    place = np.empty(keys.size, dtype=np.int32)
    place[order] = np.arange(keys.size, dtype=np.int32)
    return keys[order], place[slot]


def span(extremes: FloatArray, rule: BoxRule) -> tuple[float, float]:
    """Return the key of the first coarse box and the number of boxes between the extremes.

    Raises a PairrankError where one is not finite or beyond `MOST`.
    """
    least, greatest = extremes.tolist()
    if not (least >= -MOST and greatest <= MOST):
        raise PairrankError(
            f"box sums need numbers between {-MOST:g} and {MOST:g}, got a range from {least:g} to "
            f"{greatest:g}; scale the features down"
        )
    first, last = (
        boxes.coarse_key(extreme, 1.0 / rule.fine, rule.children) for extreme in (least, greatest)
    )
    return first, last - first + 1.0


def _most(n_points: int) -> int:
    return max(FEW_BOXES, n_points // POINTS_A_BOX)


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
