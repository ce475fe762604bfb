"""RankRLSCV: RankRLS with alpha chosen from one eigendecomposition, without refits."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairrank._protocols import FloatArray
from pairrank.design import Design
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._rows import Rows, columns_of
from pairrank.estimators._targets import TargetsMixin
from pairrank.estimators.rank_rls import RankRLS
from pairrank.exceptions import NoPairsError, PairrankError, ZeroWeightsWarning
from pairrank.metrics._names import metric_named
from pairrank.model_selection._search import Fold, Predicted, SearchedRanker, folds_of
from pairrank.model_selection.rls_equations import Comparisons, least_squares
from pairrank.model_selection.rls_left_out import (
    Spectrum,
    leave_comparison_out,
    leave_pair_out,
    leave_query_out,
)
from pairrank.model_selection.scorers import get_query_scorer, requested
from pairrank.model_selection.splits import LEAVE_PAIR_OUT, LEAVE_QUERY_OUT, method_of
from pairrank.preferences import Pairs

_SMALL = 1000


@ranker
class RankRLSCV(TargetsMixin, SearchedRanker):
    """RankRLS whose alpha is chosen by cross-validation, from one eigendecomposition.

    Queries or pairs of rows are left out in turn, in closed form: up to rounding, the scores are
    those of refits without them, but nothing is refitted. The best alpha is then fitted on all
    rows. The features of a kernel are made once from all rows, also for folds.

    Parameters
    ----------
    alphas : array-like of float
        The values to try; by default the paper's grid, 2^-10 .. 2^10.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of splits
        "leave-query-out" predicts each query (of `Pairs` with groups, each group of comparisons) by
        the weights of all others, and scores all predictions together. "leave-pair-out", for small
        data, predicts every two rows of a query (of `Pairs`, each comparison) by the weights of all
        others. An int or a splitter makes folds, as in `RankSVMCV`, with one eigendecomposition per
        fold. None is "leave-query-out" if there are two queries or groups; else "leave-pair-out" up
        to 1,000 rows, and 5 folds beyond.
    scoring : str or callable
        "pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", or a scorer (see
        `get_query_scorer`) that calls `predict` only. "leave-pair-out", and Pairs left out, allow
        pairwise accuracy only.
    random_state : int, RandomState or None, default None
        Seeds folds of rows and the landmarks of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha, the largest of equals; of several targets the one of the best mean score.
    alphas_ : ndarray of shape (n_values,)
        The values tried, ascending.
    validation_scores_ : ndarray of shape (n_folds, n_values) or (n_folds, n_values, n_targets)
        The score of each fold at each alpha; n_folds is 1 without folds. NaN where a fold holds no
        pair; the mean is over the other folds.
    best_score_ : float
        The mean score at `alpha_`.
    cv_ : object
        The way to leave rows out that `cv` stands for.

    Notes
    -----
    With m rows of d features and p = min(m, d), at most 20,000: O(m d p + p^3) once for all alphas
    and targets, and O(p^2) memory. In addition, each alpha costs O(m_q^2 p) per query that is left
    out, or whose pairs are, or one product with the test rows per fold. Scale features to similar
    size: alpha should be well above 1e-16 of the largest eigenvalue. Predictions of a query that
    agree to 2^-36 of the largest of them, or to 2^-46 of the largest of all, count as tied.

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

    _ranker_class, _strength, _solves_kernels = (RankRLS,), "alpha", False
    alphas: ArrayLike = RankRLS._searched

    def _search(self, rows: Rows, grid: FloatArray) -> FloatArray:
        if self._maps_features:
            self._kernel.check()
        problem = least_squares(rows)
        small = isinstance(problem, Comparisons) or problem.root.size <= _SMALL
        method = method_of(self.cv, problem.query_start.size - 1, small=small, n_folds=5)
        scorer = self._scorer(method, rows.y)
        features = self._learnt_features(rows.X)
        self.__dict__.pop("kernel_", None)  # the ranker of the best alpha has its own
        self.cv_ = method
        if not isinstance(method, str):
            folds = folds_of(method, rows, self.random_state)
            each = [_scores_of_fold(fold, rows.X, features, grid, scorer) for fold in folds]
            return np.array(each)
        spectrum = Spectrum(replace(problem, X=features))
        if isinstance(problem, Comparisons) or method == LEAVE_PAIR_OUT:
            return _scores_of_margins(spectrum, grid, method)[None]
        scores = np.zeros((grid.size, len(rows.y), problem.b.shape[1]))
        scores[:, problem.row_of] = leave_query_out(spectrum, grid)
        return _judged(scores, rows, scorer)[None]

    def _learn(self, ranker: Any, rows: Rows) -> None:
        with warnings.catch_warnings(action="ignore", category=ZeroWeightsWarning):
            super()._learn(ranker.set_params(solver="direct"), rows)

    def _scorer(self, method: Any, y: Any) -> Any:
        scorer = get_query_scorer(self._scoring_of(y))
        closed = method == LEAVE_PAIR_OUT or (method == LEAVE_QUERY_OUT and isinstance(y, Pairs))
        if closed and getattr(scorer, "metric", None) != metric_named("pairwise_accuracy"):
            left = "pairs" if method == LEAVE_PAIR_OUT else "queries of comparisons"
            raise PairrankError(
                f"scoring={self.scoring!r} needs the scores of a query, but leaving {left} out "
                'gives margins only: take scoring="pairwise_accuracy", or folds (cv=5)'
            )
        return scorer


