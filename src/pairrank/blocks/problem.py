"""BlockProblem: a loss over the pairs of all blocks, and what its passes compute of a block."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, PairLoss, Point, Sigmoidal
from pairrank.blocks._contracts import BlockLayout, Passes
from pairrank.blocks.catalog import design_of
from pairrank.blocks.crossing import (
    CrossingSum,
    Parts,
    Totals,
    crossing_sum,
    merged_summaries,
)
from pairrank.blocks.differences import (
    PreparedDifferences,
    prepare_differences,
    sampled_differences,
)
from pairrank.blocks.layouts import Prepared, sampled_levels
from pairrank.exceptions import PairrankError
from pairrank.objective import Problem
from pairrank.pair_sums import bind
from pairrank.pair_sums.profiles import LEAST_EPS
from pairrank.preferences import Differences

_PRECISION = 1e-12
"""The relative rounding error to expect of a value."""
_SHARPER_CELLS = 2
"""Sums by cells have narrower cells once, then none."""


@dataclass(frozen=True, eq=False)
class BlockProblem:
    r"""penalty/2 \|w\|^2 + factor * the sum of a loss over the preferences of prepared blocks.

    It stands beside `pairrank.objective.Problem`: the same for rows in memory. `factor` is without
    the scale of the reduction.
    """

    passes: Passes
    prepared: Prepared | PreparedDifferences
    loss: PairLoss
    penalty: float = 1.0
    factor: float = 1.0
    algorithm: str = "auto"
    eps: float = 1e-6
    target: int = 0

    def __post_init__(self) -> None:
        if self.prepared.crossing and self.algorithm != "auto":
            raise PairrankError(
                f'pair_sum="{self.algorithm}" sums queries that lie in one block each, but '
                f'{len(self.prepared.crossing)} queries cross blocks: use pair_sum="auto", or keep '
                "the rows of a query together"
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

    def with_target(self, target: int) -> BlockProblem:
        """Return the same problem for another column of labels."""
        prepared = self.prepared
        if isinstance(prepared, PreparedDifferences) and target != prepared.plan.target:
            mean_cost = prepared.plan.mean_cost
            prepared = prepare_differences(
                self.passes, prepared.catalog, self.loss, mean_cost=mean_cost, target=target
            )
        return replace(self, prepared=prepared, target=target)

    def bound(self) -> BlockSums:
        """Return what evaluates the problem."""
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
        if isinstance(prepared, PreparedDifferences):
            preferences: Any = sampled_differences(prepared, self.target)
        else:
            preferences = sampled_levels(prepared)
        if preferences is None:
            return None
        X, factor = prepared.catalog.sample.rows.X, self.factor * prepared.scale
        return Problem(X, preferences, self.loss, self.penalty, factor, eps=self.eps)

    @property
    def uneven_diagonal(self) -> LinearMap | None:
        """The inverse of the sampled rows' diagonal at w = 0; None where it is even."""
        return None if self.sample is None else self.sample.uneven_diagonal


