"""Weights of raw features from rankers and Pipelines: scalers and selectors are folded in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.export.formats import LinearModel
from pairrank.io.rows import numbered_names


def linear_model(model: Any, feature_names: Sequence[str] | None = None) -> LinearModel:
    """Return the weights of the raw features of a model that `export` takes."""
    *transformers, ranker = _steps(model)
    if not hasattr(ranker, "linear_coef"):
        kind = ranker if isinstance(ranker, str) else type(ranker).__name__
        raise PairrankError(
            f"cannot export a {kind}: take a fitted linear ranker of pairrank, or "
            "a Pipeline of scalers that ends with one"
        )
    check_is_fitted(model)
    weights = np.asarray(ranker.linear_coef(), dtype=np.float64)
    if weights.ndim > 1:
        raise PairrankError(
            f"the {type(ranker).__name__} has {len(weights)} targets, but an export has one score: "
            "fit it with a single column of y"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        offset = 0.0
        for step in reversed(transformers):
            weights, added = _folded(step, weights)
            offset += added
    names = _names(feature_names, getattr(model, "feature_names_in_", None), weights.size)
    if not (np.isfinite(weights).all() and np.isfinite(offset)):
        raise PairrankError(
            "the weights overflow when the scaler is folded into them: scale the features to "
            "similar size before the scaler"
        )
    return LinearModel(names, weights, offset, type(ranker).__name__)


def _steps(model: Any) -> Iterator[Any]:
    """Yield the steps of a model, those of nested Pipelines and searches included."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _steps(step)
    elif hasattr(model, "best_estimator_") and not hasattr(model, "linear_coef"):
        yield from _steps(model.best_estimator_)
    else:
        yield model


_SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: lambda it: (it.mean_ if it.with_mean else 0.0, it.scale_),
    MinMaxScaler: lambda it: (-it.min_ / it.scale_, 1.0 / it.scale_),
    MaxAbsScaler: lambda it: (0.0, it.scale_),
    RobustScaler: lambda it: (it.center_, it.scale_),
}
"""The center and the scale of each feature, or None: a scaler returns (x - center)/scale."""


def _folded(step: Any, weights: FloatArray) -> tuple[FloatArray, float]:
    """Return the weights of a step's input, and the offset, from those of its output."""
    if step is None or step == "passthrough":
        return weights, 0.0
    if isinstance(step, SelectorMixin):
        support = step.get_support()
        spread = np.zeros(support.size)
        spread[support] = weights
        return spread, 0.0
    if type(step) not in _SCALERS:
        known = ", ".join(scaler.__name__ for scaler in _SCALERS)
        raise PairrankError(
            f"the step {type(step).__name__} cannot be folded into weights: use {known} or a "
            "feature selector"
        )
    if getattr(step, "clip", False):
        raise PairrankError(
            f"{type(step).__name__}(clip=True) is not linear beyond the range of the training "
            "rows: fit it with clip=False"
        )
    center, scale = _SCALERS[type(step)](step)
    folded = weights if scale is None else weights / scale
    return folded, 0.0 if center is None else -float(np.sum(folded * center))


def _names(given: Sequence[str] | None, learnt: Any, n_features: int) -> list[str]:
    """Return the names of the features: given, learnt or numbered; checked."""
    if given is None and learnt is None:
        return numbered_names(n_features)
    names = list(map(str, learnt)) if given is None else list(given)
    if isinstance(given, str) or len(names) != n_features:
        raise PairrankError(
            f"feature_names has {len(names)} names, but the model has {n_features} features: give "
            "a list with one name per feature"
        )
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name or not name.isprintable():
            raise PairrankError(
                f"feature_names[{number}] = {name!r} cannot be written: give text of characters "
                "that can be printed"
            )
        if first.setdefault(name, number) != number:
            raise PairrankError(
                f"features {first[name]} and {number} are both named {name!r}: rename one of them"
            )
    return names
