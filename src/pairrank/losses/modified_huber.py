"""Modified Huber: a squared hinge that grows linearly where a pair is far in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, PiecewisePolynomial
from pairrank.losses._phi import MarginLoss


@dataclass(frozen=True)
class ModifiedHuber(MarginLoss):
    """max(0, 1 - d)^2 for d >= -1, and -4 d below (Zhang 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import ModifiedHuber
    >>> ModifiedHuber().phi(np.array([-2.0, -1.0, 0.0, 1.0]))
    array([8., 4., 1., 0.])
    """

    family = PiecewisePolynomial(((1.0, 2, 1.0), (-1.0, 2, -1.0)))
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        over = np.clip(1.0 - d, 0.0, 2.0)
        if order == 0:
            return np.where(d < -1.0, -4.0 * d, over * over)
        return -2.0 * over if order == 1 else np.where((over > 0.0) & (d >= -1.0), 2.0, 0.0)
