"""Cheap models of an objective: the Hessian of a sample or of bands of levels, a step length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from pairrank import threads
from pairrank._protocols import FloatArray, LinearMap, Point
from pairrank.objective.problem import Problem, Products, hessian_of
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, draw_sample, merge_levels
from pairrank.solvers.descent import Trial, search_slope

_ROUGH = 1e-4
"""The eps of the sample's curvature, far below the error of sampling."""
_NEAR = 0.4
"""The Hessian is reused where the standard deviation of the change of scores is at most this."""
_MOST_BANDS = 256
_COARSER = 16
"""How much wider the cells of bands are than those of a precise sum."""
_ROWS_A_BLOCK = 1 << 17
_LINE_ROWS = 4096
_ENOUGH = 0.02
"""The search along a line ends at this part of the slope at its start."""


def sampled(problem: Problem, n_rows: int, generator: np.random.Generator) -> Problem:
    """Return the problem over drawn rows: about `n_rows`, or all where `n_rows` is half of them.

    Their pairs are scaled to stand for all pairs.
    """
    assert not isinstance(problem.preferences, Differences)
    rows, drawn = draw_sample(problem.preferences, n_rows, generator)
    X = problem.features[rows]
    return problem.changed(X=X, preferences=drawn, algorithm="auto", eps=_ROUGH)


class SampledModel:
    """The Hessian of a sample of rows; value and gradient still use every pair.

    `sample` is the problem over the sampled rows of a `Problem` or `BlockProblem`. `is_whole` says
    that it has every pair. `is_exact` asks for the Hessian of every pair: the sample preconditions
    only. `refine` takes the sample that `larger` returns for a number of rows, up to half of all,
    and then the Hessian of every pair.

    Where `by_matrix`, the Hessian is a factorised matrix, which preconditions too, and is kept
    while scores change little. It costs O(sample * n_features^2) and a factorisation
    O(n_features^3). Where the factorisation fails, the Hessian of every pair is used from then on.
    """

    def __init__(
        self,
        problem: Any,
        sample: Problem,
        *,
        is_whole: bool,
        by_matrix: bool = True,
        is_exact: bool = False,
        larger: Callable[[int], Problem] | None = None,
    ) -> None:
        self._n_rows, self._sample, self._larger = problem.n_rows, sample, larger
        self._is_whole, self._by_matrix, self._is_exact = is_whole, by_matrix, is_exact
        self._bind()

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the sample's Hessian near `w`; None once every pair's is used."""
        found = None if self._is_exact else self._near(w)
        return None if self._is_exact else found  # a factorisation may have failed since

    def inverse(self, w: FloatArray) -> LinearMap | None:
        """Return the inverse of the sample's Hessian near `w`; None where it is no matrix."""
        found = self._near(w) if self._by_matrix else None
        return Products(found.solve) if isinstance(found, SymmetricMatrix) else None

    def refine(self) -> bool:
        """Use a sample four times as large, or the Hessian of every pair; False if it is used."""
        if self._is_exact or self._is_whole:
            return False
        n_rows = 4 * self._sample.n_rows
        if self._larger is None or n_rows > self._n_rows // 2:
            self._is_exact = True
        else:
            self._sample = self._larger(n_rows)
            self._bind()
        return True

    def _bind(self) -> None:
        sample = self._sample
        self._pair_sum = bind(sample.loss, sample.preferences, eps=sample.eps)
        self._known: tuple[FloatArray, SymmetricMatrix | Products] | None = None

    def _near(self, w: FloatArray) -> SymmetricMatrix | Products:
        """Return the sample's Hessian at weights whose scores are near those of `w`."""
        if self._known is None or not self._is_near(w, self._known[0]):
            self._known = w.copy(), self._at(w)
        return self._known[1]

    def _at(self, w: FloatArray) -> SymmetricMatrix | Products:
        sample = self._sample
        curvature = self._pair_sum.at(sample.design.scores(w)).curvature()
        if self._by_matrix:
            X = np.asarray(sample.features, dtype=np.float64)
            matrix = sample.factor * (curvature.matmat(np.ascontiguousarray(X.T)) @ X)
            matrix.flat[:: matrix.shape[0] + 1] += sample.penalty
            try:
                return SymmetricMatrix(matrix)
            except linalg.LinAlgError:
                self._by_matrix, self._is_exact = False, True
        return hessian_of(sample, curvature)

    def _is_near(self, w: FloatArray, known: FloatArray) -> bool:
        """Whether scores changed by at most `_NEAR`, or weights not at all where it is whole."""
        if self._is_whole or np.array_equal(known, w):
            return bool(np.array_equal(known, w))
        return bool(self._sample.design.scores(w - known).std() <= _NEAR)


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


