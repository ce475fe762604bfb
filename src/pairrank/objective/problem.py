"""Problem: X, preferences, loss and penalty; PairObjective: what a solver sees of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairrank._protocols import Curvature, FloatArray, LinearMap, PairLoss, Point, Squares, Tubes
from pairrank.design import Design, KernelDesign, without_offset
from pairrank.losses import Square
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Preferences

_ENOUGH_ENTRIES = 1 << 18
"""The number of entries of X that suffices to estimate the size of its features."""
_ENTRIES_PER_FEATURE = 16
"""A feature's spread is judged from at least about this many entries, where it has them."""
_CONSTANT = 1e-12
"""A feature whose spread is below this part of the largest spread is constant."""
_EVEN = 10.0
"""A diagonal is even where its 90th percentile is at most this many times its 10th."""
_ROUNDING = 0.1
"""A gradient at 0 below this part of the precision of its terms is rounding: X is constant."""


@dataclass(frozen=True, eq=False)
class Problem:
    r"""penalty/2 \|w\|^2 + factor * the sum of a loss over preferences at the scores X w.

    X is an array or CSR matrix of features. Where `is_kernel`, it is the kernel matrix of the rows,
    the coefficients are dual and the norm is a'K a. Preferences are over the
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

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.design.n_rows

    @property
    def n_features(self) -> int:
        """The number of coefficients."""
        return self.design.n_features

    def sums(self) -> RowSums:
        """Return the sums of the problem: value and gradient at any weights."""
        return RowSums(self)

    @functools.cached_property
    def design(self) -> Design | KernelDesign:
        """X as the map from coefficients to scores."""
        if self.is_kernel:
            return KernelDesign(self.X)
        return Design(without_offset(self.X, self.preferences))

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
        wins, losses = self.preferences.wins_and_losses()
        return float(self.loss.phi(np.zeros(1), order=2)[0]) * (wins + losses)

    @functools.cached_property
    def some_rows(self) -> Design:
        """Every k-th row of X, with enough entries to judge its features by."""
        assert isinstance(self.design, Design)
        return Design(self.design.X[:: self.stride])

    @functools.cached_property
    def stride(self) -> int:
        """The k of `some_rows`."""
        design = self.design
        assert isinstance(design, Design)
        enough = max(_ENOUGH_ENTRIES, _ENTRIES_PER_FEATURE * design.n_features)
        return -(-design.n_entries // enough)

    @functools.cached_property
    def absolute_share(self) -> float:
        """About the norm of the mean over pairs of the sum of both rows' absolute values.

        It is estimated from every k-th row of X, as if all rows were in equally many pairs.
        """
        some = self.some_rows
        absolute = Design(abs(some.X)).transposed(np.ones(some.n_rows))
        return 2.0 * float(np.linalg.norm(absolute)) / max(1, some.n_rows)

    @functools.cached_property
    def uneven_diagonal(self) -> Products | None:
        """The inverse of the Hessian's diagonal at w = 0; None where it is even.

        The diagonal is raised for constant features, and computed as if all rows that are compared
        were compared with one another. Every k-th row of X decides whether features are of one
        size.
        """
        design = self.design
        if isinstance(design, KernelDesign):
            return None
        degree = self.curvature_at_zero()
        if _is_even(_spread(self.some_rows, degree[:: self.stride])):
            return None
        spread = _spread(design, degree)
        lifted = np.maximum(spread, _CONSTANT * spread.max(initial=0.0))
        diagonal = self.penalty + self.factor * lifted
        return Products(lambda v: v / diagonal)


class RowSums:
    """The sums of a `Problem`: a gradient costs two products with X and a pair sum."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.design = problem, problem.design
        self.n_features, self.precision = self.design.n_features, self.design.precision
        self.dtype = self.design.dtype
        self.pair_sum = bind(
            problem.loss, problem.preferences, pair_sum=problem.algorithm, eps=problem.eps
        )

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the pair sum, and its gradient by the weights.

        An objective keeps the point at zero. So its curvature is not kept, but evaluated when it is
        asked for.
        """
        problem, design, pair_sum = self.problem, self.design, self.pair_sum
        if not w.any():
            scores = np.broadcast_to(0.0, design.n_rows)
        elif scores is None:
            scores = design.scores(w)
        found = pair_sum.at(scores)
        factor = problem.factor
        known = found.curvature if w.any() else None

        def hessian() -> LinearMap:
            curvature = pair_sum.at(scores).curvature if known is None else known
            return hessian_of(problem, curvature())

        with np.errstate(over="ignore", invalid="ignore"):
            return Point(
                value=factor * found.value,
                gradient=factor * design.transposed(found.gradient),
                scores=scores,
                hessian=hessian,
                preconditioner=lambda: problem.uneven_diagonal,
                rounding=lambda: self.rounding,
                score_norm=factor * float(np.linalg.norm(found.gradient)),
                value_error=factor * found.error,
                gradient_error=found.gradient_error
                and 0.5 * factor * found.gradient_error * problem.absolute_share,
            )

    def sharpen(self) -> bool:
        """Let the pair sum take a smaller error."""
        return bool(self.pair_sum.sharpen())

    @functools.cached_property
    def rounding(self) -> FloatArray:
        """A bound on the rounding of X' v for v of norm 1, (n_features,)."""
        return self.design.rounding()

    @property
    def about_rounding(self) -> FloatArray:
        """An estimate of `rounding` from every k-th row of X."""
        if isinstance(self.design, KernelDesign):
            return self.rounding
        return np.sqrt(self.problem.stride) * self.problem.some_rows.rounding()


