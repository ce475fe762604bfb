"""Cheap models of an objective: the Hessian of a sample or of bands of levels, a step length."""

from __future__ import annotations

import functools

import numpy as np
from scipy import linalg

from pairrank import threads
from pairrank._protocols import FloatArray, LinearMap, PairSum, Point
from pairrank.design import Design
from pairrank.objective.normal_equations import dense
from pairrank.objective.pair_hessian import PairHessian, takes_levels
from pairrank.objective.pair_objective import (
    ExactHessian,
    GivenInverse,
    HessianModel,
    PairObjective,
)
from pairrank.objective.problem import Problem
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, draw_sample, merge_levels
from pairrank.solvers.line_search import Trial, search_slope

_ROUGH = 1e-4
"""The eps of the sample's curvature, far below the error of sampling."""
_NEAR, _NEARER = 0.2, 0.05
"""The Hessian is reused where the standard deviation of the change of scores is at most this: the
smaller number where a Hessian costs less than `_CHEAP` evaluations."""
_CHEAP = 0.1
_MOST_BANDS = 256
_COARSER = 16
"""How much wider the cells of bands are than those of a precise sum."""
_ROWS_A_BLOCK = 1 << 17
_LINE_ROWS = 4096
_ENOUGH = 0.02
"""The search along a line ends at this part of the slope at its start."""


class SampledModel(HessianModel):
    """The Hessian of a sample of rows; value and gradient still use every pair.

    At first `n_rows` are drawn, or all rows where that is half of them or more. `is_exact` says
    that the model is that of every pair. `refine` draws four times as many, or uses the Hessian of
    every pair. A matrix costs O(sample * n_features^2) and a factorisation O(n_features^3). Where
    the factorisation fails, the Hessian of every pair is used from then on.
    """

    def __init__(self, problem: Problem, n_rows: int, generator: np.random.Generator) -> None:
        self.problem, self.generator = problem, generator
        self._uses_every_pair = False
        self._cached: tuple[FloatArray, SymmetricMatrix] | None = None
        self._draw(n_rows)

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the sample's Hessian at `w`, scaled to stand for every pair."""
        return self.matrix(w)

    def inverse(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the inverse of the sample's Hessian; None once every pair's is used."""
        matrix = self.matrix(w)
        return None if matrix is None else GivenInverse(matrix.solve)

    def refine(self) -> bool:
        """Draw a sample four times as large, or use the Hessian of every pair."""
        if self._uses_every_pair or self.is_exact:
            return False
        n_rows = 4 * self._design.n_rows
        if n_rows > self.problem.n_rows // 2:
            self._uses_every_pair = True
        else:
            self._draw(n_rows)
        return True

    def matrix(self, w: FloatArray) -> SymmetricMatrix | None:
        """Return the sample's factorised Hessian near `w`; None once every pair's is used."""
        if self._uses_every_pair:
            return None
        if self._cached is None or not self._is_near(w):
            matrix = self.problem.factor * self._products(self._design.scores(w))
            matrix.flat[:: matrix.shape[0] + 1] += self.problem.penalty
            try:
                self._cached = w.copy(), SymmetricMatrix(matrix)
            except linalg.LinAlgError:
                self._uses_every_pair = True
                return None
        return self._cached[1]

    def _is_near(self, w: FloatArray) -> bool:
        """Whether the scores differ by less than the error of sampling from the Hessian's."""
        assert self._cached is not None
        known, design = self._cached[0], self._design
        if self.is_exact or np.array_equal(known, w):
            return bool(np.array_equal(known, w))
        cost = sampled_hessian_cost(design.n_rows, self.problem.n_rows, design.n_features)
        change = design.scores(w - known)
        return bool(change.std() <= (_NEAR if cost > _CHEAP else _NEARER))

    def _draw(self, n_rows: int) -> None:
        problem = self.problem
        assert not isinstance(problem.preferences, Differences)
        rows, drawn = draw_sample(problem.preferences, n_rows, self.generator)
        X = dense(problem.features[rows])
        with np.errstate(over="ignore", invalid="ignore"):  # offsets cost digits in X' H X
            X -= X.mean(axis=0)
        self._design = Design(X)
        self.is_exact, self._cached = drawn.n_pairs == problem.preferences.n_pairs, None
        if takes_levels(drawn):
            found = PairHessian(problem.loss, drawn, X)
            self._products, self.is_exact = found.at, self.is_exact and found.is_exact
        else:
            self._products = functools.partial(_products, X, bind(problem.loss, drawn, eps=_ROUGH))


def _products(X: FloatArray, pair_sum: PairSum, scores: FloatArray) -> FloatArray:
    """Return X' H X for the curvature H of a pair sum at the scores."""
    columns = np.ascontiguousarray(X.T)
    return np.asarray(pair_sum.at(scores).curvature().matmat(columns) @ X)


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


class BandedModel(HessianModel):
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
        return ExactHessian(problem.design, curvature, problem.factor, problem.penalty)

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


class ModelOfSample(HessianModel):
    """The Hessian of a sample of rows in memory, for rows that are elsewhere.

    `is_whole` says that the sample has all rows. `refine` uses the Hessian of every pair, which
    `is_exact` says is used from the beginning; the sample preconditions all the same.
    """

    def __init__(
        self, sample: PairObjective, *, is_whole: bool = False, is_exact: bool = False
    ) -> None:
        self.sample, self._is_last = sample, is_whole or is_exact
        self._is_exact = is_exact
        self._known: tuple[bytes, Point] | None = None

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the sample's Hessian at `w`; None once every pair's is used."""
        return None if self._is_exact else self._at(w, scores).hessian()

    def inverse(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return what preconditions the sample's Hessian."""
        return self._at(w, scores).preconditioner()

    def refine(self) -> bool:
        """Use the Hessian of every pair; False if that is used already."""
        if self._is_last:
            return False
        self._is_exact = self._is_last = True
        return True

    def _at(self, w: FloatArray, scores: FloatArray) -> Point:
        """Return the point of the sample at some weights, which the last call keeps."""
        if self._known is None or self._known[0] != w.tobytes():
            self._known = w.tobytes(), self.sample.at(w, scores)
        return self._known[1]


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
