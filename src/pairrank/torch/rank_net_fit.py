"""The fit of RankNet: checks, preferences, network, solver, and the weights that are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from pairrank import _validation as validation
from pairrank import threads
from pairrank._protocols import Callback, FloatArray, Solution, Status
from pairrank.estimators._descent import values_agree
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._rows import Judge, Rows, Watch, preferences_of
from pairrank.exceptions import PairrankError
from pairrank.losses import as_loss
from pairrank.preferences import Levels, Preferences
from pairrank.torch.rank_net_networks import (
    as_input,
    fit_scaler,
    layered,
    load_state,
    new_network,
    scores_without_gradient,
    seeded,
    standardized,
    state_size,
    state_vector,
)
from pairrank.torch.rank_net_training import Epochs, Training, sampled, shuffled

_FEW_ROWS = 2000
_EXACT = 1e-12
"""The error of the sums for few rows, where precision costs nothing."""
_SAMPLED = 32
"""The number of sampled pairs per step by default."""
_FEW_ENTRIES = 1 << 18
"""Steps on fewer numbers than this take one thread."""


class NetworkRanker(SolvedRanker):
    """What RankNet's fit does; `RankNet` has the parameters."""

    _learnt = "network_"

    hidden_layer_sizes: Any
    activation: str
    module: Any
    alpha: float
    reduction: str
    pairs: str
    batch_size: int | None
    solver: str
    learning_rate: float
    standardize: bool
    validation_fraction: float
    device: Any

    network_: nn.Module
    feature_mean_: FloatArray
    feature_scale_: FloatArray

    @property
    def _stops_early(self) -> bool:
        return self.patience is not None

    @property
    def _hidden(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        sizes: Any = self.hidden_layer_sizes
        if isinstance(sizes, (list, tuple, np.ndarray)):
            return tuple(sizes)
        return () if sizes == 0 and not isinstance(sizes, bool) else (sizes,)

    @property
    def _chosen_solver(self) -> str:
        if self.solver != "auto":
            return self.solver
        has_all_pairs = self.pairs == "all" and self.batch_size is None
        is_regular = self.module is None and as_loss(self.loss).smooth
        return "lbfgs" if has_all_pairs and is_regular else "adam"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for size in self._hidden:
            validation.check_number(size, "hidden_layer_sizes", integer=True)
        validation.check_number(self.alpha, "alpha", inclusive=True)
        for name in ("learning_rate", "eps"):
            validation.check_number(getattr(self, name), name)
        if self.eps >= 1:
            raise PairrankError(f"eps must be below 1, got {self.eps!r}")
        if self.batch_size is not None:
            validation.check_number(self.batch_size, "batch_size", integer=True)
        self._device()
        if self.module is not None and not callable(self.module):
            raise PairrankError(
                f"module must be a torch.nn.Module or a function that makes one (got "
                f"{self.module!r})"
            )
        loss = as_loss(self.loss)
        if not values_agree(loss):
            raise PairrankError('loss="raykar" has values of one loss and gradients of another: '
                                'use "logistic" or "probit"')  # fmt: skip
        if self.solver != "lbfgs":
            return
        if self.pairs != "all" or self.batch_size is not None:
            raise PairrankError(
                'solver="lbfgs" needs every pair in each step: use solver="adam" or "sgd", or '
                'pairs="all" with batch_size=None'
            )
        if not loss.smooth:
            raise PairrankError(
                f'solver="lbfgs" needs a smooth loss, which {self.loss!r} is not: use solver="adam"'
            )

    def _device(self) -> torch.device:
        try:
            found = torch.zeros(1, device="cpu" if self.device is None else self.device)
            found.cpu()  # weights come back from there, which "meta" refuses
            return found.device
        except (RuntimeError, AssertionError, TypeError) as error:
            first = str(error).splitlines()[0]
            raise PairrankError(f"device={self.device!r} cannot be used: {first}") from None

    def _preferences(self, rows: Rows) -> Preferences:
        found = preferences_of(rows, self.graph, self.reduction)
        fit_scaler(self, rows.X, rows.kept_weight)
        is_whole = self.pairs == "all" and self.batch_size is None
        return found.compact() if is_whole and isinstance(found, Levels) else found

    def _learnt_features(self, X: Any) -> Any:
        return standardized(self, X, X.dtype)

    def _watches(self, held: Rows, judges: list[Judge], features: Any) -> list[Watch]:
        X = features[held.places] if held.X is None else standardized(self, held.X, features.dtype)
        device = self._device()
        network = self._new_network(X.shape[1], X.dtype, 0).to(device)
        inputs = as_input(X, device)

        def scores(state: FloatArray) -> FloatArray:
            load_state(network, state)
            return scores_without_gradient(network, inputs)

        return [Watch(judges[0], scores, self.patience)]

    def _starts(self, n_targets: int, n_features: int) -> list[FloatArray | None]:
        if not self.warm_start or not hasattr(self, "network_"):
            return [None]
        state = state_vector(self.network_)
        size = state_size(self._new_network(n_features, np.dtype(np.float64), 0))
        if state.size != size:
            raise PairrankError(
                f"warm_start: the earlier network has {state.size} parameters, but this one {size}"
            )
        return [state]

    def _new_network(self, n_features: int, dtype: np.dtype[Any], seed: int) -> nn.Module:
        """Return an untrained network on the CPU."""
        kind = torch.float32 if dtype == np.float32 else torch.float64
        made = self.module
        if made is None:
            made = partial(layered, n_features, self._hidden, self.activation)
        elif not isinstance(made, nn.Module):
            made = partial(made, n_features)
        return new_network(made, kind, seed)

    def _solver_of(self, rows: Rows, features: Any, preferences: Preferences) -> Solve:
        seed, device = self._seed(), self._device()
        eps = min(float(self.eps), _EXACT) if features.shape[0] <= _FEW_ROWS else float(self.eps)

        def solve(target: None, start: FloatArray | None, callback: Callback | None) -> Solution:
            network = self._new_network(features.shape[1], features.dtype, seed).to(device)
            inputs, loss = as_input(features, device), as_loss(self.loss)
            training = Training(
                network, inputs, loss, preferences, penalty=float(self.alpha), eps=eps,
                tol=float(self.tol), max_iter=int(self.max_iter), callback=callback,
            )  # fmt: skip
            with self._limits(training, seed):
                epochs = self._epochs(training, seed)
                solver, learning_rate = self._chosen_solver, float(self.learning_rate)
                solution = training.run(start, solver, learning_rate, epochs)
            self.network_ = network.to("cpu")
            if solution.status is Status.MAX_ITER and self._chosen_solver != "lbfgs":
                return solution._replace(status=Status.FINISHED)
            return solution

        return solve

    def _limits(self, training: Training, seed: Any) -> AbstractContextManager[Any]:
        """Return the context of a training: random numbers of a module, threads for the layers."""
        if self.module is not None:
            return seeded(seed, self._device())
        n_rows, batch_size, preferences = training.n_rows, self._batch_size, training.preferences
        if batch_size is not None and self.pairs == "all" and isinstance(preferences, Levels):
            n_rows = n_rows * batch_size // preferences.n_queries
        elif batch_size is not None:
            n_rows = min(n_rows, 2 * batch_size)
        if n_rows * (training.inputs.shape[1] + sum(self._hidden)) >= _FEW_ENTRIES:
            return nullcontext()
        return threads.openmp_limited_to_one()

    @property
    def _batch_size(self) -> int | None:
        default = _SAMPLED if self.pairs == "sampled" else None
        return default if self.batch_size is None else int(self.batch_size)

    def _epochs(self, training: Training, seed: Any) -> Epochs | None:
        """Return the batches of each epoch; None: every step has all pairs."""
        if self._batch_size is None:
            return None
        draw = shuffled if self.pairs == "all" else partial(sampled, n_rows=training.n_rows)
        return draw(training.preferences, self._batch_size, np.random.default_rng(seed))

    def _keep(self, solutions: list[Any], watches: list[Watch], n_targets: int) -> Status:
        status = super()._keep(solutions, watches, n_targets)
        load_state(self.network_, self.__dict__.pop("coef_"))
        self.network_.eval()
        self._set_coef()
        return status

    def _n_parameters(self, n_features: int) -> int:
        """Return the number of parameters of the layers."""
        sizes = [n_features, *self._hidden, 1]
        return sum(sizes[1:-1]) + sum(n_in * n_out for n_in, n_out in pairwise(sizes))

    def _set_coef(self) -> None:
        """Set the weights of the features of X where the network is linear."""
        if self.module is not None or self._hidden:
            return
        (weight,) = self.network_.parameters()
        coef = weight.detach().double().numpy().ravel()
        self.coef_ = coef / self.feature_scale_ if self.standardize else coef.copy()
