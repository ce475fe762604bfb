"""BlockProblem: a loss over the pairs of all blocks, and what its passes compute of a block."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, PairLoss, Point, Sigmoidal
from pairrank.blocks._contracts import BlockLayout, Passes
from pairrank.blocks.catalog import design_of
from pairrank.blocks.crossing import CrossingSum, Summary, crossing_sum, merged, sharper_eps
from pairrank.blocks.crossing_cells import MOST_SHARPNESS
from pairrank.blocks.layouts import Prepared
from pairrank.exceptions import PairrankError
from pairrank.objective import Problem, Products
from pairrank.pair_sums import bind
from pairrank.pair_sums.profiles import LEAST_EPS
from pairrank.preferences import Differences

_PRECISION = 1e-12
"""The relative rounding error to expect of a value."""
_MOVED = 1e-2
"""A product with the Hessian moves scores by so much, which is a part of a margin; of differences
by this part of the standard deviation of the residuals."""


@dataclass(frozen=True, eq=False)
class BlockProblem:
    r"""penalty/2 \|w\|^2 + factor * the sum of a loss over the preferences of prepared blocks.

    It stands beside `pairrank.objective.Problem`: the same for rows in memory. `factor` is without
    the scale of the reduction.
    """

    passes: Passes
    prepared: Prepared
    loss: PairLoss
    penalty: float = 1.0
    factor: float = 1.0
    algorithm: str = "auto"
    eps: float = 1e-6

    def __post_init__(self) -> None:
        if self.prepared.crossing is not None and self.algorithm != "auto":
            raise PairrankError(
                f'pair_sum="{self.algorithm}" sums queries that lie in one block each, but '
                f"{self.prepared.catalog.crossing.size} queries cross blocks: use "
                'pair_sum="auto", or keep the rows of a query together'
            )

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks."""
        return self.prepared.catalog.n_rows

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.prepared.catalog.n_features

    def changed(self, **changes: Any) -> BlockProblem:
        """Return the problem with other fields."""
        return replace(self, **changes)

    def sums(self) -> BlockSums:
        """Return the sums of the problem: value and gradient at any weights."""
        return BlockSums(self)

    @property
    def origin(self) -> FloatArray | None:
        """What is subtracted from every row of X, see `Catalog.origin`."""
        return self.prepared.catalog.origin

    @property
    def is_whole(self) -> bool:
        """Whether all rows are sampled."""
        return self.prepared.catalog.sample.is_whole

    @functools.cached_property
    def sample(self) -> Problem | None:
        """The problem over the sampled rows, scaled to stand for all pairs; None without a pair.

        It gives starts, Hessians and step lengths.
        """
        prepared = self.prepared
        if prepared.sampled is None:
            return None
        X, factor = prepared.catalog.sample.rows.X, self.factor * prepared.scale
        return Problem(X, prepared.sampled, self.loss, self.penalty, factor, eps=self.eps)

    @property
    def uneven_diagonal(self) -> LinearMap | None:
        """The inverse of the sampled rows' diagonal at w = 0; None where it is even."""
        return None if self.sample is None else self.sample.uneven_diagonal


