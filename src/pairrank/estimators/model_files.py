"""Save fitted rankers to model files and load them again; no code is stored."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import ModelRecord, read_model, write_model
from pairrank.preferences import OrderGraph

ESTIMATORS = {
    "ConvexHullRanker": "pairrank.estimators.convex_hull",
    "MPRank": "pairrank.estimators.mp_rank",
    "PairwiseRanker": "pairrank.estimators.pairwise_ranker",
    "RankNCG": "pairrank.estimators.rank_ncg",
    "RankRLS": "pairrank.estimators.rank_rls",
    "RankSVM": "pairrank.estimators.rank_svm",
    "SVRank": "pairrank.estimators.sv_rank",
}
"""Where the class behind each name that a model file may hold is defined."""

_LIMITS = ("limits_", "limit_labels_", "limit_qid_")
_ARRAYS = ("coef_", "coef_cov_", "standard_errors_", "feature_names_in_", *_LIMITS)
_BOUNDS = ("lower_bound_", "n_edges_")
_INFO = ("n_iter_", "status_", "objective_", "gap_", "n_pairs_", "n_features_in_", *_BOUNDS)
_MAP = "feature_map_"
"""What the features of a kernel are called, and the arrays of theirs begin with."""


def save_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker to a model file, whole or not at all; "-" is standard output.

    The history of the fit is not kept; query identifiers that are no numbers are kept as text.

    Parameters
    ----------
    estimator : a fitted ranker
    path : str or path

    Raises
    ------
    PairrankError
        If the estimator is of a kind that model files do not know, or a parameter is code.
    FileAccessError
        If the place cannot be written.
    """
    from sklearn.utils.validation import check_is_fitted

    name = type(estimator).__name__
    if name not in ESTIMATORS:
        raise PairrankError(f"a model file cannot hold a {name}: it knows {', '.join(ESTIMATORS)}")
    check_is_fitted(estimator)
    params = {key: _packed(value) for key, value in estimator.get_params(deep=False).items()}
    arrays = {key: _stored(getattr(estimator, key)) for key in _ARRAYS if hasattr(estimator, key)}
    info = {key: getattr(estimator, key) for key in _INFO if hasattr(estimator, key)}
    if hasattr(estimator, _MAP):
        info[_MAP] = estimator.feature_map_.params()
        arrays |= {_MAP + key: array for key, array in estimator.feature_map_.arrays().items()}
    write_model(path, ModelRecord(name, params, arrays, info))


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
        If the file is damaged, cut, of a newer version or no model file.
    """
    record = read_model(path)
    if record.estimator not in ESTIMATORS:
        raise FileFormatError(
            f"{path}: the model is a {record.estimator}, which this version of pairrank does not "
            "know; install a newer one"
        )
    estimator_class = getattr(
        importlib.import_module(ESTIMATORS[record.estimator]), record.estimator
    )
    try:
        params = {key: _unpacked(value) for key, value in record.params.items()}
        estimator = estimator_class(**params)
    except (TypeError, KeyError, ValueError) as error:
        raise FileFormatError(f"{path}: the model's parameters do not fit: {error}") from None
    for key in _ARRAYS:
        if key in record.arrays:
            setattr(estimator, key, record.arrays[key])
    for key in _INFO:
        if key in record.info:
            setattr(estimator, key, record.info[key])
    if _MAP in record.info:
        _restore_map(estimator, record, path)
    _check_fitted(estimator, path)
    return estimator


def _restore_map(estimator: Any, record: ModelRecord, path: str | os.PathLike[str]) -> None:
    from pairrank.kernels import FeatureMap

    arrays = {
        key.removeprefix(_MAP): array
        for key, array in record.arrays.items()
        if key.startswith(_MAP)
    }
    try:
        estimator.feature_map_ = FeatureMap.from_arrays(record.info[_MAP], arrays)
    except (PairrankError, TypeError) as error:
        raise FileFormatError(f"{path}: the kernel's features are damaged: {error}") from None


def _check_fitted(estimator: Any, path: str | os.PathLike[str]) -> None:
    coef = getattr(estimator, "coef_", None)
    wanted = getattr(estimator, "n_features_in_", None)
    if wanted is not None and hasattr(estimator, _MAP):
        agree = wanted == estimator.feature_map_.n_features_in_
        wanted = estimator.feature_map_.n_components_ if agree else None
    if coef is None or coef.shape[-1] != wanted:
        raise FileFormatError(f"{path}: the model's weights are missing or of the wrong size")
    if "feature_names_in_" in vars(estimator):
        estimator.feature_names_in_ = estimator.feature_names_in_.astype(object)


def _stored(values: Any) -> np.ndarray[Any, Any]:
    """Return an array as a file can hold it: numbers as they are, names and identifiers as text."""
    array = np.asarray(values)
    return array if array.dtype.kind in "biuf" else array.astype(str)


def _packed(value: Any) -> Any:
    if isinstance(value, OrderGraph):
        return {"order_graph": [list(edge) for edge in value.edges]}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict) and "order_graph" in value:
        return OrderGraph([tuple(edge) for edge in value["order_graph"]])
    return value
