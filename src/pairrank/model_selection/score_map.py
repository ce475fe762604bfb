"""ScoreMap: probabilities from scores, fitted as scikit-learn calibrates classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from pairrank._protocols import FloatArray


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

        Scores below 1 are scaled up by a power of 2, from 1 to 2^1000: scikit-learn's tolerances
        are for scores of about size 1.
        """
        exponent = int(np.clip(np.frexp(np.abs(scores).max())[1], -1000, 0))
        every, scores = np.arange(scores.size), np.ldexp(scores, -exponent)
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

    @property
    def is_valid(self) -> bool:
        """Whether the points are those of a map; for maps from files."""
        points = self.points
        if points.dtype != np.float64 or points.shape != (len(points), 2):
            return False
        if not np.isfinite(points).all():
            return False
        if self.method == "sigmoid":
            return len(points) == 1
        scores, shares = points.T
        rise = (np.diff(scores) > 0).all() and (np.diff(shares) >= 0).all()
        return len(points) > 0 and bool(rise and shares[0] >= 0.0 and shares[-1] <= 1.0)


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are scores already, so that only their calibration is learnt."""

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: FloatArray) -> NDArray[Any]:
        return self.classes_[(X[:, 0] > 0).astype(int)]

    def decision_function(self, X: FloatArray) -> FloatArray:
        return X[:, 0]
