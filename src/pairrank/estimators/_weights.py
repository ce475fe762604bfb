"""Names of features, and the features with the largest weights of a fitted ranker."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank.io.rows import numbered_names

MOST_WEIGHTS = 8
"""The number of weights shown."""


def feature_names(ranker: Any) -> list[str]:
    """Return the names of the features that a ranker was fitted with, or else f1, f2, ..."""
    names = getattr(ranker, "feature_names_in_", numbered_names(ranker.n_features_in_))
    return [str(name) for name in names]


def largest_weights(ranker: Any) -> tuple[str, list[str], list[tuple[Any, ...]]]:
    """Return a title, the columns and the rows of a table of features and their weights.

    It has standard errors where they are known, importances where features have no weights, and no
    row if there are several targets, a kernel or a network.
    """
    numbers, errors = {}, getattr(ranker, "standard_errors_", None)
    if hasattr(ranker, "feature_importances_"):
        numbers["Importance"] = ranker.feature_importances_
    elif ranker._is_linear and np.ndim(getattr(ranker, "coef_", 0.0)) == 1:
        numbers = {"Weight": ranker.coef_} | ({} if errors is None else {"Standard error": errors})
    if not numbers:
        return "Weights", ["Feature"], []
    kind, first = next(iter(numbers.items()))
    noun = "Importances" if kind == "Importance" else "Weights"
    title = noun if first.size <= MOST_WEIGHTS else f"Largest {MOST_WEIGHTS} {noun.lower()}"
    names = feature_names(ranker)
    largest = np.argsort(-np.abs(first), kind="stable")[:MOST_WEIGHTS].tolist()
    rows = [(names[at], *(float(each[at]) for each in numbers.values())) for at in largest]
    return title, ["Feature", *numbers], rows
