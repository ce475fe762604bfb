"""Training of RankNet: L-BFGS over every pair, or epochs of Adam or of plain gradient steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import optimize
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from pairrank._protocols import Callback, FloatArray, PairLoss, Solution, Status
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind
from pairrank.solvers.descent import Descent
from pairrank.torch.rank_net_batches import Batch
from pairrank.torch.rank_net_networks import (
    as_floats,
    is_penalised,
    load_state,
    rows_of,
    scores_of,
    state_vector,
    trained,
)

_MEMORY = 20
"""The number of steps from which L-BFGS models the curvature."""
_EVALUATIONS = 30
"""More evaluations per step than any line search takes."""


class Cost:
    """The objective of RankNet and its gradient: a pair sum plus penalty/2 times squared weights.

    Parameters
    ----------
    network : nn.Module
        What the gradient is left in.
    inputs : Tensor or CSR matrix
        The training rows as the network takes them.
    loss : PairLoss
    whole : Batch
        Every preference.
    penalty : float
    eps : float
        The error of the pair sum, as in `pairrank.pair_sums.bind`.
    """

    def __init__(
        self,
        network: nn.Module,
        inputs: Any,
        loss: PairLoss,
        whole: Batch,
        *,
        penalty: float,
        eps: float,
    ) -> None:
        self.network, self.inputs, self.loss = network, inputs, loss
        self.penalty, self.eps = penalty, eps
        self.trained = trained(network)
        self.preferences = whole.preferences
        self.total = self.preferences.total_weight
        self.whole = self._bound(whole)
        self.n_rows = int(self.whole.inputs.shape[0])

    def value(self) -> float:
        """Return the objective over every pair, without a gradient."""
        self.network.eval()
        with torch.no_grad():
            scores = scores_of(self.network, self.whole.inputs)
        return float(self.whole.sum.at(as_floats(scores)).value) + self._penalty()

    def value_and_gradient(self) -> tuple[float, FloatArray]:
        """Return the objective over every pair and its gradient by the trained parameters."""
        value = self._backward(self.whole, 1.0)
        gradient = parameters_to_vector([part.grad for part in self.trained])
        return value + self._penalty(), as_floats(gradient)

    def estimate(self, batch: Batch) -> None:
        """Leave an estimate of the gradient in the parameters, divided by the weight of all pairs.

        So that a learning rate means the same for few and many rows.
        """
        self._backward(self._bound(batch), batch.factor / self.total)

    def _bound(self, batch: Batch) -> _Bound:
        rows = self.inputs if batch.rows is None else rows_of(self.inputs, batch.rows)
        return _Bound(rows, bind(self.loss, batch.preferences, eps=self.eps))

    def _backward(self, bound: _Bound, factor: float) -> float:
        """Set the gradient of factor times the sum, and of the penalty in the same proportion."""
        self.network.train()
        for part in self.trained:
            part.grad = None
        scores = scores_of(self.network, bound.inputs)
        found = bound.sum.at(as_floats(scores))
        scores.backward(torch.from_numpy(factor * found.gradient).to(scores))
        share = self.penalty * (1.0 if bound is self.whole else 1.0 / self.total)
        for part in self.trained:
            if part.grad is None:
                part.grad = torch.zeros_like(part)
            if is_penalised(part):
                part.grad.add_(part.detach(), alpha=share)
        return float(found.value)

    def _penalty(self) -> float:
        squares = (as_floats(part) ** 2 for part in self.trained if is_penalised(part))
        return 0.5 * self.penalty * float(sum(square.sum() for square in squares))


class _Bound(NamedTuple):
    """The rows of a batch and the pair sum of their scores."""

    inputs: Any
    sum: Any


class Training(Descent):
    """One run over a network; a subclass defines how it goes on from one iteration to the next.

    The coefficients are the state of the network. The norms of gradients are NaN where an iteration
    does not compute the gradient over every pair.
    """

    def __init__(
        self,
        cost: Cost,
        start: FloatArray | None,
        tol: float,
        callback: Callback | None,
        epochs: Iterator[Any] | None = None,
        steps: torch.optim.Optimizer | None = None,
    ) -> None:
        network = cost.network
        objective: Any = None
        super().__init__(None, objective, state_vector(network), tol, callback)
        self.cost, self.network, self.first = cost, network, start
        self.epochs, self.steps, self.max_iter = epochs, steps, 0

    def run(self, max_iter: int) -> Solution:
        """Train until a stop; after Ctrl-C the state after the last whole iteration is returned."""
        self.max_iter = max_iter
        solution = super().run(max_iter)
        load_state(self.network, solution.coef)
        self.network.zero_grad(set_to_none=True)
        return solution

    @abstractmethod
    def measure(self) -> None:
        """Evaluate the objective at the state of the network, and make it the current one."""

    def _begin(self) -> None:
        """Evaluate the network as it was made, which `tol` refers to, and go to the start."""
        self.measure()
        self.reference_norm = 0.0 if np.isnan(self.norm) else self.norm
        if self.first is not None:
            load_state(self.network, self.first)
            self.measure()

    def _ended(self, target: float) -> Status | None:
        return self.closed if self.norm <= target else None

    def _measured(self) -> tuple[float, float, FloatArray]:
        """Return the objective over every pair, its gradient's norm, and the gradient."""
        value, gradient = self.cost.value_and_gradient()
        self.n_evaluations += 1
        return value, float(np.linalg.norm(gradient)), gradient

    def _require_finite(self) -> None:
        if not np.isfinite(self.value):
            raise PairrankError(
                f"the objective is not finite after {self.n_iter + 1} epochs: lower learning_rate, "
                "or standardize the features"
            )


