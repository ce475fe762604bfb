"""ContinuedTron: TRON after a path of falling penalties, for rows that are nearly separable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import Status
from pairrank.solvers.tron import Tron, TronRun

_LEAST_FALL = 1e3
"""Where the penalty would fall by less than this in all, TRON alone is as good."""


@dataclass(frozen=True)
class ContinuedTron(Tron):
    r"""TRON that starts on a path of penalties: from a large one down to the objective's own.

    Where some weights satisfy nearly every pair, the optimum is the shortest of them. Newton's
    steps from zero reach weights that satisfy the pairs, but are too long, and shorten them slowly
    afterwards: the loss is flat there, and the penalty is small beside its curvature. On the path
    the weights grow from zero instead and are never much longer than needed. Each stage is one
    truncated Newton step, multiplied by `step_length`, at a penalty that is `factor` times smaller
    than before. The first penalty is the curvature of the loss along its gradient at zero.

    The path ends at the objective's own penalty, or as soon as a stage leaves more than `share` of
    the loss: the rows are not separable then, and TRON goes on from there.

    Parameters
    ----------
    factor : float
        The ratio of successive penalties. A smaller one ends nearer to the optimum.
    share : float
        From the second stage on, the path goes on while a stage divides the loss by at least
        1/share per factor of 10 in the penalty.

    Notes
    -----
    A stage costs two to six products with the Hessian and one evaluation.
    """

    factor: float = 5.0
    share: float = 0.4

    @property
    def largest_share(self) -> float:
        """The share of the loss that a stage may leave."""
        return self.share ** float(np.log10(self.factor))


class ContinuedRun(TronRun):
    """One run: a stage of the path per iteration, then TRON's iterations."""

    rule: ContinuedTron
    stage: float | None = None
    """The penalty of the next step; None: the path has ended."""

    def advance(self) -> Status | None:
        """Take one step of the path, or of TRON after it."""
        if self.n_iter == 0 and not self.w.any():
            self.stage = self._first_penalty()
        if self.stage is None or not self._take_stage(self.stage):
            return super().advance()
        return None

    def _first_penalty(self) -> float | None:
        """Return the curvature of the loss along the gradient; None if the path would be short."""
        gradient = self.gradient
        square = float(gradient @ gradient)
        curvature = float(gradient @ self.point.hessian().matvec(gradient)) / square
        self.n_products += 1
        return curvature if _LEAST_FALL * self.objective.penalty < curvature < np.inf else None

    def _take_stage(self, penalty: float) -> bool:
        """Take one step at a penalty and set that of the next; False ends the path."""
        self.stage = None
        own = self.objective.penalty
        extra = penalty - own
        found = self.inner(np.inf, extra)
        slope = float((self.gradient + extra * self.w) @ found.step)
        multiple, scores = 1.0, None
        if self.step_length is not None:
            multiple, scores = self.step_length(self.point, found.step, slope, penalty)
        trial = self.evaluate(self.w + multiple * found.step, scores)
        change = trial.value - self.value
        change += 0.5 * extra * (self.squared(trial.w) - self.squared(self.w))
        if not change < 0.0:
            return False
        is_first = self.n_iter == 0
        separates = trial.point.value <= self.rule.largest_share * self.point.value
        self.accept(trial)
        self.radius = self.rule.sigma_3 * multiple * found.norm
        if penalty > own and (is_first or separates):
            self.stage = max(own, penalty / self.rule.factor)
        return True


ContinuedTron.run_class = ContinuedRun
