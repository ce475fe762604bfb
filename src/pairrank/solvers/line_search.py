"""Line search: a length at which the slope is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_MAX_TRIALS = 20
_EDGE = 0.05
"""A trial keeps at least this part of an interval away from its ends."""
_LEAST, _MOST = 1.2, 10.0
"""The smallest and the largest factor by which a length that is too short grows."""


class Trial(NamedTuple):
    """The objective at one length along a direction."""

    length: float
    slope: float
    """The derivative by the length."""
    place: Any = None
    """The objective there, for the caller."""


Probe = Callable[[float], Trial]


def search_slope(probe: Probe, start: Trial, first: float, share: float = 0.1) -> Trial | None:
    r"""Return a trial of small slope, :math:`|f'(t)| \le share |f'(0)|`, trying `first` first.

    `probe` evaluates the objective at a length; the start, at length 0, has a negative slope. Where
    no length has so small a slope within twenty trials, the smallest found is returned; None if
    none is smaller than at the start. Only slopes are used, so the reported value may belong to
    another function than the gradient, as in Raykar's algorithm. On convex objectives the slope
    increases: its zero is bracketed, then found by secants.
    """
    low, length = start, first
    high: Trial | None = None
    best, between = start, 0
    for _ in range(_MAX_TRIALS):
        trial = probe(length)
        if np.isfinite(trial.slope) and abs(trial.slope) < abs(best.slope):
            best = trial
            if abs(trial.slope) <= share * -start.slope:
                break
        if trial.slope < 0:
            previous, low = low, trial
        else:
            high = trial
        if high is None:
            length = _further(previous, low)
        else:
            length = _between(low, high, between)
            between += 1
    return best if best.length > 0 else None


def _further(previous: Trial, trial: Trial) -> float:
    """Return the zero of the slope by linear extrapolation, within limits."""
    rise = trial.slope - previous.slope
    if not rise > 0:
        return _MOST * trial.length
    zero = trial.length - trial.slope * (trial.length - previous.length) / rise
    return float(np.clip(zero, _LEAST * trial.length, _MOST * trial.length))


def _between(low: Trial, high: Trial, done: int) -> float:
    """Return an estimate of the slope's zero between two trials.

    Every third time it is the middle, so that both ends move.
    """
    width = high.length - low.length
    if not np.isfinite(high.slope):
        return low.length + 2 * _EDGE * width
    part = 0.5
    if done % 3 != 2 and low.slope * high.slope < 0:
        part = low.slope / (low.slope - high.slope)
    return low.length + float(np.clip(part, _EDGE, 1 - _EDGE)) * width
