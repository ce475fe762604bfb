"""SumObjective: X and any pair sum, smooth or not, as the objective that a solver sees."""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np

from pairrank._protocols import Curvature, Evaluated, FloatArray, LinearMap, PairSum
from pairrank.design import Design, norm_of

_ENOUGH_ENTRIES = 1 << 18
"""Entries of X that tell of what size its features are."""
_ROUNDING = 0.1
"""A gradient at zero below this part of the precision of its terms is none: X is constant."""


class RowMap(Protocol):
    """Coefficients to scores, and a gradient by the scores to one by the coefficients."""

    n_rows: int
    n_features: int

    @property
    def precision(self) -> float:
        """The relative rounding to expect of a sum of many products."""
        ...

    def scores(self, w: FloatArray) -> FloatArray:
        """Return the scores of coefficients, (n_rows,)."""
        ...

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return the gradient by the coefficients, (n_features,)."""
        ...

    def rounding(self) -> FloatArray:
        """Return what rounding may add to each entry of it, for values of norm 1."""
        ...


class SumObjective:
    r"""pair sum + penalty/2 \|w\|^2, for a sum that knows its own weights and is exact.

    Parameters
    ----------
    design : Design or KernelDesign
        From coefficients to scores.
    pair_sum : PairSum
        Of squares or of tubes; one without a gradient somewhere gives a subgradient there, and its
        `hessian` is not to be asked for.
    penalty : float
        What half the squared norm is multiplied by.
    metric : LinearMap, optional
        The inner product of the coefficients, as in `LinearCG`; None: u'v.
    inverse : LinearMap, optional
        About the inverse of the Hessian, to precondition with; None: the iterates are plain ones.

    Notes
    -----
    A gradient, as a Hessian product, costs two products with X and one with the pair sum. At w = 0
    both value and gradient are kept, and so are the scores of the last w.
    """

    value_error = gradient_error = 0.0

    def __init__(
        self,
        design: RowMap,
        pair_sum: PairSum,
        *,
        penalty: float,
        metric: LinearMap | None = None,
        inverse: LinearMap | None = None,
    ) -> None:
        self.design, self.pair_sum, self.penalty = design, pair_sum, penalty
        self.inverse = inverse
        self.n_features, self.precision = design.n_features, design.precision
        value, pull = pair_sum.at(np.zeros(design.n_rows))[:2]
        self.pull = self._pull_at_zero = norm_of(pull)
        self._value_at_zero, self._gradient_at_zero = value, design.transposed(pull)
        if _is_rounding(self._gradient_at_zero, design, self.pull):
            self._gradient_at_zero[:] = self.pull = self._pull_at_zero = 0.0
        self._scores_at: tuple[FloatArray, FloatArray] | None = None
        self._evaluated: tuple[FloatArray, Evaluated] | None = None
        gradient = self._gradient_at_zero
        image = gradient if metric is None else metric.matvec(gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            self.reference_norm = float(np.sqrt(max(float(gradient @ image), 0.0)))

    def loss_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the pair sum and its gradient, or a subgradient; no penalty."""
        if not w.any():
            self.pull = self._pull_at_zero
            return self._value_at_zero, self._gradient_at_zero.copy()
        scores = self._scores(w)
        self._evaluated = (scores, self.pair_sum.at(scores))
        value, pull = self._evaluated[1][:2]
        self.pull = norm_of(pull)
        return value, self.design.transposed(pull)

    @functools.cached_property
    def rounding(self) -> FloatArray:
        """What rounding may add to each entry of a gradient of pull 1, (n_features,)."""
        return self.design.rounding()

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the (generalised) Hessian at `w`, penalty included."""
        return RowHessian(self.design, self._curvature(w), self.penalty)

    def preconditioner(self, w: FloatArray) -> LinearMap | None:
        """Return what was given as an approximate inverse, the same everywhere."""
        return self.inverse

    def reach(self, w: FloatArray, step: FloatArray, slope: float) -> float:
        """Return 1.0: a step is taken as it is."""
        return 1.0

    def refine(self) -> bool:
        """Return False: nothing is sampled."""
        return False

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False

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


def _is_rounding(gradient: FloatArray, design: RowMap, pull: float) -> bool:
    """Whether a gradient may be rounding alone, by every k-th row of X: features are constant."""
    if not isinstance(design, Design):
        return False
    every = -(-design.n_entries // _ENOUGH_ENTRIES)
    some = Design(design.X[::every])
    size = np.sqrt(every * some.squares_transposed(np.ones(some.n_rows)))
    off = pull * size * max(_ROUNDING * design.precision, 2.0 * float(np.finfo(design.dtype).eps))
    return bool(((np.abs(gradient) <= off) & (off < np.inf)).all())


class RowHessian:
    """penalty I + X' H X for the curvature H of a pair sum."""

    def __init__(self, design: RowMap, curvature: Curvature, penalty: float) -> None:
        self.design, self.curvature, self.penalty = design, curvature, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; two products with X and one with the curvature."""
        result = self.design.transposed(self.curvature.matvec(self.design.scores(v)))
        result += self.penalty * v
        return result
