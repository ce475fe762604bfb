"""RankRLSCV: RankRLS with alpha chosen from one eigendecomposition, without refits."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from pairrank import _validation as validation
from pairrank.estimators._multi_target import MultiTargetRanker, columns_of
from pairrank.estimators.rank_rls import RankRLS
from pairrank.exceptions import NoPairsError, NoPairsWarning, PairrankError
from pairrank.model_selection.folds import splits_of
from pairrank.model_selection.path import check_positive_values
from pairrank.model_selection.rls_problem import Equations
from pairrank.model_selection.rls_scores import (
    LEAVE_PAIR_OUT,
    LEAVE_QUERY_OUT,
    check_left_out,
    least_squares,
    scores_of_fold,
    scores_of_margins,
    scores_of_predictions,
)
from pairrank.model_selection.rls_shortcuts import Spectrum
from pairrank.model_selection.scorers import get_query_scorer, pairwise_accuracy_scorer
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import query_codes

FloatArray = NDArray[np.float64]

PAPER_ALPHAS = tuple(2.0**power for power in range(-10, 11))
"""lambda = 2^-10 .. 2^10, the grid of Airola et al. 2010, Section 4."""

_SMALL = 1000


class RankRLSCV(MultiTargetRanker):
    """RankRLS whose alpha is chosen by cross-validation, from one eigendecomposition.

    Whole queries, or pairs of rows, are left out in turn in closed form: what is scored are the
    predictions of every refit, to rounding, and no refit is made. The weights at the best alpha
    come from the same eigendecomposition.

    Parameters
    ----------
    alphas : array-like of float
        The values to try; by default the paper's grid, 2^-10 .. 2^10.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of splits
        "leave-query-out" predicts each query by the weights of all others, and scores all
        predictions together. "leave-pair-out" predicts every two rows of a query by the weights of
        all other rows: for small data (of `Pairs`, each comparison by all others). An int or a
        splitter makes folds, as in `RankSVMCV`, with an eigendecomposition each. None is
        "leave-query-out" where there are two queries; else "leave-pair-out" up to 1,000 rows, and
        5 folds of rows beyond.
    scoring : str or callable
        "pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", or a scorer (see
        `get_query_scorer`) that asks the estimator for nothing but `predict`. "leave-pair-out", and
        Pairs left out, know pairwise accuracy only.
    alpha_per_target : bool
        Choose an alpha for each column of y; False: one for all, of the best mean score.
    kernel, gamma, degree, coef0, kernel_features, n_components : object
        As in `RankRLS`; the features of a kernel are made once, of all rows, also for folds.
    random_state : int, RandomState or None
        Seeds folds of rows and the landmarks of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    alpha_ : float, or ndarray of shape (n_targets,) with `alpha_per_target`
        The chosen alpha, the largest of equals.
    alphas_ : ndarray of shape (n_values,)
        The values tried, ascending.
    scores_ : ndarray of shape (n_folds, n_values) or (n_folds, n_values, n_targets)
        The score of each fold at each alpha, where n_folds is 1 without folds; NaN where a fold
        holds no pair: the mean is over the others.
    best_score_ : float, or ndarray of shape (n_targets,) with `alpha_per_target`
        The mean score at `alpha_`.
    cv_ : object
        What `cv` stood for.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights learnt from all rows, as `RankRLS` has them.
    best_estimator_ : RankRLS
        A ranker with these weights, which `save` writes; not with `alpha_per_target`.
    n_pairs_ : int
        The number of differences, n_q^2 a query, or of comparisons.
    feature_map_ : FeatureMap
        The features of the kernel, where there are such.

    Notes
    -----
    With m rows of d features and p = min(m, d), at most 20,000: O(m d p + p^3) for everything that
    alphas share and O(p^2) memory. Each alpha costs, leaving queries out, the sum of m_q^2 p over
    queries (of more than p rows: O(m_q d^2 + d^3), all alphas together); leaving pairs out, the sum
    of m_q^2 p, and m_q p memory; in folds, one product with the test rows. Dense X is centred a few
    million entries at a time; the predictions at all alphas are held, 8 bytes each. Features are
    best of like size: 1e-16 of the largest eigenvalue is rounding beside alpha, and a sparse column
    far from 0 throughout loses digits to its offset. All targets share the eigendecomposition.
    Predictions of a query that agree to 2^-36 of the largest of them are taken as tied.

    References
    ----------
    T. Pahikkala, E. Tsivtsivadze, A. Airola, J. Boberg and J. Järvinen, "An efficient algorithm for
    learning to rank from preference graphs", Machine Learning 75(1), 2009; Airola et al. 2010.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.0]] * 4, [0, 1, 2, 0] * 4
    >>> search = RankRLSCV().fit(X, y, qid=[1] * 4 + [2] * 4 + [3] * 4 + [4] * 4)
    >>> search.alpha_, search.best_score_
    (1024.0, 1.0)
    """

    _solves_in_kernel = False

    def __init__(
        self,
        alphas: Any = PAPER_ALPHAS,
        *,
        cv: Any = None,
        scoring: Any = "pairwise_accuracy",
        alpha_per_target: bool = False,
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: str = "auto",
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.alpha_per_target = alpha_per_target
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha by cross-validation, and learn from every difference.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
            With ``kernel="precomputed"`` the kernel matrix of the rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs
            Numbers, or explicit comparisons.
        qid : array-like of shape (n_rows,), optional
            Query identifiers; None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights, in training and in scoring. A row of weight 2 is learnt from as two rows,
            but left out as one.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If input or a parameter is wrong, there are too few queries to leave one out, or there
            is no pair to judge by.
        """
        grid = check_positive_values(self.alphas, "alphas")
        validation.check_choice(self.alpha_per_target, "alpha_per_target", (False, True))
        self._check_kernel()
        X, y, qid, weight = self._check_fit_input(X, y, qid, sample_weight)
        if isinstance(X, LinearOperator):
            raise PairrankError("RankRLSCV needs the entries of the kernel matrix: give X as one")
        method = self._method(y, qid, weight)
        scorer = self._scorer(method, y)
        _require_pairs(y, X.shape[0], qid, weight)
        features = self._learnt_features(X)
        problem = least_squares(features, y, qid, weight)
        spectrum = Spectrum(problem)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoPairsWarning)
            data = (X, features, y, {"qid": qid, "sample_weight": weight})
            scores = self._scores(spectrum, method, grid, scorer, data)
        self.cv_, self.alphas_ = method, grid
        self._learn(spectrum, problem, self._choose(scores, grid))
        return self

    def _scores(
        self, spectrum: Spectrum, method: Any, grid: FloatArray, scorer: Any, data: Any
    ) -> FloatArray:
        """Return the score of each fold, alpha and target."""
        X, _, y, rows = data
        if method == LEAVE_QUERY_OUT and not isinstance(y, Pairs):
            return scores_of_predictions(spectrum, grid, scorer, (X, y, rows))[None]
        if isinstance(method, str):
            return scores_of_margins(spectrum, grid, method)[None]
        splits = splits_of(method, X, y, rows["qid"], self.random_state)
        return np.array([scores_of_fold(data, split, grid, scorer) for split in splits])

    def _method(self, y: Any, qid: Any, weight: FloatArray | None) -> Any:
        """Return what `cv` stands for; an error where queries to leave out are missing."""
        kept = np.ones(len(y), dtype=bool) if weight is None else weight > 0
        n_queries = 1 if qid is None else np.unique(query_codes(qid[kept])[1]).size
        if self.cv is None:
            if n_queries > 1:
                return LEAVE_QUERY_OUT
            small = isinstance(y, Pairs) or np.count_nonzero(kept) <= _SMALL
            return LEAVE_PAIR_OUT if small else 5
        if not isinstance(self.cv, str):
            return self.cv
        check_left_out(self.cv, n_queries)
        return self.cv

    def _scorer(self, method: Any, y: Any) -> Any:
        scorer = get_query_scorer(self.scoring)
        closed = method == LEAVE_PAIR_OUT or (method == LEAVE_QUERY_OUT and isinstance(y, Pairs))
        if closed and scorer is not pairwise_accuracy_scorer:
            left = "pairs" if method == LEAVE_PAIR_OUT else "queries of comparisons"
            raise PairrankError(
                f"scoring={self.scoring!r} judges a query's scores, but leaving {left} out gives "
                'margins alone: take scoring="pairwise_accuracy", or folds (cv=5)'
            )
        return scorer

    def _choose(self, scores: FloatArray, grid: FloatArray) -> FloatArray:
        """Keep the scores and the best alpha; return that of each target."""
        missing = np.isnan(scores)
        judged = ~missing.all(axis=(0, 1))
        if not judged.all():
            which = "" if judged.size == 1 else f" of target {int(judged.argmin())}"
            raise NoPairsError(f"no pair{which} to judge by was left out; take fewer folds")
        counted = np.maximum(1, (~missing).sum(axis=0))
        means = (np.where(missing, 0.0, scores).sum(axis=0) / counted).T
        each = bool(self.alpha_per_target) and len(means) > 1
        chosen_by = means if each else means.mean(axis=0, keepdims=True)
        place = grid.size - 1 - np.argmax(chosen_by[:, ::-1], axis=1)
        best = chosen_by[np.arange(len(chosen_by)), place]
        self.scores_ = scores if len(means) > 1 else scores[:, :, 0]
        self.alpha_ = grid[place] if each else float(grid[place[0]])
        self.best_score_ = best if each else float(best[0])
        return np.broadcast_to(grid[place], len(means))

    def _learn(self, spectrum: Spectrum, problem: Equations, alphas: FloatArray) -> None:
        """Set the weights at the chosen alpha of each target."""
        coefs = np.stack([spectrum.coefs(alphas[[t]])[0, t] for t in range(alphas.size)])
        if self._is_precomputed:
            coefs = self._dual_coefs(coefs)
        self.coef_ = coefs if len(coefs) > 1 else coefs[0]
        self.n_pairs_ = problem.n_pairs
        self.__dict__.pop("best_estimator_", None)
        if np.ndim(self.alpha_) == 0:
            self.best_estimator_ = self._as_ranker()

    def _dual_coefs(self, coefs: FloatArray) -> FloatArray:
        """Turn weights of a precomputed kernel's features into coefficients of its rows."""
        dual = np.zeros((len(coefs), self.n_features_in_))
        dual[:, self.feature_map_.landmarks_] = coefs @ self.feature_map_.projection_.T
        del self.feature_map_
        return dual

    def _as_ranker(self) -> RankRLS:
        own = ("alphas", "cv", "scoring", "alpha_per_target")
        shared = {name: value for name, value in self.get_params().items() if name not in own}
        ranker = RankRLS(alpha=self.alpha_, solver="direct", **shared)
        learnt = ("coef_", "n_pairs_", "feature_map_", "n_features_in_", "feature_names_in_")
        for name in learnt:
            if hasattr(self, name):
                setattr(ranker, name, getattr(self, name))
        ranker.n_iter_, ranker.status_ = 1, "converged"
        return ranker


def _require_pairs(
    y: Any, n_rows: int, qid: NDArray[Any] | None, weight: FloatArray | None
) -> None:
    """Raise a NoPairsError where a target holds no pair to judge an alpha by."""
    if isinstance(y, Pairs):
        y.bound(n_rows, qid=qid, sample_weight=weight, ties=False).require_pairs()
        return
    for column in columns_of(y):
        Levels.build(column, qid, sample_weight=weight).require_pairs()
