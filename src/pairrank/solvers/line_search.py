"""Line searches: the step length along a direction, by values and slopes or by slopes alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairrank.solvers.descent import Place

_EDGE = 0.05
"""A trial keeps at least this part of an interval away from its ends."""
_LEAST, _MOST = 1.2, 10.0
"""The smallest and the largest factor by which a length that is too short grows."""


class Trial(NamedTuple):
    """The objective at one length along a direction."""

    length: float
    value: float
    slope: float
    """The derivative by the length."""
    place: Place

    @property
    def is_finite(self) -> bool:
        """Whether value and slope are finite."""
        return bool(np.isfinite(self.value) and np.isfinite(self.slope))


Probe = Callable[[float], Trial]


@dataclass(frozen=True)
class WolfeSearch:
    r"""A length that meets the strong Wolfe conditions (Nocedal & Wright 2006, Alg. 3.5 and 3.6).

    With f the objective along the direction, :math:`f(t) \le f(0) + c_1 t f'(0)` and
    :math:`|f'(t)| \le c_2 |f'(0)|`. Values that differ by less than a slack count as equal; the
    search then uses the slopes.
    """

    decrease: float = 1e-4
    """c_1."""
    curvature: float = 0.1
    """c_2."""
    max_trials: int = 20

    def __call__(self, probe: Probe, start: Trial, first: float, slack: float) -> Trial | None:
        """Return a trial that is low enough, trying the length `first` first; None without one.

        `probe` evaluates the objective at a length. The start, at length 0, has a negative slope.
        """
        low, length = start, first
        for done in range(1, self.max_trials + 1):
            trial = probe(length)
            if self._is_high(trial, start, low, slack):
                return self._zoom(probe, start, low, trial, slack, self.max_trials - done)
            if abs(trial.slope) <= self.curvature * -start.slope:
                return trial
            if trial.slope >= 0:
                return self._zoom(probe, start, trial, low, slack, self.max_trials - done)
            low, length = trial, _further(low, trial)
        return low

    def _is_high(self, trial: Trial, start: Trial, low: Trial, slack: float) -> bool:
        enough = start.value + self.decrease * trial.length * start.slope + slack
        return not (trial.is_finite and trial.value <= min(enough, low.value + slack))

    def _zoom(
        self, probe: Probe, start: Trial, low: Trial, high: Trial, slack: float, left: int
    ) -> Trial | None:
        """Narrow the interval between the lowest point and one beyond the minimum."""
        for done in range(left):
            trial = probe(_between(low, high, slack, done))
            if self._is_high(trial, start, low, slack):
                high = trial
                continue
            if abs(trial.slope) <= self.curvature * -start.slope:
                return trial
            if trial.slope * (high.length - low.length) >= 0:
                high = low
            low = trial
        return low if low.length > 0 else None


@dataclass(frozen=True)
class SlopeSearch:
    r"""A length at which the slope is small: :math:`|f'(t)| \le c |f'(0)|`.

    It uses gradients alone, so the reported value may belong to another function than the gradient,
    as in Raykar's algorithm. On convex objectives the slope increases: its zero is bracketed, then
    found by secants.
    """

    curvature: float = 0.1
    """c."""
    max_trials: int = 20

    def __call__(self, probe: Probe, start: Trial, first: float, slack: float) -> Trial | None:
        """Return a trial of small slope; None if no slope is smaller than at the start.

        The arguments are those of `WolfeSearch`; `slack` is ignored.
        """
        low, length = start, first
        high: Trial | None = None
        best, between = start, 0
        for _ in range(self.max_trials):
            trial = probe(length)
            if np.isfinite(trial.slope) and abs(trial.slope) < abs(best.slope):
                best = trial
                if abs(trial.slope) <= self.curvature * -start.slope:
                    break
            if trial.slope < 0:
                previous, low = low, trial
            else:
                high = trial
            if high is None:
                length = _further(previous, low)
            else:
                length = _between(low, high, np.inf, between)
                between += 1
        return best if best.length > 0 else None


def _further(previous: Trial, trial: Trial) -> float:
    """Return the zero of the slope by linear extrapolation, within limits."""
    rise = trial.slope - previous.slope
    if not rise > 0:
        return _MOST * trial.length
    zero = trial.length - trial.slope * (trial.length - previous.length) / rise
    return float(np.clip(zero, _LEAST * trial.length, _MOST * trial.length))


def _between(low: Trial, high: Trial, slack: float, done: int) -> float:
    """Return an estimate of the minimum between two trials.

    It comes from the cubic through values and slopes, or from the slopes alone where values hardly
    differ. Every third time it is the middle, so that both ends move.
    """
    width = high.length - low.length
    if not np.isfinite(high.slope + (0.0 if slack == np.inf else high.value)):
        return low.length + 2 * _EDGE * width
    if done % 3 == 2:
        part = 0.5
    elif abs(high.value - low.value) > 10 * slack:
        part = _cubic(low, high)
    elif low.slope * high.slope < 0:
        part = low.slope / (low.slope - high.slope)
    else:
        part = 0.5
    if not np.isfinite(part):
        part = 0.5
    return low.length + float(np.clip(part, _EDGE, 1 - _EDGE)) * width


def _cubic(low: Trial, high: Trial) -> float:
    """Return the minimum of the cubic as a part of the interval from low to high (Eq. 3.59)."""
    chord = (high.value - low.value) / (high.length - low.length)
    size = max(abs(low.slope), abs(high.slope), abs(chord))
    at_low, at_high, chord = low.slope / size, high.slope / size, chord / size
    turn = at_low + at_high - 3 * chord
    root = np.sqrt(np.maximum(turn**2 - at_low * at_high, 0.0))
    root *= np.sign(high.length - low.length)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(1 - np.divide(at_high + root - turn, at_high - at_low + 2 * root))
