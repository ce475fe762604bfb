"""Tube: the loss of SVRank and of MPRank with n = 1, over all differences or comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Differences, Pairs

if TYPE_CHECKING:
    from pairrank.losses.pairs_tube import PairsTubeSum
    from pairrank.losses.tube_sums import TubeSum


@dataclass(frozen=True)
class Tube:
    r"""The :math:`\varepsilon`-insensitive cost of a difference (Cortes et al. 2007, Eq. 9).

    .. math:: \varphi(d) = \max(0, |\mathrm{magnitude} - d| - \varepsilon)^n

    Parameters
    ----------
    epsilon : float, default=0.1
        What a difference of scores may be off by at no cost; with 0 it is c_MP of Eq. 7.
    n : {1, 2}, default=1
        The power. With 1 the loss has a kink, where its subgradient here is 0; with 2 it has a
        gradient everywhere and a generalised Hessian.

    Raises
    ------
    PairrankError
        If epsilon is negative or not finite, or n another number.

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
            raise PairrankError(f"epsilon must be a finite number >= 0, got {self.epsilon!r}")
        if self.n not in (1, 2):
            raise PairrankError(f"n must be 1 or 2, got {self.n!r}")

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each difference d, or its first or second derivative by d.

        At the kink derivatives are 0: a difference that is off by exactly epsilon pulls at nothing.
        """
        miss = magnitude - np.asarray(d, dtype=np.float64)
        over = np.maximum(np.abs(miss) - self.epsilon, 0.0)
        if order == 0:
            return over * over if self.n == 2 else over
        if order == 1:
            return -np.sign(miss) * (2.0 * over if self.n == 2 else np.where(over > 0.0, 1.0, 0.0))
        if order == 2:
            return np.where((over > 0.0) & (self.n == 2), 2.0, 0.0)
        raise PairrankError(f"phi has derivatives of order 0, 1 and 2, got {order!r}")

    def sum_over(
        self, preferences: Differences | Pairs, *, route: str = "auto", eps: float = 1e-6
    ) -> TubeSum | PairsTubeSum:
        """Bind the loss to all differences, each query's sum over 2 n_q, or to comparisons.

        Parameters
        ----------
        preferences : Differences or Pairs
            Over the rows of an X; Pairs keep their magnitudes (``bound(..., ties=False)``).
        route : "auto"
            There is one algorithm.
        eps : float
            Plays no part: the sums are exact.

        Raises
        ------
        PairrankError
            If preferences are of another kind: a level has no size, so no difference either.
        """
        if route != "auto":
            raise PairrankError(f'there is no pair sum route {route!r} of tubes; take "auto"')
        if isinstance(preferences, Pairs):
            from pairrank.losses.pairs_tube import PairsTubeSum

            return PairsTubeSum(preferences, float(self.epsilon), self.n == 2)
        if not isinstance(preferences, Differences):
            raise PairrankError(
                f"tubes are summed over Differences or Pairs, not {type(preferences).__name__}"
            )
        from pairrank.losses.tube_sums import TubeSum

        return TubeSum(preferences, float(self.epsilon), self.n == 2)
