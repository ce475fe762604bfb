"""Tables of a box sum: blocks between coarse boxes, and the map from fine boxes to a coarse one."""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pairrank.pair_sums.box_rule import FINE_DEGREE, BoxRule
from pairrank.pair_sums.profiles import Profile

FloatArray = NDArray[np.float64]


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

    Of shape (P, (2W + 1) P): row a, for the sources W boxes below to W above the target's, b
    fastest, so that every output of a product is one contiguous dot product. Read only.
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

    u goes from -1/2 to 1/2 over a fine box; powers of u fastest. Moments go up and polynomials go
    down by it. Read only.
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
