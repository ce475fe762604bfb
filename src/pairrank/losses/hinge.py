"""Hinge and squared hinge: the losses of RankSVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs

if TYPE_CHECKING:
    from pairrank.losses.hinge_sums import HingeSum
    from pairrank.losses.pairs_hinge import PairsHingeSum
    from pairrank.preferences import Preferences

ROUTES = ("auto", "flat_tree", "selection_tree", "direct")


@dataclass(frozen=True)
class SquaredHinge:
    """The squared hinge max(0, margin - d)^2 of Lee & Lin 2014, Eq. 3.

    Parameters
    ----------
    margin : float, default=1.0
        The difference of scores from which a pair costs nothing. 0 gives c_HR with n = 2 of Cortes
        et al. 2007, Eq. 6: it costs nothing at equal scores, so the regularised minimum is w = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import SquaredHinge
    >>> SquaredHinge().phi(np.array([-1.0, 0.5, 1.0]))
    array([4.  , 0.25, 0.  ])
    """

    margin: float = 1.0

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each margin (order 0), or its first or second derivative.

        The second derivative is the generalised one: 2 where the pair violates, else 0.
        `magnitude` plays no part: a preference has a direction only.
        """
        over = np.maximum(self.margin - np.asarray(d, dtype=np.float64), 0.0)
        if order == 0:
            return over * over
        if order == 1:
            return -2.0 * over
        return np.where(over > 0.0, 2.0, 0.0) if order == 2 else _refuse_order(order)

    def sum_over(
        self, preferences: Preferences, *, route: str = "auto", eps: float = 1e-6
    ) -> HingeSum | PairsHingeSum:
        """Bind the loss to preferences; see `Hinge.sum_over`."""
        return _bind(preferences, self.margin, True, route)


@dataclass(frozen=True)
class Hinge:
    """The hinge max(0, margin - d) of Lee & Lin 2014, Eq. 2.

    Parameters
    ----------
    margin : float, default=1.0
        The difference of scores from which a pair costs nothing. 0 gives c_HR with n = 1 of Cortes
        et al. 2007, Eq. 6: it costs nothing at equal scores, so the regularised minimum is w = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Hinge
    >>> Hinge().phi(np.array([-1.0, 0.5, 1.0]), order=1)
    array([-1., -1.,  0.])
    """

    margin: float = 1.0

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each margin (order 0), its subgradient (1), or zeros (2)."""
        over = np.maximum(self.margin - np.asarray(d, dtype=np.float64), 0.0)
        if order == 0:
            return over
        if order == 1:
            return np.where(over > 0.0, -1.0, 0.0)
        return np.zeros_like(over) if order == 2 else _refuse_order(order)

    def sum_over(
        self, preferences: Preferences, *, route: str = "auto", eps: float = 1e-6
    ) -> HingeSum | PairsHingeSum:
        """Bind the loss to preferences.

        Parameters
        ----------
        preferences : Levels or Pairs
            Who is preferred to whom; Pairs must be bound to the rows of an X.
        route : "auto", "flat_tree", "selection_tree" or "direct"
            The algorithm over Levels. "flat_tree" is `pairrank.losses.hinge_sums.HingeSum`;
            "selection_tree" (Lee & Lin's Algorithm 2) and "direct" (one accumulator a level) are
            `pairrank.losses.hinge_sweeps.SweptHingeSum` for the full graph, and go edge by edge
            under others. "auto" is "flat_tree", which chooses by
            itself between pairs, edges and trees (`pairrank.losses.hinge_schedule`). From 10^4 rows
            on it was the fastest at 2, 5 and as many levels as rows, by factors of 1.2 to 5, and
            at 100 levels as fast as the selection tree or faster; see `benchmarks/pair_sums.py`.
        eps : float
            Plays no part: hinge sums are exact.

        Raises
        ------
        PairrankError
            If there is no such route.
        """
        return _bind(preferences, self.margin, False, route)


def _bind(
    preferences: Preferences, margin: float, squared: bool, route: str
) -> HingeSum | PairsHingeSum:
    if route not in ROUTES:
        names = ", ".join(map(repr, ROUTES))
        raise PairrankError(f"there is no pair sum route {route!r}; choose one of {names}")
    if isinstance(preferences, Pairs):
        from pairrank.losses.pairs_hinge import PairsHingeSum

        return PairsHingeSum(preferences, float(margin), squared)
    if route in ("selection_tree", "direct") and preferences.edges is None:
        from pairrank.losses.hinge_sweeps import SweptHingeSum

        return SweptHingeSum(preferences, float(margin), squared, route)
    from pairrank.losses.hinge_sums import HingeSum

    return HingeSum(preferences, float(margin), squared)


def _refuse_order(order: int) -> FloatArray:
    raise PairrankError(f"phi has derivatives of order 0, 1 and 2, got {order!r}")
