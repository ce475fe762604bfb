"""export: write a linear ranker, or a Pipeline that ends with one, for another program"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import OrderChangeWarning, PairrankError
from pairrank.export.formats import FORMATS, Format, LinearModel, format_named
from pairrank.export.order_check import OrderCheck, check_order
from pairrank.io._streams import open_target
from pairrank.io.rows import numbered_names


def linear_model(model: Any, feature_names: Sequence[str] | None = None) -> LinearModel:
    """Return the weights of the raw features of a fitted ranker or Pipeline.

    Parameters
    ----------
    model : estimator
        A fitted linear ranker; a Pipeline of scalers (StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler), feature selectors and a linear ranker; or a search that found one of them.
    feature_names : sequence of str, optional
        One name per feature; None: the names that the model was fitted with, or else f1, f2, ...,
        as svmlight numbers features.

    Returns
    -------
    LinearModel

    Raises
    ------
    PairrankError
        If the model is not linear, has several targets, or a name is not usable.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from pairrank import RankRLS
    >>> model = make_pipeline(StandardScaler(), RankRLS()).fit([[0.0], [2.0], [4.0]], [0, 1, 2])
    >>> found = linear_model(model)
    >>> found.names, float(found.offset / found.weights[0])
    (['f1'], -2.0)
    """
    if isinstance(getattr(model, "best_estimator_", None), Pipeline):
        model = model.best_estimator_
    *transformers, ranker = _steps(model)
    if not hasattr(ranker, "linear_coef"):
        ranker = getattr(ranker, "best_estimator_", ranker)
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
    """Yield the steps of a model, those of nested Pipelines included."""
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _steps(step)
    else:
        yield model


def _standard(scaler: Any) -> tuple[Any, Any]:
    center = scaler.mean_ if scaler.with_mean else 0.0
    return center, scaler.scale_ if scaler.with_std else 1.0


def _min_max(scaler: Any) -> tuple[Any, Any]:
    return -scaler.min_ / scaler.scale_, 1.0 / scaler.scale_


def _max_abs(scaler: Any) -> tuple[Any, Any]:
    return 0.0, scaler.scale_


def _robust(scaler: Any) -> tuple[Any, Any]:
    center = scaler.center_ if scaler.with_centering else 0.0
    return center, scaler.scale_ if scaler.with_scaling else 1.0


_SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
}
"""The center and the scale of each feature: a scaler returns (x - center)/scale."""


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
    folded = weights / scale
    return folded, -float(np.sum(folded * center))


def _names(given: Sequence[str] | None, learnt: Any, n_features: int) -> list[str]:
    """Return the names of the features: given, learnt or numbered; checked."""
    if isinstance(given, str):
        raise PairrankError(f"feature_names is the text {given!r}: give a list of names")
    if given is not None:
        names = list(given)
    elif learnt is not None:
        names = [str(name) for name in learnt]
    else:
        return numbered_names(n_features)
    if len(names) != n_features:
        raise PairrankError(
            f"feature_names has {len(names)} names, but the model has {n_features} features: give "
            "one name per feature"
        )
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if not isinstance(name, str) or not _is_usable(name):
            raise PairrankError(
                f"feature_names[{number}] = {name!r} cannot be written: give text that is not "
                "empty, without NUL characters and half characters (surrogates)"
            )
        if first.setdefault(name, number) != number:
            raise PairrankError(
                f"features {first[name]} and {number} are both named {name!r}: rename one of them"
            )
    return names


def _is_usable(name: str) -> bool:
    """Whether a name is text that every format can hold."""
    return bool(name) and "\0" not in name and not any(0xD800 <= ord(c) < 0xE000 for c in name)


_REMEDY = (
    "; subtract a constant from features far from 0, in training and in the engine, or use a "
    "format that is computed in float64"
)


def export(
    model: Any,
    path: str | os.PathLike[str] | IO[bytes],
    format: str | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    name: str | None = None,
    check: tuple[Any, Any] | None = None,
) -> OrderCheck | None:
    """Write the weights of a linear ranker for a search engine, a database or a program.

    Scalers of a Pipeline are folded into the weights, so the file takes raw features. The offset
    that they cause is the same for all rows and does not change their order; "json", "sql",
    "python" and "onnx" keep it, the others have no place for it.

    Parameters
    ----------
    model : estimator
        A fitted linear ranker; a Pipeline of scalers (StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler), feature selectors and a linear ranker; or a search that found one of them.
    path : str, path-like or binary file object
        Written atomically; "-" is standard output, and .gz, .bz2 or .xz compress.
    format : str, optional
        - "elasticsearch", "opensearch": a `model/linear` definition, the body of
          ``POST _ltr/_featureset/SET/_createmodel``; SET needs features of these names, in this
          order.
        - "solr": a LinearModel for the model store.
        - "ranklib": a Coordinate Ascent model, which numbers features from 1.
        - "onnx": a graph of operator set 13 from float32 features to scores; needs
          ``pairrank[onnx]``.
        - "json": names, weights and offset; "csv": feature and weight per line.
        - "sql": an expression over columns, with identifiers quoted as in standard SQL.
        - "python": a module with a function that needs no library.

        None: by the file's suffix, where only one format has it.
    feature_names : sequence of str, optional
        One name per feature; None: the names that the model was fitted with, or else f1, f2, ...,
        as svmlight numbers features.
    name : str, optional
        The name of the model in a search engine, by default "pairrank".
    check : (X, qid), optional
        Rows on which the order of the exported scores is compared with that of the model. Search
        engines and ONNX compute in float32. qid may be None: one query.

    Returns
    -------
    OrderCheck or None
        What changes in the order of the rows in `check`; None without them.

    Raises
    ------
    PairrankError
        Before anything is written, if the model is not linear, the format is unknown or cannot
        hold it, or a name cannot be written.

    Warns
    -----
    OrderChangeWarning
        If the order of rows in `check` changes.

    Notes
    -----
    The check computes scores as the engine does, to the bit for "elasticsearch", "opensearch",
    "solr" and "ranklib"; ONNX runtimes may add in another order. It costs a prediction and
    O(m log m) for m rows.

    Examples
    --------
    >>> import io
    >>> from pairrank import RankRLS
    >>> X, file = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], io.BytesIO()
    >>> export(RankRLS().fit(X, [0, 1, 2]), file, "solr", check=(X, None)).n_changed
    0
    """
    format = format_named(format, path)
    how = FORMATS[format]
    if name is not None and not how.has_title:
        raise PairrankError(f"a model has no name in format {format!r}: leave out name")
    if feature_names is not None and not how.has_names:
        raise PairrankError(f"features have numbers in format {format!r}: leave out feature_names")
    from pairrank.export.exporting import linear_model  # slow to load, and FORMATS does not need it

    linear = linear_model(model, feature_names)
    if name is not None:
        linear = linear._replace(title=name)
    content = how.write(linear)
    result = None if check is None else _checked(model, linear, how, check)
    with open_target(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    if result is not None and result.changes:
        precision = how.arithmetic.precision
        remedy = _REMEDY if precision == "float32" else ""
        warnings.warn(
            f"format {format!r} is computed in {precision}: {result}{remedy}",
            OrderChangeWarning,
            stacklevel=2,
        )
    return result


def _checked(model: Any, linear: LinearModel, how: Format, check: Any) -> OrderCheck:
    """Compare the order of rows by the model and by the export."""
    if not isinstance(check, tuple) or len(check) != 2:
        raise PairrankError("check must be a tuple of two, (X, qid); qid may be None")
    X = validation.check_features(BaseEstimator(), check[0], reset=True)
    if X.shape[1] != linear.weights.size:
        raise PairrankError(
            f"check: X has {X.shape[1]} features, but the model {linear.weights.size}"
        )
    qid = validation.check_query_ids(check[1], X.shape[0])
    expected = np.asarray(model.predict(check[0]), dtype=np.float64)
    return check_order(expected, how.arithmetic.scores(X, linear.weights, linear.offset), qid)
