"""PairObjective: X, preferences, loss and penalty to loss, gradient and Hessian product."""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np

from pairrank._protocols import Curvature, Evaluated, FloatArray, LinearMap, PairLoss
from pairrank.design import Design, norm_of
from pairrank.objective.diagonal import (
    InverseDiagonal,
    inverse_diagonal,
    is_even,
    spread_of_features,
)
from pairrank.objective.line_sample import LineSample
from pairrank.pair_sums import bind
from pairrank.preferences import Preferences

_ENOUGH_ENTRIES = 1 << 18
"""Entries of X that tell whether features are of one size."""
_ROUNDING = 0.1
"""A gradient at zero below this part of the precision of its terms is none: X is constant."""


class PairObjective:
    r"""penalty/2 \|w\|^2 + factor * sum over pairs of phi(w'(x_i - x_j)), as a solver sees it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    preferences : Levels or Pairs
        Over the rows of X, already scaled by their normalisation.
    loss : PairLoss
        What a pair costs.
    factor, penalty : float
        What the pair sum and the squared norm are multiplied by.
    route, eps : str, float
        The pair sum's algorithm and error, see `pairrank.pair_sums.bind`.
    model : HessianModel, optional
        Where the Hessian comes from; None: from every pair.
    line : LineSample, optional
        What lengthens or shortens a step before it is tried; None: nothing does.

    Notes
    -----
    A gradient costs two products with X and a pair sum; so does a Hessian product.
    """

    def __init__(
        self,
        X: Any,
        preferences: Preferences,
        loss: PairLoss,
        *,
        factor: float,
        penalty: float,
        route: str = "auto",
        eps: float = 1e-6,
        model: HessianModel | None = None,
        line: LineSample | None = None,
    ) -> None:
        self.design = X if isinstance(X, Design) else Design(X)
        self.loss, self.factor, self.penalty = loss, factor, penalty
        self.pair_sum = bind(loss, preferences, pair_sum=route, eps=eps)
        self.n_features = self.design.n_features
        self.precision = self.design.precision
        self.model, self.line = model, line
        self.preferences = preferences
        self._scores_at: tuple[FloatArray, FloatArray] | None = None
        self._evaluated: tuple[FloatArray, Evaluated] | None = None
        cost, slope = (float(loss.phi(np.zeros(1), order=order)[0]) for order in (0, 1))
        wins, losses = preferences.wins_and_losses()
        self._every = -(-self.design.n_entries // _ENOUGH_ENTRIES)
        self._some_degrees = (wins + losses)[:: self._every].copy()
        with np.errstate(over="ignore", invalid="ignore"):
            self._loss_at_zero = factor * cost * preferences.total_weight
            pull = slope * (wins - losses)
            self.pull = self._pull_at_zero = factor * norm_of(pull)
            self._gradient_at_zero = factor * self.design.transposed(pull)
            self.reference_norm = float(np.linalg.norm(self._gradient_at_zero))
            rounding = _ROUNDING * self.precision * factor * self._absolute_pull
            if self.reference_norm <= rounding < np.inf:
                self._gradient_at_zero[:] = self.reference_norm = self._pull_at_zero = 0.0

    def loss_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return factor times the pair sum, and its gradient; no penalty.

        At w = 0 all scores are equal, and both are known in closed form.
        """
        if not w.any():
            self.pull = self._pull_at_zero
            return self._loss_at_zero, self._gradient_at_zero.copy()
        scores = self._scores(w)
        self._evaluated = (scores, self.pair_sum.at(scores))
        value, gradient = self._evaluated[1][:2]
        self.pull = self.factor * norm_of(gradient)
        return self.factor * value, self.factor * self.design.transposed(gradient)

    @functools.cached_property
    def rounding(self) -> FloatArray:
        """What rounding may add to each entry of a gradient of pull 1, (n_features,)."""
        return self.design.rounding()

    @property
    def value_error(self) -> float:
        """What the loss may be off by, since the pair sum is."""
        return self.factor * self.pair_sum.error

    @property
    def gradient_error(self) -> float:
        """About what the gradient may be off by: every row's by the same part of its pairs.

        The sum of absolute contributions is judged by every k-th row of X.
        """
        if self.pair_sum.error == 0.0:
            return 0.0
        return self.value_error / self.preferences.total_weight * self._absolute_pull

    @functools.cached_property
    def _absolute_pull(self) -> float:
        """The norm of sum over rows of the weight of their pairs times the row's absolute values.

        Times a relative error of every row's part of the gradient it bounds that of the whole.
        """
        some = Design(abs(self.design.X[:: self._every]))
        return self._every * float(np.linalg.norm(some.transposed(self._some_degrees)))

    def sharpen(self) -> bool:
        """Let the pair sum take a smaller error."""
        return self.pair_sum.sharpen()

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the (generalised) Hessian at `w`, of every pair or of the model's sample."""
        scores = self._scores(w)
        modelled = None if self.model is None else self.model.hessian(w, scores)
        if modelled is not None:
            return modelled
        return ExactHessian(self.design, self._curvature(w), self.factor, self.penalty)

    def preconditioner(self, w: FloatArray) -> LinearMap | None:
        """Return the inverse of the model's Hessian, or else of a diagonal that is uneven."""
        inverse = None if self.model is None else self.model.inverse(w)
        if inverse is not None:
            return inverse
        return self._inverse_diagonal

    @functools.cached_property
    def _inverse_diagonal(self) -> InverseDiagonal | None:
        """The inverse of the Hessian's diagonal at w = 0, or None where it is even.

        As if all rows that are compared were compared with all. Where features are of one size,
        which every k-th row tells, it would save nothing, and the paper's own steps are taken.
        """
        bend = float(self.loss.phi(np.zeros(1), order=2)[0])
        some = Design(self.design.X[:: self._every])
        if is_even(spread_of_features(some, bend * self._some_degrees)):
            return None
        wins, losses = self.preferences.wins_and_losses()
        spread = spread_of_features(self.design, bend * (wins + losses))
        return inverse_diagonal(self.factor * spread, self.penalty)

    def refine(self) -> bool:
        """Ask the model for a larger sample, then do without the line; False when all is exact."""
        if self.model is not None and self.model.refine():
            return True
        changes, self.line = self.line is not None, None
        return changes

    def reach(self, w: FloatArray, step: FloatArray, slope: float) -> float:
        """Return the multiple of `step` to take from `w`; costs one product with X."""
        if self.line is None:
            return 1.0
        scores, change = self._scores(w), self.design.scores(step)
        multiple = self.line.minimum(
            scores,
            change,
            slope=slope / self.factor,
            bend=self.penalty * float(step @ step) / self.factor,
        )
        self._scores_at = (w + multiple * step, scores + multiple * change)
        return multiple

    def _curvature(self, w: FloatArray) -> Curvature:
        """Return the curvature at `w`, from the last evaluation where it was there."""
        scores = self._scores(w)
        if self._evaluated is None or self._evaluated[0] is not scores:
            self._evaluated = (scores, self.pair_sum.at(scores))
        return self._evaluated[1].curvature()

    def _scores(self, w: FloatArray) -> FloatArray:
        if self._scores_at is None or not np.array_equal(self._scores_at[0], w):
            self._scores_at = (w.copy(), self.design.scores(w))
        return self._scores_at[1]


class HessianModel(Protocol):
    """Where an objective's Hessian comes from, other than from every pair."""

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return a Hessian at `w`, penalty included; None: that of every pair is better."""
        ...

    def inverse(self, w: FloatArray) -> LinearMap | None:
        """Return its inverse, to precondition with; None: there is none."""
        ...

    def refine(self) -> bool:
        """Come nearer to the exact Hessian; False where that cannot be."""
        ...


class ExactHessian:
    """penalty I + factor X' H X for the curvature H of a pair sum."""

    def __init__(self, design: Design, curvature: Curvature, factor: float, penalty: float) -> None:
        self.design, self.curvature, self.factor, self.penalty = design, curvature, factor, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; two products with X and one with the curvature.

        `v` is scaled to 1 before, lest huge features meet it squared in float32.
        """
        size = float(np.abs(v).max(initial=0.0))
        if not 0.0 < size < np.inf:
            return self.penalty * v
        bent = self.curvature.matvec(self.design.scores(v / size))
        return self.penalty * v + size * self.factor * self.design.transposed(bent)
