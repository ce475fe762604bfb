"""The smoothed cost of rows beyond limits: slacks and multipliers in closed form but for a root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.compiled import smoothed_limits as compiled


class SmoothedRows(NamedTuple):
    """Rows of cost 1; sides are lower, then upper limits, (2, n). 0 where there is no limit."""

    value: FloatArray
    """The smoothed cost, (n,)."""
    multipliers: FloatArray
    """The derivatives of the value by U - s and by s - L."""
    sides: FloatArray
    """The multipliers' derivatives; see `pairrank.solvers.limits.LimitSystem`."""
    cross: FloatArray
    drift: FloatArray
    """The multipliers' derivatives by the width."""


def smoothed_rows(below: FloatArray, above: FloatArray, width: float) -> SmoothedRows:
    r"""Return the least of y^2 - mu log(y - (U - s)) - mu log(y - (s - L)) over y, by row.

    `below` is U - s and `above` is s - L, -inf where there is no limit; `width` is mu. At the
    minimum 2 y = beta + alpha for the multipliers beta = mu/(y - below) and alpha = mu/(y - above).
    With M the larger distance and h half of their difference, the smaller margin u = y - M is the
    root of (M + u) u (u + 2 h) = mu (u + h), so that small margins keep their digits. O(n).
    """
    out = np.empty((8, below.size))
    compiled.smooth_rows(below, above, width, out)
    return SmoothedRows(out[0], out[1:3], out[3:5], out[5], out[6:])
