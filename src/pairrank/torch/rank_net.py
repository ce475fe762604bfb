"""RankNet: a neural network that ranks, trained on every pair or on sampled pairs."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from pairrank import threads
from pairrank._protocols import FloatArray, MarginCost
from pairrank.estimators._base import Graph, Seed
from pairrank.estimators._pair_loss import PairProbabilities
from pairrank.exceptions import PairrankError
from pairrank.torch.rank_net_fit import NetworkRanker
from pairrank.torch.rank_net_networks import (
    SCORED_ROWS,
    as_input,
    load_state,
    scores_without_gradient,
    standardized,
    state_vector,
    trained,
)


class RankNet(PairProbabilities, NetworkRanker):
    r"""RankNet: a network whose scores rank, trained on pairs (Burges et al. 2005).

    .. math:: \min_\theta \tfrac{\alpha}2 \|W\|^2 + a \sum_{(i, j)}
              \varphi\bigl(s_\theta(x_i) - s_\theta(x_j)\bigr)

    over all preferences (i, j), i preferred to j, where W are the weights of the network without
    its biases. The logistic loss is the paper's cross entropy with the target 1, and of `Pairs`
    with magnitude 0 (ties) that with the target 1/2. Where the paper takes a step per pair, the
    gradient here is that of every pair, in time linear in the rows; ``pairs="sampled"`` is the
    original's way.

    Parameters
    ----------
    hidden_layer_sizes : int or tuple of int, default (10,)
        The number of units of each hidden layer: ``(10,)`` is the paper's two-layer network, ``()``
        or 0 its linear one, which minimises the objective of `RankNCG`.
    activation : "tanh" or "relu", default "tanh"
        What hidden units apply.
    module : torch.nn.Module, callable or None, default None
        A network in place of the layers. A module is copied, so its weights are the start; a
        callable gets the number of features and returns a module. From rows (n_rows, n_features) it
        returns scores, (n_rows,) or (n_rows, 1). It gets dense rows only.
    loss : str or object, default "logistic"
        A name in `pairrank.losses.LOSSES` (but "raykar"), or an object with phi, as in
        `PairwiseRanker`.
    alpha : float, default 1.0
        The penalty of the weights, that of `RankNCG`; 0 is none.
    pairs : "all" or "sampled", default "all"
        "all": each step follows the gradient of every pair of its rows. "sampled": each step
        follows that of a few pairs, drawn at random in proportion to their weight.
    batch_size : int or None, default None
        With ``pairs="all"`` the number of queries per step (of `Pairs`, of comparisons), a query is
        never cut; None: all rows. With ``pairs="sampled"`` the number of pairs; None: 32.
    solver : "auto", "lbfgs", "adam" or "sgd", default "auto"
        "lbfgs" is L-BFGS over all rows, which has no learning rate. "adam" and "sgd" take steps by
        `learning_rate`. "auto" is "lbfgs" where each step has all pairs and the loss is smooth,
        else "adam"; for a `module` it is "adam", since modules may be random or have kinks.
    learning_rate : float, default 0.01
        The step length of "adam" and "sgd", for the objective divided by the total weight of pairs.
    standardize : bool, default True
        Divide features by their standard deviation and, unless X is sparse, subtract their mean.
        Networks learn slowly from features of different sizes. The penalty is of the weights of the
        standardized features; `coef_` is of the features of X.
    eps : float, default 1e-6
        The error allowed in the sums over pairs, as in `RankNCG`.
    tol : float, default 1e-3
        Stop when \|gradient\| <= tol \|gradient at the first weights\|, where every step has all
        pairs. Other fits end after `max_iter` epochs, or by `patience`.
    max_iter : int, default 500
        The largest number of steps with all pairs, or of epochs: an epoch takes each query, of
        `Pairs` each comparison, once; or draws as many pairs as there are rows.
    patience : int or None, default None
        Keep the weights of the best validation score, and stop after so many iterations in a row
        without a better one. None: validation rows only watch.
    validation_fraction : float, default 0.1
        The share of the queries held out to validate on, where there is a `patience` and `fit` is
        given no validation rows. From a single query rows are drawn, from its Pairs comparisons.
    device : str, torch.device or None, default None
        Where the network is trained, such as "cuda"; None is the CPU. Sums over pairs are computed
        on the CPU.
    warm_start : bool, default False
        Start from the weights of the previous fit.
    random_state : int, RandomState or None, default None
        Seeds the first weights, the batches and the validation rows; None is a fixed seed. On a CPU
        the same seed gives the same weights. Torch's own random numbers are left as they were.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network, on the CPU. It takes standardized rows.
    coef_ : ndarray of shape (n_features,), float64
        The weights of the features of X; set for a linear network only.
    feature_mean_, feature_scale_ : ndarray of shape (n_features,)
        What `standardize` subtracts (not from sparse rows) and divides by.
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
    A prediction costs one forward pass, block by block.
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

    def __init__(
        self,
        hidden_layer_sizes: int | tuple[int, ...] = (10,),
        *,
        activation: Literal["tanh", "relu"] = "tanh",
        module: nn.Module | Callable[[int], nn.Module] | None = None,
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
        pairs: Literal["all", "sampled"] = "all",
        batch_size: int | None = None,
        solver: Literal["auto", "lbfgs", "adam", "sgd"] = "auto",
        learning_rate: float = 0.01,
        standardize: bool = True,
        eps: float = 1e-6,
        tol: float = 1e-3,
        max_iter: int = 500,
        validation_metric: str | None = None,
        patience: int | None = None,
        validation_fraction: float = 0.1,
        device: str | torch.device | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.module = module
        self.loss = loss
        self.alpha = alpha
        self.graph = graph
        self.reduction = reduction
        self.pairs = pairs
        self.batch_size = batch_size
        self.solver = solver
        self.learning_rate = learning_rate
        self.standardize = standardize
        self.eps = eps
        self.tol = tol
        self.max_iter = max_iter
        self.validation_metric = validation_metric
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.device = device
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _scores(self, X: Any) -> FloatArray:
        if hasattr(self, "coef_"):
            return super()._scores(X)
        network, device, dtype = self.network_, torch.device("cpu"), torch.float64
        if self.module is not None:
            device, dtype = self._device(), trained(network)[0].dtype
        network = copy.deepcopy(network).to(device, dtype)
        parts = []
        for rows in threads.blocks(X.shape[0], SCORED_ROWS):
            block = standardized(self, X[rows], np.dtype(str(dtype).removeprefix("torch.")))
            parts.append(scores_without_gradient(network, as_input(block, device)))
        return np.concatenate(parts)

    def linear_coef(self) -> FloatArray:
        """Return the weights of the features of X, which `export` writes.

        Returns
        -------
        ndarray of shape (n_features,), float64

        Raises
        ------
        ValueError
            If scores are not linear in the features.
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise PairrankError(
                "the scores of this RankNet are not linear in the features: fit it with "
                "hidden_layer_sizes=()"
            )
        return self.coef_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted ranker to a model file, which holds no code; see `load_model`."""
        if self.module is not None:
            raise PairrankError(
                "a model file holds no code, and RankNet(module=...) has code of yours: pickle the "
                "ranker, or save ranker.network_.state_dict() by torch.save"
            )
        super().save(path)

    @property
    def parameters_(self) -> FloatArray:
        """All numbers of the trained network as one vector; model files hold it."""
        if "network_" not in vars(self):
            raise AttributeError("this RankNet is not fitted")
        return state_vector(self.network_)

    @parameters_.setter
    def parameters_(self, vector: FloatArray) -> None:
        size = self._n_parameters(self.n_features_in_)
        if vector.size != size:
            raise PairrankError(f"the network has {size} parameters, but parameters_ {vector.size}")
        scale = getattr(self, "feature_scale_", None)
        if self.standardize and (scale is None or (scale <= 0.0).any()):
            raise PairrankError("feature_scale_ is missing or not greater than 0")
        network = self._new_network(self.n_features_in_, np.dtype(np.float64), 0)
        load_state(network, vector)
        self.network_ = network.eval()
        self._set_coef()
