"""Likelihoods of comparisons with ties, and minus their logarithm as an objective."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator
from scipy.special import expit

from pairrank._protocols import FloatArray, Point
from pairrank.ratings.comparisons import TIE, Margins

Ties = Literal["half", "davidson", "rao-kupper"]
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""A gradient below this part of the sum of the sizes of its terms is rounding."""
_FEW_FEATURES, _FEW_ENTRIES = 400, 1 << 20
"""Up to this size of the design a step solves with the whole Hessian."""


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


class Curvature:
    """The Hessian at one point: minus the second derivatives, weighted, one entry per margin."""

    def __init__(self, objective: LikelihoodObjective, slopes: Slopes) -> None:
        weight = objective.margins.weight
        self.objective = objective
        self.of_margins = (weight * slopes.of_margins).sum(axis=0)
        self.across = (weight * slopes.across).sum(axis=0)
        self.of_ties = float((weight * slopes.of_ties).sum())

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; O(margins)."""
        design, width = self.objective.design, self.objective.width
        along = design @ v[:width]
        bent = self.of_margins * along
        if not self.objective.has_tie:
            return design.T @ bent + self.objective.ridge * v
        bent += self.across * v[width]
        of_tie = float(self.across @ along) + self.of_ties * v[width]
        return np.append(design.T @ bent, of_tie) + self.objective.ridge * v

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian."""
        found = self.objective.squares.T @ self.of_margins
        if self.objective.has_tie:
            found = np.append(found, self.of_ties)
        return found + self.objective.ridge

    def dense(self) -> FloatArray:
        """Return the Hessian as an array; O(margins) beside its size."""
        result = self.objective.by_coefficients(self.of_margins, self.across, self.of_ties)
        result.flat[:: result.shape[0] + 1] += self.objective.ridge
        return result


class LikelihoodObjective:
    """Minus the log-likelihood of margins, plus alpha/2 times the squared scores.

    The coefficients are the scores, the effects of the covariates in units of `Margins.unit`, and,
    if the likelihood has one and there are ties, the tie parameter less `offset`. Without ties
    every likelihood is that of halves. `penalty` is 0: the ridge is on the scores only, so it is
    part of the value.
    """

    penalty = 0.0
    precision = 1e-15

    def __init__(self, margins: Margins, likelihood: Likelihood, alpha: float) -> None:
        self.margins = margins
        self.design = margins.design
        self.squares = abs(margins.design).power(2)
        self.sizes = abs(margins.design)
        self.width = int(margins.design.shape[1])
        share = float(margins.weight[TIE].sum() / margins.weight.sum())
        self.has_tie = likelihood.has_parameter and share > 0.0
        self.likelihood = likelihood if self.has_tie else HALVES
        self.offset = likelihood.start(share) if self.has_tie else 0.0
        self.n_features = self.width + self.has_tie
        self.ridge = np.zeros(self.n_features)
        self.ridge[: margins.n_items] = alpha

    def tie_parameter(self, w: FloatArray) -> float:
        """Return the tie parameter t of coefficients."""
        return self.offset + (float(w[-1]) if self.has_tie else 0.0)

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return value, gradient and Hessian at `w`; `scores` are its margins. O(margins)."""
        d = self.design @ w[: self.width] if scores is None else scores
        t, weight = self.tie_parameter(w), self.margins.weight
        logs = self.likelihood.log_probabilities(d, t)
        with np.errstate(invalid="ignore", over="ignore"):
            value = -float(np.where(weight > 0.0, weight * logs, 0.0).sum())
        slopes = self.likelihood.slopes(d, t)
        gradient = self._gradient(slopes) + self.ridge * w
        value += 0.5 * float(self.ridge @ w**2)
        size = (self.sizes @ np.abs(w[: self.width])) @ np.abs(weight * slopes.margin).sum(axis=0)

        return Point(
            value=value,
            gradient=gradient,
            scores=d,
            hessian=lambda: Curvature(self, slopes),
            preconditioner=lambda: self._inverse(Curvature(self, slopes)),
            rounding=lambda: np.zeros(self.n_features),
            score_norm=float(np.linalg.norm(gradient)),
            value_error=_ROUNDING * float(size),  # by the rounding of large, cancelling effects
        )

    def log_likelihood(self, w: FloatArray) -> float:
        """Return the logarithm of the likelihood at `w`."""
        return 0.5 * float(self.ridge @ w**2) - self.at(w).value

    def curvature(self, w: FloatArray) -> Curvature:
        """Return the Hessian at `w`."""
        return Curvature(self, self.slopes(w))

    def slopes(self, w: FloatArray) -> Slopes:
        """Return the derivatives of the log-probabilities of each margin at `w`."""
        return self.likelihood.slopes(self.design @ w[: self.width], self.tie_parameter(w))

    def by_coefficients(
        self, of_margins: FloatArray, across: FloatArray, of_ties: float
    ) -> FloatArray:
        """Return a quadratic form of margins and the tie parameter as one of the coefficients.

        `of_margins` and `across`, (K,), multiply the square of each margin, and its product with
        the tie parameter.
        """
        design, width = self.design, self.width
        result = np.zeros((self.n_features,) * 2)
        weighted = sparse.dia_array((of_margins[None], [0]), shape=(design.shape[0],) * 2)
        result[:width, :width] = (design.T @ (weighted @ design)).toarray()
        if self.has_tie:
            result[:width, width] = result[width, :width] = design.T @ across
            result[width, width] = of_ties
        return result

    def sharpen(self) -> bool:
        """Return False: there is no error but rounding."""
        return False

    def refine(self) -> bool:
        """Return False: the Hessian is exact."""
        return False

    def _inverse(self, curvature: Curvature) -> LinearOperator:
        """Return the inverse Hessian if it is small, else that of its diagonal.

        The Hessian may be 0 along equal scores, where gradients are 0 too: any curvature does.
        """
        n_items, diagonal = self.margins.n_items, curvature.diagonal()
        if self.n_features <= _FEW_FEATURES and self.design.nnz <= _FEW_ENTRIES:
            hessian = curvature.dense()
            hessian[:n_items, :n_items] += diagonal[:n_items].mean() / n_items
            with contextlib.suppress(linalg.LinAlgError, ValueError):
                factor = linalg.cho_factor(hessian)
                return LinearOperator(hessian.shape, partial(linalg.cho_solve, factor))
        inverse = 1.0 / np.maximum(diagonal, np.finfo(float).tiny)
        return LinearOperator((inverse.size,) * 2, lambda v: inverse * v)

    def _gradient(self, slopes: Slopes) -> FloatArray:
        """Return the gradient without the ridge; entries that are rounding alone are 0."""
        weight = self.margins.weight
        terms = weight * slopes.margin
        found = self.design.T @ -terms.sum(axis=0)
        size = self.sizes.T @ np.abs(terms).sum(axis=0)
        if self.has_tie:
            of_ties = weight * slopes.tie
            found = np.append(found, -of_ties.sum())
            size = np.append(size, np.abs(of_ties).sum())
        found[np.abs(found) <= _ROUNDING * size] = 0.0
        return found
