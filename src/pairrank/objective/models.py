"""Cheap models of an objective: the Hessian of a sample or of bands of levels, a step length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from scipy import linalg

from pairrank import threads
from pairrank._protocols import (
    FloatArray,
    LinearMap,
    PairLoss,
    PiecewisePolynomial,
    Point,
    Sigmoidal,
)
from pairrank.objective.problem import Problem, Products, hessian_of
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, draw_sample, merge_levels
from pairrank.solvers.descent import Trial, search_slope

_ROUGH = 1e-4
"""The eps of a sample's sums, far below the error of sampling."""
_NEAR = 0.4
"""A matrix is reused where the standard deviation of the change of scores is at most this."""
_BANDS, _BANDS_OF_SAMPLE = (64, 256), 32
_COARSER = 16
"""How much wider the cells of a sample are than those of a precise sum."""
_ROWS_A_BLOCK = 1 << 17
_LINE_ROWS = 4096
_ENOUGH = 0.02
"""The search along a line ends at this part of the slope at its start."""


class Sample(NamedTuple):
    """A problem that stands for another one, with the rows of the other's scores that it has."""

    problem: Problem
    rows: Any = slice(None)
    is_whole: bool = False
    """Whether it has every pair."""


def sampled(problem: Problem, n_rows: int, generator: np.random.Generator) -> Sample:
    """Return the problem over about `n_rows` drawn rows, or all where that is half of them.

    Their pairs are scaled to stand for all pairs; many levels of some rows are merged into bands.
    """
    assert not isinstance(problem.preferences, Differences)
    rows, drawn = draw_sample(problem.preferences, n_rows, generator)
    is_whole = drawn.n_pairs == problem.preferences.n_pairs
    if not is_whole and _has_many_levels(drawn, _BANDS_OF_SAMPLE):
        drawn = merge_levels(drawn, _BANDS_OF_SAMPLE)
    X = problem.features[rows]
    return Sample(_standing(problem, X=X, preferences=drawn), rows, is_whole)


def samples(problem: Problem, n_rows: int, generator: np.random.Generator) -> Iterator[Sample]:
    """Yield samples of so many rows, four times as many and so on, up to half of all rows."""
    size = n_rows
    while size == n_rows or 2 * size <= problem.n_rows:
        yield sampled(problem, size, generator)
        size *= 4


def in_bands(problem: Problem) -> Iterator[Sample]:
    """Yield the problem over all rows with its levels in few bands, then in more.

    The pairs within a band, about one in as many as there are bands, are left out, and the others
    scaled up. Only the levels of the full order graph are merged, only many of them, and only where
    the sum of the loss costs more for more levels.
    """
    levels = problem.preferences
    depends = isinstance(problem.loss.family, PiecewisePolynomial | Sigmoidal)
    for n_bands in _BANDS:
        if depends and _has_many_levels(levels, n_bands):
            yield Sample(_standing(problem, preferences=merge_levels(levels, n_bands)))


def _has_many_levels(preferences: Any, n_bands: int) -> TypeGuard[Levels]:
    is_full = isinstance(preferences, Levels) and preferences.edges is None
    return is_full and preferences.labels.size > 2 * n_bands


def _standing(problem: Problem, **changes: Any) -> Problem:
    return problem.changed(**changes, algorithm="auto", eps=_ROUGH)


def _rough_sum(loss: PairLoss, preferences: Any) -> Any:
    """Return the pair sum of a sample, no more precise than sampling."""
    pair_sum = bind(loss, preferences, eps=_ROUGH)
    if hasattr(pair_sum, "finer"):
        pair_sum.finer = 1.0 / _COARSER
    return pair_sum


