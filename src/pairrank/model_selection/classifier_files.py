"""Save a `PairwiseClassifier` to a model file and load it; no code is stored."""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from pairrank.estimators.model_files import CLASSIFIER, record_of, saved_of
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io.model_file import ModelRecord, pack_model, read_model, unpack_model, write_model
from pairrank.model_selection.score_map import ScoreMap

_METHODS = ("sigmoid", "isotonic")


class SavedClassifier(NamedTuple):
    """What a file holds: the parameters, the fitted ranker, the classes and the map of scores."""

    params: dict[str, Any]
    ranker: Any
    classes: np.ndarray[Any, Any]
    score_map: ScoreMap


def save_classifier(classifier: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a model file; see `PairwiseClassifier.save`."""
    params = {name: getattr(classifier, name) for name in ("method", "cv", "random_state")}
    for name in ("cv", "random_state"):
        if not isinstance(params[name], Integral | None):
            raise PairrankError(
                f"a model file holds no code, such as {name}={params[name]!r}: set a number or "
                f"None by set_params({name}=...) before save"
            )
        params[name] = None if params[name] is None else int(params[name])
    classes = classifier.classes_
    if classes.dtype.kind == "O":
        if not all(isinstance(each, str) for each in classes):
            raise PairrankError("a model file holds classes that are text or numbers; rename them")
        classes = classes.astype(str)
    ranker = np.frombuffer(pack_model(record_of(classifier.ranker_)), dtype=np.uint8)
    arrays = {"ranker": ranker, "classes": classes, "points": classifier.score_map_.points}
    params["ranker"] = classifier.ranker is not None
    write_model(path, ModelRecord(CLASSIFIER, params, arrays, {}))


def load_classifier(path: str | os.PathLike[str]) -> SavedClassifier:
    """Return the content of a classifier's file; see `PairwiseClassifier.load`."""
    record = read_model(path)
    if record.estimator != CLASSIFIER:
        raise FileFormatError(f"{path}: the model is a {record.estimator}; use load_model")
    params, arrays = dict(record.params), record.arrays
    try:
        has_ranker, method = params.pop("ranker"), params["method"]
        packed, classes, points = (arrays[name] for name in ("ranker", "classes", "points"))
        wanted = {"method": str, "cv": int | None, "random_state": int | None}
        fits = params.keys() == wanted.keys() and method in _METHODS
        fits = fits and all(isinstance(params[name], wanted[name]) for name in wanted)
        fits = fits and isinstance(has_ranker, bool) and packed.dtype == np.uint8
        fits = fits and classes.shape == (2,) and classes[0] < classes[1]
        fits = fits and points.dtype == np.float64 and _are_points(method, points)
        if not fits:
            raise ValueError("its parts do not fit")
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"{path}: the classifier is damaged ({error}); fetch it or train it again"
        ) from None
    ranker = saved_of(unpack_model(packed.tobytes(), str(path)), path).estimator
    params["ranker"] = clone(ranker) if has_ranker else None
    return SavedClassifier(params, ranker, classes, ScoreMap(method, points))


def _are_points(method: str, points: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds the points of a map."""
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        return False
    if method == "sigmoid":
        return len(points) == 1
    scores, shares = points.T
    rise = (np.diff(scores) > 0).all() and (np.diff(shares) >= 0).all()
    return len(points) > 0 and bool(rise and shares[0] >= 0.0 and shares[-1] <= 1.0)
