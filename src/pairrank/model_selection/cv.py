"""RankSVMCV and RankNCGCV: rankers whose regularisation is chosen by folds of queries."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import FloatArray
from pairrank.estimators.rank_ncg import RankNCG
from pairrank.estimators.rank_svm import RankSVM
from pairrank.model_selection._search import SearchedRanker
from pairrank.model_selection.path import PAPER_VALUES

PRECISIONS = tuple(10.0**power for power in range(-4, 6))
"""alpha = 1e-4 .. 1e5; the paper names no values."""


class RankSVMCV(SearchedRanker):
    """RankSVM whose C is chosen by cross-validation over whole queries.

    Every fold follows the path of ascending C, each fit starting from the last; the C of the
    highest mean score is then fitted on all rows. The default normalisation gives C one meaning
    for folds and for all rows.

    Parameters
    ----------
    Cs : array-like of float
        The values to try; by default the paper's 2^-15 .. 2^10.
    cv : int, splitter or iterable of (training rows, test rows), optional
        An int (None: 5) means a QueryKFold where there is a qid. Where there is none, rows are
        dealt out at random, by label: every fold spans them all (of Pairs, a shuffled KFold).
        Other splitters than QueryKFold get the qid as their groups.
    scoring : str or callable
        "pairwise_accuracy" over the ranker's own graph, "mean_ndcg", "ndcg@10", "kendall_tau", or
        a scorer; see `get_query_scorer`.
    loss, graph, reduction, tol, max_iter, solver, pair_sum : object
        As in `RankSVM`.
    kernel, gamma, degree, coef0, kernel_features, n_components : object
        As in `RankSVM`; folds learn features of their own rows.
    verbose, random_state : object
        As in `RankSVM`; `random_state` also seeds the shuffled folds of rows.

    Attributes
    ----------
    C_ : float
        The chosen C, the smallest of equals.
    Cs_ : ndarray of shape (n_values,)
        The values tried, ascending.
    scores_ : ndarray of shape (n_folds, n_values)
        The score of each fold at each C; NaN where its training or test rows hold no pair: the
        mean is over the others.
    best_score_ : float
        The mean over folds at `C_`.
    best_estimator_ : RankSVM
        The ranker fitted on all rows; `coef_, n_iter_, status_, history_, objective_, n_pairs_`
        are its own, `feature_map_` where there is a kernel, and `gap_` of cutting planes.

    Notes
    -----
    Costs n_folds * n_values warm fits and one more.

    References
    ----------
    Lee & Lin 2014, Section 4.4.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]] * 4, [0, 1, 2, 0] * 4
    >>> RankSVMCV(Cs=[0.1, 1.0], cv=2).fit(X, y, qid=[1, 1, 1, 1, 2, 2, 2, 2] * 2).C_
    0.1
    """

    _strength = "C"
    _weaker = True

    def __init__(
        self,
        Cs: Any = PAPER_VALUES,
        *,
        cv: Any = None,
        scoring: Any = "pairwise_accuracy",
        loss: str = "squared_hinge",
        graph: Any = "full",
        reduction: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        pair_sum: str = "auto",
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: str = "auto",
        n_components: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.graph = graph
        self.reduction = reduction
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.pair_sum = pair_sum
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.verbose = verbose
        self.random_state = random_state

    def _ranker(self) -> RankSVM:
        return RankSVM(**self._shared_parameters())


class RankNCGCV(SearchedRanker):
    """RankNCG whose alpha, the paper's lambda, is chosen by cross-validation (its Section 6).

    Every fold follows the path of ascending alphas, each fit starting from the last; the alpha of
    the highest mean score is then fitted on all rows. The default normalisation gives alpha one
    meaning for folds and for all rows.

    Parameters
    ----------
    alphas : array-like of float
        The values to try; by default 1e-4, 1e-3 .. 1e5.
    cv : int, splitter or iterable of (training rows, test rows), optional
        None is the paper's five folds. An int means a QueryKFold where there is a qid. Where there
        is none, rows are dealt out at random, by label: every fold spans them all (of Pairs, a
        shuffled KFold). Other splitters than QueryKFold get the qid as their groups.
    scoring : str or callable
        "pairwise_accuracy" over the ranker's own graph, "wmw" (the paper's), "mean_ndcg",
        "ndcg@10", "kendall_tau", or a scorer; see `get_query_scorer`.
    loss, eps, graph, reduction, solver, pair_sum : object
        As in `RankNCG`.
    covariance : None, "laplace", "rows" or "queries", default None
        As in `RankNCG`, of the ranker fitted on all rows: the choice of alpha is not in it.
    kernel, gamma, degree, coef0, kernel_features, n_components : object
        As in `RankNCG`.
    tol, max_iter, verbose, random_state : object
        As in `RankNCG`; `random_state` also seeds the shuffled folds of rows.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha, the largest of equals.
    alphas_ : ndarray of shape (n_values,)
        The values tried, ascending.
    scores_ : ndarray of shape (n_folds, n_values)
        The score of each fold at each alpha; NaN where its training or test rows hold no pair: the
        mean is over the others.
    best_score_ : float
        The mean over folds at `alpha_`.
    best_estimator_ : RankNCG
        The ranker fitted on all rows; `coef_, n_iter_, status_, history_, objective_, n_pairs_`,
        and `coef_cov_, standard_errors_, feature_map_` where there are any, are its own.

    Notes
    -----
    Costs n_folds * n_values warm fits and one more. The paper's nested cross-validation is
    ``cross_val_score(RankNCGCV(), X, y, cv=5)``.

    References
    ----------
    Raykar, Duraiswami & Krishnapuram 2007, Section 6.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]] * 4, [0, 1, 2, 0] * 4
    >>> RankNCGCV([0.1, 1.0], cv=2).fit(X, y, qid=[1, 1, 1, 1, 2, 2, 2, 2] * 2).alpha_
    1.0
    """

    _strength = "alpha"
    _weaker = False
    _not_in_folds: ClassVar = {"covariance": None}

    def __init__(
        self,
        alphas: Any = PRECISIONS,
        *,
        cv: Any = None,
        scoring: Any = "pairwise_accuracy",
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
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
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
            See `RankNCG.predict_pair_proba`.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_pair_proba(Xi, Xj)

    def _ranker(self) -> RankNCG:
        return RankNCG(**self._shared_parameters())
