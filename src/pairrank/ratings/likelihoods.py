"""Likelihoods of comparisons with ties, and minus their logarithm as an objective."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from scipy.special import expit

from pairrank._protocols import FloatArray, Objective, Point
from pairrank.ratings.comparisons import TIE, Margins

Ties = Literal["half", "davidson", "rao-kupper"]
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""A gradient below this part of the sum of the sizes of its terms is rounding."""
_FEW_FEATURES = 400
"""Up to so many coefficients a step solves with the whole Hessian."""


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


class Likelihood(NamedTuple):
    """The probabilities of win, tie and loss by the margin d and a tie parameter t.

    log_probabilities(d, t): their logarithms, (3, K). slopes(d, t): the derivatives of these.
    start: the t at which equal items tie with a probability, in (0, 1); None: there is no t. The
    last coefficient is t less its start. none: the t without ties. The literature's tie parameter
    is e^t.
    """

    log_probabilities: Callable[[FloatArray, float], FloatArray]
    slopes: Callable[[FloatArray, float], Slopes]
    start: Callable[[float], float] | None
    none: float

    @property
    def has_parameter(self) -> bool:
        """Whether there is a tie parameter."""
        return self.start is not None


def _halves(d: FloatArray, t: float) -> FloatArray:
    """Bradley and Terry (1952): win with 1/(1 + e^-d); a tie is half a win each way."""
    win, loss = -np.logaddexp(0.0, -d), -np.logaddexp(0.0, d)
    return np.array([win, 0.5 * (win + loss), loss])


def _halves_slopes(d: FloatArray, t: float) -> Slopes:
    win, loss, none = expit(d), expit(-d), np.zeros((3, d.size))
    return Slopes(np.array([loss, 0.5 * (loss - win), -win]), none, win * loss, none, none)


def _davidson(d: FloatArray, t: float) -> FloatArray:
    """Davidson (1970): win, tie and loss are in the ratio e^(d/2) : nu : e^(-d/2); t = log nu."""
    others = (
        np.logaddexp(t - 0.5 * d, -d),
        np.logaddexp(0.5 * d, -0.5 * d) - t,
        np.logaddexp(t + 0.5 * d, d),
    )
    return -np.logaddexp(0.0, others)


def _davidson_slopes(d: FloatArray, t: float) -> Slopes:
    """Return the derivatives of a multinomial logit."""
    win, tie, loss = np.exp(_davidson(d, t))
    margin = np.array([0.5 * tie + loss, 0.5 * (loss - win), -0.5 * tie - win])
    of_margins = 0.25 * (win + loss) * tie + win * loss
    by_tie = np.array([-tie, win + loss, -tie])
    return Slopes(margin, by_tie, of_margins, 0.5 * (loss - win) * tie, tie * (win + loss))


def _rao_kupper(d: FloatArray, t: float) -> FloatArray:
    """Rao and Kupper (1967): win with 1/(1 + theta e^-d), t = log theta > 0; no ties at t <= 0."""
    win, loss = -np.logaddexp(0.0, t - d), -np.logaddexp(0.0, t + d)
    if not t > 0.0:
        return np.array([win, np.full_like(d, -np.inf), loss])
    unequal = np.log(-np.expm1(-2.0 * t)) if t < 0.3 else np.log1p(-np.exp(-2.0 * t))
    tie = unequal - np.logaddexp(0.0, d - t) - np.logaddexp(0.0, -d - t)
    return np.array([win, tie, loss])


def _rao_kupper_slopes(d: FloatArray, t: float) -> Slopes:
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


LIKELIHOODS = {
    "half": Likelihood(_halves, _halves_slopes, None, -np.inf),
    "davidson": Likelihood(  # nu/(2 + nu) is the share of ties
        _davidson, _davidson_slopes, lambda share: float(np.log(2 * share / (1 - share))), -np.inf
    ),
    "rao-kupper": Likelihood(  # (theta - 1)/(theta + 1) is the share of ties
        _rao_kupper, _rao_kupper_slopes, lambda share: float(2 * np.arctanh(share)), 0.0
    ),
}


class LikelihoodObjective(Objective):
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
        self.sizes = abs(margins.design)
        self.width = int(margins.design.shape[1])
        share = float(margins.weight[TIE].sum() / margins.weight.sum())
        self.has_tie = likelihood.start is not None and share > 0.0
        self.likelihood = likelihood if self.has_tie else LIKELIHOODS["half"]
        self.offset = likelihood.start(share) if likelihood.start and share else likelihood.none
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
        hessian = functools.cache(lambda: self.hessian(slopes))
        return Point(
            value=value,
            gradient=gradient,
            scores=d,
            hessian=lambda: aslinearoperator(hessian()),
            preconditioner=lambda: self._inverse(hessian()),
            rounding=lambda: np.zeros(self.n_features),
            score_norm=float(np.linalg.norm(gradient)),
            value_error=_ROUNDING * float(size),  # by the rounding of large, cancelling effects
        )

    def log_likelihood(self, w: FloatArray) -> float:
        """Return the logarithm of the likelihood at `w`."""
        return 0.5 * float(self.ridge @ w**2) - self.at(w).value

    def slopes(self, w: FloatArray) -> Slopes:
        """Return the derivatives of the log-probabilities of each margin at `w`."""
        return self.likelihood.slopes(self.design @ w[: self.width], self.tie_parameter(w))

    def hessian(self, slopes: Slopes) -> sparse.csr_array:
        """Return the Hessian where the log-probabilities have these derivatives."""
        weight = self.margins.weight
        found = self.form(*(weight * each for each in slopes[2:]))
        return found + sparse.diags_array(self.ridge, format="csr")

    def form(
        self, of_margins: FloatArray, across: FloatArray, of_ties: FloatArray
    ) -> sparse.csr_array:
        """Return a quadratic form of margins and the tie parameter as one of the coefficients.

        Of each outcome and margin, (3, K), the arguments multiply the square of the margin, its
        product with the tie parameter, and the square of the tie parameter.
        """
        weighted = sparse.diags_array(of_margins.sum(axis=0)) @ self.design
        found = (self.design.T @ weighted).tocsr()
        if not self.has_tie:
            return found
        side = self.design.T @ across.sum(axis=0)[:, None]
        return sparse.block_array([[found, side], [side.T, [[of_ties.sum()]]]], format="csr")

    def _inverse(self, hessian: sparse.csr_array) -> LinearOperator:
        """Return the inverse Hessian if it is small, else that of its diagonal.

        The Hessian may be 0 along equal scores, where gradients are 0 too: any curvature does.
        """
        n_items, diagonal = self.margins.n_items, hessian.diagonal()
        if self.n_features <= _FEW_FEATURES:
            dense = hessian.toarray()
            dense[:n_items, :n_items] += diagonal[:n_items].mean() / n_items
            with contextlib.suppress(linalg.LinAlgError, ValueError):
                factor = linalg.cho_factor(dense)
                return LinearOperator(dense.shape, partial(linalg.cho_solve, factor))
        inverse = 1.0 / np.maximum(diagonal, np.finfo(float).tiny)
        return aslinearoperator(sparse.diags_array(inverse))

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
