"""The rankers of LightGBM and XGBoost behind one interface: labels and queries in any order."""

from __future__ import annotations

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


class _BoostedRanker(BaseEstimator):
    """Trees that learn grades, whole numbers from 0 to 30, within queries."""

    model_: Any

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)


class LightGBMRanker(_BoostedRanker):
    """A ranking objective of LightGBM.

    Parameters
    ----------
    objective : str
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
        grades, codes, order = by_query(y, qid)
        lightgbm = require("lightgbm", "lightgbm", "models such as lambdarank")
        weight = None if sample_weight is None else sample_weight[order]
        ranker = lightgbm.LGBMRanker(**self.get_params(), verbose=-1)
        ranker.fit(X[order], grades, group=np.bincount(codes), sample_weight=weight)
        self.model_ = ranker.booster_
        return self


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
        grades, codes, order = by_query(y, qid)
        xgboost = require("xgboost", "xgboost", "rank:ndcg and rank:pairwise")
        self.model_ = xgboost.XGBRanker(**self.get_params(), verbosity=0)
        self.model_.fit(X[order], grades, qid=codes)
        return self


def by_query(y: Any, qid: Any) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.intp]]:
    """Return grades and queries (ascending) in the order that makes queries contiguous, and it.

    Raises a PairrankError where labels are not whole numbers from 0 to 30.
    """
    labels = np.asarray(y)
    is_number = labels.dtype.kind in "fiu"
    if not is_number or not ((labels >= 0) & (labels <= _LARGEST_GRADE)).all():
        raise PairrankError(f"it learns labels from 0 to {_LARGEST_GRADE} only")
    if (labels != np.round(labels)).any():
        raise PairrankError("it learns labels that are whole numbers only")
    codes = np.zeros(labels.size, dtype=np.int32) if qid is None else query_codes(qid)[1]
    order = np.argsort(codes, kind="stable")
    return labels.astype(np.int32)[order], codes[order], order
