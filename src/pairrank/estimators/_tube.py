"""Choose how tube costs over pairs are minimised: by cutting planes, or trust region Newton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import Callback, FloatArray, Solution, Solver, Status
from pairrank.design import Design
from pairrank.estimators._least_squares import Problem
from pairrank.losses import Tube
from pairrank.objective import SumObjective
from pairrank.preferences import Differences, Pairs
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.direct import Direct, Inverse
from pairrank.solvers.tron import Tron

_LEAST = 100.0
"""A gap of so many times the precision is the least that can be asked for."""


@dataclass(eq=False)
class TubeProblem:
    r"""penalty/2 \|w\|^2 + the pair sum of a tube, for every target in turn.

    The tube of width 0 and power 2 is least squares; where that is solved by one small
    factorisation, its solution is the start, and for power 2 its inverse the preconditioner.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    preferences : Differences or Pairs
        With the weights that the costs have.
    loss : Tube
    penalty : float
    """

    X: Any
    preferences: Differences | Pairs
    loss: Tube
    penalty: float

    def __post_init__(self) -> None:
        self.design = Design(self.X)
        self.squares = Problem(self.X, self.preferences, self.penalty, is_kernel=False)
        self._inverse = self.squares.inverse() if self.squares.direct_is_cheaper() else None

    def solver(self) -> Solver:
        """Return the solver that the power of the tube asks for."""
        return Bundle() if self.loss.n == 1 else Tron()

    def solve(
        self,
        target: FloatArray | None,
        w0: FloatArray | None,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None,
    ) -> Solution:
        """Solve for one column of targets; None: for the comparisons."""
        preferences = self.preferences
        if target is not None and isinstance(preferences, Differences):
            preferences = preferences.with_target(target)
        near = self._least_squares(target)
        inverse = None
        if near is not None and self._inverse is not None:
            inverse = _InverseMap(self._inverse)
        objective = SumObjective(
            self.design, self.loss.sum_over(preferences), penalty=self.penalty, inverse=inverse
        )
        start = near if w0 is None else w0
        if start is None:
            start = np.zeros(self.design.n_features)
        if self.loss.n == 1:
            tol = _tolerance(objective, tol)
        return self.solver()(objective, start, tol=tol, max_iter=max_iter, callback=callback)

    def _least_squares(self, target: FloatArray | None) -> FloatArray | None:
        """Return the solution for squares, where the factorisation at hand gives it."""
        if self._inverse is None:
            return None
        found = self.squares.solve(
            Direct(self._inverse), target, None, tol=1e-6, max_iter=1, callback=None
        )
        return found.coef if found.status is Status.CONVERGED else None


def _tolerance(objective: SumObjective, tol: float) -> float:
    r"""Return the part of the value that the gap is to be: tol of what the value can fall by.

    That is at most \|gradient at 0\|^2/(2 penalty). Where C is so small, or labels so large, that
    it is a small part of the value, tol of the value itself would be reached by weights of zero.
    """
    value = objective.loss_and_gradient(np.zeros(objective.n_features))[0]
    fall = objective.reference_norm**2 / (2.0 * objective.penalty)
    if not 0.0 < fall < value:
        return tol
    return max(tol * fall / value, min(tol, _LEAST * objective.precision))


class _InverseMap:
    def __init__(self, inverse: Inverse) -> None:
        self.matvec = inverse