def _scores_of_margins(spectrum: Spectrum, grid: FloatArray, method: str) -> FloatArray:
    """Return pairwise accuracies of left-out margins, (n_values, n_targets)."""
    problem = spectrum.problem
    if not isinstance(problem, Comparisons):
        return leave_pair_out(spectrum, grid)
    if method == LEAVE_PAIR_OUT:
        margins = leave_comparison_out(spectrum, grid)
    else:
        margins = leave_query_out(spectrum, grid)[:, :, 0]
    agreement = margins * np.sign(problem.b[:, 0])
    weight = np.where(problem.b[:, 0] != 0, problem.root**2, 0.0)
    credit = np.where(agreement == 0, 0.5, agreement > 0)
    total = weight.sum()
    return (credit @ weight / total if total else np.full(grid.size, np.nan))[:, None]


def _scores_of_fold(fold: Fold, X: Any, features: Any, grid: FloatArray, scorer: Any) -> FloatArray:
    """Return the scores of a fold's test rows, (n_values, n_targets); NaN where none are learnt."""
    train, test = fold
    learnt, judged, X_test = features, features, X
    if train.places is not None:
        learnt, judged, X_test = features[train.places], features[test.places], X[test.places]
    try:
        problem = least_squares(train._replace(X=learnt))
    except NoPairsError:
        return np.full((grid.size, len(columns_of(train.y))), np.nan)
    design = Design(judged)
    coefs = Spectrum(problem).coefs(grid)
    scores = [np.column_stack([design.scores(coef) for coef in each.T]) for each in coefs]
    result = _judged(np.array(scores), test._replace(X=X_test), scorer)
    result[:, ~problem.b.any(axis=0)] = np.nan
    return result


def _judged(predicted: FloatArray, rows: Rows, scorer: Any) -> FloatArray:
    """Return the scores, (n_values, n_targets), of predictions, (n_values, n_rows, n_targets)."""
    asked = requested(scorer, rows.layout)
    targets = [rows.y] if isinstance(rows.y, Pairs) else columns_of(rows.y)
    return np.array(
        [
            [
                float(scorer(Predicted(scores), rows.X, y, **asked))
                for scores, y in zip(at_value.T, targets, strict=True)
            ]
            for at_value in predicted
        ]
    )
