"""Stochastic: stochastic steps, judged by the exact objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pairrank._protocols import FloatArray, Status
from pairrank.solvers.descent import Descent, DescentSolver

_LEAST_ITERATIONS = 8
_EXACT = 0.1
"""The errors of values are at most this part of the fall that ends a run."""

Walk = Callable[[], FloatArray]
"""Takes the steps of one iteration and returns the weights that they give."""


@dataclass(frozen=True)
class Stochastic(DescentSolver):
    r"""Stochastic gradient descent whose iterations are judged by the exact objective.

    `walk_from` makes the `Walk` from a start. After each iteration the objective is evaluated, and
    the best weights so far are kept: each step of the history has their value.

    The error of averaged stochastic steps falls like 1/t or slower. So it is about as large as the
    fall of the value over the second half of the iterations. The run ends with Status.SETTLED when
    that fall, and the distance from the best value, are at most `tol` times the value, or `tol`
    times the most that the objective can fall by from w = 0, \|g(0)\|^2/(2 penalty), if that is
    less. It is an estimate, not a bound. The gradient's rule of other solvers also ends a run.

    An iteration costs its steps and one evaluation of the loss and its gradient.
    """

    walk_from: Callable[[FloatArray], Walk]


class _Run(Descent):
    """One run: the best weights, the walk, and the value after each iteration."""

    rule: Stochastic
    walk: Walk
    latest: list[float]

    def advance(self) -> Status | None:
        """Walk for an iteration and keep the weights if they are the best."""
        place = self.evaluate(self.walk())
        if not place.is_finite:
            return Status.OVERFLOW
        self.latest.append(place.value)
        if place.value < self.value:
            self.move(place)
        return None

    def _begin(self) -> None:
        super()._begin()
        self.walk, self.latest = self.rule.walk_from(self.w), [self.value]

    def _ended(self, target: float) -> Status | None:
        """Return the status if the gradient is small or the value has settled."""
        status = super()._ended(target)
        if status is not None or self.n_iter < _LEAST_ITERATIONS:
            return status
        fall = 0.5 * self.reference_norm**2 / self.objective.penalty
        allowed = self.tol * min(abs(self.value), fall)
        last = self.latest[-1]
        if max(self.latest[self.n_iter // 2] - last, last - self.value) > allowed:
            return None
        if self.point.value_error > _EXACT * allowed and self.sharpen():
            return self._ended(target)
        return Status.SETTLED


Stochastic.run_class = _Run
