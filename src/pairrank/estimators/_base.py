"""What every ranker shares: scores, positions, pairwise accuracy, and the checks before a fit."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Solution, Status
from pairrank.design import Design
from pairrank.estimators._outcome import warn_of_zero_weights
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels, Pairs, Preferences, as_graph

if TYPE_CHECKING:
    from pairrank.kernels import FeatureMap

FloatArray = NDArray[np.float64]


class BaseRanker(BaseEstimator):
    """A linear ranker: `coef_` gives scores; queries and row weights are routed by default."""

    __metadata_request__fit: ClassVar = {"qid": True, "sample_weight": True}
    __metadata_request__score: ClassVar = {"qid": True, "sample_weight": True}

    coef_: FloatArray
    feature_map_: FeatureMap
    graph: Any
    kernel: Any = None
    """Rankers that take kernels have it as a parameter."""
    random_state: Any
    _solves_in_kernel: ClassVar[bool] = False
    """Whether weights multiply a precomputed kernel matrix itself, not features made of it."""

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that sparse rows are welcome and a target is needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    def predict(self, X: Any) -> FloatArray:
        """Return scores; higher ranks better.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), float64

        Raises
        ------
        ValueError
            If X is not finite, or has other features than the ranker was fitted on.

        Notes
        -----
        Costs O(n_rows n_features), or O(non-zeros); with a kernel, a kernel value a row and
        landmark.
        """
        check_is_fitted(self)
        X = validation.check_features(self, X, reset=False)
        if hasattr(self, "feature_map_"):
            return self.feature_map_.scores(X, self.coef_)
        return Design(X).scores(self.coef_)

    def rank(self, X: Any, qid: Any = None) -> NDArray[np.int64]:
        """Return each row's position within its query, 1 = best; ties in the order of rows.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        qid : array-like of shape (n_rows,), optional
            Query identifiers; None: all rows are one query.

        Returns
        -------
        ndarray of shape (n_rows,), int64

        Notes
        -----
        Costs a prediction and O(m log m).
        """
        scores = self.predict(X)
        identifiers = validation.check_query_ids(qid, scores.size)
        layout = Levels.build(np.zeros(scores.size), identifiers)
        query = np.repeat(np.arange(layout.n_queries), np.diff(layout.query_start))
        order = np.lexsort((layout.row_of, -scores[layout.row_of], query))
        positions = np.empty(scores.size, dtype=np.int64)
        places = np.arange(scores.size) - layout.query_start[query] + 1
        positions[layout.row_of[order]] = places
        return positions

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the pairwise accuracy of the scores over the ranker's own order graph.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), or Pairs
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
        from pairrank.metrics import pairwise_accuracy

        scores = self.predict(X)
        return pairwise_accuracy(y, scores, qid=qid, sample_weight=sample_weight, graph=self.graph)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted ranker to a model file, which holds no code; see `load_model`."""
        from pairrank.estimators.model_files import save_model

        save_model(self, path)

    def _check_fit_input(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Any, NDArray[Any] | None, FloatArray | None]:
        """Validate what `fit` was given, before any work starts."""
        X = validation.check_features(self, X, reset=reset)
        n_rows = X.shape[0]
        if not isinstance(y, Pairs):
            y = validation.check_labels(y, n_rows)
        identifiers = validation.check_query_ids(qid, n_rows)
        return X, y, identifiers, validation.check_weights(sample_weight, n_rows)

    def _preferences(
        self,
        y: Any,
        qid: NDArray[Any] | None,
        sample_weight: FloatArray | None,
        n_rows: int,
        reduction: str,
    ) -> Preferences:
        """Return the scaled preferences to learn from; an error where there are none."""
        if isinstance(y, Pairs):
            if as_graph(self.graph) != "full":
                raise PairrankError("Pairs are preferences already: leave graph at its default")
            pairs = y.bound(n_rows, qid=qid, sample_weight=sample_weight, reduction=reduction)
            pairs.require_pairs()
            return pairs
        levels = Levels.build(y, qid, graph=self.graph, sample_weight=sample_weight)
        levels.require_pairs()
        levels = levels.reduced(reduction)
        return levels.compact() if getattr(self, "pair_sum", "auto") == "auto" else levels

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _maps_features(self) -> bool:
        return self.kernel is not None and not (self._solves_in_kernel and self._is_precomputed)

    def _check_kernel(self) -> None:
        """Check the kernel's parameters, where there are such."""
        if self._maps_features:
            self._feature_map(seed=0)

    def _feature_map(self, seed: Any) -> FeatureMap:
        """Return the kernel's features as the parameters ask for them, not yet fitted."""
        from pairrank.kernels import FeatureMap

        names = ("gamma", "degree", "coef0", "kernel_features", "n_components")
        options = {name: getattr(self, name) for name in names}
        return FeatureMap(self.kernel, **options, random_state=seed)

    def _learnt_features(self, X: Any) -> Any:
        """Return what the weights are to multiply, after learning the kernel's features, if any."""
        self.__dict__.pop("feature_map_", None)
        if not self._maps_features:
            return X
        feature_map = self._feature_map(self._seed())
        features = feature_map.fit_transform(X)
        self.feature_map_ = feature_map
        return features

    def _features(self, X: Any) -> Any:
        """Return what `coef_` multiplies: X itself, or the features of the kernel."""
        return self.feature_map_.transform(X) if hasattr(self, "feature_map_") else X

    def _seed(self) -> Any:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(2**31)
        validation.check_number(self.random_state, "random_state", inclusive=True, integer=True)
        return self.random_state

    def _keep(self, solution: Solution) -> None:
        """Set what a solver found as fitted attributes; warn where it did not converge."""
        if solution.status is Status.OVERFLOW:
            raise PairrankError(solution.status.value)
        self.coef_ = solution.coef
        self.n_iter_ = solution.n_iter
        self.status_ = solution.status.name.lower()
        self.history_ = solution.history
        self.objective_ = solution.history[-1].value if solution.history else float("nan")
        if not solution.status.ok:
            warnings.warn(solution.status.value, ConvergenceWarning, stacklevel=3)
        warn_of_zero_weights(self, solution.status)
