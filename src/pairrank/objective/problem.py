"""Problem: X in memory less large offsets, preferences, loss and penalty; RowSums evaluate it."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pairrank._protocols import FloatArray, LinearMap, PairLoss, Point, Squares, Tubes
from pairrank.design import Design
from pairrank.exceptions import PairrankWarning
from pairrank.losses import Square
from pairrank.objective.pair_objective import (
    ENOUGH_ENTRIES,
    ExactHessian,
    InverseDiagonal,
    KernelDesign,
    is_even,
    spread_of_features,
)
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, Pairs, Preferences

FAR = 100.0
"""The offset is subtracted where features are this many times as large as their differences."""
_LOST = 1e-3
"""Warn where the relative rounding of differences in X is larger than this."""
_SAMPLE = 1000
_BLOCK_ENTRIES = 1 << 20


def without_offset(X: Any, preferences: Levels | Pairs | Differences) -> Any:
    """Return X, or a copy whose features of large offsets are less one row of each query.

    Only differences within a query enter a sum over pairs, so the optimum is the same, and an
    offset of 1e9 costs no digits beyond those that X has lost already: a warning says where fewer
    than three digits of a feature's differences are left. A thousand rows decide whether a copy is
    needed. CSR rows are returned unchanged. Costs O(n_features), and O(size) time and memory where
    X is copied.
    """
    n_rows, n_features = X.shape
    if sparse.issparse(X) or not n_rows * n_features:
        return X
    origin = _first_rows(preferences, n_rows)
    rows = np.arange(0, n_rows, -(-n_rows // _SAMPLE))
    with np.errstate(over="ignore", invalid="ignore"):
        some = X[rows].astype(np.float64)
        base = X[origin[rows]].astype(np.float64)
        size, spread = np.abs(some).max(axis=0), np.abs(some - base).max(axis=0)
    is_far = size > FAR * np.where(spread > 0, spread, spread.max())
    if not is_far.any() or not spread.any():
        return X
    _warn_of_lost_digits(size, spread, float(np.finfo(X.dtype).eps))
    result = np.empty_like(X, order="C")
    step = max(1, _BLOCK_ENTRIES // n_features)
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore"):
            base = np.where(is_far, X[origin[part]], X.dtype.type(0))
            np.subtract(X[part], base, out=result[part])
    return result


def _first_rows(preferences: Levels | Pairs | Differences, n_rows: int) -> NDArray[np.intp]:
    """Return for every row one row of its query."""
    if isinstance(preferences, Levels):
        starts = preferences.group_start[preferences.query_group]
        if starts.size == 2:
            return np.zeros(n_rows, dtype=np.intp)
        first = np.arange(n_rows)
        first[preferences.row_of] = np.repeat(preferences.row_of[starts[:-1]], np.diff(starts))
        return first
    if isinstance(preferences, Pairs) or preferences.query_of is None:
        return np.zeros(n_rows, dtype=np.intp)
    first = np.empty(preferences.query_weight.size, dtype=np.intp)
    first[preferences.query_of[::-1]] = np.arange(n_rows)[::-1]
    return first[preferences.query_of]


def _warn_of_lost_digits(size: FloatArray, spread: FloatArray, unit: float) -> None:
    """Warn where rounding in X has lost most digits of a feature's differences."""
    lost = (spread > 0) & (unit * size > _LOST * spread)
    if lost.any():
        feature = int(np.argmax(lost))
        warnings.warn(
            f"feature {feature} is as large as {size[feature]:g} but differs by about "
            f"{spread[feature]:g} within a query: most digits of the differences are lost in X; "
            "subtract its mean, or standardise it, before it is rounded",
            PairrankWarning,
            stacklevel=2,
        )


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
        enough = max(ENOUGH_ENTRIES, _ENTRIES_PER_FEATURE * design.n_features)
        return -(-design.n_entries // enough)

    @functools.cached_property
    def absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values, by every k-th row of X.

        As if all rows were in equally many pairs.
        """
        some = self.some_rows
        absolute = Design(abs(some.X)).transposed(np.ones(some.n_rows))
        return 2.0 * float(np.linalg.norm(absolute)) / max(1, some.n_rows)

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

        The curvature at zero, which an objective keeps, is evaluated when it is asked for.
        """
        problem, design, pair_sum = self.problem, self.design, self.pair_sum
        if not w.any():
            scores = np.broadcast_to(0.0, design.n_rows)
        elif scores is None:
            scores = design.scores(w)
        found = pair_sum.at(scores)
        factor, penalty = problem.factor, problem.penalty
        known = found.curvature if w.any() else None

        def hessian() -> LinearMap:
            curvature = pair_sum.at(scores).curvature if known is None else known
            return ExactHessian(design, curvature(), factor, penalty)

        with np.errstate(over="ignore", invalid="ignore"):
            return Point(
                value=factor * found.value,
                gradient=factor * design.transposed(found.gradient),
                scores=scores,
                hessian=hessian,
                preconditioner=lambda: problem.uneven_diagonal,
                rounding=lambda: self.rounding,
                score_norm=factor * float(linalg.norm(found.gradient, check_finite=False)),
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
        """The same by every k-th row of X."""
        if isinstance(self.design, KernelDesign):
            return self.rounding
        return np.sqrt(self.problem.stride) * self.problem.some_rows.rounding()