class BlockSums:
    """The sums of a `BlockProblem`, by passes.

    An evaluation is one pass over the blocks, and a second one where queries cross blocks. The
    first one evaluates zero too, because solvers ask for it, and reading costs more than summing.
    The `scores` of an evaluation are those of the sampled rows, for Hessians and step lengths.
    """

    def __init__(self, problem: BlockProblem) -> None:
        self.problem = problem
        self.n_features, self.precision = problem.n_features, _PRECISION
        self.dtype = problem.prepared.catalog.dtype
        self.factor = problem.factor * problem.prepared.scale
        queries = problem.prepared.crossing
        self.crossing = crossing_sum(problem.loss, queries, problem.eps) if queries else None
        self._n_sharper, self._has_error, self._is_first = 0, False, True
        self._zero: Point | None = None

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the sum over all pairs, and its gradient by the weights."""
        if self._zero is not None and not w.any():
            return self._zero
        if not self._is_first or not w.any():
            return self._totals(w, scores=scores)[0]
        total, self._zero = self._totals(w, np.zeros_like(w), scores=scores)
        return total

    def _totals(self, *points: FloatArray, scores: FloatArray | None) -> list[Point]:
        """Return the sums at some weights; `scores` are those of the first."""
        problem, sums = self.problem, self.crossing
        known = [self._sampled(w) for w in (points if scores is None else points[1:])]
        known = known if scores is None else [scores, *known]
        placed = tuple(sums.placed(own, self._centred(own)) for own in known) if sums else ()
        how = problem.loss, problem.algorithm, problem.eps
        asked = Asked(*how, self._n_sharper, problem.origin, placed, points)
        found = summed(problem.passes, asked)
        self._is_first = False
        self._has_error |= any(each.totals.error or each.totals.gradient_error for each in found)
        return [
            self._total(
                each, asked._replace(points=points[at : at + 1], crossing=placed[at : at + 1]), own
            )
            for at, (each, own) in enumerate(zip(found, known, strict=True))
        ]

    def _sampled(self, w: FloatArray) -> FloatArray:
        """Return the scores of the sampled rows."""
        sample = self.problem.sample
        return np.empty(0) if sample is None else sample.design.scores(w)

    def _centred(self, scores: FloatArray) -> FloatArray:
        """Return scores of the sampled rows, of differences less labels and centred by query."""
        sample = self.problem.sample
        if sample is not None and isinstance(sample.preferences, Differences):
            return sample.preferences.centred(scores - sample.preferences.target)
        return scores

    def _total(self, found: Summed, asked: Asked, scores: FloatArray) -> Point:
        """Return the sums at the only point of `asked`."""
        problem, factor, totals = self.problem, self.factor, found.totals

        def hessian() -> BlockHessian:
            curvature = tuple(each.curvature(found.summary) for each in asked.crossing)
            own = asked._replace(crossing=curvature)
            return BlockHessian(problem.passes, own, factor, problem.penalty)

        with np.errstate(over="ignore", invalid="ignore"):
            return Point(
                value=np.inf if np.isnan(totals.value) else factor * totals.value,
                gradient=factor * found.gradient,
                scores=scores,
                hessian=hessian,
                preconditioner=lambda: problem.uneven_diagonal,
                rounding=lambda: problem.prepared.catalog.rounding,
                score_norm=factor * float(np.sqrt(totals.square)),
                value_error=factor * totals.error,
                gradient_error=totals.gradient_error
                and 0.5 * factor * totals.gradient_error * self._absolute_share,
            )

    @property
    def about_rounding(self) -> FloatArray:
        """A bound on the rounding of X' v for v of norm 1, (n_features,)."""
        return self.problem.prepared.catalog.rounding

    def sharpen(self) -> bool:
        """Let the sums of all blocks take a smaller error; False where they are least."""
        is_sharper = self.crossing is not None and self.crossing.sharpen()
        if self._has_error and self._n_sharper < self._most_sharper:
            self._n_sharper += 1
            is_sharper = True
        if is_sharper:
            self._zero, self._has_error = None, False
        return is_sharper

    @functools.cached_property
    def _most_sharper(self) -> int:
        """The number of times that the sums of whole queries can be made sharper."""
        if not isinstance(self.problem.loss.family, Sigmoidal):
            return _SHARPER_CELLS
        return max(0, int(np.ceil(np.log(self.problem.eps / LEAST_EPS) / np.log(100.0))))

    @functools.cached_property
    def _absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values.

        Without a sample it is a bound: no value is greater than the root of its feature's squares.
        """
        sample = self.problem.sample
        if sample is not None:
            return sample.absolute_share
        return float(np.linalg.norm(self.problem.prepared.catalog.rounding)) / float(
            np.finfo(np.float64).eps
        )


class Asked(NamedTuple):
    """What a pass is sent: the loss, the sharpness of its sums, and weights to evaluate."""

    loss: PairLoss
    algorithm: str
    eps: float
    n_sharper: int
    origin: FloatArray | None
    crossing: tuple[CrossingSum, ...]
    """The sum over crossing queries by point; empty where there are none."""
    points: tuple[FloatArray, ...]
    direction: FloatArray | None = None
    """What the Hessian is multiplied by, where gradients are not asked for."""


class Summed(NamedTuple):
    """The pair sum of some blocks at a point."""

    totals: Totals
    gradient: FloatArray
    """The gradient by the weights, or the product."""
    summary: Parts
    """Of crossing queries, which are in the summary only."""

    def plus(self, other: Summed) -> Summed:
        """Return the sums of both sets of blocks; may write into this summary."""
        with np.errstate(over="ignore", invalid="ignore"):
            totals = Totals(*map(sum, zip(self.totals, other.totals, strict=True)))
            gradient = self.gradient + other.gradient
        return Summed(totals, gradient, merged_summaries(self.summary, other.summary))


def summed(passes: Passes, asked: Asked) -> list[Summed]:
    """Return the sums of all blocks by point, with the summaries of crossing queries.

    One pass; a second one where queries cross blocks.
    """
    sums = passes.reduce(evaluate_block, asked, merge_sums)
    if not asked.crossing:
        return sums
    tables = [
        crossing.finish(each.summary) for crossing, each in zip(asked.crossing, sums, strict=True)
    ]
    parts = passes.reduce(evaluate_crossing, (asked, tables), merge_sums)
    return [
        each.plus(part._replace(totals=table.totals._replace(square=part.totals.square)))
        for each, part, table in zip(sums, parts, tables, strict=True)
    ]


def bound_sum(layout: BlockLayout, asked: Asked) -> Any:
    """Return the sum over a block's whole queries, as sharp as asked for; None without a pair."""
    if layout.whole is None:
        return None
    sigmoidal = isinstance(asked.loss.family, Sigmoidal)
    eps = max(asked.eps * 0.01**asked.n_sharper, min(asked.eps, LEAST_EPS))
    bound = bind(asked.loss, layout.whole, pair_sum=asked.algorithm, eps=eps)
    for _ in range(0 if sigmoidal else asked.n_sharper):
        bound.sharpen()
    return bound


