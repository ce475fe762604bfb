"""Problem: X in memory, preferences, loss and penalty; and RowSums, which evaluate it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, PairLoss, Squares, Tubes
from pairrank.design import Design, largest_of, norm_of
from pairrank.losses import Square
from pairrank.objective.hessians import (
    ENOUGH_ENTRIES,
    ExactHessian,
    InverseDiagonal,
    is_even,
    spread_of_features,
)
from pairrank.objective.kernel_design import KernelDesign
from pairrank.objective.offsets import without_offset
from pairrank.objective.pair_objective import ROUNDING, Total
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Preferences

_ENTRIES_PER_FEATURE = 16
"""A feature's spread is judged from at least about this many entries, where it has them."""


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

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.design.n_rows

    @property
    def n_features(self) -> int:
        """The number of coefficients."""
        return self.design.n_features

    def bound(self) -> RowSums:
        """Return what evaluates the problem."""
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
        return float(self.loss.phi(np.zeros(1), order=2)[0]) * degrees_of(self.preferences)

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
        enough = max(ENOUGH_ENTRIES, _ENTRIES_PER_FEATURE * design.n_features)
        return -(-design.n_entries // enough)

    @functools.cached_property
    def absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values, by every k-th row of X."""
        degrees = degrees_of(self.preferences)[:: self.stride]
        absolute = Design(abs(self.some_rows.X)).transposed(degrees)
        return self.stride * float(np.linalg.norm(absolute)) / self.preferences.total_weight

    @functools.cached_property
    def uneven_diagonal(self) -> InverseDiagonal | None:
        """The inverse of the Hessian's diagonal at w = 0; None where it is even.

        As if all rows that are compared were compared with all. Every k-th row of X decides whether
        features are of one size.
        """
        design = self.design
        if isinstance(design, KernelDesign):
            return None
        degree = self.curvature_at_zero()
        if is_even(spread_of_features(self.some_rows, degree[:: self.stride])):
            return None
        return InverseDiagonal(spread_of_features(design, degree), self.factor, self.penalty)


def degrees_of(preferences: Preferences | Differences) -> FloatArray:
    """Return the weight of the preferences that each row is in, (n_rows,)."""
    wins, losses = preferences.wins_and_losses()
    return wins + losses


class RowSums:
    """The sums of a `Problem`: a gradient costs two products with X and a pair sum."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.design = problem, problem.design
        self.n_features, self.precision = self.design.n_features, self.design.precision
        self.pair_sum = bind(
            problem.loss, problem.preferences, pair_sum=problem.algorithm, eps=problem.eps
        )

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Total:
        """Return factor times the pair sum, and its gradient by the weights.

        The curvature at zero, which an objective keeps, is evaluated when it is asked for.
        """
        problem, design, pair_sum = self.problem, self.design, self.pair_sum
        if not w.any():
            scores = np.broadcast_to(0.0, design.n_rows)
        elif scores is None:
            scores = design.scores(w)
        found = pair_sum.at(scores)
        curvature, factor, penalty = found.curvature, problem.factor, problem.penalty
        if not w.any():
            curvature = functools.partial(_curvature_at, pair_sum, scores)

        def hessian() -> LinearMap:
            return ExactHessian(design, curvature(), factor, penalty)

        with np.errstate(over="ignore", invalid="ignore"):
            return Total(
                value=factor * found.value,
                gradient=factor * design.transposed(found.gradient),
                scores=scores,
                score_norm=factor * norm_of(found.gradient),
                value_error=factor * found.error,
                gradient_error=factor * found.gradient_error,
                hessian=hessian,
            )

    def sharpen(self) -> bool:
        """Let the pair sum take a smaller error."""
        return bool(self.pair_sum.sharpen())

    @functools.cached_property
    def rounding(self) -> FloatArray:
        """A bound on the rounding of X' v for v of norm 1, (n_features,)."""
        return self.design.rounding()

    @property
    def absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values."""
        return self.problem.absolute_share

    def is_rounding(self, zero: Total) -> bool:
        """Whether a gradient at zero may be rounding alone: every k-th row of X gives its size."""
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


def _curvature_at(pair_sum: Any, scores: FloatArray) -> Any:
    return pair_sum.at(scores).curvature()
