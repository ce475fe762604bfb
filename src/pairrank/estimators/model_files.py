"""Save fitted rankers to model files and load them; no code is stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pairrank.estimators import RANKERS, ranker_named
from pairrank.estimators.sgd import SGD
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io.model_file import ModelRecord, read_model, write_model
from pairrank.kernels import Kernel
from pairrank.preferences import OrderGraph, as_graph

_INFO: dict[str, type] = {
    **dict.fromkeys(["n_iter_", "n_pairs_", "n_features_in_", "n_edges_"], int),
    **dict.fromkeys(["n_rows_", "n_queries_", "n_ties_", "n_estimators_"], int),
    **dict.fromkeys(["objective_", "gap_", "lower_bound_", "C_", "epsilon_"], float),
    "status_": str,
}
"""Fitted attributes that are single values, and their types."""

COLUMNS = "columns"
"""The name of the columns by role among the information on the fit."""

_ZERO_BASED = "zero_based"

_KERNEL, _RANKINGS = "kernel_", "rankings_"
"""Attributes with arrays of their own, and the prefixes of the names of these arrays."""

_SETTINGS: dict[str, type[Any]] = {"kernel": Kernel, "sgd": SGD}
"""The parameters that are objects with parameters, by the name of their dictionary."""

_MOST_FEATURES = 2**31 - 1


class _ArraySpec(NamedTuple):
    """The dtype and shape that an array of a model file must have."""

    kinds: str
    shape: str
    """One letter per dimension, equal letters for equal sizes, "t" for optional targets."""
    finite: bool = True


_ARRAYS = {
    "kernel_projection": _ArraySpec("f", "bw"),
    "kernel_eigenvalues": _ArraySpec("f", "w"),
    "kernel_landmarks": _ArraySpec("f", "bp"),
    "kernel_landmarks_data": _ArraySpec("f", "e"),
    "kernel_landmarks_indices": _ArraySpec("i", "e"),
    "kernel_landmarks_indptr": _ArraySpec("i", "s"),
    "coef_": _ArraySpec("f", "tw"),
    "coef_cov_": _ArraySpec("f", "ww"),
    "standard_errors_": _ArraySpec("f", "w", finite=False),
    "flat_directions_": _ArraySpec("f", "kw"),
    "feature_importances_": _ArraySpec("f", "p"),
    "feature_names_in_": _ArraySpec("U", "p"),
    "feature_mean_": _ArraySpec("f", "p"),
    "feature_scale_": _ArraySpec("f", "p"),
    "parameters_": _ArraySpec("f", "n"),
    "limits_": _ArraySpec("f", "g2", finite=False),
    "limit_labels_": _ArraySpec("biufU", "g"),
    "limit_qid_": _ArraySpec("biufU", "g"),
    "rankings_features": _ArraySpec("i", "r"),
    "rankings_thresholds": _ArraySpec("f", "r", finite=False),
    "rankings_missing": _ArraySpec("f", "r"),
    "rankings_alphas": _ArraySpec("f", "r"),
}
"""p: features, w: weights, g: groups of rows of one label, k: flat directions, n: numbers of a
network, b: landmarks, e: their stored values, s: b + 1, r: rounds. Checked in this order."""


class SavedRanker(NamedTuple):
    """The content of a model file: a fitted ranker, and the columns of its training rows by role.

    A role is `label`, `qid` and so on. `zero_based` says whether svmlight text counted features
    from 0. A model that was not trained on such a file remembers no columns, and None.
    """

    estimator: Any
    columns: dict[str, str]
    zero_based: bool | None = None


def save_model(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    zero_based: bool | None = None,
) -> None:
    """Write a fitted ranker to a model file, whole or not at all; "-" is standard output.

    `columns` are the names of the training rows' columns by role, and `zero_based` says whether
    their svmlight text counted features from 0. The history of the fit is not kept; query
    identifiers that are not numbers become text. Raises a PairrankError if model files do not
    support the estimator, a parameter is code, or the weights are not finite.
    """
    record = record_of(estimator)
    info: dict[str, Any] = {COLUMNS: dict(columns)} if columns else {}
    info |= {_ZERO_BASED: zero_based} if zero_based is not None else {}
    write_model(path, record._replace(info=record.info | info))


def record_of(estimator: Any) -> ModelRecord:
    """Return what a model file holds of a fitted ranker; raises as `save_model`."""
    from sklearn.utils.validation import check_is_fitted

    name, params = unfitted_of(estimator)
    check_is_fitted(estimator)
    info = {key: getattr(estimator, key) for key in _INFO if hasattr(estimator, key)}
    given = {key: getattr(estimator, key) for key in _ARRAYS if hasattr(estimator, key)}
    if hasattr(estimator, _KERNEL):
        info[_KERNEL] = estimator.kernel_.saved_params()
        given |= {_KERNEL + key: array for key, array in estimator.kernel_.arrays().items()}
    if hasattr(estimator, _RANKINGS):
        parts = estimator.rankings_._asdict()
        given |= {_RANKINGS + key: array for key, array in parts.items()}
    arrays = {key: _stored(array) for key, array in given.items()}
    for key, array in arrays.items():
        _check_finite(key, array, _ARRAYS[key])
    return ModelRecord(name, params, arrays, info)


def unfitted_of(estimator: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of a ranker's class, and its parameters as JSON values."""
    name = type(estimator).__name__
    if name not in RANKERS:
        raise PairrankError(f"a model file cannot hold a {name}: it knows {', '.join(RANKERS)}")
    return name, {key: _packed(value) for key, value in estimator.get_params(deep=False).items()}


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a fitted ranker from a model file; "-" is standard input.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.

    Returns
    -------
    A ranker that predicts as the one saved did.

    Raises
    ------
    FileFormatError
        If the file is damaged, truncated, of another version or not a model file; if an array has a
        wrong dtype or shape, is not finite, or holds indices out of range.
    """
    return read_ranker(path).estimator


def read_ranker(path: str | os.PathLike[str]) -> SavedRanker:
    """Read a model file; see `load_model`."""
    return saved_of(read_model(path), path)


def saved_of(record: ModelRecord, path: Any) -> SavedRanker:
    """Return the ranker of a record; `path` is for messages. Raises as `load_model`."""
    estimator = unfitted_from(record.estimator, record.params, path)
    columns, zero_based = record.info.get(COLUMNS, {}), record.info.get(_ZERO_BASED)
    try:
        known = isinstance(columns, dict) and all(isinstance(it, str) for it in columns.values())
        if not (known and isinstance(zero_based, bool | None)):
            raise PairrankError("its columns are of a wrong type")
        _restore(estimator, record)
    except PairrankError as error:
        raise FileFormatError(
            f"{path}: the fitted model is damaged: {error}; fetch it or train it again"
        ) from None
    return SavedRanker(estimator, columns, zero_based)


def unfitted_from(name: str, params: dict[str, Any], path: Any) -> Any:
    """Return a new ranker of a class and parameters as `unfitted_of` gave them."""
    if name not in RANKERS:
        raise FileFormatError(
            f"{path}: the model is a {name}, which this version of pairrank does not "
            "know; install a newer one"
        )
    ranker = ranker_named(name)
    try:
        estimator = ranker(**{key: _unpacked(each) for key, each in params.items()})
        if hasattr(estimator, "graph"):
            as_graph(estimator.graph)
        estimator._check_parameters()
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as error:
        raise FileFormatError(f"{path}: the model's parameters do not fit: {error}") from None
    return estimator


def _restore(estimator: Any, record: ModelRecord) -> None:
    """Set the fitted attributes; raise a PairrankError if they are inconsistent."""
    info = record.info
    for key in _INFO.keys() & info.keys():
        if not _has_type(info[key], _INFO[key]):
            raise PairrankError(f"{key} is {str(info[key])[:40]!r}, of a wrong type")
        setattr(estimator, key, info[key])
    n_features = getattr(estimator, "n_features_in_", 0)
    if not 1 <= n_features <= _MOST_FEATURES:
        raise PairrankError(f"n_features_in_ is {n_features}")
    if (_KERNEL in info) != estimator._maps_features:
        raise PairrankError("the features of its kernel are missing, or not asked for")
    sizes = {"p": n_features, "2": 2} | ({} if _KERNEL in info else {"w": n_features})
    arrays = {key: record.arrays[key] for key in _ARRAYS if key in record.arrays}
    for key, array in arrays.items():
        is_number = key == "kernel_landmarks" and array.ndim == 1
        _check_array(key, array, _ArraySpec("i", "b") if is_number else _ARRAYS[key], sizes)
        if not key.startswith((_KERNEL, _RANKINGS)):
            is_names = key == "feature_names_in_"
            setattr(estimator, key, array.astype(object) if is_names else array)
    if _KERNEL in info:
        _restore_kernel(estimator, info[_KERNEL], _parts(arrays, _KERNEL), sizes)
    if estimator._learnt == _RANKINGS:
        _restore_rankings(estimator, _parts(arrays, _RANKINGS), n_features)
    elif not hasattr(estimator, estimator._learnt):
        raise PairrankError(f"{estimator._learnt} is missing")


def _parts(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays whose names have a prefix, by the rest of their names."""
    return {
        key.removeprefix(prefix): each for key, each in arrays.items() if key.startswith(prefix)
    }


