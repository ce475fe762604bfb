"""Searches over strengths on RowBlocks: one fit per value, judged by validation blocks."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray
from pairrank._validation import ALIGNED
from pairrank.blocks import RowBlocks, refuse_given
from pairrank.blocks._contracts import RowBlock
from pairrank.estimators._blocks import described, fit_on_passes
from pairrank.estimators._rows import columns_of
from pairrank.exceptions import PairrankError
from pairrank.model_selection._outcome import Predicted, adopt
from pairrank.model_selection.path import check_positive_values
from pairrank.model_selection.scorers import get_query_scorer, requested


def search_blocks(search: Any, given: Mapping[str, Any]) -> Any:
    """Fit a search on RowBlocks; `given` has the arguments of `fit` by name."""
    blocks, held = given["X"], given["X_val"]
    refuse_given(**{name: given[name] for name in ("y", *ALIGNED)})
    if not isinstance(held, RowBlocks):
        raise PairrankError(
            f"{type(search).__name__} judges values on validation rows where X is RowBlocks: pass "
            "them as X_val, RowBlocks too"
        )
    if search.cv is not None:
        raise PairrankError(
            f"cv={search.cv!r} cuts rows in memory into folds, but X is RowBlocks, which X_val "
            "judges: leave cv=None"
        )
    name = f"{search._strength}s"
    fits, scores = _path(search, blocks, held, check_positive_values(getattr(search, name), name))
    value = search._choose(scores[None], np.array(list(fits)))
    adopt(search, fits[value])
    search.__dict__.pop("feature_names_in_", None)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(search.best_estimator_, name):
            setattr(search, name, getattr(search.best_estimator_, name))
    return search


def _path(
    search: Any, blocks: RowBlocks, held: RowBlocks, grid: FloatArray
) -> tuple[dict[float, Any], FloatArray]:
    """Fit each value in ascending order, from the last solution; the fits share the first pass.

    A warm fit stops at a tenth of `tol`, because its start could already meet `tol`. The fits are
    by value; their scores on the validation blocks are (n_values, n_targets).
    """
    scorer = get_query_scorer(search._scoring_of(None))
    model = search._ranker()
    stated = {"warm_start": model.warm_start, "tol": model.tol}
    model.set_params(warm_start=True, tol=model.tol / 10)
    model._check_parameters()
    model._check_blocks()
    labels, passes = held.labels(), blocks._passes()
    _require_labels(labels)
    catalog = described(model, passes)
    fits, scores = {}, []
    for value in grid.tolist():
        model.set_params(**{search._strength: value})
        fit_on_passes(
            model, passes, catalog=catalog, raw_coef=blocks._raw_coef, own_coef=blocks._own_coef
        )
        if model.status_ == "interrupted":
            raise KeyboardInterrupt("the search was interrupted before its values were compared")
        scores.append(_judged(model, held, labels, scorer))
        fits[value] = copy.copy(model).set_params(**stated)
    return fits, np.array(scores)


def _judged(model: Any, held: RowBlocks, labels: RowBlock, scorer: Any) -> list[float]:
    """Return the score of each target on validation blocks."""
    given = {name: getattr(labels, name) for name in ALIGNED}
    asked = requested(scorer, {name: part for name, part in given.items() if part is not None})
    n_targets, targets = len(np.atleast_2d(model.coef_)), columns_of(labels.y)
    if n_targets == 1 == len(targets):
        return [float(scorer(model, held, labels.y, **asked))]
    if len(targets) not in (1, n_targets):
        raise PairrankError(f"X_val has {len(targets)} targets, but X {n_targets}")
    predicted = model.predict(held)
    return [
        float(scorer(Predicted(predicted[:, at]), held, targets[at % len(targets)], **asked))
        for at in range(n_targets)
    ]


def _require_labels(labels: RowBlock) -> None:
    if labels.y is None:
        raise PairrankError("X_val has no labels: name the label column of the validation blocks")
