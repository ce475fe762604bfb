"""SampledModel: the Hessian of a sample of rows as a factorised matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pairrank._protocols import FloatArray, LinearMap, PairLoss, Solution, Solver
from pairrank.design import Design
from pairrank.objective.pair_objective import PairObjective
from pairrank.pair_sums import bind
from pairrank.preferences import Preferences, draw_sample

_ROUGH = 1e-4
"""The error of the sample's curvature, far below that of sampling."""
_NEAR = 0.05
"""While scores change by less, the curvature of a loss whose margin is about 1 stays."""


class SampledModel:
    """A Hessian from a sample of rows: a model of the objective, never the truth.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    preferences : Levels or Pairs
        Of all rows; samples are drawn from them, see `draw_sample`.
    loss : PairLoss
    factor, penalty : float
        As for the objective.
    n_rows : int
        Rows to draw at first; all are taken where that is half of them or more. `refine` draws
        four times as many, or leaves the Hessian to every pair.
    generator : numpy.random.Generator

    Attributes
    ----------
    is_whole : bool
        Whether the sample is all rows, so that the model is exact.

    Notes
    -----
    A matrix costs O(sample * n_features^2) and a factorisation O(n_features^3).
    """

    def __init__(
        self,
        X: Any,
        preferences: Preferences,
        loss: PairLoss,
        *,
        factor: float,
        penalty: float,
        n_rows: int,
        generator: np.random.Generator,
    ) -> None:
        self.X, self.preferences, self.loss = X, preferences, loss
        self.factor, self.penalty, self.generator = factor, penalty, generator
        self._given_way = False
        self._known: tuple[FloatArray, SymmetricMatrix] | None = None
        self._draw(n_rows)

    def start(self, solver: Solver, *, tol: float, max_iter: int) -> Solution:
        """Return the sample's own solution to a loose tolerance: where to start from."""
        sample = PairObjective(
            self._design,
            self._drawn,
            self.loss,
            factor=self.factor,
            penalty=self.penalty,
            model=_Truth(self),
        )
        return solver(sample, np.zeros(self._design.n_features), tol=tol, max_iter=max_iter)

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the sample's Hessian at `w`, raised to stand for every pair."""
        return None if self._given_way else self.matrix(w)

    def inverse(self, w: FloatArray) -> LinearMap | None:
        """Return the inverse of the sample's Hessian at `w`; None once it has given way."""
        return None if self._given_way else _Inverse(self.matrix(w))

    def refine(self) -> bool:
        """Draw a sample four times as large, or give way to the exact Hessian."""
        if self._given_way or self.is_whole:
            return False
        n_rows = 4 * self._design.n_rows
        if n_rows > self.X.shape[0] // 2:
            self._given_way = True
        else:
            self._draw(n_rows)
        return True

    def matrix(self, w: FloatArray) -> SymmetricMatrix:
        """Return the sample's Hessian at `w`, factorised; the last one serves near its own w."""
        if self._known is None or not self._is_near(self._known[0], w):
            curvature = self._pair_sum.at(self._design.scores(w)).curvature()
            matrix = self.factor * (self._columns @ curvature.matmat(self._columns).T)
            matrix.flat[:: matrix.shape[0] + 1] += self.penalty
            self._known = w.copy(), SymmetricMatrix(matrix)
        return self._known[1]

    def _is_near(self, known: FloatArray, w: FloatArray) -> bool:
        """Whether scores differ by so little that a sample tells no difference."""
        if self.is_whole or np.array_equal(known, w):
            return bool(np.array_equal(known, w))
        change = self._design.scores(w - known)
        return bool(change.std() <= _NEAR)

    def _draw(self, n_rows: int) -> None:
        rows, drawn = draw_sample(self.preferences, n_rows, self.generator)
        self.is_whole = drawn.n_pairs == self.preferences.n_pairs
        self._drawn: Preferences = drawn
        self._design = Design(_as_dense(self.X[rows]))
        self._pair_sum = bind(self.loss, drawn, eps=_ROUGH)
        self._columns: NDArray[Any] = np.ascontiguousarray(self._design.X.T, dtype=np.float64)
        self._known = None


class SymmetricMatrix:
    """A positive definite matrix, its products and its solutions; lifted where it is singular."""

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


class _Inverse:
    def __init__(self, matrix: SymmetricMatrix) -> None:
        self.matvec = matrix.solve


class _Truth:
    """A sampled model as the truth of the sample's own problem: nothing to refine."""

    def __init__(self, model: SampledModel) -> None:
        self._model = model
        self.inverse = model.inverse

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap:
        return self._model.matrix(w)

    def refine(self) -> bool:
        return False


def _as_dense(X: Any) -> NDArray[Any]:
    return X.toarray() if hasattr(X, "toarray") else X
