"""SearchedRanker: base of rankers whose regularisation is chosen by cross-validation."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import Features, FloatArray
from pairrank.estimators._base import AnyKernel, BaseRanker, Graph, Seed
from pairrank.estimators._docstrings import of_rows, ranker
from pairrank.estimators._rows import Rows
from pairrank.exceptions import NoPairsError, NoPairsWarning, ZeroWeightsWarning
from pairrank.metrics._inputs import RowArguments, takes_rows
from pairrank.model_selection.path import check_positive_values, regularization_path
from pairrank.model_selection.scorers import get_query_scorer
from pairrank.model_selection.splits import matrix_part, splits_of, splits_of_pairs
from pairrank.preferences import Pairs


@dataclass(eq=False, repr=False)
class Predicted(BaseEstimator):
    """What was predicted, as a scorer asks for it."""

    graph = "full"
    scores: Any = None

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions; the rows are ignored."""
        return self.scores


def _learnt(ranker: Any) -> dict[str, Any]:
    """Return the fitted attributes of a ranker, which its search has too."""
    attributes = {} if ranker is None else vars(ranker)
    return {name: value for name, value in attributes.items() if name.endswith("_")}


@ranker
class SearchedRanker(BaseRanker, ABC):
    """A ranker whose regularisation is chosen by cross-validation, in folds of whole queries.

    Pairs are folded by their groups, or by single comparisons.

    A subclass sets `_ranker_class` and `_strength`, the parameter that is chosen, C or alpha; with
    an s, the values to try. The strongest of equally good values is chosen. It declares these and
    those of the ranker's parameters that it has; their descriptions are the ranker's.

    Attributes
    ----------
    validation_scores_ : ndarray of shape (n_folds, n_values)
        The score of each fold at each value. NaN where the training or test rows of the fold hold
        no pair; the mean is over the other folds.
    best_score_ : float
        The mean over folds at the chosen value.
    best_estimator_ : estimator
        The ranker fitted on all rows; the search has its other attributes, too.
    """

    _: KW_ONLY
    cv: Any = None
    scoring: str | Callable[..., float] | None = "pairwise_accuracy"
    kernel: AnyKernel = None
    random_state: Seed = None

    @of_rows
    @takes_rows("")
    def fit(
        self,
        X: Features,
        y: ArrayLike | Pairs | None = None,
        **rows_by_name: Unpack[RowArguments],
    ) -> Self:
        """Choose the regularisation by cross-validation, then learn from all rows.

        Parameters
        ----------
        qid : array-like of shape (n_rows,), optional
            Query identifiers; None: all rows are one query, and folds are made of rows. Folds of
            Pairs are made of comparisons: whole groups, else whole queries, else single ones.

        Returns
        -------
        self
        """
        name = f"{self._strength}s"
        grid = check_positive_values(getattr(self, name), name)
        get_query_scorer(self._scoring_of(y))
        rows = self._check_rows(X, y, rows_by_name)
        with warnings.catch_warnings():
            for category in (NoPairsWarning, ZeroWeightsWarning):
                warnings.simplefilter("ignore", category)
            scores = self._search(rows, grid)
        ranker = self._ranker(**{self._strength: self._choose(scores, grid)})
        self._learn(ranker, rows)
        if hasattr(self, "feature_names_in_"):
            ranker.feature_names_in_ = self.feature_names_in_
        for learnt in _learnt(getattr(self, "best_estimator_", None)):
            self.__dict__.pop(learnt, None)
        self.best_estimator_ = ranker
        self.__dict__.update(_learnt(ranker))
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write `best_estimator_`, the ranker with the chosen value, to a model file.

        `load_model` returns that ranker, which predicts as the search does.
        """
        check_is_fitted(self)
        self.best_estimator_.save(path)

    @abstractmethod
    def _search(self, rows: Rows, grid: FloatArray) -> FloatArray:
        """Return the scores, (n_folds, n_values, n_targets)."""

    def _learn(self, ranker: Any, rows: Rows) -> None:
        """Fit the ranker of the best value on all rows."""
        ranker.fit(rows.X, rows.y, **rows.layout)

    def _scoring_of(self, y: Any) -> Any:
        """Return what folds are judged by: `scoring`, or the default for labels or Pairs."""
        return self.scoring

    def _ranker(self, **parameters: Any) -> Any:
        """Return the ranker with the parameters that it shares with the search, and others."""
        (ranker,) = self._ranker_class
        known = inspect.signature(ranker).parameters
        shared = {name: value for name, value in self.get_params().items() if name in known}
        return ranker(**shared | parameters)

    def _choose(self, scores: FloatArray, grid: FloatArray) -> float:
        """Keep the scores, (n_folds, n_values, n_targets), and the best value; return the value."""
        counts = (~np.isnan(scores)).sum(axis=0)
        judged = counts.any(axis=0)
        if not judged.all():
            which = "" if judged.size == 1 else f" of target {int(judged.argmin())}"
            raise NoPairsError(f"no fold has a test pair{which}; take fewer folds")
        sums = np.nansum(scores, axis=0)
        means = np.divide(sums, counts, out=np.full(sums.shape, -np.inf), where=counts > 0)
        judge = means.mean(axis=1)
        place = int(judge.argmax())
        if self._strength == "alpha":
            place = grid.size - 1 - int(judge[::-1].argmax())
        self.validation_scores_ = scores if judged.size > 1 else scores[:, :, 0]
        self.best_score_, value = float(judge[place]), float(grid[place])
        setattr(self, f"{self._strength}s_", grid)
        setattr(self, f"{self._strength}_", value)
        return value


@ranker
class FoldSearch(SearchedRanker, ABC):
    """A search that fits the path of values in every fold, each fit starting from the last."""

    _: KW_ONLY
    graph: Graph = "full"
    reduction: Literal["auto", "rows", "query", "sum"] = "auto"
    tol: float = 1e-3
    max_iter: int = 1000
    verbose: int = 0

    _not_in_folds: ClassVar[dict[str, Any]] = {}
    """Parameters that only the fit on all rows has, and their values in folds."""

    def _search(self, rows: Rows, grid: FloatArray) -> FloatArray:
        model, scorer = self._ranker(), get_query_scorer(self._scoring_of(rows.y))
        model._check_parameters()
        model._preferences(rows)
        tried = {"param": self._strength, "values": grid, "scoring": scorer}
        judged = self._ranker(**self._not_in_folds)
        folds = folds_of(self.cv, rows, self.random_state)
        scores = [_scores_of_fold(judged, rows, fold, tried) for fold in folds]
        return np.array(scores)[:, :, None]


Fold = tuple[Rows, Rows]
"""The training rows and the test rows of a fold: their places in X, or comparisons of all rows."""


def folds_of(cv: Any, rows: Rows, seed: Any) -> Iterator[Fold]:
    """Yield the folds that `cv` stands for: of comparisons if y are Pairs, else of rows."""
    if isinstance(rows.y, Pairs):
        for learnt, judged in splits_of_pairs(cv, rows.y, rows.qid, seed):
            yield rows._replace(X=None, y=learnt), rows._replace(X=None, y=judged)
        return
    for train, test in splits_of(cv, rows.X, rows.y, rows.qid, seed):
        yield rows.drawn(rows.y[train], train), rows.drawn(rows.y[test], test)


def _scores_of_fold(ranker: Any, rows: Rows, fold: Fold, tried: dict[str, Any]) -> np.ndarray:
    """Return the scores of a fold's test rows along the path over its training rows."""
    (train, test), X_train, X_test = fold, rows.X, rows.X
    if train.places is not None and test.places is not None:
        columns = train.places if ranker._is_precomputed else None
        X_train, X_test = (matrix_part(rows.X, at, columns) for at in (train.places, test.places))
    validation = {f"{name}_val": value for name, value in test.layout.items()}
    given = {**train.layout, **validation, "X_val": X_test, "y_val": test.y, **tried}
    try:
        path = regularization_path(ranker, X_train, train.y, **given, warm_start=True)
    except NoPairsError:
        return np.full(tried["values"].size, np.nan)
    if path.interrupted:
        raise KeyboardInterrupt("the search was interrupted before its folds could be compared")
    return np.asarray(path.scores)
