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


_ARRAYS = {
    "kernel_projection": ("f", "bw"),
    "kernel_eigenvalues": ("f", "w"),
    "kernel_landmarks": ("fi", "bp"),
    "kernel_landmarks_data": ("f", "e"),
    "kernel_landmarks_indices": ("i", "e"),
    "kernel_landmarks_indptr": ("i", "s"),
    "coef_": ("f", "tw"),
    "coef_cov_": ("f", "ww"),
    "standard_errors_": ("f", "w"),
    "flat_directions_": ("f", "kw"),
    "feature_importances_": ("f", "p"),
    "feature_names_in_": ("U", "p"),
    "feature_mean_": ("f", "p"),
    "feature_scale_": ("f", "p"),
    "parameters_": ("f", "n"),
    "limits_": ("f", "g2"),
    "limit_labels_": ("biufU", "g"),
    "limit_qid_": ("biufU", "g"),
    "rankings_features": ("i", "r"),
    "rankings_thresholds": ("f", "r"),
    "rankings_missing": ("f", "r"),
    "rankings_alphas": ("f", "r"),
}
"""The dtypes and the shape of each array: a letter per dimension, equal letters for equal sizes.
p: features, w: weights, t: targets, if there are several, g: groups of rows of one label, k: flat
directions, n: numbers of a network, b: landmarks, e: their stored values, s: b + 1, r: rounds."""

_MAY_BE_INFINITE = ("standard_errors_", "limits_", "rankings_thresholds")


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

    name = type(estimator).__name__
    if name not in RANKERS:
        raise PairrankError(f"a model file cannot hold a {name}: it knows {', '.join(RANKERS)}")
    check_is_fitted(estimator)
    params = {key: _packed(value) for key, value in estimator.get_params(deep=False).items()}
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
        _check_finite(key, array)
    return ModelRecord(name, params, arrays, info)


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
    if record.estimator not in RANKERS:
        raise FileFormatError(
            f"{path}: the model is a {record.estimator}, which this version of pairrank does not "
            "know; install a newer one"
        )
    kind, info = ranker_named(record.estimator), dict(record.info)
    columns, zero_based = info.pop(COLUMNS, {}), info.pop(_ZERO_BASED, None)
    try:
        known = isinstance(columns, dict) and all(isinstance(it, str) for it in columns.values())
        if not (known and isinstance(zero_based, bool | None)):
            raise ValueError("its columns are of a wrong type")
        params = {key: _unpacked(each) for key, each in record.params.items()}
        estimator = kind(**params)
        if hasattr(estimator, "graph"):
            as_graph(estimator.graph)
        estimator._check_parameters()
        _restore(estimator, info, record.arrays)
    except (TypeError, ValueError, LookupError, OverflowError, AttributeError) as error:
        raise FileFormatError(
            f"{path}: the fitted model is damaged: {error}; fetch it or train it again"
        ) from None
    return SavedRanker(estimator, columns, zero_based)


def _restore(estimator: Any, info: dict[str, Any], stored: Mapping[str, Any]) -> None:
    """Set the fitted attributes; raise an error if they are inconsistent."""
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
    arrays = {key: stored[key] for key in _ARRAYS if key in stored}
    for key, array in arrays.items():
        _check_array(key, array, sizes)
        if not key.startswith((_KERNEL, _RANKINGS)):
            is_names = key == "feature_names_in_"
            setattr(estimator, key, array.astype(object) if is_names else array)
    if _KERNEL in info:
        _restore_kernel(estimator, info[_KERNEL], _parts(arrays, _KERNEL))
    if estimator._learnt == _RANKINGS:
        _restore_rankings(estimator, _parts(arrays, _RANKINGS))
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


def _check_array(key: str, array: np.ndarray[Any, Any], sizes: dict[str, int]) -> None:
    """Raise a PairrankError if an array does not fit `_ARRAYS`; record new sizes."""
    kinds, letters = _ARRAYS[key]
    is_flat = array.ndim == 1 and (letters[0] == "t" or array.dtype.kind == "i")
    letters = letters.strip("tp") if is_flat and len(letters) == 2 else letters
    fits = array.dtype.kind in kinds and array.ndim == len(letters)
    if not fits or any(
        sizes.setdefault(letter, size) != size
        for letter, size in zip(letters, array.shape, strict=True)
    ):
        raise PairrankError(f"{key} is {array.dtype} of shape {array.shape}, which does not fit")
    _check_finite(key, array)


def _check_finite(key: str, array: np.ndarray[Any, Any]) -> None:
    if array.dtype.kind == "f":
        bad = np.isnan(array) if key in _MAY_BE_INFINITE else ~np.isfinite(array)
        if bad.any():
            raise PairrankError(f"{key} holds {array[bad][0]}, which a model file cannot hold")


def _restore_kernel(estimator: Any, params: Any, arrays: dict[str, Any]) -> None:
    """Set the fitted kernel, which checks its parameters and arrays."""
    estimator.kernel_ = Kernel.from_arrays(params, arrays)
    if estimator.kernel_.n_features_in_ != estimator.n_features_in_:
        raise PairrankError("its kernel is of another number of features")


def _restore_rankings(estimator: Any, arrays: dict[str, Any]) -> None:
    """Set the weak rankings after a check of their features and thresholds."""
    from pairrank.rank_boost.rankings import Rankings

    estimator.rankings_ = Rankings(**arrays)
    features = arrays["features"]
    if ((features < 0) | (features >= estimator.n_features_in_)).any():
        raise PairrankError("the features of its weak rankings are out of range")
    if (estimator.rankings_.thresholds == np.inf).any():
        raise PairrankError("a threshold of its weak rankings is infinite")


def _stored(values: Any) -> np.ndarray[Any, Any]:
    """Return an array for a file: numbers unchanged, names and identifiers as text."""
    array = np.asarray(values)
    return array if array.dtype.kind in "biuf" else array.astype(str)


def _packed(value: Any) -> Any:
    if isinstance(value, OrderGraph):
        return {"order_graph": [list(edge) for edge in value.edges]}
    for name, kind in _SETTINGS.items():
        if isinstance(value, kind):
            return {name: value.get_params(deep=False)}
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and "order_graph" in value:
        return OrderGraph([tuple(edge) for edge in value["order_graph"]])
    for name, kind in _SETTINGS.items():
        if isinstance(value, dict) and name in value:
            return kind(**value[name])
    return value