class FullBatchEpochs(Training):
    """Each epoch is one step of an optimizer along the gradient over every pair."""

    def measure(self) -> None:
        """Evaluate objective and gradient, which stays in the parameters for the next step."""
        self.value, self.norm, _ = self._measured()
        self.w = state_vector(self.network)

    def advance(self) -> Status | None:
        """Take one step."""
        assert self.steps is not None
        for part in self.cost.trained:
            part.grad /= self.cost.total
        self.steps.step()
        self.measure()
        self._require_finite()
        return None


class StochasticEpochs(Training):
    """Each epoch takes a step of an optimizer per batch; then the objective is evaluated."""

    def measure(self) -> None:
        """Evaluate the objective over every pair."""
        self.value, self.norm = self.cost.value(), float("nan")
        self.n_evaluations += 1
        self.w = state_vector(self.network)

    def advance(self) -> Status | None:
        """Take the steps of an epoch."""
        assert self.epochs is not None
        assert self.steps is not None
        for batch in next(self.epochs):
            if batch.preferences.n_pairs:
                self.cost.estimate(batch)
                self.steps.step()
        self.measure()
        self._require_finite()
        return None


class LimitedMemoryBFGS(Training):
    """scipy's L-BFGS-B on the objective over every pair."""

    _last: tuple[FloatArray, tuple[float, float, FloatArray]] | None = None

    def measure(self) -> None:
        """Evaluate objective and gradient at the state of the network."""
        self.value, self.norm, _ = self._evaluated(self._parameters())
        self.w = state_vector(self.network)

    def _parameters(self) -> FloatArray:
        return as_floats(parameters_to_vector(self.cost.trained))

    def _evaluated(self, x: FloatArray) -> tuple[float, float, FloatArray]:
        """Return value, norm and gradient at some parameters; the last ones are remembered."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        like = self.cost.trained[0]
        vector_to_parameters(torch.from_numpy(x.copy()).to(like), self.cost.trained)
        found = self._measured()
        self._last = x.copy(), found
        return found

    def advance(self) -> Status | None:
        """Take all steps; scipy calls back after each."""
        total = self.cost.total
        stops: list[Status] = []

        def value_and_gradient(x: FloatArray) -> tuple[float, FloatArray]:
            value, _, gradient = self._evaluated(x)
            return value / total, gradient / total

        def iterated(intermediate_result: Any) -> None:
            self.n_iter += 1
            self.value, self.norm, _ = self._evaluated(intermediate_result.x)
            self.w = state_vector(self.network)
            stopped = self._stopped()
            if stopped is not None:
                stops.append(stopped)
                raise StopIteration

        limits = {"maxiter": self.max_iter + 1, "maxfun": _EVALUATIONS * (self.max_iter + 1)}
        optimize.minimize(
            value_and_gradient,
            self._parameters(),
            jac=True,
            method="L-BFGS-B",
            callback=iterated,
            options={"maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0, **limits},
        )
        return stops[0] if stops else Status.NO_PROGRESS

    def _stopped(self) -> Status | None:
        """Report the current place; return a status if the run ends here."""
        if self._report():
            return Status.STOPPED
        ended = self._ended(self.tol * self.reference_norm)
        if ended is not None:
            return ended
        return Status.MAX_ITER if self.n_iter >= self.max_iter else None