class PairObjective:
    r"""A problem as an objective: penalty/2 \|w\|^2 is left to the solver.

    It is a `Problem` or a `BlockProblem`. `model` approximates the Hessian, see
    `pairrank.objective.models`; None: that of every pair. `inverse` preconditions where the model
    does not; None: the inverse of the Hessian's diagonal where features differ in size. At w = 0
    value and gradient are computed once.
    """

    def __init__(
        self,
        problem: Any,
        model: Any = None,
        inverse: LinearMap | None = None,
    ) -> None:
        self._model, self._inverse = model, inverse
        self._sums = problem.sums()
        self.n_features, self.precision = self._sums.n_features, self._sums.precision
        self.penalty = problem.penalty
        self._zero: Point | None = None

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the pair sum and its gradient, without the penalty."""
        point = self._sums.at(w, scores) if w.any() else self._at_zero(w)
        return point._replace(
            hessian=functools.partial(self._hessian, point),
            preconditioner=functools.partial(self._preconditioner, point),
        )

    def sharpen(self) -> bool:
        """Let the sums take a smaller error."""
        is_sharper = self._sums.sharpen()
        if is_sharper:
            self._zero = None
        return is_sharper

    def refine(self) -> bool:
        """Ask the model for a better Hessian; False if there is none."""
        return self._model is not None and self._model.refine()

    def _at_zero(self, w: FloatArray) -> Point:
        """Return the point at zero, whose gradient is 0 where it may be rounding alone."""
        if self._zero is None:
            zero = self._sums.at(w)
            unit = _ROUNDING * self.precision / (2.0 * float(np.finfo(np.float64).eps))
            unit = max(unit, float(np.finfo(self._sums.dtype).eps / np.finfo(np.float64).eps))
            off = zero.score_norm * self._sums.about_rounding * unit
            if ((np.abs(zero.gradient) <= off) & (off < np.inf)).all():
                zero = zero._replace(gradient=np.zeros(self.n_features), score_norm=0.0)
            zero.gradient.flags.writeable = False
            self._zero = zero
        return self._zero

    def _hessian(self, point: Point) -> LinearMap:
        """Return the (generalised) Hessian, of the model or of every pair."""
        modelled = None if self._model is None else self._model.hessian(point.scores)
        return point.hessian() if modelled is None else modelled

    def _preconditioner(self, point: Point) -> LinearMap | None:
        """Return the model's inverse, the given one, or that of an uneven diagonal."""
        inverse = None if self._model is None else self._model.inverse(point.scores)
        inverse = self._inverse if inverse is None else inverse
        return point.preconditioner() if inverse is None else inverse


@dataclass(frozen=True, eq=False)
class Products:
    """A linear map given by its products with vectors."""

    matvec: Callable[[FloatArray], FloatArray]


def hessian_of(problem: Problem, curvature: Curvature) -> Products:
    """Return penalty I + factor X' H X for the curvature H of a pair sum.

    A product costs two products with X and one with the curvature.
    """
    design = problem.design

    def matvec(v: FloatArray) -> FloatArray:
        product = design.transposed(curvature.matvec(design.scores(v)))
        return problem.penalty * v + problem.factor * product

    return Products(matvec)


def _spread(design: Design, degree: FloatArray) -> FloatArray:
    """Return each feature's sum of squares about its mean, rows weighted by `degree`."""
    total = degree.sum()
    if not total > 0:
        return np.zeros(design.n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        return design.squares_transposed(degree) - design.transposed(degree) ** 2 / total


def _is_even(spread: FloatArray) -> bool:
    """Whether all features but constant ones have about one size, or a size is not finite."""
    if not 0.0 < spread.max(initial=0.0) < np.inf:
        return True
    low, high = np.percentile(spread[spread >= _CONSTANT * spread.max()], (10, 90))
    return bool(high <= _EVEN * low)