def _has_type(value: Any, kind: type) -> bool:
    """Whether a JSON value has a type; an integer is also a float, a boolean is no integer."""
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, kind) or (kind is float and _has_type(value, int))


def _check_array(
    key: str, array: np.ndarray[Any, Any], form: _ArraySpec, sizes: dict[str, int]
) -> None:
    """Raise a PairrankError if an array does not fit its specification; record new sizes."""
    letters = form.shape[1:] if form.shape[0] == "t" and array.ndim == 1 else form.shape
    fits = array.dtype.kind in form.kinds and array.ndim == len(letters)
    if not fits or any(
        sizes.setdefault(letter, size) != size
        for letter, size in zip(letters, array.shape, strict=True)
    ):
        raise PairrankError(f"{key} is {array.dtype} of shape {array.shape}, which does not fit")
    _check_finite(key, array, form)


def _check_finite(key: str, array: np.ndarray[Any, Any], form: _ArraySpec) -> None:
    if array.dtype.kind == "f":
        bad = ~np.isfinite(array) if form.finite else np.isnan(array)
        if bad.any():
            raise PairrankError(f"{key} holds {array[bad][0]}, which a model file cannot hold")


def _restore_kernel(
    estimator: Any, params: Any, arrays: dict[str, Any], sizes: dict[str, int]
) -> None:
    """Set the fitted kernel after a check of its parameters and indices."""
    n_features = sizes["p"]
    if not isinstance(params, dict) or isinstance(params.get("gamma"), str):
        raise PairrankError("the parameters of its kernel are missing or of a wrong type")
    if not (_has_type(params.get("n_features"), int) and params["n_features"] == n_features):
        raise PairrankError("its kernel is of another number of features")
    landmarks = arrays.get("landmarks")
    if landmarks is not None and landmarks.ndim == 1 and not _in_range(landmarks, n_features):
        raise PairrankError("a landmark is no training row")
    if {"landmarks_data", "landmarks_indices", "landmarks_indptr"} <= set(arrays):
        start = arrays["landmarks_indptr"]
        ends = start.size >= 2 and start[0] == 0 and start[-1] == sizes["e"]
        if not ends or sizes.get("b") != start.size - 1 or (np.diff(start) < 0).any():
            raise PairrankError("the rows of its landmarks do not follow one another")
        if not _in_range(arrays["landmarks_indices"], n_features):
            raise PairrankError("a landmark has a feature that is out of range")
    try:
        estimator.kernel_ = Kernel.from_arrays(params, arrays)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise PairrankError(f"the kernel's features do not fit: {error}") from None


