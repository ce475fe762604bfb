"""PairObjective: X, preferences, loss and penalty to loss, gradient and Hessian product."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pairrank._protocols import Curvature, FloatArray, LinearMap, PairLoss
from pairrank.design import Design
from pairrank.preferences import Preferences


class PairObjective:
    r"""penalty/2 \|w\|^2 + factor * sum over pairs of phi(w'(x_i - x_j)), as a solver sees it.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    preferences : Levels or Pairs
        Over the rows of X, already scaled by their normalisation.
    loss : PairLoss
        What a pair costs.
    factor, penalty : float
        What the pair sum and the squared norm are multiplied by.
    route, eps : str, float
        The pair sum's algorithm and error, see `PairLoss.sum_over`.
    model : HessianModel, optional
        Where the Hessian comes from; None: from every pair.

    Notes
    -----
    A gradient costs two products with X and a pair sum; so does a Hessian product.
    """

    def __init__(
        self,
        X: Any,
        preferences: Preferences,
        loss: PairLoss,
        *,
        factor: float,
        penalty: float,
        route: str = "auto",
        eps: float = 1e-6,
        model: HessianModel | None = None,
    ) -> None:
        self.design = X if isinstance(X, Design) else Design(X)
        self.loss, self.factor, self.penalty = loss, factor, penalty
        self.pair_sum = loss.sum_over(preferences, route=route, eps=eps)
        self.n_features = self.design.n_features
        self.precision = self.design.precision
        self.model = model
        self._scores_at: tuple[FloatArray, FloatArray] | None = None
        slope = float(loss.phi(np.zeros(1), order=1)[0])
        at_zero = self.design.transposed(slope * preferences.net_weight())
        self.reference_norm = factor * float(np.linalg.norm(at_zero))

    def loss_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return factor times the pair sum, and its gradient; no penalty."""
        scores = self._scores(w)
        value, gradient = self.pair_sum.value_and_gradient(scores)
        return self.factor * value, self.factor * self.design.transposed(gradient)

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the (generalised) Hessian at `w`, of every pair or of the model's sample."""
        if self.model is not None and not self.model.exact:
            return self.model.hessian(w)
        return ExactHessian(
            self.design, self.pair_sum.curvature(self._scores(w)), self.factor, self.penalty
        )

    def preconditioner(self, w: FloatArray) -> LinearMap | None:
        """Return the inverse of the model's Hessian, where there is a model."""
        return None if self.model is None else self.model.inverse(w)

    def refine(self) -> bool:
        """Ask the model for a larger sample; False where there is none."""
        return self.model is not None and self.model.refine()

    def _scores(self, w: FloatArray) -> FloatArray:
        if self._scores_at is None or not np.array_equal(self._scores_at[0], w):
            self._scores_at = (w.copy(), self.design.scores(w))
        return self._scores_at[1]


class HessianModel(Protocol):
    """Where an objective's Hessian comes from, other than from every pair."""

    exact: bool
    """Whether the exact Hessian has taken over; the model still preconditions it."""

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return an approximate Hessian at `w`, penalty included."""
        ...

    def inverse(self, w: FloatArray) -> LinearMap:
        """Return its inverse."""
        ...

    def refine(self) -> bool:
        """Come nearer to the exact Hessian; False where that cannot be."""
        ...


class ExactHessian:
    """penalty I + factor X' H X for the curvature H of a pair sum."""

    def __init__(self, design: Design, curvature: Curvature, factor: float, penalty: float) -> None:
        self.design, self.curvature, self.factor, self.penalty = design, curvature, factor, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`; two products with X and one with the curvature."""
        bent = self.curvature.matvec(self.design.scores(v))
        return self.penalty * v + self.factor * self.design.transposed(bent)


class SymmetricMatrix:
    """A positive definite matrix, its products and its solutions."""

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        try:
            self.factor = linalg.cho_factor(matrix, check_finite=False)
        except linalg.LinAlgError:
            lift = 1e-10 * np.trace(matrix) / matrix.shape[0]
            self.matrix = matrix + lift * np.eye(matrix.shape[0])
            self.factor = linalg.cho_factor(self.matrix, check_finite=False)

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the matrix times `v`."""
        return self.matrix @ v

    def solve(self, v: FloatArray) -> FloatArray:
        """Return the inverse times `v`."""
        return linalg.cho_solve(self.factor, v, check_finite=False)


class _Inverse:
    def __init__(self, matrix: SymmetricMatrix) -> None:
        self.matvec = matrix.solve


class SampledModel:
    """The Hessian of a sample of rows as a factorised matrix: a model, never the truth.

    Parameters
    ----------
    X : ndarray or CSR matrix
    preferences : Levels or Pairs
        Of all rows; samples are drawn from them.
    loss : PairLoss
    factor, penalty : float
        As for the objective.
    n_rows : int
        Rows to draw at first; `refine` draws four times as many, and beyond half of all rows the
        objective's exact Hessian takes over, preconditioned with the last sample.
    generator : numpy.random.Generator

    Notes
    -----
    A matrix costs O(sample * n_features^2), a factorisation O(n_features^3).
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
        self.exact = False
        self._draw(n_rows)

    def start(self, *, tol: float, max_iter: int, solver: Any) -> FloatArray:
        """Return the sample's own solution to a loose tolerance: where to start from."""
        sample = PairObjective(
            self.design,
            self.drawn,
            self.loss,
            factor=self.factor,
            penalty=self.penalty,
            model=_Fixed(self),
        )
        return solver(sample, np.zeros(self.design.n_features), tol=tol, max_iter=max_iter).coef

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the sample's Hessian at `w`, raised to stand for every pair."""
        return self._matrix(w)

    def inverse(self, w: FloatArray) -> LinearMap:
        """Return the inverse of the sample's Hessian at `w`."""
        return _Inverse(self._matrix(w))

    def refine(self) -> bool:
        """Draw a sample four times as large, or give way to the exact Hessian."""
        if self.exact:
            return False
        n_rows = 4 * self.design.n_rows
        if n_rows > self.X.shape[0] // 2:
            self.exact = True
        else:
            self._draw(n_rows)
        return True

    def _draw(self, n_rows: int) -> None:
        rows, drawn = self.preferences.sample(n_rows, self.generator)
        self.drawn: Preferences = drawn
        self.design = Design(_as_dense(self.X[rows]))
        self.pair_sum = self.loss.sum_over(self.drawn)
        self._columns: NDArray[Any] = np.ascontiguousarray(self.design.X.T, dtype=np.float64)
        self._known: tuple[FloatArray, SymmetricMatrix] | None = None

    def _matrix(self, w: FloatArray) -> SymmetricMatrix:
        if self._known is None or not np.array_equal(self._known[0], w):
            curvature = self.pair_sum.curvature(self.design.scores(w))
            bent = curvature.matmat(self._columns)
            matrix = self.factor * (self._columns @ bent.T)
            matrix.flat[:: matrix.shape[0] + 1] += self.penalty
            self._known = w.copy(), SymmetricMatrix(matrix)
        return self._known[1]


class _Fixed:
    """A sampled model that takes its own sample for the truth."""

    exact = False

    def __init__(self, model: SampledModel) -> None:
        self.hessian, self.inverse = model.hessian, model.inverse

    def refine(self) -> bool:
        return False


def _as_dense(X: Any) -> NDArray[Any]:
    return X.toarray() if hasattr(X, "toarray") else X
