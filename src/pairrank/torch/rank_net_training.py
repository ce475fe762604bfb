"""Training of RankNet: layers, batches of preferences, and the steps of its solvers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize, sparse
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from pairrank import threads
from pairrank._protocols import Callback, FloatArray, PairLoss, PairSum, Solution, Status, Step
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind
from pairrank.preferences import Pairs, Preferences
from pairrank.preferences.sampling import ranges, renumbered, restricted
from pairrank.torch.sums import as_floats

_MEMORY = 20
"""The number of steps from which L-BFGS models the curvature."""
_EVALUATIONS = 30
"""More evaluations per step than any line search takes."""
_SCORED_ROWS = 1 << 14
"""Rows are scored in blocks of so many where no gradient is needed."""
_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
_OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def new_network(sizes: list[int], activation: str, dtype: Any, seed: int) -> nn.Sequential:
    """Return linear layers with activations between them, from the sizes of inputs and layers.

    The weights of n inputs are uniform in +-1/sqrt(n); without a hidden layer they are 0. The last
    layer has no bias, because only differences of scores count.
    """
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), _ACTIVATIONS[activation]()]
        last = nn.Linear(sizes[-1], 1, bias=False)
    if not layers:
        nn.init.zeros_(last.weight)
    kind = torch.float32 if dtype == np.float32 else torch.float64
    return nn.Sequential(*layers, last).to(kind)


def state_of(network: nn.Module) -> FloatArray:
    """Return all parameters as one vector of float64."""
    return as_floats(parameters_to_vector(network.parameters()))


def load_state(network: nn.Module, vector: FloatArray) -> None:
    """Set the parameters from a vector as `state_of` returns it."""
    kind = next(network.parameters()).dtype
    vector_to_parameters(torch.from_numpy(vector.copy()).to(kind), network.parameters())


def as_input(X: Any) -> Any:
    """Return dense rows as a tensor, sparse rows as they are."""
    return X if sparse.issparse(X) else torch.from_numpy(np.ascontiguousarray(X))


def scores_of(network: nn.Sequential, inputs: Any) -> Tensor:
    """Return the score of each row, (n_rows,)."""
    if not sparse.issparse(inputs):
        return network(inputs).reshape(-1)
    first = network[0]
    scores = _SparseProduct.apply(first.weight, inputs)
    return network[1:](scores if first.bias is None else scores + first.bias).reshape(-1)


def scores_in_blocks(
    network: nn.Sequential, X: Any, prepared: Callable[[Any], Any] | None = None
) -> FloatArray:
    """Return the score of each row in float64, block by block; rows may have to be prepared."""
    parts = []
    with torch.no_grad():
        for rows in threads.blocks(X.shape[0], _SCORED_ROWS):
            inputs = X[rows] if prepared is None else as_input(prepared(X[rows]))
            parts.append(as_floats(scores_of(network, inputs)))
    return np.concatenate(parts)


class _SparseProduct(torch.autograd.Function):
    """X W' for a CSR matrix X and weights W, (n_outputs, n_features)."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, X: Any) -> Tensor:
        ctx.X = X
        return torch.from_numpy(np.ascontiguousarray(X @ weight.detach().numpy().T))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        product = ctx.X.T @ upstream[0].numpy()
        return torch.from_numpy(np.ascontiguousarray(product.T)), None


Batch = tuple[NDArray[Any], Preferences]
"""Some training rows, and preferences among them, whose sum estimates the sum over all pairs."""
Epochs = Iterator[Iterator[Batch]]


def units_of(preferences: Preferences) -> int:
    """Return the number of queries, of Pairs that of comparisons, which batches do not cut."""
    return preferences.n_pairs if isinstance(preferences, Pairs) else preferences.n_queries


def batch_of(preferences: Preferences, units: NDArray[np.int64], factor: float) -> Batch:
    """Return some queries or comparisons, whose pairs weigh `factor` times as much."""
    if isinstance(preferences, Pairs):
        rows, pairs = renumbered(preferences, units)
        pairs.pair_scale *= factor
        return rows, pairs
    units, start = np.sort(units), preferences.query_start
    places = ranges(start[units], start[units + 1])
    levels = restricted(preferences, places)
    return preferences.row_of[places], replace(levels, pair_scale=factor * levels.pair_scale)


def shuffled(preferences: Preferences, parts: int, generator: np.random.Generator) -> Epochs:
    """Yield the batches of each epoch: whole queries, of Pairs comparisons, in random order.

    The sums of an epoch's `parts` batches add up to `parts` sums over all pairs.
    """
    while True:
        drawn = np.array_split(generator.permutation(units_of(preferences)), parts)
        yield (batch_of(preferences, each, float(parts)) for each in drawn)


