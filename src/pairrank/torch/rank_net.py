"""RankNet: a neural network that ranks, trained on every pair."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from torch import nn

from pairrank import _validation as validation
from pairrank import threads
from pairrank._protocols import Array, Callback, FloatArray, MarginCost, Solution, Status
from pairrank.estimators._base import Graph, Seed
from pairrank.estimators._descent import values_agree
from pairrank.estimators._docstrings import described
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._pair_loss import PairProbabilities
from pairrank.estimators._rows import Judge, Rows, Watch, preferences_of
from pairrank.estimators.rank_ncg import RankNCG
from pairrank.exceptions import PairrankError
from pairrank.losses import as_loss
from pairrank.preferences import Levels, Preferences
from pairrank.torch.rank_net_training import (
    Training,
    as_input,
    load_state,
    new_network,
    scores_in_blocks,
    shuffled,
    state_of,
    units_of,
)

_FEW_ROWS = 2000
_EPS, _EXACT = 1e-6, 1e-12
"""The error of the sums over pairs; for few rows, where precision costs nothing, the smaller."""
_FEW_ENTRIES = 1 << 18
"""Steps on fewer numbers than this take one thread: waking others would take longer."""


@described
class RankNet(PairProbabilities, SolvedRanker):
    r"""RankNet: a network whose scores rank, trained on pairs (Burges et al. 2005).

    .. math:: \min_\theta \tfrac{\alpha}2 \|W\|^2 + a \sum_{(i, j)}
              \varphi\bigl(s_\theta(x_i) - s_\theta(x_j)\bigr)

    over all preferences (i, j), i preferred to j, where W are the weights of the network without
    its biases. The logistic loss is the paper's cross entropy with the target 1, and of `Pairs`
    with magnitude 0 (ties) that with the target 1/2. Where the paper takes a step per pair, the
    gradient here is that of every pair, in time linear in the rows.

    Features are divided by their standard deviation and, unless X is sparse, their mean is
    subtracted, because networks learn slowly from features of different sizes. The penalty is of
    the weights of these standardized features; `coef_` is of the features of X.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default (10,)
        The number of units of each hidden layer: ``(10,)`` is the paper's two-layer network, ``()``
        or 0 its linear one, which minimises the objective of `RankNCG`.
    activation : "tanh" or "relu", default "tanh"
        What hidden units apply.
    loss : str or object, default "logistic"
        A name in `pairrank.losses.LOSSES` (but "raykar"), or an object with phi, as in
        `PairwiseRanker`.
    alpha : float, default 1.0
        The penalty of the weights, that of `RankNCG`; 0 is none.
    batch_size : int or None, default None
        The number of queries per step (of `Pairs`, of comparisons); a query is never cut. None: all
        rows.
    solver : "auto", "lbfgs", "adam" or "sgd", default "auto"
        "lbfgs" is L-BFGS over all rows, which has no learning rate. "adam" and "sgd" take steps by
        `learning_rate`. "auto" is "lbfgs" where each step has all pairs and the loss is smooth,
        else "adam".
    learning_rate : float, default 0.01
        The step length of "adam" and "sgd", for the objective divided by the total weight of pairs.
    tol : float, default 1e-3
        Stop when \|gradient\| <= tol \|gradient at the first weights\|, where every step has all
        pairs. Other fits end after `max_iter` epochs, or by `patience`.
    max_iter : int, default 500
        The largest number of steps with all pairs, or of epochs: an epoch takes each query, of
        `Pairs` each comparison, once.
    patience : int or None, default None
        Keep the weights of the best validation score, and stop after so many iterations in a row
        without a better one. None: validation rows only watch.
    validation_fraction : float, default 0.1
        The share of the queries held out to validate on, where there is a `patience` and `fit` is
        given no validation rows. From a single query rows are drawn, from its Pairs comparisons.
    random_state : int, RandomState or None, default None
        Seeds the first weights, the batches and the validation rows; None is a fixed seed. The
        same seed gives the same weights. Torch's own random numbers are left as they were.

    Attributes
    ----------
    network_ : torch.nn.Sequential
        The trained network. It takes standardized rows.
    coef_ : ndarray of shape (n_features,), float64
        The weights of the features of X; set for a linear network only.
    feature_mean_, feature_scale_ : ndarray of shape (n_features,)
        What is subtracted from features (0 if X was sparse), and what they are divided by.
    n_iter_, best_iteration_, status_
    history_ : list of Step
        Objective over every pair, gradient norm (NaN where it is not computed), seconds and
        evaluations of each iteration: the loss curve.
    objective_ : float
        The objective over every training pair.
    n_pairs_, n_rows_, n_queries_, n_ties_
    validation_scores_, n_features_in_, feature_names_in_

    Notes
    -----
    A step costs the network's forward and backward pass over its rows, and O(m) for their pairs
    (see `PairwiseRanker` for other losses); an epoch of batches evaluates the objective once more.
    A prediction costs one forward pass, block by block. For networks of your own, or on a GPU,
    `pairrank.torch.all_pairs_loss` is the loss.
    Numbers are of the type of X: float32 X is trained in float32, other X in float64.
    The layers predict in float64. With the logistic loss or probit, `predict_pair_proba` gives the
    probability that one row is preferred to another. Ctrl-C ends the fit and keeps the best weights
    so far.

    References
    ----------
    C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton and G. Hullender, "Learning
    to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> from pairrank import RankNet
    >>> X, y = [[-2.0], [-1.0], [0.0], [1.0], [2.0]], [2, 1, 0, 1, 2]
    >>> RankNet(alpha=0.01).fit(X, y).score(X, y)
    1.0
    """

    _strength, _searched = "alpha", RankNCG._searched

    def __init__(
        self,
        hidden_layer_sizes: int | tuple[int, ...] = (10,),
        *,
        activation: Literal["tanh", "relu"] = "tanh",
        loss: Literal[
            "logistic",
            "probit",
            "squared_hinge",
            "hinge",
            "exponential",
            "modified_huber",
            "huberised_hinge",
        ]
        | MarginCost = "logistic",
        alpha: float = 1.0,
        graph: Graph = "full",
        reduction: Literal["auto", "rows", "query", "sum"] = "auto",
        batch_size: int | None = None,
        solver: Literal["auto", "lbfgs", "adam", "sgd"] = "auto",
        learning_rate: float = 0.01,
        tol: float = 1e-3,
        max_iter: int = 500,
        validation_metric: str | None = None,
        patience: int | None = None,
        validation_fraction: float = 0.1,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.alpha = alpha
        self.graph = graph
        self.reduction = reduction
        self.batch_size = batch_size
        self.solver = solver
        self.learning_rate = learning_rate
        self.tol = tol
        self.max_iter = max_iter
        self.validation_metric = validation_metric
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.verbose = verbose
        self.random_state = random_state

    _learnt = "network_"

    @property
    def _hidden(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        sizes: Any = self.hidden_layer_sizes
        if isinstance(sizes, (list, tuple, np.ndarray)):
            return tuple(sizes)
        return () if sizes == 0 and not isinstance(sizes, bool) else (sizes,)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for size in self._hidden:
            validation.check_number(size, "hidden_layer_sizes", integer=True)
        validation.check_number(self.alpha, "alpha", inclusive=True)
        validation.check_number(self.learning_rate, "learning_rate")
        if self.batch_size is not None:
            validation.check_number(self.batch_size, "batch_size", integer=True)
        loss = as_loss(self.loss)
        if not values_agree(loss):
            raise PairrankError('loss="raykar" has values of one loss and gradients of another: '
                                'use "logistic" or "probit"')  # fmt: skip
        if self.solver == "lbfgs" and (self.batch_size is not None or not loss.smooth):
            raise PairrankError(
                'solver="lbfgs" needs every pair in each step (batch_size=None) and a smooth loss: '
                'use solver="adam" or "sgd"'
            )

    def _preferences(self, rows: Rows) -> Preferences:
        found = preferences_of(rows, self.graph, self.reduction)
        self._fit_scaler(rows.X, rows.kept_weight)
        return found.compact() if self.batch_size is None and isinstance(found, Levels) else found

    def _fit_scaler(self, X: Any, weight: Any) -> None:
        """Set what features are divided by, 1 for constant ones, and what is subtracted."""
        is_dense = not sparse.issparse(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scaler = StandardScaler(with_mean=is_dense).fit(X, sample_weight=weight)
        wrong = ~(np.isfinite(scaler.scale_) & np.isfinite(scaler.mean_))
        if wrong.any():
            raise PairrankError(
                f"feature {int(wrong.argmax())} of X is too large to be standardized: scale it down"
            )
        self.feature_scale_ = scaler.scale_
        self.feature_mean_ = scaler.mean_ if is_dense else np.zeros(scaler.mean_.size)

    def _standardized(self, X: Any, dtype: Any) -> Any:
        """Return rows as the network takes them; sparse ones stay sparse if the mean is 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(X) and not self.feature_mean_.any():
                result = X.multiply(1.0 / self.feature_scale_).tocsr().astype(dtype)
                values = result.data
            else:
                X = X.toarray() if sparse.issparse(X) else X
                result = values = ((X - self.feature_mean_) / self.feature_scale_).astype(dtype)
        if not np.isfinite(values).all():
            raise PairrankError(
                f"X has values that are too large for {np.dtype(dtype).name} once they are "
                "standardized: scale them down, or pass float64"
            )
        return result

    def _learnt_features(self, X: Any) -> Any:
        return self._standardized(X, X.dtype)

    def _network(self, n_features: int, dtype: Any, seed: int = 0) -> nn.Sequential:
        return new_network([n_features, *self._hidden], self.activation, dtype, seed)

    def _watches(self, held: Rows, judges: list[Judge], features: Any) -> list[Watch]:
        dtype = features.dtype
        X = features[held.places] if held.X is None else self._standardized(held.X, dtype)
        network = self._network(X.shape[1], dtype)

        def scores(state: FloatArray) -> FloatArray:
            load_state(network, state)
            return scores_in_blocks(network, as_input(X))

        return [Watch(judges[0], scores, self.patience)]

    def _solver_of(self, rows: Rows, features: Any, preferences: Any) -> Solve:
        n_rows, n_features = features.shape
        loss, size, seed = as_loss(self.loss), self.batch_size, self._seed()
        solver = self.solver
        if solver == "auto":
            solver = "lbfgs" if size is None and loss.smooth else "adam"
        parts = 1 if size is None else max(1, round(units_of(preferences) / size))
        is_small = n_rows * (n_features + sum(self._hidden)) < _FEW_ENTRIES * parts

        def solve(target: None, start: None, callback: Callback | None) -> Solution:
            network = self._network(n_features, features.dtype, seed)
            training = Training(
                network, as_input(features), loss, preferences,
                penalty=float(self.alpha), eps=_EXACT if n_rows <= _FEW_ROWS else _EPS,
                tol=float(self.tol), max_iter=int(self.max_iter), callback=callback,
            )  # fmt: skip
            generator = np.random.default_rng(seed)
            epochs = None if size is None else shuffled(preferences, parts, generator)
            with threads.openmp_limited_to(1 if is_small else None):
                solution = training.run(solver, float(self.learning_rate), epochs)
            self.network_ = network
            if solution.status is Status.MAX_ITER and solver != "lbfgs":
                return solution._replace(status=Status.FINISHED)
            return solution

        return solve

    def _keep(self, solutions: list[Any], watches: list[Watch], n_targets: int) -> Status:
        status = super()._keep(solutions, watches, n_targets)
        load_state(self.network_, self.__dict__.pop("coef_"))
        self._set_coef()
        return status

    def _set_coef(self) -> None:
        """Set the weights of the features of X where the network is linear."""
        if not self._hidden:
            self.coef_ = state_of(self.network_) / self.feature_scale_

    def _scores(self, X: Any) -> FloatArray:
        if hasattr(self, "coef_"):
            return super()._scores(X)
        network = self._network(X.shape[1], np.float64)
        load_state(network, self.parameters_)
        return scores_in_blocks(network, X, lambda rows: self._standardized(rows, np.float64))

    def linear_coef(self) -> FloatArray:
        """Return the weights of the features of X, (n_features,).

        Raises a PairrankError if scores are not linear in the features.
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise PairrankError(
                "the scores of this RankNet are not linear in the features: fit it with "
                "hidden_layer_sizes=()"
            )
        return self.coef_

    @property
    def parameters_(self) -> FloatArray:
        """All numbers of the trained network as one vector; model files hold it."""
        if "network_" not in vars(self):
            raise AttributeError("this RankNet is not fitted")
        return state_of(self.network_)

    @parameters_.setter
    def parameters_(self, vector: FloatArray) -> None:
        sizes = [self.n_features_in_, *self._hidden, 1]
        size = sum(sizes[1:-1]) + sum(n_in * n_out for n_in, n_out in pairwise(sizes))
        if vector.size != size:
            raise PairrankError(f"the network has {size} parameters, but parameters_ {vector.size}")
        scale: Array | None = getattr(self, "feature_scale_", None)
        if scale is None or (scale <= 0.0).any() or not hasattr(self, "feature_mean_"):
            raise PairrankError("feature_scale_ is missing or not greater than 0")
        self.network_ = self._network(self.n_features_in_, np.float64)
        load_state(self.network_, vector)
        self._set_coef()
