"""Losses of differences: the square of RankRLS and MPRank, the tube of SVRank and MPRank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, Squares, Tubes
from pairrank.exceptions import PairrankError
from pairrank.losses._phi import checked_order


@dataclass(frozen=True)
class Square:
    r"""The squared error (magnitude - d)^2 of Airola et al. 2010, Eqs. 3 and 9.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Square
    >>> Square().phi(np.array([-1.0, 0.5, 3.0]), magnitude=1.0)
    array([4.  , 0.25, 4.  ])
    """

    family = Squares()
    smooth = True

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each difference d, or its first or second derivative by d."""
        over = magnitude - np.asarray(d, dtype=np.float64)
        if checked_order(order) == 0:
            return over * over
        if order == 1:
            return -2.0 * over
        return np.full_like(over, 2.0)


@dataclass(frozen=True)
class Tube:
    r"""The :math:`\varepsilon`-insensitive cost of a difference (Cortes et al. 2007, Eq. 9).

    .. math:: \varphi(d) = \max(0, |\mathrm{magnitude} - d| - \varepsilon)^n

    Parameters
    ----------
    epsilon : float, default=0.1
        The error of a score difference that costs nothing; 0 gives c_MP of Eq. 7.
    n : {1, 2}, default=1
        The power. With 1 the loss has kinks, with subgradient 0; with 2 it has a gradient
        everywhere and a generalised Hessian.

    Raises
    ------
    PairrankError
        If epsilon is negative or not finite, or n is not 1 or 2.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Tube
    >>> Tube(epsilon=0.5).phi(np.array([-1.0, 0.5, 3.0]), magnitude=1.0)
    array([1.5, 0. , 1.5])
    """

    epsilon: float = 0.1
    n: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon < np.inf:
            raise PairrankError(f"epsilon must be finite and at least 0 (got {self.epsilon!r})")
        if self.n not in (1, 2):
            raise PairrankError(f"n must be 1 or 2 (got {self.n!r})")

    @property
    def family(self) -> Tubes:
        """A tube of this width and power."""
        return Tubes(float(self.epsilon), int(self.n))

    @property
    def smooth(self) -> bool:
        """Whether the power is 2."""
        return self.n == 2

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each difference d, or its first or second derivative by d.

        At a kink, where the error is exactly epsilon, the derivatives are 0.
        """
        miss = magnitude - np.asarray(d, dtype=np.float64)
        over = np.maximum(np.abs(miss) - self.epsilon, 0.0)
        if checked_order(order) == 0:
            return over * over if self.n == 2 else over
        if order == 1:
            return -np.sign(miss) * (2.0 * over if self.n == 2 else np.where(over > 0.0, 1.0, 0.0))
        return np.where((over > 0.0) & (self.n == 2), 2.0, 0.0)
