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


def largest_weights(ranker: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and the rows of a table of the features with the largest weights.

    It has standard errors where they are known, importances where features have no weights, and no
    row if there are several targets, a kernel or a network.
    """
    numbers = {}
    if hasattr(ranker, "feature_importances_"):
        numbers["Importance"] = ranker.feature_importances_
    elif ranker._is_linear and np.ndim(getattr(ranker, "coef_", 0.0)) == 1:
        numbers["Weight"] = ranker.coef_
        if hasattr(ranker, "standard_errors_"):
            numbers["Standard error"] = ranker.standard_errors_
    first, names = next(iter(numbers.values()), np.empty(0)), feature_names(ranker)
    largest = np.argsort(-np.abs(first), kind="stable")[:MOST_WEIGHTS].tolist()
    rows = [(names[at], *(float(each[at]) for each in numbers.values())) for at in largest]
    return ["Feature", *numbers], rows
