"""ValidatedRanker: rankers that judge every iterate on validation rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairrank.design import Design
from pairrank.estimators._base import BaseRanker
from pairrank.exceptions import PairrankError

Validation = tuple[Any, Any, Any, Any]
"""X, y, qid and sample_weight of the validation rows; four None where there are none."""


class ValidatedRanker(BaseRanker):
    """A ranker whose `validation_scores_` are those of the iterates, over its own graph."""

    def _check_validation(
        self, X_val: Any, y_val: Any, qid_val: Any, weight_val: Any
    ) -> Validation:
        """Check the validation rows, if there are any; return them as `_validator` takes them."""
        self.__dict__.pop("validation_scores_", None)
        given = {
            "X_val": X_val,
            "y_val": y_val,
            "qid_val": qid_val,
            "sample_weight_val": weight_val,
        }
        there = [name for name, value in given.items() if value is not None]
        for needed in ("X_val", "y_val"):
            if there and needed not in there:
                raise PairrankError(
                    f"{there[0]} is given without {needed}: validation rows need both X_val and "
                    "y_val"
                )
        if not there:
            return None, None, None, None
        return self._check_fit_input(X_val, y_val, qid_val, weight_val, reset=False)

    def _validator(
        self, X_val: Any, y_val: Any, qid_val: Any, weights: Any
    ) -> Callable[[Any], object] | None:
        """Return a callback that scores every iterate on the validation rows."""
        if X_val is None:
            return None
        from pairrank.metrics import pairwise_accuracy

        design = Design(self._features(X_val))
        scores: list[float] = []

        def validate(step: Any) -> None:
            scores.append(
                pairwise_accuracy(
                    y_val,
                    design.scores(step.coef),
                    qid=qid_val,
                    sample_weight=weights,
                    graph=self.graph,
                )
            )
            self.validation_scores_ = np.array(scores)

        return validate
