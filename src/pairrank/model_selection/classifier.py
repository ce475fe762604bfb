"""PairwiseClassifier: a ranker of two classes with calibrated probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils import column_or_1d, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Features, FloatArray
from pairrank._validation import ALIGNED
from pairrank.blocks import RowBlocks
from pairrank.estimators._base import Seed
from pairrank.estimators._docstrings import of_rows
from pairrank.estimators._rows import keep
from pairrank.estimators.rank_svm import RankSVM
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics._inputs import RowArguments, takes_rows
from pairrank.model_selection.splits import count_rows, matrix_part, splits_of


@dataclass(eq=False, repr=False)
class PairwiseClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of two classes: a ranker, and probabilities calibrated on its scores.

    The ranker learns that rows of the second class rank above those of the first one, so that it
    maximises what the area under the ROC curve measures. A sigmoid or isotonic function, as in
    scikit-learn's `CalibratedClassifierCV`, then maps scores to probabilities. It is fitted to the
    scores of rows that were left out in turn, and the ranker is fitted once more on all rows.

    Parameters
    ----------
    ranker : estimator or None, default None
        A ranker, or a Pipeline that ends in one; None is `RankSVM()`.
    method : "sigmoid" or "isotonic", default "sigmoid"
        The function from scores to probabilities. "isotonic" needs about a thousand rows.
    cv : int, splitter or iterable of (training rows, test rows), optional
        The folds whose scores are calibrated; an int (None: 5) means folds of whole queries if
        there is a qid, else folds of rows with all labels.
    random_state : int, RandomState or None, default None
        Seeds folds of rows; None is a fixed seed. The ranker has a random_state of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes in ascending order; rows of the second one should rank higher.
    ranker_ : estimator
        The ranker fitted on all rows; its `decision_function` returns scores.
    calibrator_ : CalibratedClassifierCV
        scikit-learn's classifier of one feature, the score; it has the probabilities.
    n_features_in_ : int
        The number of features of X, where the ranker knows it.
    feature_names_in_ : ndarray of str
        Their names, where X had names.

    Notes
    -----
    Costs n_folds + 1 fits of the ranker and O(m log m) for m rows. With queries, the scores of all
    queries share one map, so a probability is useful only if scores of different queries compare.
    Folds whose training rows hold no pair are left out.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines", 1999; B. Zadrozny and C. Elkan,
    "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, ["bad", "bad", "good", "good"] * 5
    >>> classifier = PairwiseClassifier().fit(X, y)
    >>> classifier.predict([[0.5], [2.5]]), classifier.predict_proba([[3.0]]).round(1)
    (array(['bad', 'good'], dtype='<U4'), array([[0., 1.]]))
    """

    __metadata_request__fit: ClassVar = dict.fromkeys(ALIGNED, True)
    __metadata_request__score: ClassVar = {"sample_weight": True}

    ranker: Any = None
    _: KW_ONLY
    method: Literal["sigmoid", "isotonic"] = "sigmoid"
    cv: Any = None
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there are two classes, and which input the ranker takes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self._ranker()).input_tags
        return tags

    @of_rows
    @takes_rows("")
    def fit(
        self,
        X: Features,
        y: ArrayLike | None = None,
        **rows_by_name: Unpack[RowArguments],
    ) -> Self:
        """Learn to rank the second class above the first one, and calibrate probabilities.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes, of any type.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If y has one class, or more than two; if a class has so few rows that none of them can
            be left out; or if the ranker refuses its input.
        """
        validation.check_choices(self)
        if isinstance(X, RowBlocks):
            raise PairrankError(
                "PairwiseClassifier calibrates left-out scores of rows in memory, so it cannot "
                "learn from RowBlocks: fit the ranker on them, and calibrate it on a sample"
            )
        (X,) = indexable(X)
        n_rows = count_rows(X)
        rows = validation.check_aligned(rows_by_name, n_rows)
        weight = rows.get("sample_weight", np.ones(n_rows))
        self.classes_, codes = _two_classes(y, n_rows, weight)
        self.ranker_ = self._ranker().fit(X, codes, **rows)
        for name in ("n_features_in_", "feature_names_in_"):
            keep(self, **{name: getattr(self.ranker_, name, None)})
        scores = self._left_out_scores(X, codes, rows)
        known = np.isfinite(scores) & (weight > 0)
        if np.unique(codes[known]).size < 2:
            raise NoPairsError(
                "no fold left out rows of both classes and kept some to learn from: give more rows "
                "(with qid, more queries that hold both), or another cv"
            )
        every = np.arange(np.count_nonzero(known))
        self.calibrator_ = CalibratedClassifierCV(
            _GivenScores(), method=self.method, cv=[(every, every)], ensemble=False
        )
        self.calibrator_.fit(scores[known, None], codes[known], weight[known])
        return self

    def predict_proba(self, X: Features) -> FloatArray:
        """Return the probabilities of the two classes.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, 2)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self.calibrator_.predict_proba(_scores(self.ranker_, X)[:, None])

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the more probable class of each row; the first one at equal probabilities.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        codes = self.calibrator_.predict(_scores(self.ranker_, X)[:, None])
        return self.classes_[codes.astype(int)]

    def _ranker(self) -> Any:
        """Return a new ranker."""
        return RankSVM() if self.ranker is None else clone(self.ranker)

    def _left_out_scores(self, X: Any, codes: FloatArray, rows: dict[str, Any]) -> FloatArray:
        """Return each row's score by a ranker that did not see it; NaN where there is none."""
        scores, ranker = np.full(codes.size, np.nan), self._ranker()
        shape, is_kernel = np.empty((codes.size, 0)), get_tags(ranker).input_tags.pairwise
        for train, test in splits_of(self.cv, shape, codes, rows.get("qid"), self.random_state):
            part = {name: each[train] for name, each in rows.items()}
            columns = train if is_kernel else None
            try:
                model = clone(ranker).fit(matrix_part(X, train, columns), codes[train], **part)
            except NoPairsError:
                continue
            scores[test] = _scores(model, matrix_part(X, test, columns))
        return scores


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier of one feature that is a score already, so that only calibration is learnt.

    Scores below 1 are scaled up by a power of 2, from 1 to 2^1000: scikit-learn's tolerances are
    for scores of about size 1.
    """

    __metadata_request__fit: ClassVar = {"sample_weight": True}

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        self.exponent_ = int(np.clip(np.frexp(np.abs(X).max())[1], -1000, 0))
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        return np.ldexp(X[:, 0], -self.exponent_)

    predict = decision_function
    """Asked for, but not used: calibration takes the scores."""


def _scores(ranker: Any, X: Any) -> FloatArray:
    """Return scores; a Pipeline or a search without `decision_function` predicts them."""
    method = getattr(ranker, "decision_function", None) or ranker.predict
    return np.asarray(method(X), dtype=np.float64)


def _two_classes(y: Any, n_rows: int, weight: FloatArray) -> tuple[NDArray[Any], FloatArray]:
    """Return the two classes in ascending order, and 0.0 or 1.0 for each row."""
    if y is None:
        raise PairrankError("classification requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    validation.check_labels(labels, n_rows)
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size > 2:
        with np.errstate(invalid="ignore"):
            check_classification_targets(labels)
        raise PairrankError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}: wrap the classifier in "
            "sklearn.multiclass.OneVsRestClassifier, or rank the classes in their order"
        )
    if np.unique(codes[weight > 0]).size < 2:
        raise PairrankError("y holds one class only: give rows of two classes")
    return classes, codes.astype(np.float64)
