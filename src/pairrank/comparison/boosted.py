"""The rankers of LightGBM and XGBoost behind one interface: labels and queries in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from pairrank._extras import require
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes

_LARGEST_GRADE = 30
"""LightGBM's table of gains ends with this label; 2^label - 1 is the gain of NDCG."""


class _BoostedRanker(BaseEstimator, ABC):
    """Trees that learn grades, whole numbers from 0 to 30, within queries."""

    @abstractmethod
    def _learn(self, X: Any, y: Any, codes: NDArray[Any], weight: Any) -> None:
        """Learn from rows whose queries are contiguous; `codes` are their queries, ascending."""

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Self:
        grades = grades_of(y)
        codes = np.zeros(len(grades), dtype=np.int32) if qid is None else query_codes(qid)[1]
        order = np.argsort(codes, kind="stable")
        weight = None if sample_weight is None else sample_weight[order]
        self._learn(X[order], grades[order], codes[order], weight)
        return self


class LightGBMRanker(_BoostedRanker):
    """A ranking objective of LightGBM.

    Parameters
    ----------
    objective : "lambdarank" or "rank_xendcg"
    n_estimators, num_leaves : int
        The number of trees, and of the leaves of each.
    learning_rate : float
    random_state : int
    """

    def __init__(
        self,
        objective: str = "lambdarank",
        *,
        n_estimators: int = 100,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.objective = objective
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the grades of rows within queries."""
        return self._fit(X, y, qid, sample_weight)

    def _learn(self, X: Any, y: Any, codes: NDArray[Any], weight: Any) -> None:
        lightgbm = require("lightgbm", "lightgbm", "lambdarank and rank_xendcg")
        ranker = lightgbm.LGBMRanker(**self.get_params(), verbose=-1)
        ranker.fit(X, y, group=np.bincount(codes), sample_weight=weight)
        self.model_ = ranker.booster_

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)


class XGBoostRanker(_BoostedRanker):
    """A ranking objective of XGBoost, which weighs whole queries only.

    Parameters
    ----------
    objective : "rank:ndcg" or "rank:pairwise"
    n_estimators, max_depth : int
        The number of trees, and the depth of each.
    learning_rate : float
    random_state : int
    """

    def __init__(
        self,
        objective: str = "rank:ndcg",
        *,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.objective = objective
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn from the grades of rows within queries."""
        return self._fit(X, y, qid, None)

    def _learn(self, X: Any, y: Any, codes: NDArray[Any], weight: Any) -> None:
        xgboost = require("xgboost", "xgboost", "rank:ndcg and rank:pairwise")
        self.model_ = xgboost.XGBRanker(**self.get_params(), verbosity=0)
        self.model_.fit(X, y, qid=codes)

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)


def grades_of(y: Any) -> NDArray[np.int32]:
    """Return labels as grades; raise a PairrankError where they are not whole from 0 to 30."""
    labels = np.asarray(y)
    is_number = labels.dtype.kind in "fiu"
    if not is_number or not ((labels >= 0) & (labels <= _LARGEST_GRADE)).all():
        raise PairrankError(f"it learns labels from 0 to {_LARGEST_GRADE} only")
    if (labels != np.round(labels)).any():
        raise PairrankError("it learns labels that are whole numbers only")
    return labels.astype(np.int32)
