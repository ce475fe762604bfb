"""The outcome of a search: the ranker with the chosen value, and its attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pairrank._protocols import FloatArray

Learn = Callable[[FloatArray], None]
"""Learns from all rows with the chosen value of each target."""


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
