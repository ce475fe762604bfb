"""What a report is about: a ranker, the features that it sees, their names, its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.estimators._base import BaseRanker
from pairrank.estimators._weights import feature_names
from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs


class Subject(NamedTuple):
    """A fitted ranker with the rows that it scores.

    Of a Pipeline `ranker` is the last step, of a search the best estimator; X are the features that
    it sees, and `names` their names.
    """

    ranker: Any
    X: Any
    names: list[str]

    @property
    def is_linear(self) -> bool:
        """Whether the scores are sums of one weight times feature per feature."""
        return hasattr(self.ranker, "coef_") and self.ranker._is_linear

    @property
    def gives_probabilities(self) -> bool:
        """Whether differences of scores are probabilities of preferences."""
        return hasattr(self.ranker, "preference_proba")

    def scores(self) -> FloatArray:
        """Return the score of each row, (n_rows,)."""
        with validation.names_matched():
            return np.asarray(self.ranker.predict(self.X), dtype=np.float64)


def subject_of(model: Any, X: Any) -> Subject:
    """Return the ranker in a model, and the checked rows as it sees them.

    Raises a PairrankError if the model does not end with a ranker of one target.
    """
    if not isinstance(model, BaseRanker):
        model = getattr(model, "best_estimator_", model)
    names = None
    if isinstance(model, Pipeline):
        *transformers, (_, ranker) = model.steps
        check_is_fitted(model)
        if transformers:
            with validation.names_matched():
                X = model[:-1].transform(X)
            if hasattr(model, "feature_names_in_") and hasattr(model[:-1], "get_feature_names_out"):
                names = [str(name) for name in model[:-1].get_feature_names_out()]
        model = ranker
    if not isinstance(model, BaseRanker):
        raise PairrankError(
            f"a {type(model).__name__} is not a ranker of pairrank: give a fitted ranker, or a "
            "Pipeline or search that ends with one"
        )
    check_is_fitted(model)
    if np.ndim(getattr(model, "coef_", 0.0)) > 1:
        raise PairrankError(
            f"the {type(model).__name__} has {len(model.coef_)} targets, but a report is about one "
            "score: fit it with a single column of y"
        )
    with validation.names_matched():
        missing = get_tags(model).input_tags.allow_nan
        X = validation.check_features(model, X, reset=False, missing=missing)
    return Subject(getattr(model, "best_estimator_", model), X, names or feature_names(model))


def judged_rows(y: Any, n_rows: int, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return checked labels, or Pairs, and the checked queries and weights that are given."""
    labels = y if isinstance(y, Pairs) else validation.check_labels(y, n_rows)
    return labels, validation.check_aligned(given, n_rows)
