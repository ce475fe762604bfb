"""The weight alpha of a weak ranking: the paper's three methods, smoothed."""

from __future__ import annotations

import math
from collections.abc import Callable

from pairrank._protocols import FloatArray
from pairrank.rank_boost.pair_weights import PairWeights

Weigh = Callable[[FloatArray], PairWeights]

_MOST_STEPS = 100
_CLOSE = 1e-14
"""A step of Newton below this share of alpha ends it."""


def alpha_of_shares(right: float, wrong: float, smoothing: float) -> float:
    """Return 0.5 ln((W+ + smoothing)/(W- + smoothing)), finite where either share is 0."""
    return 0.5 * math.log((right + smoothing) / (wrong + smoothing))


def second_method(now: PairWeights, h: FloatArray, smoothing: float) -> float:
    """Return the alpha that minimises the loss, for h of 0 and 1 only; O(rows).

    W+ and W- are the shares of the pairs that h puts into the right and the wrong order.
    """
    right, wrong = now.apart(h > 0.5)
    return alpha_of_shares(right / now.total, wrong / now.total, smoothing)


def third_method(edge: float, smoothing: float) -> float:
    """Return the alpha that minimises a bound of the loss, for any h in [0, 1], from its edge r."""
    edge = min(max(edge, -1.0), 1.0)  # rounding may carry it beyond
    return alpha_of_shares(0.5 * (1.0 + edge), 0.5 * (1.0 - edge), smoothing)


def newton(
    weigh: Weigh,
    scores: FloatArray,
    now: PairWeights,
    h: FloatArray,
    smoothing: float,
    start: float,
) -> float:
    """Return the alpha that minimises the loss, for any h in [0, 1]; O(rows) per step.

    It minimises Z(alpha) + smoothing (e^alpha + e^-alpha), where Z is the loss relative to now: for
    h of 0 and 1 the same as the second method. Newton's steps are kept within a bracket.
    """
    limit = math.asinh(0.5 / smoothing)  # there 2 smoothing sinh(alpha), 1, outweighs Z's slope
    low, high = -limit, limit
    alpha = min(max(start, low), high)
    for _ in range(_MOST_STEPS):
        at = weigh(scores + alpha * h)
        slope = -float(at.potential @ h) / now.total + 2.0 * smoothing * math.sinh(alpha)
        curvature = at.curvature(h) / now.total + 2.0 * smoothing * math.cosh(alpha)
        low, high = (low, alpha) if slope > 0.0 else (alpha, high)
        step = alpha - slope / curvature
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - alpha) <= _CLOSE * (1.0 + abs(alpha)):
            return step
        alpha = step
    return alpha
