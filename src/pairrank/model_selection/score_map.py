"""ScoreMap: probabilities from scores, fitted as scikit-learn calibrates classifiers; its file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV

from pairrank._protocols import FloatArray
from pairrank.estimators.model_files import CLASSIFIER, record_of, saved_of
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io.model_file import ModelRecord, pack_model, read_model, unpack_model, write_model


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The probability of the second class as a function of the score.

    "sigmoid" is 1/(1 + exp(a s + b)), and `points` holds the one row (a, b). "isotonic" is straight
    lines between points (score, probability), scores ascending, and constant beyond the ends.

    Examples
    --------
    >>> ScoreMap("isotonic", np.array([[0.0, 0.25], [2.0, 0.75]]))(np.array([-1.0, 1.0]))
    array([0.25, 0.5 ])
    """

    method: Literal["sigmoid", "isotonic"]
    points: FloatArray

    @classmethod
    def fit(
        cls,
        scores: FloatArray,
        codes: FloatArray,
        weight: FloatArray | None,
        method: Literal["sigmoid", "isotonic"],
    ) -> Self:
        """Return the map that fits classes, 0.0 or 1.0 for each score; O(m log m).

        Scores below 1 are scaled up: scikit-learn's tolerances are for scores of about that size.
        """
        every, exponent = np.arange(scores.size), _exponent_of(scores)
        scores = np.ldexp(scores, -exponent)
        calibrated = CalibratedClassifierCV(
            _GivenScores(), method=method, cv=[(every, every)], ensemble=False
        )
        calibrated.fit(scores[:, None], codes, weight)
        found = calibrated.calibrated_classifiers_[0].calibrators[0]
        if method == "sigmoid":
            slope = np.ldexp(np.float64(found.a_), -exponent)
            return cls(method, np.array([[slope, found.b_]], dtype=np.float64))
        ends = np.ldexp(found.X_thresholds_.astype(np.float64), exponent)
        points = np.column_stack((ends, found.y_thresholds_))
        return cls(method, points.astype(np.float64))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability of the second class at each score."""
        if self.method == "isotonic":
            return np.interp(scores, *self.points.T)
        slope, offset = self.points[0]
        return np.asarray(expit(-(slope * scores + offset)), dtype=np.float64)


def _exponent_of(scores: FloatArray) -> int:
    """Return the power of 2 next to the largest score, from -1000 to 0."""
    return int(np.clip(np.frexp(np.abs(scores).max())[1], -1000, 0))


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are scores already, so that only their calibration is learnt."""

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: FloatArray) -> NDArray[Any]:
        return self.classes_[(X[:, 0] > 0).astype(int)]

    def decision_function(self, X: FloatArray) -> FloatArray:
        return X[:, 0]


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
