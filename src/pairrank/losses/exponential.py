"""Exponential: the loss of RankBoost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank import _protocols
from pairrank._protocols import FloatArray
from pairrank.losses._phi import MarginLoss


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

    family = _protocols.Exponential(rate=1.0)
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            cost = np.exp(-d)
        return -cost if order == 1 else cost
