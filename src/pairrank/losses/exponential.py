"""Exponential: the loss of RankBoost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank import _protocols
from pairrank._protocols import FloatArray
from pairrank.losses._phi import checked_order


@dataclass(frozen=True)
class Exponential:
    r"""The exponential loss phi(d) = exp(-d) of RankBoost (Freund et al. 2003).

    A pair in the wrong order costs far more than with the other losses.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Exponential
    >>> Exponential().phi(np.array([0.0, 1000.0]), order=1)
    array([-1., -0.])
    """

    family = _protocols.Exponential(rate=1.0)
    smooth = True

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each margin (order 0), or its first or second derivative."""
        with np.errstate(over="ignore", under="ignore"):
            cost = np.exp(-np.asarray(d, dtype=np.float64))
        return -cost if checked_order(order) == 1 else cost
