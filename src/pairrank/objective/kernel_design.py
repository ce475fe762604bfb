"""KernelDesign: a kernel matrix or its products as the map from dual coefficients to scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from pairrank._protocols import FloatArray
from pairrank.design import Design
from pairrank.exceptions import PairrankError

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
