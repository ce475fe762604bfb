"""The functions k of a difference that fast sums add up: their limits and how smooth they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]

LOGISTIC, PROBIT = 0, 1
"""The integer codes of the losses, as in `pairrank.compiled.sigmoids`."""

_A = math.sqrt(3.0) / math.pi
_CRAMER = 2.0 * 1.0865 / math.sqrt(2.0 * math.pi)
_FAR = 40.0
"""So many deviations out the normal density is nothing, and its square has no overflow."""


@dataclass(frozen=True)
class Profile:
    """A function k(d) of a difference d = t - z between a target t and a source z.

    Attributes
    ----------
    name : str
    function : callable
        k itself, elementwise.
    degree_error : callable
        ``degree_error(p, h)`` bounds the error of interpolating k at p Chebyshev nodes of an
        interval of length h, anywhere on the line; p >= 2.
    tail : callable
        ``tail(D)`` bounds what k differs by from its limit at abs(d) >= D.
    left, right : tuple of two floats
        The limit (c, b) as d goes to minus or to plus infinity: k(d) tends to c + b d.
    """

    name: str
    function: Callable[[FloatArray], FloatArray]
    degree_error: Callable[[int, float], float]
    tail: Callable[[float], float]
    left: tuple[float, float]
    right: tuple[float, float]


def _odd_powers(n: int) -> float:
    """Return the sum of (2k - 1)^-n over k = 1, 2, .., n >= 2."""
    return float((1.0 - 2.0**-n) * special.zeta(n))


def _logistic_error(order: int) -> Callable[[int, float], float]:
    """Return degree_error for the derivative of the sigmoid of this order; -1 is its integral.

    From the poles (2k - 1) pi i: the n-th derivative of the sigmoid is at most 2 n! times the sum
    of ((2k - 1) pi)^-(n+1).
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


def _logistic_bend(d: FloatArray) -> FloatArray:
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

BUMP = (
    Profile("log-sigmoid bump", _logistic_bump, lambda p, h: math.inf, _decay, _ZERO, _ZERO),
    Profile("probit bump", _probit_bump, lambda p, h: math.inf, _probit_tail, _ZERO, _ZERO),
)
"""phi(d) - max(0, -d), which has a kink at 0 and so no error bound."""

BEND = (
    Profile("sigmoid slope", _logistic_bend, _logistic_error(1), _decay, _ZERO, _ZERO),
    Profile(
        "normal slope", lambda d: _A * _density(_A * d), _normal_error(1, _A, 1.0),
        lambda D: _A * _density_at(_A * D), _ZERO, _ZERO,
    ),
)  # fmt: skip
"""phi'' of each loss."""

ERFC = Profile(
    "erfc", special.erfc, _normal_error(0, math.sqrt(2.0), 2.0),
    lambda D: float(special.erfc(D)), (2.0, 0.0), _ZERO,
)  # fmt: skip
"""The complementary error function of t - z."""
