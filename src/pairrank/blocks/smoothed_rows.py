"""The smoothed cost of rows beyond limits: slacks and multipliers in closed form but for a root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray

_STEPS = 8
"""Newton's method starts at most twice the root away, from the side where it converges."""


class SmoothedRows(NamedTuple):
    """Rows of cost 1; sides are lower, then upper limits, (2, n). 0 where there is no limit."""

    value: FloatArray
    """The smoothed cost, (n,)."""
    multipliers: FloatArray
    """The derivatives of the value by U - s and by s - L."""
    sides: FloatArray
    """The multipliers' derivatives; see `pairrank.solvers.limit_system.RowCurvature`."""
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
    larger = np.maximum(below, above)
    single = np.isinf(below) | np.isinf(above)
    half = np.where(single, 0.0, 0.5 * np.abs(below - above))
    margin = _root(larger, np.where(single, 0.5 * width, width))
    for _ in range(_STEPS):
        far = margin + 2.0 * half
        value = (larger + margin) * margin * far - width * (margin + half)
        slope = margin * far + (larger + margin) * (margin + far) - width
        step = np.where(single, 0.0, value / np.where(single, 1.0, slope))
        margin = np.maximum(margin - step, 0.25 * margin)
    other = margin + 2.0 * half
    is_below = below >= above
    inverse = np.stack((
        np.where(np.isinf(below), 0.0, 1.0 / np.where(is_below, margin, other)),
        np.where(np.isinf(above), 0.0, 1.0 / np.where(is_below, other, margin)),
    ))  # fmt: skip
    multipliers = width * inverse
    slack = 0.5 * (multipliers[0] + multipliers[1])
    logs = np.log(np.where(inverse > 0.0, inverse, 1.0))
    stiffness = multipliers * inverse
    share = 1.0 / (2.0 + stiffness[0] + stiffness[1])
    rise = share * (inverse[0] + inverse[1])
    return SmoothedRows(
        value=slack * slack + width * (logs[0] + logs[1]),
        multipliers=multipliers,
        sides=2.0 * share * stiffness,
        cross=share * stiffness[0] * stiffness[1],
        drift=inverse - stiffness * rise,
    )


def _root(larger: FloatArray, product: FloatArray) -> FloatArray:
    """Return the positive root u of u (u + M) = product."""
    root = np.sqrt(larger * larger + 4.0 * product)
    return np.where(
        larger > 0.0, 2.0 * product / (np.abs(larger) + root), 0.5 * (root + np.abs(larger))
    )
