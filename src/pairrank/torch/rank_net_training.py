"""Training of RankNet: its objective, batches of preferences, and the steps of its solvers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from pairrank._protocols import Callback, FloatArray, PairLoss, PairSum, Solution, Status, Step
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind
from pairrank.preferences import Levels, PairIndex, Pairs
from pairrank.preferences.sampling import ranges, renumbered, restricted
from pairrank.torch.rank_net_networks import (
    is_penalised,
    load_state,
    rows_of,
    scores_of,
    state_vector,
    trained,
)
from pairrank.torch.sums import as_floats

_MEMORY = 20
"""The number of steps from which L-BFGS models the curvature."""
_EVALUATIONS = 30
"""More evaluations per step than any line search takes."""
_OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


class Batch(NamedTuple):
    """Preferences among some rows, renumbered; their sum times `factor` estimates the whole."""

    rows: NDArray[Any] | None
    """The training rows; None: all of them."""
    preferences: Levels | Pairs
    factor: float


Epochs = Iterator[Iterator[Batch]]


def whole(preferences: Levels | Pairs) -> Batch:
    """Return every preference as one batch, with the rows that are kept."""
    among: Levels | Pairs
    if isinstance(preferences, Pairs):
        rows, among = renumbered(preferences)
    else:
        rows = preferences.row_of
        among = restricted(preferences, np.arange(rows.size))
    if rows.size == preferences.n_rows:
        return Batch(None, preferences, 1.0)
    return Batch(rows, among, 1.0)


def shuffled(
    preferences: Levels | Pairs, batch_size: int, generator: np.random.Generator
) -> Epochs:
    """Yield the batches of each epoch: whole queries, of Pairs comparisons, in random order.

    The sums of an epoch's batches, times their factors, add up to as many sums over all pairs as
    there are batches.
    """

    def cut(drawn: NDArray[np.int64]) -> tuple[NDArray[np.int32], Levels | Pairs]:
        if isinstance(preferences, Pairs):
            return renumbered(preferences, drawn)
        drawn, start = np.sort(drawn), preferences.query_start
        places = ranges(start[drawn], start[drawn + 1])
        return preferences.row_of[places], restricted(preferences, places)

    count = preferences.n_pairs if isinstance(preferences, Pairs) else preferences.n_queries
    parts = max(1, round(count / batch_size))
    while True:
        drawn = np.array_split(generator.permutation(count), parts)
        yield (Batch(*cut(each), float(parts)) for each in drawn)


def sampled(
    preferences: Levels | Pairs, batch_size: int, generator: np.random.Generator, n_rows: int
) -> Epochs:
    """Yield the batches of each epoch: as many random pairs as rows, in parts of `batch_size`.

    Pairs are drawn in proportion to their weight, so that each drawn one counts alike.
    """
    index, factor = PairIndex(preferences), preferences.total_weight / batch_size
    while True:
        drawn = (
            Pairs(*index.draw(batch_size, generator))
            for _ in range(round(n_rows / batch_size) or 1)
        )
        yield (Batch(*renumbered(pairs), factor) for pairs in drawn)


class Training:
    """One run over a network, whose state is the coefficients.

    It minimises a pair sum with errors up to `eps`, plus penalty/2 times squared weights; `inputs`
    are the training rows as the network takes them. Gradients are left in the network; their norms
    are NaN where steps do not need the gradient over every pair.
    """

    def __init__(
        self, network: nn.Module, inputs: Any, loss: PairLoss, preferences: Levels | Pairs,
        *, penalty: float, eps: float, tol: float, max_iter: int, callback: Callback | None,
    ) -> None:  # fmt: skip
        self.network, self.inputs, self.loss, self.preferences = network, inputs, loss, preferences
        self.penalty, self.eps = penalty, eps
        self.tol, self.max_iter, self.callback = tol, max_iter, callback
        self.trained, self.total = trained(network), preferences.total_weight
        self.whole = self._bound(whole(preferences))
        self.n_rows = int(self.whole[0].shape[0])
        self.history: list[Step] = []
        self.n_iter = self.n_evaluations = 0
        self.started = time.perf_counter()
        self.w = state_vector(network)
        self.value = self.norm = float("nan")

    def run(
        self, start: FloatArray | None, solver: str, learning_rate: float, epochs: Epochs | None
    ) -> Solution:
        """Train until a stop; after Ctrl-C the state after the last whole iteration is returned."""
        self.epochs = epochs
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._measure()
                self.target = self.tol * self.norm  # of the network as it was made
                if start is not None:
                    load_state(self.network, start)
                    self._measure()
                status = self._stopped() if np.isfinite(self.value) else Status.OVERFLOW
                if status is None and solver == "lbfgs":
                    status = self._by_lbfgs()
                elif status is None:
                    status = self._by_steps(_OPTIMIZERS[solver](self.trained, lr=learning_rate))
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        load_state(self.network, self.w)
        self.network.zero_grad(set_to_none=True)
        return Solution(self.w, status, self.n_iter, self.history)

    def _measure(self) -> None:
        """Evaluate the objective at the state of the network, and make it the current one.

        The gradient over every pair, where it is needed, is left in the parameters.
        """
        self.n_evaluations += 1
        if self.epochs is None:
            self.value, gradient = self._value_and_gradient()
            self.norm = float(np.linalg.norm(gradient))
        else:
            self.network.eval()
            with torch.no_grad():
                scores = as_floats(scores_of(self.network, self.whole[0]))
            self.value = float(self.whole[1].at(scores).value) + self._penalty()
        self.w = state_vector(self.network)

    def _stopped(self) -> Status | None:
        """Report the current state; return a status if the run ends there."""
        seconds = time.perf_counter() - self.started
        step = Step(
            self.n_iter, self.value, self.norm, self.w, seconds, self.n_evaluations, 0, np.nan
        )
        self.history.append(step._replace(coef=None))
        if self.callback is not None and self.callback(step):
            return Status.STOPPED
        if self.norm <= self.target:
            return Status.CONVERGED
        return Status.MAX_ITER if self.n_iter >= self.max_iter else None

    def _by_steps(self, optimizer: torch.optim.Optimizer) -> Status:
        """Take a step per epoch along the gradient over every pair, or a step per batch."""
        status = None
        while status is None:
            if self.epochs is None:
                for part in self.trained:
                    part.grad /= self.total
                optimizer.step()
            else:
                for batch in next(self.epochs):
                    if batch.preferences.n_pairs:
                        self._estimate(batch)
                        optimizer.step()
            self._measure()
            self.n_iter += 1
            if not np.isfinite(self.value):
                raise PairrankError(
                    f"the objective is not finite after {self.n_iter} epochs: lower learning_rate, "
                    "or standardize the features"
                )
            status = self._stopped()
        return status

    def _by_lbfgs(self) -> Status:
        """Take steps of scipy's L-BFGS-B along the gradient over every pair."""
        stops: list[Status] = []
        like, total = self.trained[0], self.total

        def value_and_gradient(x: FloatArray) -> tuple[float, FloatArray]:
            vector_to_parameters(torch.from_numpy(x.copy()).to(like), self.trained)
            self.n_evaluations += 1
            value, gradient = self._value_and_gradient()
            last[:] = value, float(np.linalg.norm(gradient)), x.copy()
            return value / total, gradient / total

        def iterated(intermediate_result: Any) -> None:
            if not np.array_equal(last[2], intermediate_result.x):
                value_and_gradient(intermediate_result.x)
            self.value, self.norm = last[:2]
            self.w = state_vector(self.network)
            self.n_iter += 1
            status = self._stopped()
            if status is not None:
                stops.append(status)
                raise StopIteration

        x = as_floats(parameters_to_vector(self.trained))
        last: list[Any] = [self.value, self.norm, x]
        limits = {"maxiter": self.max_iter + 1, "maxfun": _EVALUATIONS * (self.max_iter + 1)}
        optimize.minimize(
            value_and_gradient, x, jac=True, method="L-BFGS-B", callback=iterated,
            options={"maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0, **limits},
        )  # fmt: skip
        return stops[0] if stops else Status.NO_PROGRESS

    def _value_and_gradient(self) -> tuple[float, FloatArray]:
        """Return the objective over every pair and its gradient by the trained parameters."""
        value = self._backward(*self.whole, 1.0, self.penalty)
        gradient = parameters_to_vector([part.grad for part in self.trained])
        return value + self._penalty(), as_floats(gradient)

    def _estimate(self, batch: Batch) -> None:
        """Leave an estimate of the gradient in the parameters, divided by the weight of all pairs.

        So that a learning rate means the same for few and many rows.
        """
        factor = batch.factor / self.total
        self._backward(*self._bound(batch), factor, self.penalty / self.total)

    def _bound(self, batch: Batch) -> tuple[Any, PairSum]:
        """Return the inputs of a batch, and the pair sum of their scores."""
        rows = self.inputs if batch.rows is None else rows_of(self.inputs, batch.rows)
        return rows, bind(self.loss, batch.preferences, eps=self.eps)

    def _backward(self, inputs: Any, total: PairSum, factor: float, penalty: float) -> float:
        """Set the gradient of factor times the sum, and of the penalty."""
        self.network.train()
        for part in self.trained:
            part.grad = None
        scores = scores_of(self.network, inputs)
        found = total.at(as_floats(scores))
        scores.backward(torch.from_numpy(factor * found.gradient).to(scores))
        for part in self.trained:
            if part.grad is None:
                part.grad = torch.zeros_like(part)
            if is_penalised(part):
                part.grad.add_(part.detach(), alpha=penalty)
        return float(found.value)

    def _penalty(self) -> float:
        squares = (as_floats(part) ** 2 for part in self.trained if is_penalised(part))
        return 0.5 * self.penalty * float(sum(square.sum() for square in squares))
