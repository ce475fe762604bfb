"""SearchedRanker: what rankers share whose regularisation is chosen by folds of queries."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from pairrank.estimators._base import BaseRanker
from pairrank.estimators._pair_loss import PairLossRanker
from pairrank.exceptions import NoPairsError, NoPairsWarning, ZeroWeightsWarning
from pairrank.model_selection.folds import splits_of
from pairrank.model_selection.path import check_positive_values, regularization_path
from pairrank.model_selection.scorers import get_query_scorer
from pairrank.model_selection.splits import Split

ADOPTED = (
    *("coef_", "feature_map_", "coef_cov_", "standard_errors_"),
    *("n_iter_", "status_", "history_", "objective_", "gap_", "n_pairs_"),
)
"""The attributes of a fitted ranker that a search offers as its own."""


class SearchedRanker(BaseRanker, ABC):
    """A ranker whose regularisation is chosen by cross-validation, whole queries a fold.

    Every fold follows the path of ascending values, each fit starting from the last; the best value
    is then fitted on all rows.
    """

    _strength: ClassVar[str]
    """The parameter that is chosen; with an s, it names the values to try."""
    _weaker: ClassVar[bool]
    """Whether a higher value leaves more to the data: of equals, the lesser is chosen."""
    _not_in_folds: ClassVar[dict[str, Any]] = {}
    """Parameters that only the fit on all rows has, and what the folds have for them."""

    cv: Any
    scoring: Any
    random_state: Any
    scores_: np.ndarray

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose the regularisation by cross-validation, then learn from every preference.

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
        grid = check_positive_values(getattr(self, self._name), self._name)
        scorer = get_query_scorer(self.scoring)
        X, y, qid, sample_weight = self._check_fit_input(X, y, qid, sample_weight)
        ranker = self._ranker()
        ranker._check_parameters()
        ranker._check_beside(X, qid)
        ranker._preferences(y, qid, sample_weight, X.shape[0], None)
        rows = {"qid": qid, "sample_weight": sample_weight}
        judged = clone(ranker).set_params(**self._not_in_folds)
        with warnings.catch_warnings():
            for category in (NoPairsWarning, ZeroWeightsWarning):
                warnings.simplefilter("ignore", category)
            self.scores_ = np.array(
                [
                    _scores_of_fold(judged, X, y, rows, split, (self._strength, grid), scorer)
                    for split in splits_of(self.cv, X, y, qid, self.random_state)
                ]
            )
        best = self._best_place()
        value = float(grid[best])
        setattr(self, f"{self._name}_", grid)
        setattr(self, f"{self._strength}_", value)
        self._adopt(ranker.set_params(**{self._strength: value}).fit(X, y, **rows))
        return self

    @property
    def _name(self) -> str:
        return f"{self._strength}s"

    @abstractmethod
    def _ranker(self) -> PairLossRanker:
        """Return the ranker that is fitted, its regularisation not yet chosen."""

    def _shared_parameters(self) -> dict[str, Any]:
        own = (self._name, "cv", "scoring")
        return {name: value for name, value in self.get_params().items() if name not in own}

    def _best_place(self) -> int:
        """Return where the mean score is highest; of equals, where regularisation is strongest."""
        scored = ~np.isnan(self.scores_).all(axis=1)
        if not scored.any():
            raise NoPairsError("no fold has pairs to learn from and to judge by; take fewer folds")
        means = np.nanmean(self.scores_[scored], axis=0)
        self.best_score_ = float(means.max())
        equals = np.flatnonzero(means == means.max())
        return int(equals[0] if self._weaker else equals[-1])

    def _adopt(self, ranker: PairLossRanker) -> None:
        """Take over what the ranker has learnt from all rows."""
        self.best_estimator_ = ranker
        for name in ADOPTED:
            self.__dict__.pop(name, None)
            if hasattr(ranker, name):
                setattr(self, name, getattr(ranker, name))


def _scores_of_fold(
    ranker: PairLossRanker,
    X: Any,
    y: Any,
    rows: dict[str, Any],
    split: Split,
    tried: tuple[str, np.ndarray],
    scorer: Any,
) -> np.ndarray:
    """Return the scores of a fold's test rows along the path over its training rows."""
    param, grid = tried
    train, test = (
        {name: _take(value, part) for name, value in {"y": y, **rows}.items()} for part in split
    )
    train["X"], _ = _safe_split(ranker, X, None, split[0])
    test["X"], _ = _safe_split(ranker, X, None, split[1], split[0])
    validation = {f"{name}_val": value for name, value in test.items()}
    try:
        path = regularization_path(
            ranker,
            **train,
            **validation,
            param=param,
            values=grid,
            scoring=scorer,
            warm_start=True,
        )
    except NoPairsError:
        return np.full(grid.size, np.nan)
    if path.interrupted:
        raise KeyboardInterrupt("the search was interrupted before its folds could be compared")
    return np.asarray(path.scores)


def _take(values: Any, rows: np.ndarray) -> Any:
    return None if values is None else _safe_indexing(values, rows)
