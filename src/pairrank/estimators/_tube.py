"""Choose how costs of pairs are minimised: by cutting planes, or preconditioned Newton steps."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import Callback, FloatArray, LinearMap, Solution, Solver, Status
from pairrank.design import Design
from pairrank.estimators._least_squares import Problem
from pairrank.losses import Square, Tube
from pairrank.objective import SumObjective, inverse_diagonal, is_even, spread_of_features
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Pairs
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.direct import Direct, Inverse
from pairrank.solvers.tron import Tron


@dataclass(eq=False)
class TubeProblem:
    r"""penalty/2 \|w\|^2 + the pair sum of a tube, or of squares, for every target in turn.

    The tube of width 0 and power 2 is least squares; where that is solved by one small
    factorisation, its solution is the start, and for power 2 its inverse the preconditioner; else
    that is the diagonal, where features differ in size.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    preferences : Differences or Pairs
        With the weights that the costs have.
    loss : Tube or Square
    penalty : float
    """

    X: Any
    preferences: Differences | Pairs
    loss: Tube | Square
    penalty: float

    def __post_init__(self) -> None:
        self.design = Design(self.X)
        self.squares = Problem(self.X, self.preferences, self.penalty, is_kernel=False)
        self._inverse = self.squares.inverse() if self.squares.direct_is_cheaper() else None

    def solver(self) -> Solver:
        """Return the solver that the power of the tube asks for."""
        return Tron() if self.loss.smooth else Bundle()

    def solve(
        self,
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
        near = self._least_squares(target)
        is_near = near is not None and near.status is Status.CONVERGED
        objective = SumObjective(
            self.design,
            bind(self.loss, preferences),
            penalty=self.penalty,
            inverse=self._preconditioner(factorised=is_near),
        )
        start = np.zeros(self.design.n_features) if w0 is None else w0
        if w0 is None and near is not None and is_near:
            start = near.coef
        if near is not None and near.status is Status.INTERRUPTED:
            judged = self.solver()(objective, start, tol=tol, max_iter=0)
            return judged._replace(status=Status.INTERRUPTED)
        return self.solver()(objective, start, tol=tol, max_iter=max_iter, callback=callback)

    def _least_squares(self, target: FloatArray | None) -> Solution | None:
        """Return what the factorisation at hand gives for squares, if there is one."""
        if self._inverse is None:
            return None
        return self.squares.solve(
            Direct(self._inverse), target, None, tol=1e-6, max_iter=1, callback=None
        )

    def _preconditioner(self, *, factorised: bool) -> LinearMap | None:
        """Return about the inverse of the Hessian for power 2, or None where it would not help."""
        if not self.loss.smooth:
            return None
        if factorised and self._inverse is not None:
            return _InverseMap(self._inverse)
        return inverse_diagonal(self._spread, self.penalty) if self.is_uneven else None

    @property
    def is_uneven(self) -> bool:
        """Whether features differ in size, so that plain conjugate gradients would take long."""
        return not is_even(self._spread)

    @functools.cached_property
    def _spread(self) -> FloatArray:
        """About the diagonal of the Hessian of least squares, as if of one query."""
        squares = bind(Square(), self.preferences).at(np.zeros(self.design.n_rows)).curvature()
        return spread_of_features(self.design, squares.diagonal())


class _InverseMap:
    def __init__(self, inverse: Inverse) -> None:
        self.matvec = inverse
