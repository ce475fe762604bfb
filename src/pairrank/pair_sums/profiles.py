"""Profiles of the functions k(t - z) in fast sums, and the rules of box sums for an error eps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from pairrank._protocols import FloatArray

PRODUCT_EPS = 1e-6
"""The least error of products with the Hessian; only the gradient decides where Newton ends."""

_A = math.sqrt(3.0) / math.pi
_CRAMER = 2.0 * 1.0865 / math.sqrt(2.0 * math.pi)
_FAR = 40.0
"""The normal density is 0 beyond this many deviations; its square does not overflow there."""


@dataclass(frozen=True)
class Profile:
    """A function k(d) of a difference d = t - z between a target t and a source z."""

    name: str
    function: Callable[[FloatArray], FloatArray]
    """k, elementwise."""
    degree_error: Callable[[int, float], float]
    """``degree_error(p, h)`` bounds the error of interpolating k at p >= 2 Chebyshev nodes of an
    interval of length h, anywhere on the line."""
    tail: Callable[[float], float]
    """``tail(D)`` bounds the difference of k from its limit where abs(d) >= D."""
    left: tuple[float, float]
    right: tuple[float, float]
    """The limit (c, b) as d goes to minus or to plus infinity: k(d) tends to c + b d."""


def _logistic_error(order: int) -> Callable[[int, float], float]:
    """Return degree_error for the derivative of the sigmoid of this order; -1 is its integral.

    By the poles (2k - 1) pi i, the n-th derivative of the sigmoid is at most 2 n! times the sum of
    ((2k - 1) pi)^-(n+1).
    """

    def error(p: int, h: float) -> float:
        n = p + order
        odd_powers = float((1.0 - 2.0 ** -(n + 1)) * special.zeta(n + 1))
        derivative = 2.0 * math.factorial(n) * math.pi ** -(n + 1) * odd_powers
        return 2.0 * (h / 4.0) ** p * derivative / math.factorial(p)

    return error


def _normal_error(order: int, scale: float, factor: float) -> Callable[[int, float], float]:
    """Return degree_error for factor times the derivative of Phi(scale d) of this order in d.

    By Cramer's bound: the n-th derivative of Phi is at most 0.4335 sqrt((n - 1)!).
    """

    def error(p: int, h: float) -> float:
        n = p + order
        derivative = scale**n * math.sqrt(math.factorial(n - 1)) * _CRAMER / 2.0
        return factor * 2.0 * (h / 4.0) ** p * derivative / math.factorial(p)

    return error


def _density(x: FloatArray | float) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _probit_cost(d: FloatArray) -> FloatArray:
    x = _A * np.abs(d)
    return np.maximum(-d, 0.0) + (_density(x) - x * special.ndtr(-x)) / _A


def _decay(distance: float) -> float:
    return math.exp(-distance)


_ZERO = (0.0, 0.0)

SIGMOID = (
    Profile("sigmoid", special.expit, _logistic_error(0), _decay, _ZERO, (1.0, 0.0)),
    Profile(
        "normal", lambda d: special.ndtr(_A * d), _normal_error(0, _A, 1.0),
        lambda D: float(special.ndtr(-_A * D)), _ZERO, (1.0, 0.0),
    ),
)  # fmt: skip
"""S of each loss, by its code."""

COST = (
    Profile(
        "log-sigmoid", lambda d: -special.log_expit(d), _logistic_error(-1), _decay,
        (0.0, -1.0), _ZERO,
    ),
    Profile(
        "probit", _probit_cost, _normal_error(-1, _A, 1.0),
        lambda D: float(_density(_A * D)) / _A, (0.0, -1.0), _ZERO,
    ),
)  # fmt: skip
"""phi of each loss."""

CURVATURE = (
    Profile(
        "sigmoid slope", lambda d: special.expit(d) * special.expit(-d),
        _logistic_error(1), _decay, _ZERO, _ZERO,
    ),
    Profile(
        "normal slope", lambda d: _A * _density(_A * d), _normal_error(1, _A, 1.0),
        lambda D: _A * float(_density(_A * D)), _ZERO, _ZERO,
    ),
)  # fmt: skip
"""phi'' of each loss."""


DERIVATIVE = {1: SIGMOID, 2: CURVATURE}
"""The function whose sums give the derivatives of each order."""

ERFC = Profile(
    "erfc", special.erfc, _normal_error(0, math.sqrt(2.0), 2.0),
    lambda D: float(special.erfc(D)), (2.0, 0.0), _ZERO,
)  # fmt: skip
"""The complementary error function of t - z."""


LEAST_EPS = 1e-13
"""The smallest eps: below it, rounding dominates."""
MOST = 1e305
"""The largest absolute value of a score: divided by H, 2**-10 or more, it is finite."""
_DEGREES = (4, 8, 12, 16, 20)
_SPREAD = 10.0
"""The cheapest rule is chosen for scores of this spread."""


class BoxRule(NamedTuple):
    """The width of the boxes of a sum, and their moments."""

    width: float
    """H, a power of two, so that s/H is exact."""
    degree: int
    """P, the number of moments of a box."""
    near: int
    """W: boxes further apart than this use the limits of k."""


@functools.cache
def lebesgue(n: int) -> float:
    """Return the Lebesgue constant of interpolation at n Chebyshev nodes (of the first kind)."""
    return sum(1.0 / math.tan((2 * k - 1) * math.pi / (4 * n)) for k in range(1, n + 1)) / n


def error_bound(rule: BoxRule, profile: Profile) -> float:
    """Return a bound on the error of a box sum, as a multiple of the sum of abs(weights).

    Let J be interpolation at the P Chebyshev nodes of the box of the target (Jt) and of the source
    (Jz). Near boxes replace k(t - z) by Jt Jz k, far ones by the limit of k, which interpolation
    reproduces (it is affine). With L_P the Lebesgue constant, |J| <= L_P, and E_P(H) the error of
    one interpolation,

        |k - Jt Jz k| <= |k - Jt k| + |Jt (k - Jz k)| <= (1 + L_P) E_P(H),

    so the error of the sum is at most sum |q| times (1 + L_P) E_P(H) + tail(W H).

    The error of one interpolation is at most 2 (H/4)^P / P! times the greatest P-th derivative: for
    the logistic S, with x = H/(4 pi) and lam(n) the sum of (2k-1)^-n, it is (4/pi) x^P lam(P+1),
    for its integral (4/P) x^P lam(P), for its derivative 4 (P+1)/pi^2 x^P lam(P+2); for Phi(a d),
    with y = a H/4, it is 0.867 y^P sqrt((P-1)!)/P!, for its integral and derivative
    0.867/a y^P sqrt((P-2)!)/P! and 0.867 a y^P / sqrt(P!) (Cramer's bound), for erfc twice that of
    Phi with a = sqrt(2).

    Rounding adds about 1e-14 times the sum of abs(weights) and that of the absolute terms; terms
    that grow with t - z, across empty boxes, add one rounding per box.
    """
    near = (1.0 + lebesgue(rule.degree)) * profile.degree_error(rule.degree, rule.width)
    return near + profile.tail(rule.near * rule.width)


@functools.lru_cache(maxsize=256)
def box_rule(profiles: tuple[Profile, ...], eps: float, rows: float = 1000.0) -> BoxRule:
    """Return the cheapest rule whose `error_bound` is at most eps for each of the profiles.

    It is the cheapest for codes of so many rows. Costs some hundred evaluations of the bound, once.
    """
    eps = max(eps, LEAST_EPS)
    distance = 1.0
    while max(profile.tail(distance) for profile in profiles) > 0.05 * eps:
        distance += 0.25
    rules = (
        BoxRule(2.0**power, degree, math.ceil(distance / 2.0**power))
        for power in range(-10, 5)
        for degree in _DEGREES
    )

    def cost(rule: BoxRule) -> float:
        """Return the approximate nanoseconds of a code: three products of boxes, and its rows."""
        boxes = _SPREAD / rule.width + 1.0
        product = boxes * min(boxes, 2 * rule.near + 1) * rule.degree**2
        return 0.75 * product + 1.25 * rows * rule.degree

    return min(
        (rule for rule in rules if max(error_bound(rule, each) for each in profiles) <= eps),
        key=cost,
    )
