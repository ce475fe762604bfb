"""Profiles of the functions k(t - z) in fast sums, and the rules of box sums for an error eps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pairrank.exceptions import PairrankError

FloatArray = NDArray[np.float64]

PRODUCT_EPS = 1e-6
"""The least error of products with the Hessian; only the gradient decides where Newton ends."""

_A = math.sqrt(3.0) / math.pi
_CRAMER = 2.0 * 1.0865 / math.sqrt(2.0 * math.pi)
_FAR = 40.0
"""The normal density is 0 beyond this many deviations; its square does not overflow there."""


class OutOfRangeError(PairrankError):
    """A number is not finite, or too large for box sums."""


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


def _odd_powers(n: int) -> float:
    """Return the sum of (2k - 1)^-n over k = 1, 2, .., n >= 2."""
    return float((1.0 - 2.0**-n) * special.zeta(n))


def _logistic_error(order: int) -> Callable[[int, float], float]:
    """Return degree_error for the derivative of the sigmoid of this order; -1 is its integral.

    By the poles (2k - 1) pi i, the n-th derivative of the sigmoid is at most 2 n! times the sum of
    ((2k - 1) pi)^-(n+1).
    """

    def error(p: int, h: float) -> float:
        n = p + order
        derivative = 2.0 * math.factorial(n) * math.pi ** -(n + 1) * _odd_powers(n + 1)
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


def _density(x: FloatArray) -> FloatArray:
    x = np.clip(x, -_FAR, _FAR)
    return np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _density_at(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _normal_tail(x: FloatArray) -> FloatArray:
    """Return pdf(x) - x Phi(-x) for x >= 0."""
    return _density(x) - x * special.ndtr(-x)


def _logistic_curvature(d: FloatArray) -> FloatArray:
    e = np.exp(-np.abs(d))
    return e / (1.0 + e) ** 2


def _logistic_bump(d: FloatArray) -> FloatArray:
    return np.log1p(np.exp(-np.abs(d)))


def _probit_bump(d: FloatArray) -> FloatArray:
    return _normal_tail(_A * np.abs(d)) / _A


def _probit_tail(distance: float) -> float:
    return _density_at(_A * distance) / _A


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
        "log-sigmoid", lambda d: np.maximum(-d, 0.0) + _logistic_bump(d),
        _logistic_error(-1), _decay, (0.0, -1.0), _ZERO,
    ),
    Profile(
        "probit", lambda d: np.maximum(-d, 0.0) + _probit_bump(d),
        _normal_error(-1, _A, 1.0), _probit_tail, (0.0, -1.0), _ZERO,
    ),
)  # fmt: skip
"""phi of each loss."""

EVEN = (
    Profile(
        "even log-sigmoid", lambda d: 0.5 * np.abs(d) + _logistic_bump(d),
        _logistic_error(-1), _decay, (0.0, -0.5), (0.0, 0.5),
    ),
    Profile(
        "even probit", lambda d: 0.5 * np.abs(d) + _probit_bump(d),
        _normal_error(-1, _A, 1.0), _probit_tail, (0.0, -0.5), (0.0, 0.5),
    ),
)  # fmt: skip
"""e(d) = phi(d) + d/2, which is even."""

CURVATURE = (
    Profile("sigmoid slope", _logistic_curvature, _logistic_error(1), _decay, _ZERO, _ZERO),
    Profile(
        "normal slope", lambda d: _A * _density(_A * d), _normal_error(1, _A, 1.0),
        lambda D: _A * _density_at(_A * D), _ZERO, _ZERO,
    ),
)  # fmt: skip
"""phi'' of each loss."""


def at_zero(profile: Profile) -> float:
    """Return k(0)."""
    return float(profile.function(np.zeros(1))[0])


DERIVATIVE = {1: SIGMOID, 2: CURVATURE}
"""The function whose sums give the derivatives of each order."""

ERFC = Profile(
    "erfc", special.erfc, _normal_error(0, math.sqrt(2.0), 2.0),
    lambda D: float(special.erfc(D)), (2.0, 0.0), _ZERO,
)  # fmt: skip
"""The complementary error function of t - z."""


FINE_DEGREE = 4
"""p: moments of a fine box. The compiled loops are unrolled for four."""
LEAST_EPS = 1e-13
"""The smallest eps: below it, rounding dominates."""
MOST = 1e305
"""The largest absolute value of a score: divided by h, 2**-10 or more, it is finite."""
_DEGREES = (4, 6, 8, 10, 12, 14, 16, 20)
_SPREAD = 16.0
"""The cheapest rule is chosen for scores of this spread."""


class BoxRule(NamedTuple):
    """The widths and degrees of a box sum."""

    fine: float
    """h, the width of a fine box, a power of two, so that s/h is exact."""
    coarse: float
    """H, the width of a coarse box, a power of two times h."""
    degree: int
    """P, moments of a coarse box; a fine box has `FINE_DEGREE`."""
    near: int
    """W: coarse boxes further apart than this use the limits of k."""

    @property
    def children(self) -> int:
        """The number of fine boxes in a coarse one."""
        return round(self.coarse / self.fine)


@functools.cache
def lebesgue(n: int) -> float:
    """Return the Lebesgue constant of interpolation at n Chebyshev nodes (of the first kind)."""
    return sum(1.0 / math.tan((2 * k - 1) * math.pi / (4 * n)) for k in range(1, n + 1)) / n


def error_bound(rule: BoxRule, profile: Profile) -> float:
    """Return a bound on the error of a box sum, as a multiple of the sum of abs(weights).

    Let I be interpolation at the p Chebyshev nodes of the fine box of the target (It) and of the
    source (Iz), J likewise at the P nodes of the coarse boxes. Near boxes replace k(t - z) by
    It Iz Jt Jz k, far ones by the limit of k, which interpolation reproduces (it is affine).
    With L_p the Lebesgue constant, |I| <= L_p, and E_p(h) the error of one interpolation,

        |k - It Iz k| <= |k - It k| + |It (k - Iz k)| <= (1 + L_p) E_p(h),
        |It Iz (k - Jt Jz k)| <= L_p^2 (1 + L_P) E_P(H),

    so the error of the sum is at most sum |q| times

        (1 + L_p) E_p(h) + L_p^2 (1 + L_P) E_P(H) + tail(W H).

    Sums without fine boxes have (1 + L_P) E_P(H) + tail(W H), which is less. The error of one
    interpolation is at most 2 (h/4)^p / p! times the greatest p-th derivative: for the logistic S,
    with x = h/(4 pi) and lam(n) the sum of (2k-1)^-n, it is (4/pi) x^p lam(p+1), for its integral
    (4/p) x^p lam(p), for its derivative 4 (p+1)/pi^2 x^p lam(p+2); for Phi(a d), with y = a h/4, it
    is 0.867 y^p sqrt((p-1)!)/p!, for its integral and derivative 0.867/a y^p sqrt((p-2)!)/p! and
    0.867 a y^p / sqrt(p!) (Cramer's bound), for erfc twice that of Phi with a = sqrt(2).

    Rounding adds about 1e-14 times the sum of abs(weights) and that of the absolute terms; terms
    that grow with t - z, across empty boxes, add one rounding per box.
    """
    p, tail = FINE_DEGREE, profile.tail(rule.near * rule.coarse)
    fine = (1.0 + lebesgue(p)) * profile.degree_error(p, rule.fine)
    return fine + _coarse_error(rule.degree, rule.coarse, profile) + tail


def _coarse_error(degree: int, width: float, profile: Profile) -> float:
    factor = lebesgue(FINE_DEGREE) ** 2 * (1.0 + lebesgue(degree))
    return factor * profile.degree_error(degree, width)


@functools.lru_cache(maxsize=256)
def box_rule(profiles: tuple[Profile, ...], eps: float) -> BoxRule:
    """Return the cheapest rule whose `error_bound` is at most eps for each of the profiles.

    Costs some hundred evaluations of the bound, once.
    """
    eps = max(eps, LEAST_EPS)
    distance = 1.0
    while max(profile.tail(distance) for profile in profiles) > 0.05 * eps:
        distance += 0.25
    best, least = None, math.inf
    for fine_log in range(-10, 3):
        fine = 2.0**fine_log
        share = (1.0 + lebesgue(FINE_DEGREE)) * max(
            profile.degree_error(FINE_DEGREE, fine) for profile in profiles
        )
        if share > 0.95 * eps:
            break
        for degree in _DEGREES:
            for coarse_log in range(fine_log, 5):
                coarse = 2.0**coarse_log
                rule = BoxRule(fine, coarse, degree, math.ceil(distance / coarse))
                if (cost := _cost(rule)) >= least:
                    continue
                rest = max(_coarse_error(degree, coarse, profile) for profile in profiles)
                if share + rest <= 0.95 * eps:
                    best, least = rule, cost
    assert best is not None
    return best


def _cost(rule: BoxRule) -> float:
    """Return the approximate nanoseconds of the part that does not depend on the rows."""
    boxes = _SPREAD / rule.coarse + 1.0
    product = boxes * min(boxes, 2 * rule.near + 1) * rule.degree**2 * 0.1
    return product + boxes * rule.children * (4.0 + rule.degree)
