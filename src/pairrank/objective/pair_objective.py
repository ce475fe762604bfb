"""Problem and PairObjective: X, preferences, loss and penalty, and what a solver sees of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import (
    Curvature,
    Evaluated,
    FloatArray,
    LinearMap,
    PairLoss,
    Point,
    Squares,
    Tubes,
)
from pairrank.design import Design, compacted, largest_of, norm_of, rows_at
from pairrank.losses import Square
from pairrank.objective.hessians import (
    ENOUGH_ENTRIES,
    ExactHessian,
    HessianModel,
    InverseDiagonal,
    is_even,
    spread_of_features,
)
from pairrank.objective.kernel_design import KernelDesign
from pairrank.objective.offsets import without_offset
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, Preferences

_ENTRIES_PER_FEATURE = 16
"""A feature's spread is judged from at least about this many entries, where it has them."""
ROUNDING = 0.1
"""A gradient at 0 below this part of the precision of its terms is rounding: X is constant."""


@dataclass(frozen=True, eq=False)
class Problem:
    r"""penalty/2 \|w\|^2 + factor * the sum of a loss over preferences at the scores X w.

    X is an array or CSR matrix of features. Where `is_kernel`, it is the kernel matrix of the rows
    (or a LinearOperator), the coefficients are dual and the norm is a'K a. Preferences are over the
    rows of X, already scaled by their reduction. `algorithm` and `eps` say how the pair sum is
    computed, and its error, as `pairrank.pair_sums.bind` takes them.
    """

    X: Any
    preferences: Preferences | Differences
    loss: PairLoss
    penalty: float = 1.0
    factor: float = 1.0
    algorithm: str = "auto"
    eps: float = 1e-6
    is_kernel: bool = False

    @functools.cached_property
    def design(self) -> Design | KernelDesign:
        """X as the map from coefficients to scores."""
        if self.is_kernel:
            return KernelDesign(self.X)
        return Design(without_offset(self.X, self.preferences))

    @functools.cached_property
    def rough_design(self) -> Design | KernelDesign:
        """The design for approximate Hessians: rounded where sparse X is large, else `design`."""
        design = self.design
        return design if isinstance(design, KernelDesign) else compacted(design)

    @property
    def features(self) -> Any:
        """The features that `design` multiplies by, or the kernel matrix."""
        return self.X if isinstance(self.design, KernelDesign) else self.design.X

    def changed(self, **changes: Any) -> Problem:
        """Return the problem with other fields; the same features stand for X."""
        return replace(self, **{"X": self.features, **changes})

    @property
    def is_of_differences(self) -> bool:
        """Whether the loss compares differences of labels with those of scores."""
        return isinstance(self.loss.family, Squares | Tubes)

    def with_target(self, target: FloatArray | None) -> Problem:
        """Return the same problem for another column of labels; None: for those it has."""
        if target is None or not isinstance(self.preferences, Differences):
            return self
        return self.changed(preferences=self.preferences.with_target(target))

    def curvature_at_zero(self) -> FloatArray:
        """Return about the diagonal of the pair sum's Hessian by equal scores, (n_rows,).

        That of a tube is the diagonal of squares; O(n_rows), of Pairs O(n_pairs).
        """
        if self.is_of_differences:
            squares = bind(Square(), self.preferences)
            at_zero = squares.at(np.zeros(self.preferences.n_rows))
            return np.asarray(at_zero.curvature().diagonal())
        assert not isinstance(self.preferences, Differences)
        return float(self.loss.phi(np.zeros(1), order=2)[0]) * wins_plus(1.0, self.preferences)

    @property
    def some_rows(self) -> Design:
        """Every k-th row of X, with enough entries to judge its features by.

        Rows of Levels are in the order of their layout.
        """
        return self._some[0]

    @property
    def some_degrees(self) -> FloatArray:
        """The weight of the preferences of each of `some_rows`."""
        return self._some[1]

    @functools.cached_property
    def _some(self) -> tuple[Design, FloatArray]:
        assert isinstance(self.design, Design)
        preferences, step = self.preferences, slice(None, None, self.stride)
        if self.stride == 1 or not isinstance(preferences, Levels):
            return Design(self.design.X[step]), wins_plus(1.0, preferences)[step].copy()
        rows, X = preferences.row_of[step], self.design.X
        some = X[rows] if self.design.is_sparse else rows_at(X, rows)
        return Design(some), preferences.degrees_at(step)

    @functools.cached_property
    def stride(self) -> int:
        """The k of `some_rows`."""
        design = self.design
        assert isinstance(design, Design)
        enough = max(ENOUGH_ENTRIES, _ENTRIES_PER_FEATURE * design.n_features)
        return -(-design.n_entries // enough)

    @functools.cached_property
    def uneven_diagonal(self) -> InverseDiagonal | None:
        """The inverse of the Hessian's diagonal at w = 0; None where it is even.

        As if all rows that are compared were compared with all. Every k-th row of X decides whether
        features are of one size.
        """
        design = self.design
        if isinstance(design, KernelDesign):
            return None
        whole = self.curvature_at_zero() if self.is_of_differences else None
        some = self.some_degrees if whole is None else whole[:: self.stride]
        if is_even(spread_of_features(self.some_rows, some)):
            return None
        degree = self.curvature_at_zero() if whole is None else whole
        return InverseDiagonal(spread_of_features(design, degree), self.factor, self.penalty)


def wins_plus(factor: float, preferences: Preferences | Differences) -> FloatArray:
    """Return the weight that each row wins plus `factor` times that it loses, (n_rows,)."""
    if isinstance(preferences, Levels):
        return preferences.wins_plus(factor)
    wins, losses = preferences.wins_and_losses()
    return wins + factor * losses


class _Total(NamedTuple):
    """The factor times a pair sum at some scores, with its gradient by the coefficients.

    The objective keeps that at zero. A `Point` holds functions of the objective, so an objective
    that kept one would be freed by the garbage collector only, long after its last use.
    """

    value: float
    gradient: FloatArray
    curvature: Callable[[], Curvature]
    score_norm: float
    value_error: float
    gradient_error: float


class PairObjective:
    r"""A `Problem` as an objective: penalty/2 \|w\|^2 is left to the solver.

    `model` approximates the Hessian; None: that of every pair. With `is_rough` the Hessian of every
    pair may be rounded (see `Problem.rough_design`) until `refine` is called. `inverse`
    preconditions where the model does not; None: the inverse of the Hessian's diagonal where
    features differ in size. A gradient costs two products with X and a pair sum; so does a Hessian
    product. At w = 0 value and gradient are computed once.
    """

    def __init__(
        self,
        problem: Problem,
        model: HessianModel | None = None,
        inverse: LinearMap | None = None,
        *,
        is_rough: bool = False,
    ) -> None:
        self.problem, self.model, self.inverse = problem, model, inverse
        self._is_rough = is_rough
        self.design = problem.design
        self.n_features, self.precision = self.design.n_features, self.design.precision
        self.penalty, self.factor = problem.penalty, problem.factor
        self.pair_sum = bind(
            problem.loss, problem.preferences, pair_sum=problem.algorithm, eps=problem.eps
        )
        self._zero: _Total | None = None

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the pair sum and its gradient, without the penalty."""
        if not w.any():
            if self._zero is None:
                found = self._sums_at_zero()
                self._zero = self._at_zero(found, self.design.transposed(found.gradient))
            return self._point(w, np.broadcast_to(0.0, self.design.n_rows), self._zero)
        if scores is None:
            scores = self._scores(w)
        found = self.pair_sum.at(scores)
        return self._point(w, scores, self._total(found, self.design.transposed(found.gradient)))

    def sharpen(self) -> bool:
        """Let the pair sum take a smaller error."""
        is_sharper = bool(self.pair_sum.sharpen())
        if is_sharper:
            self._zero = None
        return is_sharper

    def refine(self) -> bool:
        """Ask the model for a better Hessian, then use that of every pair unrounded."""
        if self.model is not None and self.model.refine():
            return True
        changes = self._is_rough and self.problem.rough_design is not self.design
        self._is_rough = False
        return changes

    def _scores(self, w: FloatArray) -> FloatArray:
        """Return X w; while the gradient at zero is unknown, it shares the pass over X."""
        if self._zero is not None or isinstance(self.design, KernelDesign):
            return self.design.scores(w)
        found = self._sums_at_zero()
        scores, gradient = self.design.scores_and_transposed(w, found.gradient)
        self._zero = self._at_zero(found, gradient)
        return scores

    def _total(self, found: Evaluated, gradient: FloatArray) -> _Total:
        """Return what a point needs of a pair sum; the gradient by the scores is not kept."""
        of_value, of_gradient = self._errors(found.error, found.gradient_error)
        with np.errstate(over="ignore", invalid="ignore"):
            return _Total(
                value=self.factor * found.value,
                gradient=self.factor * gradient,
                curvature=found.curvature,
                score_norm=self.factor * norm_of(found.gradient),
                value_error=of_value,
                gradient_error=of_gradient,
            )

    def _point(self, w: FloatArray, scores: FloatArray, total: _Total) -> Point:
        return Point(
            value=total.value,
            gradient=total.gradient,
            scores=scores,
            hessian=functools.partial(self._hessian, w, scores, total.curvature),
            preconditioner=functools.partial(self._preconditioner, w),
            rounding=lambda: self._rounding,
            score_norm=total.score_norm,
            value_error=total.value_error,
            gradient_error=total.gradient_error,
        )

    def _sums_at_zero(self) -> Evaluated:
        """Return the pair sum of equal scores, in closed form if the loss ignores magnitudes."""
        problem = self.problem
        scores = np.broadcast_to(0.0, self.design.n_rows)
        if problem.is_of_differences:
            return self.pair_sum.at(scores)
        assert not isinstance(problem.preferences, Differences)
        cost, slope = (float(problem.loss.phi(np.zeros(1), order=k)[0]) for k in (0, 1))
        gradient = wins_plus(-1.0, problem.preferences)
        gradient *= slope
        value, error = cost * problem.preferences.total_weight, self.pair_sum.error
        at = self.pair_sum.at
        return Evaluated(value, gradient, error, lambda: at(scores).curvature(), 2.0 * error)

    def _at_zero(self, found: Evaluated, gradient: FloatArray) -> _Total:
        """Return the sums at zero; a gradient that is rounding alone is 0."""
        zero = self._total(found, gradient)
        if self._is_rounding(zero):
            zero = zero._replace(gradient=np.zeros(self.n_features), score_norm=0.0)
        zero.gradient.flags.writeable = False
        return zero

    def _is_rounding(self, zero: _Total) -> bool:
        """Whether a gradient may be rounding alone: every k-th row of X gives its size."""
        design = self.design
        if isinstance(design, KernelDesign):
            return False
        some, every = self.problem.some_rows, self.problem.stride
        unit = max(ROUNDING * design.precision, 2.0 * float(np.finfo(design.dtype).eps))
        largest = largest_of(some.X.data if some.is_sparse else some.X)
        most = zero.score_norm * largest * np.sqrt(every * some.n_rows) * unit
        if largest_of(zero.gradient) > most:
            return False
        size = np.sqrt(every * some.squares_transposed(np.ones(some.n_rows)))
        off = zero.score_norm * size * unit
        return bool(((np.abs(zero.gradient) <= off) & (off < np.inf)).all())

    def _errors(self, of_sum: float, of_rows: float) -> tuple[float, float]:
        """Return the errors of value and gradient, from those of the sum and of its row gradients.

        That of the gradient is an estimate: rows count by the weight of their pairs.
        """
        if not of_sum and not of_rows:
            return 0.0, 0.0
        of_gradient = float(0.5 * self.factor * of_rows * self.absolute_share)
        return self.factor * of_sum, of_gradient

    @functools.cached_property
    def _rounding(self) -> FloatArray:
        return self.design.rounding()

    @functools.cached_property
    def absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values, by every k-th row of X."""
        problem = self.problem
        absolute = problem.some_rows.magnitudes_transposed(problem.some_degrees)
        return problem.stride * float(np.linalg.norm(absolute)) / problem.preferences.total_weight

    def _hessian(
        self, w: FloatArray, scores: FloatArray, curvature: Callable[[], Curvature]
    ) -> LinearMap:
        """Return the (generalised) Hessian, of the model or of every pair."""
        modelled = None if self.model is None else self.model.hessian(w, scores)
        if modelled is not None:
            return modelled
        design = self.problem.rough_design if self._is_rough else self.design
        return ExactHessian(design, curvature(), self.factor, self.penalty)

    def _preconditioner(self, w: FloatArray) -> LinearMap | None:
        """Return the model's inverse, the given one, or that of an uneven diagonal."""
        inverse = None if self.model is None else self.model.inverse(w)
        inverse = self.inverse if inverse is None else inverse
        return self.problem.uneven_diagonal if inverse is None else inverse
