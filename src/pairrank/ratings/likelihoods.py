"""Likelihoods of a comparison with ties: halves, Davidson's and Rao and Kupper's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]
Ties = Literal["half", "davidson", "rao-kupper"]


class Slopes(NamedTuple):
    """Derivatives of log-probabilities by the margin d and by the tie parameter t.

    margin, tie: first derivatives of each outcome, (3, K). of_margins, across, of_ties: minus the
    second derivatives by d twice, by d and t, by t twice; each broadcasts to (3, K).
    """

    margin: FloatArray
    tie: FloatArray
    of_margins: FloatArray
    across: FloatArray
    of_ties: FloatArray


class Likelihood(ABC):
    """The probabilities that the first item wins, ties and loses, by the margin d of its score."""

    has_parameter: bool = True
    """Whether there is a tie parameter t; its value is the last coefficient plus an offset."""
    none: float = 0.0
    """The t without ties."""

    def start(self, tie_share: float) -> float:
        """Return the t at which equal items tie with this probability, in (0, 1)."""
        return 0.0

    @abstractmethod
    def log_probabilities(self, d: FloatArray, t: float) -> FloatArray:
        """Return the log-probabilities of win, tie and loss, (3, K)."""

    @abstractmethod
    def slopes(self, d: FloatArray, t: float) -> Slopes:
        """Return the derivatives of the log-probabilities at d and t."""

    def shown(self, t: float) -> float:
        """Return the tie parameter as the literature writes it: e^t."""
        return float(np.exp(t))


class Halves(Likelihood):
    r"""Bradley and Terry (1952): the first item wins with probability 1/(1 + e^{-d}).

    A tie is half a win each way.
    """

    has_parameter = False

    def log_probabilities(self, d: FloatArray, t: float) -> FloatArray:
        """Return the logarithms; that of a tie is the mean of the other two."""
        win, loss = -np.logaddexp(0.0, -d), -np.logaddexp(0.0, d)
        return np.array([win, 0.5 * (win + loss), loss])

    def slopes(self, d: FloatArray, t: float) -> Slopes:
        """Return the derivatives; those by t are 0."""
        win, loss, none = expit(d), expit(-d), np.zeros((3, d.size))
        return Slopes(np.array([loss, 0.5 * (loss - win), -win]), none, win * loss, none, none)

    def shown(self, t: float) -> float:
        """Return 0."""
        return 0.0


class Davidson(Likelihood):
    r"""Davidson (1970): win, tie and loss are in the ratio e^{d/2} : nu : e^{-d/2}; t = log nu."""

    none = -np.inf

    def start(self, tie_share: float) -> float:
        """Return log nu with nu/(2 + nu) = tie_share."""
        return float(np.log(2.0 * tie_share / (1.0 - tie_share)))

    def log_probabilities(self, d: FloatArray, t: float) -> FloatArray:
        """Return the logarithms of the three ratios, normalised."""
        ratios = np.array([0.5 * d, np.full_like(d, t), -0.5 * d])
        largest = ratios.argmax(axis=0)[None]
        ratios -= np.take_along_axis(ratios, largest, axis=0)
        others = np.exp(ratios)
        np.put_along_axis(others, largest, 0.0, axis=0)
        return ratios - np.log1p(others.sum(axis=0))

    def slopes(self, d: FloatArray, t: float) -> Slopes:
        """Return the derivatives of a multinomial logit."""
        win, tie, loss = np.exp(self.log_probabilities(d, t))
        margin = np.array([0.5 * tie + loss, 0.5 * (loss - win), -0.5 * tie - win])
        of_margins = 0.25 * (win + loss) * tie + win * loss
        by_tie = np.array([-tie, win + loss, -tie])
        return Slopes(margin, by_tie, of_margins, 0.5 * (loss - win) * tie, tie * (win + loss))


class RaoKupper(Likelihood):
    r"""Rao and Kupper (1967): the first item wins with probability 1/(1 + theta e^{-d}).

    t = log theta > 0 is the difference of scores that is too small to be noticed.
    """

    def start(self, tie_share: float) -> float:
        """Return log theta with (theta - 1)/(theta + 1) = tie_share."""
        return float(2.0 * np.arctanh(tie_share))

    def log_probabilities(self, d: FloatArray, t: float) -> FloatArray:
        """Return the logarithms; minus infinity for ties where t is not above 0."""
        win, loss = -np.logaddexp(0.0, t - d), -np.logaddexp(0.0, t + d)
        if not t > 0.0:
            return np.array([win, np.full_like(d, -np.inf), loss])
        unequal = np.log(-np.expm1(-2.0 * t)) if t < 0.3 else np.log1p(-np.exp(-2.0 * t))
        tie = unequal - np.logaddexp(0.0, d - t) - np.logaddexp(0.0, -d - t)
        return np.array([win, tie, loss])

    def slopes(self, d: FloatArray, t: float) -> Slopes:
        """Return the derivatives."""
        win, loss, not_win, not_loss = expit(d - t), expit(-d - t), expit(t - d), expit(t + d)
        of_win, of_loss, none = win * not_win, loss * not_loss, np.zeros_like(d)
        rise = 2.0 * np.exp(-2.0 * t) / -np.expm1(-2.0 * t)
        return Slopes(
            np.array([not_win, loss - win, -not_loss]),
            np.array([-not_win, rise + win + loss, -not_loss]),
            np.array([of_win, of_win + of_loss, of_loss]),
            np.array([-of_win, of_loss - of_win, of_loss]),
            np.array([of_win, of_win + of_loss + 1.0 / np.sinh(t) ** 2 + none, of_loss]),
        )


HALVES = Halves()

LIKELIHOODS: dict[str, Likelihood] = {
    "half": HALVES,
    "davidson": Davidson(),
    "rao-kupper": RaoKupper(),
}
