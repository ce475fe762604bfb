"""Networks of RankNet: layers, their state as one vector, standardized rows and their scores."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.torch.sums import as_floats

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
SCORED_ROWS = 1 << 14
"""Rows are scored in blocks of so many where no gradient is needed."""


def layered(n_features: int, hidden: tuple[int, ...], activation: str) -> nn.Sequential:
    """Return linear layers with activations between them.

    The weights of n inputs are uniform in +-1/sqrt(n); without a hidden layer they are 0. The last
    layer has no bias, because only differences of scores count.
    """
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise([n_features, *hidden]):
        layers += [nn.Linear(n_in, n_out), ACTIVATIONS[activation]()]
    last = nn.Linear(hidden[-1] if hidden else n_features, 1, bias=False)
    if not hidden:
        nn.init.zeros_(last.weight)
    return nn.Sequential(*layers, last)


def new_network(made: nn.Module | Callable[[], Any], dtype: torch.dtype, seed: int) -> nn.Module:
    """Return a copy of a module, or what a function makes, on the CPU."""
    if isinstance(made, nn.Module):
        network: Any = copy.deepcopy(made)
    else:
        with seeded(seed, torch.device("cpu")):
            network = made()
    if not isinstance(network, nn.Module):
        raise PairrankError(
            f"module returned a {type(network).__name__} for the number of features: it must "
            "return a torch.nn.Module"
        )
    if not trained(network):
        raise PairrankError("the module has no parameter to learn: one must require a gradient")
    return network.to(dtype)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers for a while; afterwards they go on as if nothing happened."""
    is_cuda = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if is_cuda else []):
        torch.default_generator.manual_seed(seed)
        with torch.cuda.device(device) if is_cuda else nullcontext():
            if is_cuda:
                torch.cuda.manual_seed(seed)
            yield


def trained(network: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that are learnt."""
    return [part for part in network.parameters() if part.requires_grad]


def is_penalised(part: Tensor) -> bool:
    """Whether a parameter is a matrix of weights; biases are not penalised."""
    return part.ndim > 1


def state_vector(network: nn.Module) -> FloatArray:
    """Return all parameters and buffers of floating point as one vector."""
    parts = [part.detach().to("cpu", torch.float64).reshape(-1) for part in _state(network)]
    return torch.cat(parts).numpy().copy()


def load_state(network: nn.Module, vector: FloatArray) -> None:
    """Set the parameters and buffers from a vector as `state_vector` returns it."""
    start = 0
    with torch.no_grad():
        for part in _state(network):
            values = vector[start : start + part.numel()]
            part.copy_(torch.from_numpy(values).reshape(part.shape))
            start += part.numel()


def state_size(network: nn.Module) -> int:
    """Return the length of the state's vector."""
    return sum(part.numel() for part in _state(network))


def _state(network: nn.Module) -> list[Tensor]:
    return [part for part in network.state_dict().values() if part.is_floating_point()]


def fit_scaler(ranker: Any, X: Any, weight: Any) -> None:
    """Set what a ranker with `standardize` subtracts from its features and divides them by.

    Features that are constant are divided by 1. Sparse rows are not centred.
    """
    for name in ("feature_mean_", "feature_scale_"):
        ranker.__dict__.pop(name, None)
    if not ranker.standardize:
        return
    is_dense = not sparse.issparse(X)
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = StandardScaler(with_mean=is_dense).fit(X, sample_weight=weight)
    wrong = ~(np.isfinite(scaler.scale_) & np.isfinite(scaler.mean_))
    if wrong.any():
        raise PairrankError(
            f"feature {int(wrong.argmax())} of X is too large to be standardized: scale it down"
        )
    ranker.feature_scale_ = scaler.scale_
    if is_dense:
        ranker.feature_mean_ = scaler.mean_


def standardized(ranker: Any, X: Any, dtype: np.dtype[Any]) -> Any:
    """Return rows as the ranker's network takes them; sparse rows stay sparse if they can.

    Raises a PairrankError where a value overflows.
    """
    scale, mean = getattr(ranker, "feature_scale_", None), getattr(ranker, "feature_mean_", None)
    with np.errstate(over="ignore", invalid="ignore"):
        if mean is not None:
            X = ((X.toarray() if sparse.issparse(X) else X) - mean) / scale
        elif scale is not None and sparse.issparse(X):
            X = X.multiply(1.0 / scale).tocsr()
        elif scale is not None:
            X = X / scale
        result = X.astype(dtype, copy=False)
    if not np.isfinite(result.data if sparse.issparse(result) else result).all():
        raise PairrankError(
            f"X has values that are too large for {np.dtype(dtype).name}"
            + (" once they are standardized" if scale is not None else "")
            + ": scale them down, or pass float64"
        )
    return result


def as_input(X: Any, device: torch.device) -> Any:
    """Return rows as a network takes them: a tensor on the device; sparse rows as they are.

    Rows that a network takes as a dense tensor only are made dense batch by batch.
    """
    if sparse.issparse(X):
        return X
    X = np.ascontiguousarray(X)
    return torch.from_numpy(X if X.flags.writeable else X.copy()).to(device)


def rows_of(inputs: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of what `as_input` returned."""
    if sparse.issparse(inputs):
        return inputs[rows]
    return inputs[torch.from_numpy(rows.astype(np.int64, copy=False)).to(inputs.device)]


def scores_of(network: nn.Module, inputs: Any) -> Tensor:
    """Return the score of each row, (n_rows,)."""
    n_rows = inputs.shape[0]
    device = trained(network)[0].device
    if not sparse.issparse(inputs):
        scores = network(inputs)
    elif type(network) is nn.Sequential and type(network[0]) is nn.Linear and device.type == "cpu":
        first, scores = network[0], _SparseProduct.apply(network[0].weight, inputs)
        scores = network[1:](scores if first.bias is None else scores + first.bias)
    else:
        scores = network(torch.from_numpy(inputs.toarray()).to(device))
    if not isinstance(scores, Tensor) or tuple(scores.shape) not in ((n_rows,), (n_rows, 1)):
        given = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise PairrankError(
            f"the module must return one score per row: {n_rows} rows gave {given}, not a tensor "
            f"of shape ({n_rows},) or ({n_rows}, 1)"
        )
    return scores.reshape(n_rows)


def scores_without_gradient(network: nn.Module, inputs: Any) -> FloatArray:
    """Return the score of each row in float64, block by block; the network is in use mode."""
    network.eval()
    blocks = threads.blocks(inputs.shape[0], SCORED_ROWS)
    with torch.no_grad():
        parts = [as_floats(scores_of(network, inputs[rows])) for rows in blocks]
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