class BlockSums:
    """The sums of a `BlockProblem`, by passes.

    An evaluation is one pass over the blocks, and a second one where queries cross blocks. The
    first one evaluates zero too, because solvers ask for it, and reading costs more than summing;
    so does the first one after `sharpen`.
    The `scores` of an evaluation are those of the sampled rows, for Hessians and step lengths.
    """

    def __init__(self, problem: BlockProblem) -> None:
        self.problem = problem
        self.n_features, self.precision = problem.n_features, _PRECISION
        self.dtype = problem.prepared.catalog.sample.rows.X.dtype
        self.factor = problem.factor * problem.prepared.scale
        self._sharpness, self._has_error = 0, False
        self._zero: Point | None = None

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the sum over all pairs, and its gradient by the weights."""
        if self._zero is None:
            self._zero, point = self._points(np.zeros_like(w), w)
            return point
        return self._points(w)[0] if w.any() else self._zero

    def _points(self, *weights: FloatArray) -> list[Point]:
        """Return the sums at some weights, from one evaluation."""
        scores = [self._sampled(w) for w in weights]
        asked = [self._asked(*each) for each in zip(weights, scores, strict=True)]
        found = summed(self.problem.passes, asked)
        self._has_error |= any(each.totals[1:3].any() for each in found)
        return [self._point(*each) for each in zip(found, asked, scores, strict=True)]

    def _asked(self, w: FloatArray, scores: FloatArray) -> Asked:
        """Return what a pass is sent for some weights; `scores` are those of the sampled rows."""
        problem, sharpness, crossing = self.problem, self._sharpness, None
        loss, eps, queries = problem.loss, problem.eps, problem.prepared.crossing
        if queries is not None:
            crossing = crossing_sum(loss, queries, eps, sharpness, self._residual(scores))
        return Asked(loss, problem.algorithm, eps, sharpness, problem.origin, w, crossing)

    def _sampled(self, w: FloatArray) -> FloatArray:
        """Return the scores of the sampled rows."""
        sample = self.problem.sample
        return np.empty(0) if sample is None else sample.design.scores(w)

    def _residual(self, scores: FloatArray) -> FloatArray:
        """Return scores of the sampled rows, of differences less labels and centred by query."""
        sampled = self.problem.prepared.sampled
        if isinstance(sampled, Differences):
            return sampled.centred(scores - sampled.target)
        return scores

    def _point(self, found: Summed, asked: Asked, scores: FloatArray) -> Point:
        """Return the sums at the weights of `asked`."""
        problem, factor = self.problem, self.factor
        value, error, gradient_error, square = found.totals.tolist()

        def product(v: FloatArray) -> FloatArray:
            """Return the Hessian times v, the change of the gradient along it, by an evaluation.

            It is precise to about a hundredth: pairs within a hundredth of a margin may be counted
            in or not. That of squares is exact.
            """
            size = _spread(self._sampled(v))
            step = self._step(scores) / size if size > 0.0 else 1.0 / np.linalg.norm(v)
            (moved,) = summed(problem.passes, [asked._replace(w=asked.w + step * v)])
            change = moved.gradient - found.gradient
            return np.asarray(problem.penalty * v + (factor / step) * change)

        with np.errstate(over="ignore", invalid="ignore"):
            return Point(
                value=np.inf if np.isnan(value) else factor * value,
                gradient=factor * found.gradient,
                scores=scores,
                hessian=lambda: Products(product),
                preconditioner=lambda: problem.uneven_diagonal,
                rounding=lambda: self.about_rounding,
                score_norm=factor * float(np.sqrt(square)),
                value_error=factor * error,
                gradient_error=gradient_error
                and 0.5 * factor * gradient_error * self._absolute_share,
            )

    def _step(self, scores: FloatArray) -> float:
        """Return how far scores are moved for a product with the Hessian."""
        if not isinstance(self.problem.prepared.sampled, Differences):
            return _MOVED
        return _MOVED * _spread(self._residual(scores)) or _MOVED

    @property
    def about_rounding(self) -> FloatArray:
        """A bound on the rounding of X' v for v of norm 1, (n_features,)."""
        return self.problem.prepared.catalog.rounding

    def sharpen(self) -> bool:
        """Let the sums of all blocks take a smaller error; False where they are least."""
        problem, is_least = self.problem, self._sharpness >= MOST_SHARPNESS
        if isinstance(problem.loss.family, Sigmoidal):
            is_least = sharper_eps(problem.eps, self._sharpness) <= LEAST_EPS
        if is_least or not self._has_error:
            return False
        self._sharpness, self._zero, self._has_error = self._sharpness + 1, None, False
        return True

    @functools.cached_property
    def _absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values.

        Without a sample it is a bound: no value is greater than the root of its feature's squares.
        """
        sample = self.problem.sample
        if sample is not None:
            return sample.absolute_share
        return float(np.linalg.norm(self.about_rounding)) / float(np.finfo(np.float64).eps)


def _spread(scores: FloatArray) -> float:
    """Return the standard deviation of some scores; 0 where it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(scores.std()) if scores.size else 0.0
    return found if np.isfinite(found) else 0.0


