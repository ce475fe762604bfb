"""RankSVMCV: RankSVM with C chosen by folds of queries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state

from pairrank._validation import check_number
from pairrank.estimators._base import BaseRanker
from pairrank.estimators.rank_svm import RankSVM
from pairrank.exceptions import NoPairsError, NoPairsWarning, PairrankError
from pairrank.model_selection.path import (
    PAPER_VALUES,
    check_positive_values,
    regularization_path,
)
from pairrank.model_selection.scorers import get_query_scorer
from pairrank.model_selection.splits import QueryKFold, Split
from pairrank.preferences import Pairs


class RankSVMCV(BaseRanker):
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
    loss, graph, normalize, tol, max_iter, solver, pair_sum, verbose, random_state
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
        are its own.

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

    def __init__(
        self,
        Cs: Any = PAPER_VALUES,
        *,
        cv: Any = None,
        scoring: Any = "pairwise_accuracy",
        loss: str = "squared_hinge",
        graph: Any = "full",
        normalize: str | None = "rows",
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        pair_sum: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.graph = graph
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.pair_sum = pair_sum
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose C by cross-validation, then learn from every preference.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), or Pairs
        qid : array-like of shape (n_rows,), optional
            Query identifiers; None: all rows are one query, and folds are of rows.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights, in training and in scoring.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If input or a parameter is wrong, or no fold has pairs to learn from and to judge by.
        """
        grid = check_positive_values(np.ravel(self.Cs), "Cs")
        scorer = get_query_scorer(self.scoring)
        X, y, qid, sample_weight = self._check_fit_input(X, y, qid, sample_weight)
        ranker = RankSVM(**self._shared_parameters())
        ranker._check_parameters()
        ranker._preferences(y, qid, sample_weight, X.shape[0], None)
        rows = {"qid": qid, "sample_weight": sample_weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoPairsWarning)
            self.scores_ = np.array(
                [
                    _scores_of_fold(ranker, X, y, rows, split, grid, scorer)
                    for split in self._splits(X, y, qid)
                ]
            )
        self.Cs_ = grid
        scored = ~np.isnan(self.scores_).all(axis=1)
        if not scored.any():
            raise NoPairsError("no fold has pairs to learn from and to judge by; take fewer folds")
        means = np.nanmean(self.scores_[scored], axis=0)
        self.best_score_, self.C_ = float(means.max()), float(grid[means.argmax()])
        self._adopt(ranker.set_params(C=self.C_).fit(X, y, **rows))
        return self

    def _shared_parameters(self) -> dict[str, Any]:
        own = ("Cs", "cv", "scoring")
        return {name: value for name, value in self.get_params().items() if name not in own}

    def _splits(self, X: Any, y: Any, qid: Any) -> Iterator[Split]:
        cv, seed = 5 if self.cv is None else self.cv, self.random_state
        if isinstance(cv, Integral):
            if qid is not None:
                return QueryKFold(int(cv)).split(X, y, qid=qid)
            return _folds_of_rows(y, X.shape[0], int(cv), 0 if seed is None else seed)
        if isinstance(cv, QueryKFold):
            return cv.split(X, y, qid=qid)
        return check_cv(cv).split(X, y, qid)

    def _adopt(self, ranker: RankSVM) -> None:
        self.best_estimator_ = ranker
        for name in ("coef_", "n_iter_", "status_", "history_", "objective_", "n_pairs_"):
            setattr(self, name, getattr(ranker, name))


def _folds_of_rows(y: Any, n_rows: int, n_folds: int, seed: Any) -> Iterator[Split]:
    """Deal rows out in the order of their labels, equal ones at random."""
    check_number(n_folds, "cv", low=2, inclusive=True, integer=True)
    if n_folds > n_rows:
        raise PairrankError(f"{n_rows} rows cannot make {n_folds} folds: take a smaller cv")
    if isinstance(y, Pairs):
        return KFold(n_folds, shuffle=True, random_state=seed).split(y)
    order = check_random_state(seed).permutation(n_rows)
    fold_of = np.empty(n_rows, dtype=np.int64)
    fold_of[order[np.argsort(y[order], kind="stable")]] = np.arange(n_rows) % n_folds
    return ((np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds))


def _scores_of_fold(
    ranker: RankSVM,
    X: Any,
    y: Any,
    rows: dict[str, Any],
    split: Split,
    grid: np.ndarray,
    scorer: Any,
) -> np.ndarray:
    """Return the scores of a fold's test rows along the path over its training rows."""
    train, test = (
        {name: _take(value, part) for name, value in {"X": X, "y": y, **rows}.items()}
        for part in split
    )
    validation = {f"{name}_val": value for name, value in test.items()}
    try:
        path = regularization_path(
            ranker, **train, **validation, values=grid, scoring=scorer, warm_start=True
        )
    except NoPairsError:
        return np.full(grid.size, np.nan)
    if path.interrupted:
        raise KeyboardInterrupt("the search was interrupted before its folds could be compared")
    return np.asarray(path.scores)


def _take(values: Any, rows: np.ndarray) -> Any:
    return None if values is None else _safe_indexing(values, rows)