class BandedModel:
    """The Hessian of every row, its many levels merged into a few bands.

    It leaves out the pairs within a band, about one in `n_bands`, and scales the others up. Its
    curvature costs O(m log n_bands) instead of O(m log levels), and O(m) where queries are large:
    scores fall into wide cells then. `refine` takes four times as many bands, up to 256, then every
    level. It is used where X has too many features for the Hessian of a sample, and Levels of the
    full order graph more levels than bands.
    """

    def __init__(self, problem: Problem, n_bands: int) -> None:
        self.problem = problem
        self._merge(n_bands)

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the Hessian of the bands; None once every pair's is used."""
        if self._pair_sum is None:
            return None
        problem, bands = self.problem, self._pair_sum
        has_own = hasattr(bands, "curvature_at")  # cells need neither value nor gradient for it
        curvature = bands.curvature_at(scores) if has_own else bands.at(scores).curvature()
        return hessian_of(problem, curvature)

    def inverse(self, w: FloatArray) -> None:
        """Return None: bands have no matrix to precondition by."""

    def refine(self) -> bool:
        """Use more bands, then the Hessian of every pair; False if that is used already."""
        if self._pair_sum is None:
            return False
        self._merge(4 * self._n_bands)
        return True

    def _merge(self, n_bands: int) -> None:
        levels, self._n_bands, self._pair_sum = self.problem.preferences, n_bands, None
        assert isinstance(levels, Levels)
        if n_bands > _MOST_BANDS or 2 * n_bands > levels.labels.size:
            return
        self._pair_sum = bind(self.problem.loss, merge_levels(levels, n_bands))
        if hasattr(self._pair_sum, "finer"):
            self._pair_sum.finer = 1.0 / _COARSER


class LineSample:
    """A `StepLength`: the minimum along a step, estimated on a sample of rows.

    Along a line only scores change, one number per row. So a few thousand rows give the best step
    length, whatever the number of features. A Newton step of a hinge is much too short while most
    pairs violate the margin. A search costs about six pair sums over `n_rows` rows, and one product
    with X, which also gives the scores at the end.
    """

    def __init__(
        self, problem: Problem, generator: np.random.Generator, n_rows: int = _LINE_ROWS
    ) -> None:
        assert not isinstance(problem.preferences, Differences)
        self._problem = problem
        self._rows, drawn = draw_sample(problem.preferences, n_rows, generator)
        self._pair_sum = bind(problem.loss, drawn)

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

        def sampled(t: float) -> float:
            return float(self._pair_sum.at(start + t * direction).gradient @ direction)

        at_zero, first = sampled(0.0), slope / problem.factor
        curvature = penalty * float(step @ step) / problem.factor

        def probe(t: float) -> Trial:
            return Trial(t, first + sampled(t) - at_zero + curvature * t)

        found = search_slope(probe, Trial(0.0, first), 1.0, _ENOUGH) if first < 0 else None
        multiple = 1.0 if found is None else found.length

        def move(rows: slice) -> None:
            scores[rows] *= multiple
            scores[rows] += point.scores[rows]

        threads.run(move, threads.blocks(scores.size, _ROWS_A_BLOCK))
        return multiple, scores
