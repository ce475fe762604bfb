"""PairObjective: a loss over pairs as solvers see it, its Hessians, and kernels as maps."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from pairrank._protocols import Curvature, FloatArray, LinearMap, Point
from pairrank.design import Design
from pairrank.exceptions import PairrankError

ENOUGH_ENTRIES = 1 << 18
"""The number of entries of X that suffices to estimate the size of its features."""
_CONSTANT = 1e-12
"""A feature whose spread is below this part of the largest spread is constant."""
_EVEN = 10.0
"""A diagonal is even where its 90th percentile is at most this many times its 10th."""


class HessianModel(ABC):
    """An approximate Hessian, cheaper than that of every pair, or its inverse."""

    @abstractmethod
    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return a Hessian at `w`, penalty included; None: use that of every pair."""

    def inverse(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return an approximate inverse for preconditioning, or None."""
        return None

    @abstractmethod
    def refine(self) -> bool:
        """Use a better approximation of the exact Hessian; False if that is impossible."""


class ExactHessian:
    """penalty I + factor X' H X for the curvature H of a pair sum."""

    def __init__(
        self, design: Design | KernelDesign, curvature: Curvature, factor: float, penalty: float
    ) -> None:
        self.design, self.curvature, self.factor, self.penalty = design, curvature, factor, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`: two products with X and one with the curvature."""
        product = self.design.transposed(self.curvature.matvec(self.design.scores(v)))
        return self.penalty * v + self.factor * product


class GivenInverse:
    """A known exact or approximate inverse of a Hessian, given by its products."""

    def __init__(self, solve: Callable[[FloatArray], FloatArray]) -> None:
        self.matvec = solve


class InverseDiagonal:
    """The inverse of penalty + factor * spread per feature, raised for constant features."""

    def __init__(self, spread: FloatArray, factor: float, penalty: float) -> None:
        lifted = np.maximum(spread, _CONSTANT * spread.max(initial=0.0))
        self._diagonal = penalty + factor * lifted

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return v divided by the diagonal."""
        return v / self._diagonal


def spread_of_features(design: Design, degree: FloatArray) -> FloatArray:
    """Return each feature's sum of squares about its mean, rows weighted by `degree`."""
    total = degree.sum()
    if not total > 0:
        return np.zeros(design.n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        return design.squares_transposed(degree) - design.transposed(degree) ** 2 / total


def is_even(spread: FloatArray) -> bool:
    """Whether all features but constant ones have about one size, or a size is not finite."""
    if not 0.0 < spread.max(initial=0.0) < np.inf:
        return True
    low, high = np.percentile(spread[spread >= _CONSTANT * spread.max()], (10, 90))
    return bool(high <= _EVEN * low)


_ROUNDING = 0.1
"""A gradient at 0 below this part of the precision of its terms is rounding: X is constant."""


class PairObjective:
    r"""A problem as an objective: penalty/2 \|w\|^2 is left to the solver.

    It is a `Problem` or a `BlockProblem`. `model` approximates the Hessian; None: that of every
    pair. `inverse` preconditions where the model does not; None: the inverse of the Hessian's
    diagonal where features differ in size. At w = 0 value and gradient are computed once.
    """

    def __init__(
        self,
        problem: Any,
        model: HessianModel | None = None,
        inverse: LinearMap | None = None,
    ) -> None:
        self._model, self._inverse = model, inverse
        self._sums = problem.bound()
        self.n_features, self.precision = self._sums.n_features, self._sums.precision
        self.penalty = problem.penalty
        self._zero: Point | None = None

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the pair sum and its gradient, without the penalty."""
        point = self._sums.at(w, scores) if w.any() else self._at_zero(w)
        return point._replace(
            hessian=functools.partial(self._hessian, w, point),
            preconditioner=functools.partial(self._preconditioner, w, point),
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

    def _hessian(self, w: FloatArray, point: Point) -> LinearMap:
        """Return the (generalised) Hessian, of the model or of every pair."""
        modelled = None if self._model is None else self._model.hessian(w, point.scores)
        return point.hessian() if modelled is None else modelled

    def _preconditioner(self, w: FloatArray, point: Point) -> LinearMap | None:
        """Return the model's inverse, the given one, or that of an uneven diagonal."""
        inverse = None if self._model is None else self._model.inverse(w, point.scores)
        inverse = self._inverse if inverse is None else inverse
        return point.preconditioner() if inverse is None else inverse


_NEGATIVE = 1e-8
"""Where v'Kv is below this part of -|K| |v|^2, the kernel is not positive semidefinite."""
_NEGATIVE_SINGLE = 1e-4


class KernelDesign:
    """Scores K a of dual coefficients a, for K given by products K @ v.

    The score functions of a and b have the inner product a'K b in the kernel's space (`matvec` is
    this metric). The gradient of a pair sum in that space is its gradient by the scores. So
    conjugate gradients take the same steps as on explicit features.

    K is symmetric and positive semidefinite: an array, a CSR matrix or a LinearOperator. A product
    costs as much as K @ v. Norms in the metric are precise to the square root of the
    rounding of K @ v, 1e-8 of the norm at zero, which is the smallest useful `tol`.
    """

    def __init__(self, K: Any) -> None:
        self.K = K
        self.n_rows = self.n_features = int(K.shape[0])
        dtype = getattr(K, "dtype", None)
        self.dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)
        is_matrix = isinstance(K, np.ndarray) or sparse.issparse(K)
        self._design = Design(K) if is_matrix else None
        self._norm = 0.0

    @property
    def precision(self) -> float:
        """The expected relative rounding of a sum of many products."""
        return 1e-7 if self._design is None and self.dtype == np.float32 else 1e-12

    def rounding(self) -> FloatArray:
        """Return zeros, because the gradient is that by the scores."""
        return np.zeros(self.n_features)

    def scores(self, a: FloatArray) -> FloatArray:
        """Return K a, (n_rows,) float64; raise a PairrankError where a'K a is negative."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._design is not None:
                result = self._design.scores(a)
            else:
                product = self.K @ a.astype(self.dtype, copy=False)
                result = np.asarray(product, dtype=np.float64)
            if result.shape != (self.n_rows,):
                raise PairrankError(
                    f"the kernel operator returned shape {result.shape} for a vector of "
                    f"{self.n_rows} rows: K @ v must have shape ({self.n_rows},)"
                )
            self._require_semidefinite(a, result)
        return result

    def transposed(self, values: FloatArray) -> FloatArray:
        """Return a copy of the values, which are the gradient in the kernel's space."""
        return values.copy()

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return K v: the metric of dual coefficients."""
        return self.scores(v)

    def require_no_negative(self, matrix: FloatArray) -> None:
        """Raise a PairrankError where the matrix has a negative eigenvalue beyond rounding.

        Factorises K plus the possible rounding on its diagonal; O(n_rows^3/3).
        """
        with np.errstate(over="ignore"):
            lift = self._tolerance * float(np.abs(matrix).sum(axis=0).max(initial=0.0))
        if not 0.0 < lift < np.inf:
            return
        lifted = matrix.copy()
        lifted.flat[:: self.n_rows + 1] += lift
        try:
            linalg.cholesky(lifted, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise PairrankError(
                "the kernel matrix is not positive semidefinite: it has an eigenvalue below "
                f"{-lift:g}; take another kernel, or add to its diagonal"
            ) from None

    @property
    def _tolerance(self) -> float:
        return _NEGATIVE if self.dtype == np.float64 else _NEGATIVE_SINGLE

    def _require_semidefinite(self, a: FloatArray, image: FloatArray) -> None:
        """Compare a'K a with rounding, using the norm of K estimated from past products."""
        length = float(np.linalg.norm(a))
        if length > 0.0:
            self._norm = max(self._norm, float(np.linalg.norm(image)) / length)
        form = float(a @ image)
        if form < -self._tolerance * self._norm * length * length:
            raise PairrankError(
                f"the kernel matrix is not positive semidefinite: v'Kv = {form:g} for some v; "
                "take another kernel, or add to its diagonal"
            )