def _restore_rankings(estimator: Any, arrays: dict[str, Any], n_features: int) -> None:
    """Set the weak rankings after a check of their features and thresholds."""
    from pairrank.rank_boost.rankings import Rankings

    if missing := [name for name in Rankings._fields if name not in arrays]:
        raise PairrankError(f"the {missing[0]} of its weak rankings are missing")
    rankings = Rankings(**arrays)
    if not _in_range(rankings.features, n_features):
        raise PairrankError("a weak ranking has a feature that is out of range")
    if (rankings.thresholds == np.inf).any():
        raise PairrankError("a threshold of its weak rankings is infinite")
    estimator.rankings_ = rankings


def _in_range(indices: np.ndarray[Any, Any], size: int) -> bool:
    return not indices.size or bool(0 <= indices.min() <= indices.max() < size)


def _stored(values: Any) -> np.ndarray[Any, Any]:
    """Return an array for a file: numbers unchanged, names and identifiers as text."""
    array = np.asarray(values)
    return array if array.dtype.kind in "biuf" else array.astype(str)


def _packed(value: Any) -> Any:
    if isinstance(value, OrderGraph):
        return {"order_graph": [list(edge) for edge in value.edges]}
    for name, kind in _SETTINGS.items():
        if isinstance(value, kind):
            params = value.get_params(deep=False)
            return {name: {key: _packed(each) for key, each in params.items()}}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and "order_graph" in value:
        return OrderGraph([tuple(edge) for edge in value["order_graph"]])
    for name, kind in _SETTINGS.items():
        if isinstance(value, dict) and name in value:
            return kind(**value[name])
    return value
