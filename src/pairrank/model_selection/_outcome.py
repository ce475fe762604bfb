"""The outcome of a search: predictions that a scorer judges, and the ranker that is kept."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from pairrank._protocols import FloatArray


class Predicted(BaseEstimator):
    """What was predicted, as a scorer asks for it."""

    graph = "full"

    def __init__(self, scores: Any = None) -> None:
        self.scores = scores

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions; the rows are ignored."""
        return self.scores


def adopt(search: Any, ranker: Any) -> None:
    """Make a fitted ranker the best one of a search, and its attributes those of the search."""
    for name in _learnt(getattr(search, "best_estimator_", None)):
        search.__dict__.pop(name, None)
    search.best_estimator_ = ranker
    for name, value in _learnt(ranker).items():
        setattr(search, name, value)


def _learnt(ranker: Any) -> dict[str, Any]:
    """Return the fitted attributes of a ranker, except those on the columns of X."""
    return {
        name: value
        for name, value in getattr(ranker, "__dict__", {}).items()
        if name.endswith("_") and not name.endswith("_in_")
    }
