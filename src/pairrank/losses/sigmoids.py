"""Logistic, probit and Raykar's mixture, the losses of RankNCG; exponential, that of RankBoost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from pairrank import _protocols
from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.losses._phi import MarginLoss

_SCALE = np.sqrt(3.0) / np.pi
"""a = sqrt(3)/pi, which gives the normal distribution the logistic's variance."""
_FAR, _DEPTH = 3.0, 60


@dataclass(frozen=True)
class Logistic(MarginLoss):
    r"""The logistic loss phi(d) = log(1 + exp(-d)) of Raykar 2007, Eq. 2.

    It is minus the logarithm of the probability 1/(1 + exp(-d)) that the preferred row wins, as in
    RankNet. Its derivatives are -S(-d) and S(d) S(-d) with S(d) = 1/(1 + exp(-d)).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Logistic
    >>> Logistic().phi(np.array([-1e300, 0.0, 1e300]))
    array([1.00000000e+300, 6.93147181e-001, 0.00000000e+000])
    """

    family = Sigmoidal(value="logistic", slope="logistic")
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        if order == 0:
            return -special.log_expit(d)
        if order == 1:
            return -special.expit(-d)
        below = np.exp(-np.abs(d))  # several times as fast as two sigmoids
        return below / np.square(1.0 + below)


@dataclass(frozen=True)
class Probit(MarginLoss):
    r"""The probit loss phi(d) = (pdf(a d) - a d Phi(-a d)) / a, a = sqrt(3)/pi.

    Raykar 2007 replaces the logistic's derivative -S(-d) by -erfc(a d/sqrt(2))/2 = -Phi(-a d)
    (Eq. 3), Phi the normal distribution. This phi is the convex function with that derivative, so
    the paper's approximate gradient is the exact gradient of this loss. The second derivative is
    a pdf(a d).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Probit
    >>> Probit().phi(np.array([-1e300, 0.0, 1e300]), order=1)
    array([-1. , -0.5, -0. ])
    """

    family = Sigmoidal(value="probit", slope="probit")
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        if order == 0:
            return np.maximum(-d, 0.0) + _normal_tail(_SCALE * np.abs(d)) / _SCALE
        if order == 1:
            return -special.ndtr(-_SCALE * d)
        return _SCALE * _normal_density(_SCALE * d)


@dataclass(frozen=True)
class Raykar(MarginLoss):
    r"""The paper's mixture: the value of the logistic loss, the gradient of the probit loss.

    phi is log(1 + exp(-d)) (Raykar 2007, Section 3); its derivatives are those of `Probit` (Eq. 3).
    The derivatives of the two losses differ by less than 0.023. A line search must use gradients
    only, and the descent ends at the optimum of `Probit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Logistic, Raykar
    >>> d = np.linspace(-9.0, 9.0, 1001)
    >>> float(abs(Raykar().phi(d, order=1) - Logistic().phi(d, order=1)).max()) < 0.023
    True
    """

    family = Sigmoidal(value="logistic", slope="probit")
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        return (Logistic() if order == 0 else Probit()).phi(d, order=order)


def _normal_density(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


def _normal_tail(x: FloatArray) -> FloatArray:
    """Return pdf(x) - x Phi(-x) for x >= 0, the integral of the normal distribution's tail.

    For large x the two terms nearly cancel. Mills' ratio is 1/(x + k) with
    k = 1/(x + 2/(x + 3/(x + ..))), so the difference is pdf(x) k/(x + k).
    """
    k = np.zeros_like(x)
    far = np.maximum(x, _FAR)
    for n in range(_DEPTH, 0, -1):
        k = n / (far + k)
    with np.errstate(under="ignore"):
        direct = _normal_density(x) - np.minimum(x, _FAR) * special.ndtr(-x)
        return np.where(x < _FAR, direct, _normal_density(x) * (k / (far + k)))


@dataclass(frozen=True)
class Exponential(MarginLoss):
    r"""The exponential loss phi(d) = exp(-d) of RankBoost (Freund et al. 2003).

    A pair in the wrong order costs far more than with the other losses.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Exponential
    >>> Exponential().phi(np.array([0.0, 1000.0]), order=1)
    array([-1., -0.])
    """

    family = _protocols.Exponential()
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            cost = np.exp(-d)
        return -cost if order == 1 else cost