class Training:
    """One run over a network; the vector of its parameters is the coefficients.

    It minimises a pair sum with errors up to `eps`, plus penalty/2 times squared weights, of which
    biases are none; `inputs` are the training rows. Gradients are left in the network; their norms
    are NaN where steps do not need the gradient over every pair.
    """

    def __init__(
        self, network: nn.Sequential, inputs: Any, loss: PairLoss, preferences: Preferences,
        *, penalty: float, eps: float, tol: float, max_iter: int, callback: Callback | None,
    ) -> None:  # fmt: skip
        self.network, self.inputs, self.penalty = network, inputs, penalty
        self.loss, self.eps = loss, eps
        self.tol, self.max_iter, self.callback = tol, max_iter, callback
        self.parameters = list(network.parameters())
        self.weights = [part for part in self.parameters if part.ndim > 1]
        self.sum, self.pair_weight = bind(loss, preferences, eps=eps), preferences.total_weight
        self.history: list[Step] = []
        self.n_iter = self.n_evaluations = 0
        self.started = time.perf_counter()
        self.w = state_of(network)
        self.value = self.norm = float("nan")

    def run(self, solver: str, learning_rate: float, epochs: Epochs | None) -> Solution:
        """Train until a stop; after Ctrl-C the state after the last whole iteration is returned."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._measure(epochs is None)
                self.target = self.tol * self.norm  # of the network as it was made
                status = self._stopped() if np.isfinite(self.value) else Status.OVERFLOW
                if status is None and solver == "lbfgs":
                    status = self._by_lbfgs()
                elif status is None:
                    optimizer = _OPTIMIZERS[solver](self.parameters, lr=learning_rate)
                    status = self._by_steps(optimizer, epochs)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        load_state(self.network, self.w)
        self.network.zero_grad(set_to_none=True)
        return Solution(self.w, status, self.n_iter, self.history)

    def _measure(self, with_gradient: bool) -> None:
        """Evaluate the objective over every pair; its gradient is left in the network."""
        self.n_evaluations += 1
        if with_gradient:
            value = self._backward(self.inputs, self.sum)
            self.norm = float(np.linalg.norm(self._gradient()))
        else:
            value = self.sum.at(scores_in_blocks(self.network, self.inputs)).value
        squares = sum(float((as_floats(part) ** 2).sum()) for part in self.weights)
        self.value = float(value) + 0.5 * self.penalty * squares

    def _stopped(self) -> Status | None:
        """Keep and report the current state; return a status if the run ends there."""
        self.w = state_of(self.network)
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
        """Take a step per epoch along the gradient over every pair, or a step per batch.

        Gradients are divided by the weight of all pairs, so that a learning rate means the same
        for few and many rows.
        """

        def step() -> None:
            for part in self.parameters:
                part.grad /= self.pair_weight
            optimizer.step()

        status = None
        while status is None:
            if epochs is None:
                step()
            for rows, preferences in () if epochs is None else next(epochs):
                if preferences.n_pairs:
                    pairs = bind(self.loss, preferences, eps=self.eps)
                    self._backward(self.inputs[rows], pairs)
                    step()
            self._measure(epochs is None)
            self.n_iter += 1
            if not np.isfinite(self.value):
                raise PairrankError(
                    f"the objective is not finite after {self.n_iter} epochs: lower learning_rate"
                )
            status = self._stopped()
        return status

    def _by_lbfgs(self) -> Status:
        """Take steps of scipy's L-BFGS-B along the gradient over every pair."""
        stops: list[Status] = []

        def value_and_gradient(x: FloatArray) -> tuple[float, FloatArray]:
            load_state(self.network, x)
            self._measure(with_gradient=True)
            return self.value / self.pair_weight, self._gradient() / self.pair_weight

        def iterated(intermediate_result: Any) -> None:
            self.n_iter += 1  # An iteration ends at the weights evaluated last.
            status = self._stopped()
            if status is not None:
                stops.append(status)
                raise StopIteration

        limits = {"maxiter": self.max_iter + 1, "maxfun": _EVALUATIONS * (self.max_iter + 1)}
        optimize.minimize(
            value_and_gradient, self.w, jac=True, method="L-BFGS-B", callback=iterated,
            options={"maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0, **limits},
        )  # fmt: skip
        return stops[0] if stops else Status.NO_PROGRESS

    def _gradient(self) -> FloatArray:
        """Return the gradient in the network as one vector."""
        return as_floats(parameters_to_vector([part.grad for part in self.parameters]))

    def _backward(self, inputs: Any, pairs: PairSum) -> float:
        """Return a sum over pairs; leave the gradient of sum and penalty in the network."""
        self.network.zero_grad(set_to_none=True)
        scores = scores_of(self.network, inputs)
        found = pairs.at(as_floats(scores))
        scores.backward(torch.from_numpy(found.gradient).to(scores))
        for part in self.weights:
            part.grad.add_(part.detach(), alpha=self.penalty)
        return found.value
