"""MultiTargetRanker: linear rankers of one target or several, of features or of a kernel."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Callback, FloatArray, Solution, Status
from pairrank.estimators._base import BaseRanker
from pairrank.estimators._descent import combined, progress_printer
from pairrank.estimators._holdout import Watch, row_scores
from pairrank.estimators._outcome import Held
from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs

_ASYMMETRY = 1e-8
_BLOCK_ENTRIES = 1 << 21


class MultiTargetRanker(BaseRanker):
    """A linear ranker whose labels are numbers, with weights for every column of them.

    Rows are features, of which a kernel may make others, or a precomputed kernel matrix.
    """

    graph = "full"
    n_pairs_: int
    verbose: int
    warm_start: bool
    _solves_in_kernel = True

    def predict(self, X: Any) -> FloatArray:
        """Return scores; higher ranks better.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
            With ``kernel="precomputed"`` k(rows, training rows), or a LinearOperator.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets), float64

        Raises
        ------
        ValueError
            If X is not finite, or has other features than the ranker was fitted on.

        Notes
        -----
        Costs O(n_rows n_features) a target, or O(non-zeros); with a kernel, a kernel value a row
        and landmark.
        """
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        if hasattr(self, "feature_map_"):
            scores: Callable[[FloatArray], FloatArray]
            scores = functools.partial(self.feature_map_.scores, X)
        else:
            scores = row_scores(X)
        if self.coef_.ndim == 1:
            return scores(self.coef_)
        return np.column_stack([scores(coef) for coef in self.coef_])

    def rank(self, X: Any, qid: Any = None) -> NDArray[np.int64]:
        """Return each row's position within its query, 1 = best; ties in the order of rows.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        qid : array-like of shape (n_rows,), optional
            Query identifiers; None: all rows are one query.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets), int64

        Notes
        -----
        Costs a prediction and O(m log m).
        """
        check_is_fitted(self)
        if self.coef_.ndim == 1:
            return super().rank(X, qid)
        return np.column_stack([self._of_target(coef).rank(X, qid) for coef in self.coef_])

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the pairwise accuracy of the scores, of several targets the mean.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs
        qid, sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
            The weighted part of preferences in the right order, tied scores counting half; NaN,
            with a warning, where there is no preference.

        Notes
        -----
        Costs a prediction and O(m log m).
        """
        check_is_fitted(self)
        rows = {"qid": qid, "sample_weight": sample_weight}
        if self.coef_.ndim == 1:
            return super().score(X, y, **rows)
        columns = columns_of(checked_targets(y))
        if len(columns) != len(self.coef_):
            raise PairrankError(f"y has {len(columns)} targets, the ranker {len(self.coef_)}")
        each = zip(self.coef_, columns, strict=True)
        return float(np.mean([self._of_target(w).score(X, column, **rows) for w, column in each]))

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that several targets are welcome too."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _of_target(self, coef: FloatArray) -> MultiTargetRanker:
        """Return a ranker of one target's weights."""
        single = copy.copy(self)
        single.coef_ = coef
        return single

    def _check_fit_input(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Any, NDArray[Any] | None, FloatArray | None]:
        """Validate what `fit` was given, before any work starts."""
        X = self._check_rows(X, reset=reset)
        n_rows = X.shape[0]
        if not isinstance(y, Pairs):
            y = checked_targets(y, n_rows)
        identifiers = validation.check_query_ids(qid, n_rows)
        return X, y, identifiers, validation.check_weights(sample_weight, n_rows)

    def _given(
        self, X_val: Any, y_val: Any, qid_val: Any, weight_val: Any, n_targets: int
    ) -> Held | None:
        """Check the validation rows that were given, if any."""
        if X_val is None and y_val is None:
            for name, rest in (("qid_val", qid_val), ("sample_weight_val", weight_val)):
                if rest is not None:
                    raise PairrankError(f"{name} is given without X_val and y_val")
            return None
        if X_val is None or y_val is None:
            missing, there = ("y_val", "X_val") if y_val is None else ("X_val", "y_val")
            raise PairrankError(f"{there} is given without {missing}")
        X_val, y_val, qid_val, weight_val = self._check_fit_input(
            X_val, y_val, qid_val, weight_val, reset=False
        )
        if len(columns_of(y_val)) not in (1, n_targets):
            raise PairrankError(f"y_val has {len(columns_of(y_val))} targets, but y {n_targets}")
        if isinstance(y_val, Pairs):
            y_val = y_val.bound(X_val.shape[0], ties=False)
        return Held(X_val, None, y_val, qid_val, weight_val, n_targets)

    def _solve_each(
        self,
        solve: Callable[..., Solution],
        targets: list[Any],
        starts: FloatArray | None,
        watches: list[Watch] | None,
        callback: Callback | None,
    ) -> list[Solution]:
        """Return `solve(labels, start, callback=)` of each target, up to one interrupted."""
        solutions: list[Solution] = []
        for at, target in enumerate(targets):
            watch = None if watches is None else watches[at]
            shown = combined(progress_printer(self.verbose, self.n_pairs_), watch, callback)
            start = None if starts is None else starts[at]
            solutions.append(solve(target, start, callback=shown))
            if solutions[-1].status is Status.INTERRUPTED:
                break
        return solutions

    def _starts(self, n_targets: int, n_features: int) -> FloatArray | None:
        """Return the previous weights, one row a target, where a fit is to go on from them."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coefs = np.atleast_2d(self.coef_)
        if coefs.shape != (n_targets, n_features):
            raise PairrankError(
                f"warm_start: coef_ is of {coefs.shape[0]} targets and {coefs.shape[1]} features, "
                f"but y has {n_targets} and X {n_features}"
            )
        return coefs

    def _check_rows(self, X: Any, *, reset: bool) -> Any:
        """Return checked rows; of a precomputed kernel its products alone will do."""
        if isinstance(X, LinearOperator):
            self._check_operator(X, reset=reset)
        else:
            X = validation.check_features(self, X, reset=reset)
        if self._is_precomputed and reset:
            _require_kernel_matrix(X)
        return X

    def _check_operator(self, X: LinearOperator, *, reset: bool) -> None:
        if not self._is_precomputed:
            raise PairrankError(
                "X is a LinearOperator, which shows no features: give it as the kernel matrix of "
                'the rows, with kernel="precomputed"'
            )
        if reset:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise PairrankError(
                f"X has {X.shape[1]} features (columns), but there were {self.n_features_in_} "
                "training rows: give k(rows, training rows)"
            )


def checked_targets(y: Any, n_rows: int | None = None) -> FloatArray:
    """Return labels as float64 of shape (n_rows,), or (n_rows, n_targets) where there are several.

    Raises a PairrankError where they are no finite numbers.
    """
    columns = validation.as_array(y, "y")
    if columns.ndim == 2 and columns.shape[1] > 1:
        each = [checked_targets(columns[:, at], n_rows) for at in range(columns.shape[1])]
        return np.column_stack(each)
    labels = validation.check_labels(y, n_rows)
    if labels.dtype.kind not in "biuf":
        raise PairrankError(
            "y holds text, but differences of labels need numbers: give each label its value"
        )
    return labels


def columns_of(y: Any) -> list[Any]:
    """Return each target's labels, (n_rows,); of Pairs None, their one target."""
    if isinstance(y, Pairs):
        return [None]
    return [y] if y.ndim == 1 else list(y.T)


def _require_kernel_matrix(K: Any) -> None:
    """Raise a PairrankError where a kernel matrix is not square or not symmetric; O(size)."""
    if K.shape[0] != K.shape[1]:
        raise PairrankError(
            f'kernel="precomputed" takes the square kernel matrix of the training rows, got shape '
            f"{K.shape}; give k(training, training) to fit, k(rows, training) to predict"
        )
    if isinstance(K, LinearOperator):
        return
    step = K.shape[0] if sparse.issparse(K) else max(1, _BLOCK_ENTRIES // max(1, K.shape[0]))
    gap = largest = 0.0
    for start in range(0, K.shape[0], max(1, step)):
        rows = slice(start, start + step)
        gap = max(gap, float(abs(K[rows] - K[:, rows].T).max()))
        largest = max(largest, float(abs(K[rows]).max()))
    allowed = _ASYMMETRY if K.dtype == np.float64 else 1e-4
    if gap > allowed * largest:
        kind = "sparse " if sparse.issparse(K) else ""
        raise PairrankError(
            f"the {kind}kernel matrix is not symmetric: two entries that should be equal differ "
            f"by {gap:g}; give (K + K')/2, or a symmetric kernel"
        )
