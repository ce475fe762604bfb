"""Training of RankNet: its objective, batches of preferences, and the steps of its solvers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from pairrank._protocols import Callback, FloatArray, PairLoss, Solution, Status, Step
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.pair_sums import bind
from pairrank.preferences import Graph, Levels, PairIndex, Pairs
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
    if isinstance(preferences, Pairs):
        batch = _of_comparisons(preferences, slice(None))
        is_complete = batch.preferences.n_rows == preferences.n_rows
        return batch._replace(rows=None) if is_complete else batch
    n_kept = preferences.row_of.size
    if n_kept == preferences.n_rows:
        return Batch(None, preferences, 1.0)
    order = np.arange(n_kept, dtype=np.int32)
    among = replace(preferences, n_rows=n_kept, row_of=order, in_order=True)
    return Batch(preferences.row_of, among, 1.0)


def shuffled(
    preferences: Levels | Pairs, graph: Graph, batch_size: int, generator: np.random.Generator
) -> Epochs:
    """Yield the batches of each epoch: whole queries, of Pairs comparisons, in random order.

    The sums of an epoch's batches, times their factors, add up to as many sums over all pairs as
    there are batches.
    """
    if isinstance(preferences, Pairs):
        count, cut = preferences.n_pairs, partial(_of_comparisons, preferences)
    else:
        count, cut = preferences.n_queries, partial(_of_queries, preferences, graph)
    parts = max(1, round(count / batch_size))
    while True:
        order = np.array_split(generator.permutation(count), parts)
        yield (cut(part)._replace(factor=float(parts)) for part in order)


def sampled(
    preferences: Levels | Pairs, batch_size: int, n_rows: int, generator: np.random.Generator
) -> Epochs:
    """Yield the batches of each epoch: as many random pairs as rows, in parts of `batch_size`.

    Pairs are drawn in proportion to their weight, so that each drawn one counts alike.
    """
    index = PairIndex(preferences)
    n_steps = max(1, round(n_rows / batch_size))
    scale = preferences.total_weight / batch_size
    while True:
        yield (
            _renumbered(*index.draw(batch_size, generator))._replace(factor=scale)
            for _ in range(n_steps)
        )


def _renumbered(
    i: NDArray[Any], j: NDArray[Any], weight: FloatArray | None = None, scale: float = 1.0
) -> Batch:
    rows, places = np.unique(np.append(i, j), return_inverse=True)
    i, j = places.astype(np.int32).reshape(2, -1)
    pairs = Pairs(i, j, weight, n_rows=rows.size)
    pairs.pair_scale = scale
    return Batch(rows, pairs, 1.0)


def _of_comparisons(pairs: Pairs, places: Any) -> Batch:
    weight = None if pairs.weight is None else pairs.weight[places]
    return _renumbered(pairs.i[places], pairs.j[places], weight, pairs.pair_scale)


def _of_queries(levels: Levels, graph: Graph, queries: NDArray[Any]) -> Batch:
    queries = np.sort(queries)
    start = levels.query_start
    places = np.concatenate([np.arange(start[q], start[q + 1]) for q in queries])
    group = np.searchsorted(levels.group_start, places, side="right") - 1
    wins, loses = (None if side is None else side[places] for side in levels.sides)
    weights = {"sample_weight": wins}
    if levels.roles is not None:
        weights = {"winner_weight": wins, "loser_weight": loses}
    with warnings.catch_warnings():  # a batch may lack labels that the graph names
        warnings.simplefilter("ignore", PairrankWarning)
        among = Levels.build(
            levels.labels[levels.group_level[group]],
            np.repeat(np.arange(queries.size), np.diff(start)[queries]),
            graph=graph,
            **weights,
        )
    scale = levels.pair_scale
    scaled = replace(among, pair_scale=scale if np.ndim(scale) == 0 else np.asarray(scale)[queries])
    return Batch(levels.row_of[places], scaled, 1.0)


class Cost:
    """The objective of RankNet and its gradient: a pair sum plus penalty/2 times squared weights.

    Parameters
    ----------
    network : nn.Module
        What the gradient is left in.
    inputs : Tensor or CSR matrix
        The training rows as the network takes them.
    loss : PairLoss
    preferences : Levels or Pairs
        Those of all rows.
    penalty : float
    eps : float
        The error of the pair sum, as in `pairrank.pair_sums.bind`.
    """

    def __init__(
        self,
        network: nn.Module,
        inputs: Any,
        loss: PairLoss,
        preferences: Levels | Pairs,
        *,
        penalty: float,
        eps: float,
    ) -> None:
        self.network, self.inputs, self.loss = network, inputs, loss
        self.penalty, self.eps = penalty, eps
        self.trained = trained(network)
        self.preferences = preferences
        self.total = preferences.total_weight
        self.whole = self._bound(whole(preferences))
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


class Training:
    """One run over a network, whose state is the coefficients.

    The norms of gradients are NaN where steps do not need the gradient over every pair.
    """

    def __init__(
        self, cost: Cost, tol: float, max_iter: int, callback: Callback | None, *, by_batches: bool
    ) -> None:
        self.cost, self.network, self.callback = cost, cost.network, callback
        self.tol, self.max_iter, self.by_batches = tol, max_iter, by_batches
        self.history: list[Step] = []
        self.n_iter = self.n_evaluations = 0
        self.started = time.perf_counter()
        self.w = state_vector(self.network)
        self.value = self.norm = float("nan")

    def run(
        self, start: FloatArray | None, solver: str, learning_rate: float, epochs: Epochs | None
    ) -> Solution:
        """Train until a stop; after Ctrl-C the state after the last whole iteration is returned."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._measure()
                self.target = self.tol * self.norm  # of the network as it was made
                if start is not None:
                    load_state(self.network, start)
                    self._measure()
                if not np.isfinite(self.value):
                    status: Status | None = Status.OVERFLOW
                else:
                    status = self._stopped()
                if status is None and solver == "lbfgs":
                    status = self._by_lbfgs()
                elif status is None:
                    optimizer = _OPTIMIZERS[solver](self.cost.trained, lr=learning_rate)
                    status = self._by_steps(optimizer, epochs)
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
        if self.by_batches:
            self.value = self.cost.value()
        else:
            self.value, gradient = self.cost.value_and_gradient()
            self.norm = float(np.linalg.norm(gradient))
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

    def _by_steps(self, optimizer: torch.optim.Optimizer, epochs: Epochs | None) -> Status:
        """Take a step per epoch along the gradient over every pair, or a step per batch."""
        status = None
        while status is None:
            if epochs is None:
                for part in self.cost.trained:
                    part.grad /= self.cost.total
                optimizer.step()
            else:
                for batch in next(epochs):
                    if batch.preferences.n_pairs:
                        self.cost.estimate(batch)
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
        like, total = self.cost.trained[0], self.cost.total

        def set_parameters(x: FloatArray) -> None:
            vector_to_parameters(torch.from_numpy(x.copy()).to(like), self.cost.trained)

        def value_and_gradient(x: FloatArray) -> tuple[float, FloatArray]:
            set_parameters(x)
            self.n_evaluations += 1
            value, gradient = self.cost.value_and_gradient()
            last[:] = value, float(np.linalg.norm(gradient)), x.copy()
            return value / total, gradient / total

        def iterated(intermediate_result: Any) -> None:
            x = intermediate_result.x
            if not np.array_equal(last[2], x):
                value_and_gradient(x)
            self.value, self.norm = last[:2]
            self.w = state_vector(self.network)
            self.n_iter += 1
            status = self._stopped()
            if status is not None:
                stops.append(status)
                raise StopIteration

        x = as_floats(parameters_to_vector(self.cost.trained))
        last: list[Any] = [self.value, self.norm, x]
        limits = {"maxiter": self.max_iter + 1, "maxfun": _EVALUATIONS * (self.max_iter + 1)}
        optimize.minimize(
            value_and_gradient,
            x,
            jac=True,
            method="L-BFGS-B",
            callback=iterated,
            options={"maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0, **limits},
        )
        return stops[0] if stops else Status.NO_PROGRESS
