"""Choose how a least-squares problem over pairs is solved: directly, primal or dual, or by CG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from pairrank._protocols import Callback, FloatArray, Solution
from pairrank.design import Design
from pairrank.exceptions import PairrankError
from pairrank.losses import Square
from pairrank.objective import KernelDesign, LeastSquares, dual_matrix, primal_matrix
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Pairs
from pairrank.solvers.direct import Direct, Inverse, dual_inverse, primal_inverse
from pairrank.solvers.linear_cg import LinearCG

LARGEST_SYSTEM = 30_000
_SMALL_SYSTEM = 1000
_FLOP = 1e-10
"""Measured seconds of a product of numbers in a matrix product, of a non-zero in two products with
X, and of a comparison in one iteration of CG; and the iterations that a fit takes at the least."""
_ENTRY, _COMPARISON, _ITERATIONS = 3e-9, 1e-8, 30


@dataclass(eq=False)
class Problem:
    """Rows or a kernel, and what is wanted of their scores; several targets share its algebra.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), or LinearOperator
        Features, or the training rows' kernel matrix.
    preferences : Differences or Pairs
    penalty : float
        2 alpha, or 0 where only the iterations regularise.
    is_kernel : bool
        Whether X is a kernel matrix and the coefficients dual.
    remedy : str
        What an error on a singular system advises first.
    """

    X: Any
    preferences: Differences | Pairs
    penalty: float
    is_kernel: bool
    remedy: str = "raise alpha"

    def __post_init__(self) -> None:
        self.design = KernelDesign(self.X) if self.is_kernel else Design(self.X)
        self.metric = self.design if isinstance(self.design, KernelDesign) else None

    def solver(self, name: str, *, early: bool) -> LinearCG | Direct:
        """Return the solver that a name means, "auto" by the costs; `early` stops need CG.

        Raises
        ------
        PairrankError
            If a direct solution is asked for and cannot be: its matrix is singular, too large, or
            not known; or if a kernel matrix is not positive semidefinite.
        """
        if name == "cg" or (name == "auto" and (early or not self.direct_is_cheaper())):
            return LinearCG(self.metric)
        self._require_matrix()
        inverse = self.inverse()
        if name == "auto":
            return Direct(inverse, self.metric, otherwise=LinearCG(self.metric))
        if inverse is not None:
            return Direct(inverse, self.metric)
        raise PairrankError(
            f"the normal equations are singular at this precision, or overflow: {self.remedy}, "
            'scale the features to one size, or use solver="cg"'
        )

    def solve(
        self,
        solver: LinearCG | Direct,
        target: FloatArray | None,
        w0: FloatArray | None,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None,
    ) -> Solution:
        """Solve for one column of targets; None: for what `preferences` hold."""
        preferences = self.preferences
        if target is not None and isinstance(preferences, Differences):
            preferences = preferences.with_target(target)
        pair_sum = bind(Square(), preferences)
        objective = LeastSquares(self.design, pair_sum, penalty=self.penalty, metric=self.metric)
        start = np.zeros(self.design.n_features) if w0 is None else w0
        return solver(objective, start, tol=tol, max_iter=max_iter, callback=callback)

    @property
    def _n_terms(self) -> int:
        """The rows of the least-squares problem: rows of X, or comparisons."""
        return self.preferences.n_pairs if isinstance(self.preferences, Pairs) else self._n_rows

    @property
    def _n_rows(self) -> int:
        return self.design.n_rows

    def direct_is_cheaper(self) -> bool:
        """Compare a factorisation with a few iterations of CG, both at most a thousand wide."""
        if isinstance(self.X, LinearOperator):
            return False
        order = min(self._n_rows, self.design.n_features)
        if order > _SMALL_SYSTEM:
            return False
        n_entries = self.X.nnz if sparse.issparse(self.X) else self.X.size
        iteration = _ENTRY * n_entries
        if isinstance(self.preferences, Pairs):
            iteration += _COMPARISON * self._n_terms
        if self._is_dual:
            wide = 1 if self.is_kernel else self.design.n_features
            return _FLOP * order**2 * (wide + order) <= _ITERATIONS * iteration + 1e-2
        return _FLOP * self._n_terms * order**2 <= _ITERATIONS * iteration + 1e-2

    @property
    def _is_dual(self) -> bool:
        return self.is_kernel or self.design.n_features > self._n_rows

    def _require_matrix(self) -> None:
        if isinstance(self.X, LinearOperator):
            raise PairrankError(
                'solver="direct" factorises the kernel matrix, of which a LinearOperator shows '
                'products only: use solver="cg"'
            )
        order = min(self._n_rows, self.design.n_features)
        if order > LARGEST_SYSTEM:
            raise PairrankError(
                f'solver="direct" would factorise a matrix of {order} x {order}, at most '
                f'{LARGEST_SYSTEM} is sensible: use solver="cg"'
            )

    def inverse(self) -> Inverse | None:
        """Return v -> (Hessian)^-1 v by Eq. 6 or Eq. 7; None where the matrix is singular."""
        if not self._is_dual:
            assert isinstance(self.design, Design)
            return primal_inverse(primal_matrix(self.design, self.preferences), self.penalty)
        kernel = self._kernel_matrix()
        bend = bind(Square(), self.preferences).at(np.zeros(self._n_rows)).curvature()
        of_rows = dual_inverse(bend.matmat(kernel).T, self.penalty)
        if of_rows is None or self.is_kernel:
            return of_rows
        design, penalty, preferences = self.design, self.penalty, self.preferences

        def inverse(v: FloatArray) -> FloatArray:
            """Return the primal inverse times v by the dual one (Henderson & Searle 1981)."""
            pull = of_rows(bend.matvec(design.scores(v)))
            return (v - design.transposed(_balanced(pull, preferences))) / penalty

        return inverse

    def _kernel_matrix(self) -> FloatArray:
        if not self.is_kernel:
            assert isinstance(self.design, Design)
            return dual_matrix(self.design, self.preferences)
        dense = self.X.toarray() if sparse.issparse(self.X) else self.X
        matrix = np.ascontiguousarray(dense, dtype=np.float64)
        assert isinstance(self.design, KernelDesign)
        self.design.require_no_negative(matrix)
        return matrix


def _balanced(pull: FloatArray, preferences: Differences | Pairs) -> FloatArray:
    """Return pulls on the scores without what rounding adds to their sum over a query, which is 0.

    It would come back multiplied by the features' common offset, and divided by the penalty.
    """
    if isinstance(preferences, Pairs):
        return np.asarray(pull - pull.mean())
    weight = preferences.weight
    if weight is None:
        return preferences.centred(pull)
    by_weight = np.divide(pull, weight, out=np.zeros_like(pull), where=weight > 0)
    return np.asarray(weight * preferences.centred(by_weight))
