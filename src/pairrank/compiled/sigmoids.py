"""One pair's sigmoid S, cost phi and curvature phi'' by an integer code, for compiled loops.

Every loss here has phi'(d) = S(d) - 1 = -S(-d) with S increasing from 0 to 1, S(-d) = 1 - S(d) and
phi(-d) = phi(d) + d; d is the margin of a pair. All are finite where their values are, at margins
of 1e300 too, and as exact as their rounding allows wherever they decay.
"""

from __future__ import annotations

import math

from pairrank.compiled._jit import compiled

LOGISTIC = 0
"""S(d) = 1 / (1 + exp(-d)), phi(d) = log(1 + exp(-d))."""
PROBIT = 1
"""S(d) = Phi(a d), phi(d) = (pdf(a d) - a d Phi(-a d)) / a with a = PROBIT_SCALE, Phi the normal
distribution: what Raykar 2007 puts in the logistic's place (before Eq. 3)."""

PROBIT_SCALE = math.sqrt(3.0) / math.pi
"""a = sqrt(3)/pi, which gives the normal distribution the logistic's variance."""
_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
_FAR = 3.0
"""From here on the difference in probit's tail is taken as a continued fraction."""
_DEPTH = 60


@compiled
def sigmoid(kind, d):
    """Return S(d); 1 - S(d) is best had as S(-d)."""
    if kind == PROBIT:
        return 0.5 * math.erfc(-PROBIT_SCALE * _ROOT_HALF * d)
    e = math.exp(-abs(d))
    return (1.0 if d >= 0.0 else e) / (1.0 + e)


@compiled
def cost(kind, d):
    """Return phi(d), a pair's cost."""
    ramp = -d if d < 0.0 else 0.0
    if kind == PROBIT:
        return ramp + normal_tail(PROBIT_SCALE * abs(d)) / PROBIT_SCALE
    return ramp + math.log1p(math.exp(-abs(d)))


@compiled
def bend(kind, d):
    """Return phi''(d) = S'(d)."""
    if kind == PROBIT:
        x = PROBIT_SCALE * d
        return PROBIT_SCALE * _DENSITY * math.exp(-0.5 * x * x)
    e = math.exp(-abs(d))
    return e / ((1.0 + e) * (1.0 + e))


@compiled
def normal_tail(x):
    """Return pdf(x) - x Phi(-x) for x >= 0, the normal distribution's tail integrated.

    Far out the two nearly cancel: with Mills' ratio 1/(x + k), k = 1/(x + 2/(x + 3/(x + ..))), the
    difference is pdf(x) k/(x + k).
    """
    density = _DENSITY * math.exp(-0.5 * x * x)
    if x < _FAR:
        return density - 0.5 * x * math.erfc(_ROOT_HALF * x)
    k = 0.0
    for n in range(_DEPTH, 0, -1):
        k = n / (x + k)
    return density * (k / (x + k))