class Asked(NamedTuple):
    """What a pass is sent for a point: the loss, the sharpness of its sums, and the weights."""

    loss: PairLoss
    algorithm: str
    eps: float
    sharpness: int
    origin: FloatArray | None
    w: FloatArray
    crossing: CrossingSum | None
    """The sum over crossing queries; None where there are none."""
    table: Any = None
    """In the second pass what gives each crossing row its gradient."""


class Summed(NamedTuple):
    """The pair sum of some blocks at a point."""

    totals: FloatArray
    """The value, a bound on its error, one on the sum over rows of the errors of the gradients, and
    the squared norm of the gradient by the scores."""
    gradient: FloatArray
    """The gradient by the weights."""
    summary: Summary
    """Of crossing queries, which are in the summary only."""


def summed(passes: Passes, asked: list[Asked]) -> list[Summed]:
    """Return the sums of all blocks by point: one pass, or two where queries cross blocks."""
    sums = passes.reduce(evaluate_block, asked, merge_sums)
    crossed, again = [], []
    for point, each in zip(asked, sums, strict=True):
        if point.crossing is None:
            return sums
        totals, table = point.crossing.finish(each.summary)
        crossed.append(Summed(each.totals + np.append(totals, 0.0), each.gradient, {}))
        again.append(point._replace(table=table))
    return merge_sums(crossed, passes.reduce(evaluate_crossing, again, merge_sums))


def bound_sum(layout: BlockLayout, asked: Asked) -> Any:
    """Return the sum over a block's whole queries, as sharp as asked for; None without a pair."""
    if layout.whole is None:
        return None
    eps = sharper_eps(asked.eps, asked.sharpness)
    bound = bind(asked.loss, layout.whole, pair_sum=asked.algorithm, eps=eps)
    for _ in range(0 if isinstance(asked.loss.family, Sigmoidal) else asked.sharpness):
        bound.sharpen()
    return bound


def evaluate_block(index: int, X: Any, layout: BlockLayout, asked: list[Asked]) -> list[Summed]:
    """Return the sums of whole queries, and the summary of crossing ones, by point."""
    design, bound = design_of(X, asked[0].origin), bound_sum(layout, asked[0])
    result = []
    for point in asked:
        scores, totals = design.scores(point.w), np.zeros(4)
        gradient, summary = np.zeros(design.n_features), {}
        if bound is not None:
            found = bound.at(scores)
            square = _square(found.gradient)
            totals = np.array([found.value, found.error, found.gradient_error, square])
            gradient = design.transposed(found.gradient)
        if point.crossing is not None and layout.crossing.query.size:
            summary = point.crossing.summary(layout.crossing.at(scores))
        result.append(Summed(totals, gradient, summary))
    return result


def evaluate_crossing(index: int, X: Any, layout: BlockLayout, asked: list[Asked]) -> list[Summed]:
    """Return the gradient of crossing rows by the weights, by point: the second pass."""
    design, rows, result = design_of(X, asked[0].origin), layout.crossing, []
    for point in asked:
        by_row = np.zeros(design.n_rows)
        if point.crossing is not None and rows.query.size:
            of_rows = rows.at(design.scores(point.w))
            by_row[rows.places] = point.crossing.entries(of_rows, point.table)
        totals = np.array([0.0, 0.0, 0.0, _square(by_row)])
        result.append(Summed(totals, design.transposed(by_row), {}))
    return result


def _square(values: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(values @ values)


def merge_sums(first: list[Summed], second: list[Summed]) -> list[Summed]:
    """Return the sums of two sets of blocks together; may write into the first."""
    with np.errstate(over="ignore", invalid="ignore"):
        return [
            Summed(a.totals + b.totals, a.gradient + b.gradient, merged(a.summary, b.summary))
            for a, b in zip(first, second, strict=True)
        ]