def evaluate_block(index: int, X: Any, layout: BlockLayout, asked: Asked) -> list[Summed]:
    """Return the sums of whole queries, and the summary of crossing ones, by point."""
    design, bound = design_of(X, asked.origin), bound_sum(layout, asked)
    values = None if asked.direction is None else design.scores(asked.direction)
    result = []
    for at, w in enumerate(asked.points):
        scores, totals, gradient = design.scores(w), Totals(), np.zeros(design.n_features)
        summary = asked.crossing[at].summary(scores, layout, values) if asked.crossing else {}
        if bound is not None:
            found = bound.at(scores)
            by_row = found.gradient if values is None else found.curvature().matvec(values)
            gradient = design.transposed(by_row)
            if values is None:
                totals = Totals(found.value, found.error, found.gradient_error, _square(by_row))
        result.append(Summed(totals, gradient, summary))
    return result


def evaluate_crossing(
    index: int, X: Any, layout: BlockLayout, given: tuple[Asked, list[CrossingSum]]
) -> list[Summed]:
    """Return the gradient of crossing rows by the weights, or their product, by point."""
    asked, tables = given
    none = Summed(Totals(), np.zeros(X.shape[1]), {})
    if not layout.rows.size:
        return [none] * len(tables)
    design, result = design_of(X, asked.origin), []
    values = None if asked.direction is None else design.scores(asked.direction)
    for w, table in zip(asked.points, tables, strict=True):
        by_row = np.zeros(layout.n_rows)
        by_row[layout.rows] = table.entries(design.scores(w), layout, values)
        totals = Totals(square=_square(by_row))
        result.append(Summed(totals, design.transposed(by_row), {}))
    return result


def _square(values: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(values @ values)


def merge_sums(first: list[Summed], second: list[Summed]) -> list[Summed]:
    """Return the sums of two sets of blocks together; may write into the first."""
    return [one.plus(other) for one, other in zip(first, second, strict=True)]


@dataclass(frozen=True, eq=False)
class BlockHessian:
    """penalty I + factor X' H X over all blocks at the point asked for, by passes.

    The crossing sums asked for are those of the curvature.
    """

    passes: Passes
    asked: Asked
    factor: float
    penalty: float

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; costs as `summed`."""
        (found,) = summed(self.passes, self.asked._replace(direction=v))
        return np.asarray(self.penalty * v + self.factor * found.gradient)
