"""LineSample: how far a step should reach, judged by the scores of a sample of rows."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray, PairLoss
from pairrank.pair_sums import bind
from pairrank.preferences import Preferences, draw_sample

_ROWS = 4096
_FURTHEST = 1e3
_MAX_SECANTS = 10


class LineSample:
    """The objective along a line, from the pairs among a sample of rows.

    Along a line only scores change, one number a row, so a few thousand rows tell the best length
    of a step however many features there are. A Newton step of a hinge falls far short of it while
    most pairs still violate the margin.

    Parameters
    ----------
    preferences : Levels or Pairs
        Of all rows.
    loss : PairLoss
    generator : numpy.random.Generator

    Notes
    -----
    A search costs about six pair sums over about 4,096 rows.
    """

    def __init__(
        self, preferences: Preferences, loss: PairLoss, generator: np.random.Generator
    ) -> None:
        self._rows, drawn = draw_sample(preferences, _ROWS, generator)
        self._pair_sum = bind(loss, drawn)

    def minimum(
        self, scores: FloatArray, change: FloatArray, *, slope: float, bend: float
    ) -> float:
        """Return the t that minimises the pair sum at scores + t change, plus bend t^2 / 2.

        `slope` is the true derivative at t = 0, over every pair and of the penalty too: the sample
        tells only how it changes, so that near the optimum, where the derivative is smaller than
        the sample's own error, the multiple is still near that of the truth. The derivative rises,
        and is followed to its zero: doubling first, then by the Illinois variant of the secant.
        """
        start, direction = scores[self._rows], change[self._rows]

        def sampled(t: float) -> float:
            _, gradient = self._pair_sum.at(start + t * direction)[:2]
            return float(gradient @ direction)

        at_zero = sampled(0.0)

        def derivative(t: float) -> float:
            return slope + sampled(t) - at_zero + bend * t

        low, low_value = 0.0, slope
        if not slope < 0:
            return 1.0
        enough = -0.02 * low_value
        high, high_value = 1.0, derivative(1.0)
        while high_value < -enough and high < _FURTHEST:
            low, low_value, high = high, high_value, 2 * high
            high_value = derivative(high)
        side = 0
        for _ in range(_MAX_SECANTS):
            if abs(high_value) <= enough or not np.isfinite(high_value) or high_value < 0:
                break
            middle = (low * high_value - high * low_value) / (high_value - low_value)
            value = derivative(middle)
            if abs(value) <= enough:
                return middle
            if value < 0:
                low, low_value = middle, value
                high_value = high_value / 2 if side < 0 else high_value
                side = -1
            else:
                high, high_value = middle, value
                low_value = low_value / 2 if side > 0 else low_value
                side = 1
        return high if np.isfinite(high_value) else max(low, 1e-3)
