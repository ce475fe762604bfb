"""Likelihoods of comparisons with ties, and the margins that they depend on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from pairrank.ratings.comparisons import Comparisons

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


WIN, TIE, LOSS = 0, 1, 2
"""The outcomes of a margin, seen from its first item."""


class Margins(NamedTuple):
    """Distinct pairs of items with equal covariates, and what happened between them.

    design: (K, n_items + p), +1 for the first item, -1 for the second, then the covariates seen
    from the first, in units of `unit`; its product with scores and effects is the margin d.
    weight: the weight of each outcome, (3, K); square: the sum of the squared weights of its
    comparisons, repeated ones one by one. place, outcome: the margin and the outcome of each
    comparison.
    """

    n_items: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    design: sparse.csr_array
    unit: FloatArray
    weight: FloatArray
    square: FloatArray
    place: NDArray[np.int64]
    outcome: NDArray[np.int8]


def add_up(found: Comparisons) -> Margins:
    """Return the margins of comparisons; O(m log m)."""
    n_items = found.items.size
    swapped = found.winner > found.loser
    low, high = np.minimum(found.winner, found.loser), np.maximum(found.winner, found.loser)
    keys, place = np.unique(low.astype(np.int64) * n_items + high, return_inverse=True)
    sign = np.where(swapped, -1.0, 1.0)
    oriented = found.covariates * sign[:, None]
    for column in oriented.T:
        values, code = np.unique(column, return_inverse=True)
        keys, place = np.unique(place * values.size + code, return_inverse=True)
    size = keys.size
    of_margin = np.empty(size, dtype=np.int64)
    of_margin[place] = np.arange(place.size)
    first, second = low[of_margin].astype(np.int64), high[of_margin].astype(np.int64)
    outcome = np.where(found.tie, TIE, np.where(swapped, LOSS, WIN)).astype(np.int8)
    cell = outcome.astype(np.int64) * size + place
    totals = (np.bincount(cell, w, 3 * size) for w in (found.weight, found.squares))
    weight, square = (total.astype(np.float64).reshape(3, size) for total in totals)
    largest = np.abs(oriented).max(axis=0)
    largest[largest == 0.0] = 1.0
    unit = largest * np.sqrt(np.mean((oriented / largest) ** 2, axis=0))
    unit[unit == 0.0] = 1.0
    design = _design(first, second, oriented[of_margin] / unit, n_items)
    return Margins(n_items, first, second, design, unit, weight, square, place, outcome)


def _design(
    first: NDArray[np.int64], second: NDArray[np.int64], covariates: FloatArray, n_items: int
) -> sparse.csr_array:
    size, width = covariates.shape
    columns = np.empty((size, 2 + width), dtype=np.int64)
    values = np.empty((size, 2 + width))
    columns[:, 0], columns[:, 1], columns[:, 2:] = first, second, n_items + np.arange(width)
    values[:, 0], values[:, 1], values[:, 2:] = 1.0, -1.0, covariates
    starts = np.arange(size + 1) * (2 + width)
    shape = (size, n_items + width)
    return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)
