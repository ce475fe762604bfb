"""The negative log-likelihood of comparisons as an objective of scores, effects and ties."""

from __future__ import annotations

import contextlib
from functools import partial

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator

from pairrank._protocols import FloatArray, Point
from pairrank.ratings.likelihoods import HALVES, TIE, Likelihood, Margins, Slopes

_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""A gradient below this part of the sum of the sizes of its terms is rounding."""
_FEW_FEATURES, _FEW_ENTRIES = 400, 1 << 20
"""Up to this size of the design a step solves with the whole Hessian."""


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
