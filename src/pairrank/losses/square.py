"""Square: the loss of RankRLS and MPRank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, Squares
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
