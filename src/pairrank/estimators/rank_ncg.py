"""RankNCG: maximum a posteriori ranking by every pair's likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.estimators._pair_loss import PairLossRanker, Problem
from pairrank.estimators.covariance import KINDS, check_covariance, coefficient_covariance
from pairrank.exceptions import PairrankError
from pairrank.losses import LOSSES, Logistic, Probit
from pairrank.preferences import Preferences

_NAMES = ("logistic", "probit", "raykar")


class RankNCG(PairLossRanker):
    r"""RankNCG: the likelihood of every pair, in linear time (Raykar, Duraiswami & Krishnapuram).

    .. math:: \min_w \tfrac{\alpha}2 \|w\|^2 - a \sum_{(i, j)} \log \Pr[i \succ j],
              \qquad \Pr[i \succ j] = S(w^T (x_i - x_j))

    over all preferences (i, j), i preferred to j: the maximum a posteriori estimate under a
    Gaussian prior (Section 3). Its sums over pairs cost O(m) for m rows, never O(m^2), to an error
    `eps` that is proven.

    Parameters
    ----------
    alpha : float, default 1.0
        The paper's lambda: the prior's precision. It is above 0: without a prior, rows that can be
        ranked without a mistake have no best weights.
    loss : "logistic", "probit" or "raykar", default "logistic"
        "logistic" has S(z) = 1/(1 + exp(-z)) (Eq. 2). "probit" costs what has the paper's
        approximate gradient (Eq. 3) for its exact one; its
        S(z) = 1 - erfc(sqrt(3) z/(sqrt(2) pi))/2 is within 0.023 of the logistic.
        "raykar" is the paper's algorithm: the logistic value is reported, the gradient of probit
        followed, so that lines are searched by gradients alone.
    eps : float, default 1e-6
        The error allowed in the sums over pairs, relative to the sum of their weights, 0 < eps < 1.
        It is made smaller by itself where it would keep the descent from the optimum, and where
        rows are so few that exactness costs nothing.
    graph : "full", "chain" or OrderGraph, default "full"
        Which labels are preferred to which: every higher one, the next higher one present in the
        query, or explicit edges (low, high).
    reduction : "auto", "rows", "query" or "sum", default "auto"
        The factor a: W/T for "rows", so that alpha means the same for ten rows and ten million; 1
        for "sum", the paper's plain sum; "query" takes (W/n_queries) times the sum over queries of
        their mean pair loss. W is the total row weight, T the total pair weight. "auto" is "rows"
        for labels and "sum" for Pairs, where every further comparison adds to what is known.
    solver : "auto", "ncg" or "tron", default "auto"
        "ncg" is the paper's: Polak-Ribiere conjugate gradients. "tron" is trust region Newton with
        every Hessian product over every pair; "auto" takes the Hessian from a sample where that is
        cheaper ("raykar" always has "ncg"). All have the same optimum.
    pair_sum : "auto", "boxes", "beaulieu" or "direct", default "auto"
        The algorithm of the pair sum: box sums, Beaulieu's series as in the paper (probit and
        raykar), or pair by pair. "auto" sums small queries directly, large ones by boxes.
    covariance : None, "laplace", "rows" or "queries", default None
        What `standard_errors_` stand on, see Notes.
    kernel : None, "rbf", "poly", "precomputed" or callable, default None
        k(x, x') for scores that are not linear in x (the paper's Section 8.1); None is linear. See
        `pairrank.kernels.FeatureMap` for this and the next five; "poly" with degree=2 and gamma=1
        is the paper's (x.y + c)^2.
    gamma : float, "scale" or None, default None
        Of "rbf" and "poly"; None is 1/n_features.
    degree : int, default 3
        Of "poly".
    coef0 : float, default 1.0
        Of "poly".
    kernel_features : "auto", "exact" or "nystroem", default "auto"
        Every training row as landmark, or a sample of them.
    n_components : int, optional
        The number of landmarks of "nystroem".
    tol : float, default 1e-3
        Stop at \|gradient\| <= tol \|gradient at 0\|.
    max_iter : int, default 1000
        Steps at the most.
    warm_start : bool, default False
        Start from the previous `coef_`.
    verbose : int, default 0
        1 prints a line an iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the samples behind "auto" and "nystroem"; None is a fixed seed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        With a kernel, the weights of its features.
    n_iter_ : int
        Steps taken on all rows.
    status_ : str
        How the solver ended, such as "converged".
    history_ : list of Step
        Value, gradient norm, seconds, evaluations and Hessian products an iteration.
    objective_ : float
        The objective at `coef_`.
    n_pairs_ : int
        The number of preferences.
    coef_cov_ : ndarray of shape (n_features, n_features)
        The covariance of `coef_`, where `covariance` asks for it and the fit was let finish.
    standard_errors_ : ndarray of shape (n_features,)
        The square roots of its diagonal.
    feature_map_ : FeatureMap
        The features of the kernel, where there is one.
    validation_scores_ : ndarray of shape (n_iter_ + 1,)
        Pairwise accuracy on the validation rows along the iterations, where they were given.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Notes
    -----
    A step costs two products with X and O(m) for the pairs.

    The likelihood takes every pair to be drawn independently, "whereas only the original samples
    are" (Section 3; a correction is left to future work in Section 8.1): m rows make up to m^2/2
    pairs, and the posterior is far too sure of itself. On 400 rows of two classes its standard
    errors were a twelfth of what a bootstrap of rows finds. `covariance` answers:

    - "rows" and "queries" take rows, or whole queries, to be independent, and pairs to depend on
      one another through them: a sandwich, the cluster-robust covariance. With labels, "rows" errs
      on the large side where a row is in few pairs, by sqrt(2) at the most.
    - "laplace" is the inverse Hessian, the posterior's covariance as the model has it. With
      ``reduction="sum"`` it holds for `Pairs` that share no rows; ``reduction="rows"`` makes all
      pairs together count as much as W observations.

    All are asymptotic ("queries" in queries, so that one that holds most of the pairs makes it far
    too sure), describe sampling error alone and not what shrinkage by alpha leaves out,
    and cost O(m d^2); see `pairrank.estimators.covariance`.

    References
    ----------
    V. C. Raykar, R. Duraiswami and B. Krishnapuram, "A fast algorithm for learning large scale
    preference relations", AISTATS 2007.

    Examples
    --------
    >>> from pairrank import RankNCG
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> ranker = RankNCG().fit(X, y, qid=qid)
    >>> ranker.predict_pair_proba([[2.0]], [[0.0]]).round(1)
    array([0.9])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        loss: str = "logistic",
        eps: float = 1e-6,
        graph: Any = "full",
        reduction: str = "auto",
        solver: str = "auto",
        pair_sum: str = "auto",
        covariance: str | None = None,
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: str = "auto",
        n_components: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.eps = eps
        self.graph = graph
        self.reduction = reduction
        self.solver = solver
        self.pair_sum = pair_sum
        self.covariance = covariance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def predict_pair_proba(self, Xi: Any, Xj: Any) -> FloatArray:
        """Return the probability that each row of Xi is preferred to the same row of Xj.

        Parameters
        ----------
        Xi, Xj : array-like, CSR matrix or frame of shape (n_pairs, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,), float64
            S of the difference of scores; the logistic sigmoid for "raykar" (Eq. 2).

        Raises
        ------
        ValueError
            If Xi and Xj differ in shape, or predicting refuses one of them.

        Notes
        -----
        Costs two predictions.
        """
        first, second = self.predict(Xi), self.predict(Xj)
        if first.size != second.size:
            raise PairrankError(
                f"Xi has {first.size} rows and Xj {second.size}: row k of each makes pair k"
            )
        loss = Probit() if self.loss == "probit" else Logistic()
        with np.errstate(over="ignore"):
            return -loss.phi(second - first, order=1)

    def _check_parameters(self) -> None:
        validation.check_choice(self.loss, "loss", _NAMES)
        validation.check_choice(self.solver, "solver", ("auto", "ncg", "tron"))
        validation.check_choice(self.covariance, "covariance", (*KINDS, None))
        validation.check_number(self.alpha, "alpha")
        validation.check_number(self.eps, "eps")
        if self.eps >= 1:
            raise PairrankError(f"eps must be below 1, got {self.eps!r}: 1e-6 is the paper's")
        if self.loss == "raykar" and self.solver == "tron":
            raise PairrankError(
                'loss="raykar" reports one value and follows the gradient of another, which TRON '
                'cannot judge its steps by: use solver="ncg", or loss="probit"'
            )
        if self.covariance is not None and self.kernel is not None:
            raise PairrankError(
                f"covariance={self.covariance!r} is of the weights of X's features, and a kernel's "
                "ranker has none: leave covariance=None or kernel=None"
            )
        super()._check_parameters()

    def _problem(self) -> Problem:
        both = self.loss == "raykar"
        return Problem(
            LOSSES[self.loss](),
            factor=1.0,
            penalty=float(self.alpha),
            solver="ncg" if both else self.solver,
            eps=float(self.eps),
            search="gradient" if both else "wolfe",
        )

    def _check_beside(self, X: Any, qid: NDArray[Any] | None) -> None:
        for name in ("coef_cov_", "standard_errors_"):
            self.__dict__.pop(name, None)
        if self.covariance is not None:
            check_covariance(self.covariance, X.shape[1], qid)

    def _conclude(
        self,
        X: Any,
        preferences: Preferences,
        qid: NDArray[Any] | None,
        sample_weight: FloatArray | None,
    ) -> None:
        if self.covariance is None or self.status_ == "interrupted":
            return
        self.coef_cov_ = coefficient_covariance(
            X,
            preferences,
            LOSSES[self.loss](),
            self.coef_,
            kind=self.covariance,
            penalty=float(self.alpha),
            route=self.pair_sum,
            eps=min(float(self.eps), 1e-6),
            qid=qid,
            sample_weight=sample_weight,
        )
        self.standard_errors_ = np.sqrt(np.maximum(self.coef_cov_.diagonal(), 0.0))