class SampledModel:
    """The Hessian of a sample; value and gradient still use every pair.

    `samples` are better and better ones: over more rows, or more bands of levels. `refine` takes
    the next one, and after the last the Hessian of every pair. `is_exact` asks for that from the
    start: the sample preconditions only.

    Where `by_matrix`, it is a factorised matrix, which preconditions too and is kept while scores
    change little. It costs O(sample * n_features^2) and a factorisation O(n_features^3). Where the
    factorisation fails, the Hessian of every pair is used from then on.
    """

    def __init__(
        self, samples: Iterable[Sample], *, by_matrix: bool = True, is_exact: bool = False
    ) -> None:
        self._samples, self.by_matrix, self._is_exact = iter(samples), by_matrix, is_exact
        self._take(next(self._samples))

    def hessian(self, scores: FloatArray) -> LinearMap | None:
        """Return the sample's Hessian near these scores; None once every pair's is used."""
        found = None if self._is_exact else self._near(scores)
        return None if self._is_exact else found  # a factorisation may have failed since

    def inverse(self, scores: FloatArray) -> LinearMap | None:
        """Return the inverse of the sample's Hessian near the scores; None if it is no matrix."""
        found = self._near(scores) if self.by_matrix else None
        return Products(found.solve) if isinstance(found, SymmetricMatrix) else None

    def refine(self) -> bool:
        """Use the next sample, or the Hessian of every pair; False if that is used already."""
        if self._is_exact or self._sample.is_whole:
            return False
        larger = next(self._samples, None)
        if larger is None:
            self._is_exact = True
        else:
            self._take(larger)
        return True

    def _take(self, sample: Sample) -> None:
        problem = sample.problem
        self._sample = sample
        if sample.is_whole:
            self._pair_sum = bind(problem.loss, problem.preferences, eps=problem.eps)
        else:
            self._pair_sum = _rough_sum(problem.loss, problem.preferences)
        self._known: tuple[FloatArray, SymmetricMatrix | Products] | None = None

    def _near(self, scores: FloatArray) -> SymmetricMatrix | Products:
        """Return the sample's Hessian at scores that are near these."""
        own = scores[self._sample.rows]
        if self._known is None or not self._is_near(own, self._known[0]):
            self._known = own.copy(), self._at(own)
        return self._known[1]

    def _at(self, scores: FloatArray) -> SymmetricMatrix | Products:
        problem, pair_sum = self._sample.problem, self._pair_sum
        has_own = hasattr(pair_sum, "curvature_at")  # it needs neither value nor gradient
        curvature = pair_sum.curvature_at(scores) if has_own else pair_sum.at(scores).curvature()
        if self.by_matrix:
            X = np.asarray(problem.features, dtype=np.float64)
            matrix = problem.factor * (curvature.matmat(np.ascontiguousarray(X.T)) @ X)
            matrix.flat[:: matrix.shape[0] + 1] += problem.penalty
            try:
                return SymmetricMatrix(matrix)
            except linalg.LinAlgError:
                self.by_matrix, self._is_exact = False, True
        return hessian_of(problem, curvature)

    def _is_near(self, scores: FloatArray, known: FloatArray) -> bool:
        """Whether scores changed little enough for a matrix, or not at all where it is exact."""
        change = float((scores - known).std())
        return change <= (_NEAR if self.by_matrix and not self._sample.is_whole else 0.0)


def sampled_hessian_cost(sample: int, n_rows: int, n_features: int) -> float:
    """Return the cost of the Hessian of a sample of dense rows, in products with that of all rows.

    Measured nanoseconds per row of the sample and feature: its pairs take 10, its matrix product
    n_features/15; a product with the Hessian of every pair takes 1.6 per feature and row,
    and 20 per row for the sums.
    """
    hessian = sample * n_features * (10 + n_features / 15)
    return hessian / (n_rows * (20 + 1.6 * n_features))


class SymmetricMatrix:
    """A positive definite matrix with its products and solutions.

    A singular matrix is regularised slightly; LinAlgError if that does not suffice.
    """

    def __init__(self, matrix: FloatArray) -> None:
        try:
            factor = linalg.cho_factor(matrix, check_finite=False)
        except linalg.LinAlgError:
            size = matrix.shape[0]
            matrix = matrix + 1e-10 * np.trace(matrix) / size * np.eye(size)
            factor = linalg.cho_factor(matrix, check_finite=False)
        self._matrix, self._factor = matrix, factor

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the matrix times `v`."""
        return self._matrix @ v

    def solve(self, v: FloatArray) -> FloatArray:
        """Return the inverse times `v`."""
        return linalg.cho_solve(self._factor, v, check_finite=False)


class LineSample:
    """A `StepLength`: the minimum along a step, estimated on a sample of rows.

    Along a line only scores change, one number per row. So a few thousand rows give the best step
    length, whatever the number of features. A Newton step of a hinge is much too short while most
    pairs violate the margin. Levels are not merged: the pairs within a band would be missing, and
    they are the violated ones. A search costs about six pair sums over `n_rows` rows, and one
    product with X, which also gives the scores at the end.
    """

    def __init__(
        self, problem: Problem, generator: np.random.Generator, n_rows: int = _LINE_ROWS
    ) -> None:
        self._problem = problem
        assert not isinstance(problem.preferences, Differences)
        self._rows, drawn = draw_sample(problem.preferences, n_rows, generator)
        self._pair_sum = _rough_sum(problem.loss, drawn)

    def __call__(
        self, point: Point, step: FloatArray, slope: float, penalty: float
    ) -> tuple[float, FloatArray | None]:
        """Return the multiple of the step that lowers the objective most, and the scores there.

        `slope` is the exact derivative at the point. The sample gives only its change, so the
        multiple is good also near the optimum, where the sample's error exceeds the derivative.
        """
        problem = self._problem
        scores = problem.design.scores(step)
        direction, start = scores[self._rows], point.scores[self._rows]

        def slope_at(t: float) -> float:
            return float(self._pair_sum.at(start + t * direction).gradient @ direction)

        at_zero, first = slope_at(0.0), slope / problem.factor
        curvature = penalty * float(step @ step) / problem.factor

        def probe(t: float) -> Trial:
            return Trial(t, first + slope_at(t) - at_zero + curvature * t)

        found = search_slope(probe, Trial(0.0, first), 1.0, _ENOUGH) if first < 0 else None
        multiple = 1.0 if found is None else found.length

        def move(rows: slice) -> None:
            scores[rows] *= multiple
            scores[rows] += point.scores[rows]

        threads.run(move, threads.blocks(scores.size, _ROWS_A_BLOCK))
        return multiple, scores
