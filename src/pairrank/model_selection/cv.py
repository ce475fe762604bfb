"""RankSVMCV and RankNCGCV: regularisation chosen in folds of queries or comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike

from pairrank.estimators._docstrings import ranker
from pairrank.estimators._pair_loss import PairProbabilities
from pairrank.estimators.rank_ncg import PairErrors, RankNCG
from pairrank.estimators.rank_svm import RankSVM
from pairrank.model_selection._search import FoldSearch
from pairrank.preferences import Pairs


@ranker
class RankSVMCV(FoldSearch):
    """RankSVM whose C is chosen by cross-validation over whole queries, or over comparisons.

    In every fold the values of C are fitted in ascending order, each from the last solution. The C
    of the highest mean score is then fitted on all rows. With the default reduction, C means the
    same for folds and for all rows. The features of a kernel are learnt in each fold.

    Parameters
    ----------
    Cs : array-like of float
        The values to try; by default the paper's 2^-15 .. 2^10.

    Attributes
    ----------
    C_ : float
        The chosen C, the smallest of equals.
    Cs_ : ndarray of shape (n_values,)
        The values tried, ascending.

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

    _ranker_class, _strength = (RankSVM,), "C"
    Cs: ArrayLike = RankSVM._searched
    _: KW_ONLY
    loss: Literal["squared_hinge", "hinge"] = "squared_hinge"
    solver: Literal["auto", "tron", "bundle"] = "auto"
    pair_sum: Literal["auto", "cells", "sorted", "selection_tree", "level_counting", "direct"] = (
        "auto"
    )


@ranker
class RankNCGCV(PairProbabilities, PairErrors, FoldSearch):
    """RankNCG whose alpha, the paper's lambda, is chosen by cross-validation (its Section 6).

    In every fold the alphas are fitted in ascending order, each from the last solution. The alpha
    of the highest mean score is then fitted on all rows. With the default reduction, alpha means
    the same for folds and for all rows. The paper has five folds and scores them by "wmw".

    Parameters
    ----------
    alphas : array-like of float
        The values to try; by default 1e-4, 1e-3 .. 1e5.
    scoring : str, callable or None, default None
        None is "log_loss" for Pairs and "pairwise_accuracy" for labels; see
        `pairrank.model_selection.get_query_scorer`. Errors and losses are negated.
    covariance : None, "laplace", "rows", "queries" or "clusters", default None
        As in `RankNCG`, for the ranker fitted on all rows; it ignores that alpha was chosen.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha, the largest of equals.
    alphas_ : ndarray of shape (n_values,)
        The values tried, ascending.

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

    _ranker_class, _strength = (RankNCG,), "alpha"
    alphas: ArrayLike = RankNCG._searched
    _: KW_ONLY
    loss: Literal["logistic", "probit", "raykar"] = "logistic"
    eps: float = 1e-6
    solver: Literal["auto", "ncg", "tron"] = "auto"
    pair_sum: Literal["auto", "boxes", "beaulieu", "direct"] = "auto"
    covariance: Literal["laplace", "rows", "queries", "clusters"] | None = None
    scoring: str | Callable[..., float] | None = None

    _not_in_folds: ClassVar = {"covariance": None}

    def _scoring_of(self, y: Any) -> Any:
        if self.scoring is None:
            return "log_loss" if isinstance(y, Pairs) else "pairwise_accuracy"
        return self.scoring
