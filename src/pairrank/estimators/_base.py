"""BaseRanker: predict, rank, score, save, export, and the validation of input, for every ranker."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Features, FloatArray
from pairrank._validation import ALIGNED
from pairrank.blocks import RowBlocks, refuse_given
from pairrank.estimators._docstrings import of_rows
from pairrank.estimators._rows import (
    Rows,
    are_given,
    columns_of,
    row_scores,
)
from pairrank.exceptions import PairrankError
from pairrank.kernels import Kernel
from pairrank.metrics._inputs import RowArguments, takes_rows
from pairrank.preferences import OrderGraph, Pairs, refuse_roles
from pairrank.preferences._codes import query_codes
from pairrank.preferences.roles import ROLES

Graph = Literal["full", "chain"] | OrderGraph
AnyKernel = (
    Literal["linear", "rbf", "poly", "precomputed"] | Callable[[Any, Any], Any] | Kernel | None
)
Seed = int | np.random.RandomState | None


class BaseRanker(BaseEstimator):
    """A linear ranker with weights `coef_`; queries and row weights are routed by default."""

    _learnt: ClassVar[str] = "coef_"
    """The attribute that holds what a fit has learnt."""
    _role_refusal: ClassVar[str] = ""
    """Why the loss knows no weights by role; "" if it does. Scores take them in any case."""
    _learns_pairs: ClassVar[bool] = True
    """Whether it also learns from explicit comparisons."""
    _strength: ClassVar[str] = "C"
    """The weight of the loss or of the penalty, which searches choose."""
    _searched: ClassVar[tuple[float, ...]] = tuple(2.0**power for power in range(-15, 11))
    """The values that they try; C = 2^-15 .. 2^10 is the search of Lee & Lin 2014, Section 4.4."""
    _solves_kernels: Any = False
    """Whether a precomputed kernel matrix is solved as it is; else it becomes features."""

    __metadata_request__fit: ClassVar = dict.fromkeys(ALIGNED, True)
    __metadata_request__score: ClassVar = dict.fromkeys(ALIGNED, True)

    kernel: Any = None
    """A parameter of the rankers that take kernels."""
    warm_start: bool = False

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse rows are accepted and a target is needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @of_rows
    def predict(self, X: Features | RowBlocks) -> FloatArray:
        """Return scores; higher ranks better.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets), float64

        Notes
        -----
        Costs O(n_rows n_features) per target, or O(non-zeros); with a kernel, one kernel value per
        row and landmark.
        """
        check_is_fitted(self)
        if isinstance(X, RowBlocks):
            return X._scored(self, labelled=False)[0]
        return self._scores(self._check_X(X, reset=False))

    def _scores(self, X: Any) -> FloatArray:
        """Return the scores of checked rows."""
        scores: Callable[[FloatArray], FloatArray] = row_scores(X)
        if hasattr(self, "kernel_"):
            scores = functools.partial(self.kernel_.scores, X)
        if self.coef_.ndim == 1:
            return scores(self.coef_)
        return np.column_stack([scores(coef) for coef in self.coef_])

    @of_rows
    def decision_function(self, X: Features | RowBlocks) -> FloatArray:
        """Return the scores of `predict`, by the name under which scikit-learn's scorers ask.

        So ``scoring="roc_auc"`` and ``"average_precision"`` judge a ranker of binary labels.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets), float64
        """
        return self.predict(X)

    @of_rows
    def rank(self, X: Features | RowBlocks, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row within its query, 1 = best; ties in row order.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets), int64

        Notes
        -----
        Costs a prediction and O(m log m) for m rows.
        """
        check_is_fitted(self)
        if isinstance(X, RowBlocks):
            refuse_given(qid=qid)
            scores, rows = X._scored(self)
            qid = rows.qid
        else:
            scores = self.predict(X)
            qid = validation.check_query_ids(qid, len(scores))
        if scores.ndim == 1:
            return _positions(scores, qid)
        return np.column_stack([_positions(each, qid) for each in scores.T])

    @of_rows
    @takes_rows("")
    def score(
        self,
        X: Features | RowBlocks,
        y: ArrayLike | Pairs | None = None,
        **rows: Unpack[RowArguments],
    ) -> float:
        """Return the pairwise accuracy of the scores over the ranker's own order graph.

        Returns
        -------
        float
            The weighted share of preferences in the right order, where a tied score counts half;
            with several targets, their mean. NaN, with a warning, where there is no preference.

        Notes
        -----
        Costs a prediction and O(m log m) for m rows.
        """
        labels: Any = y
        given: dict[str, Any] = {**rows}
        from pairrank.metrics import pairwise_accuracy

        check_is_fitted(self)
        if isinstance(X, RowBlocks):
            refuse_given(y=y, **rows)
            scores, found = X._scored(self)
            labels, given = found.y, {name: getattr(found, name) for name in ALIGNED}
        else:
            scores = self.predict(X)
        columns = [labels] if scores.ndim == 1 else columns_of(self._check_y(labels, None))
        each = np.atleast_2d(scores.T)
        if len(columns) != len(each):
            raise PairrankError(f"y has {len(columns)} targets, the ranker {len(each)}")
        pairs = zip(columns, each, strict=True)
        return float(
            np.mean([pairwise_accuracy(*pair, graph=self.graph, **given) for pair in pairs])
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted ranker to a model file, which holds no code; see `load_model`."""
        from pairrank.estimators.model_files import save_model

        save_model(self, path)

    def export(
        self, path: str | os.PathLike[str], format: str | None = None, **options: Any
    ) -> Any:
        """Write the weights for a search engine or a program; see `pairrank.export.export`."""
        from pairrank.export import export

        return export(self, path, format, **options)

    def linear_coef(self) -> FloatArray:
        """Return the weights of the features of X, (n_features,) or (n_targets, n_features).

        Raises a PairrankError if scores are not linear in the features, as with a kernel.
        """
        check_is_fitted(self)
        if not self._is_linear:
            raise PairrankError(
                f"the scores of {type(self).__name__}(kernel={self.kernel!r}) are not linear in "
                "the features: fit it with kernel=None"
            )
        return self.coef_

    def _check_rows(self, X: Any, y: Any, layout: Mapping[str, Any], *, reset: bool = True) -> Rows:
        """Validate rows and their `ALIGNED` arguments by name, before any work starts.

        `reset` is True for training rows, whose weights by role some losses refuse.
        """
        if isinstance(X, RowBlocks):
            raise PairrankError(
                f"{type(self).__name__} cannot learn from RowBlocks: give it rows in memory, or "
                "take RankSVM, RankNCG or another linear ranker, whose strengths "
                "regularization_path tries on validation blocks"
            )
        if y is None:
            raise PairrankError(
                "y is None: ranking requires y to be passed, but the target y is None (only "
                "RowBlocks hold labels themselves)"
            )
        if reset and self._role_refusal:
            winner_weight, loser_weight = map(layout.get, ROLES)
            refuse_roles(winner_weight, loser_weight, self._role_refusal)
        X = self._check_X(X, reset=reset)
        n_rows = X.shape[0]
        if not isinstance(y, Pairs):
            y = self._check_y(y, n_rows)
        return Rows(X, y, **validation.check_aligned(layout, n_rows))

    def _check_held(self, X: Any, y: Any, layout: dict[str, Any], n_targets: int) -> Rows | None:
        """Check the validation rows that were given, if any."""
        if isinstance(X, RowBlocks):
            raise PairrankError(
                "X_val is RowBlocks, but X is not: give both as RowBlocks, or X_val and y_val in "
                "memory"
            )
        if not are_given(X, y, layout):
            return None
        rows = self._check_rows(X, y, layout, reset=False)
        n_held = len(columns_of(rows.y))
        if n_held not in (1, n_targets):
            raise PairrankError(f"y_val has {n_held} targets, but y {n_targets}")
        return rows

    def _accuracy(self, held: Rows) -> str:
        """Return the metric that judges where `validation_metric` is None."""
        return "pairwise_accuracy"

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        return validation.check_features(self, X, reset=reset)

    def _check_y(self, y: Any, n_rows: int | None) -> NDArray[Any]:
        return validation.check_labels(y, n_rows)

    @property
    def _kernel(self) -> Kernel:
        """The kernel with its settings."""
        return self.kernel if isinstance(self.kernel, Kernel) else Kernel(self.kernel)

    @property
    def _is_precomputed(self) -> bool:
        return self._kernel.is_precomputed

    @property
    def _is_linear(self) -> bool:
        return self.kernel is None or (isinstance(self.kernel, str) and self.kernel == "linear")

    @property
    def _maps_features(self) -> bool:
        """Whether weights multiply features of a kernel, not X itself."""
        return not (self._is_linear or (self._is_precomputed and self._solves_kernels))

    def _learnt_features(self, X: Any) -> Any:
        """Learn the kernel's features, if any; return what the weights multiply."""
        self.__dict__.pop("kernel_", None)
        if not self._maps_features:
            return X
        kernel = clone(self._kernel)
        if kernel.random_state is None:
            kernel.random_state = self._seed()
        features = kernel.fit_transform(X)
        self.kernel_ = kernel
        return features

    def _features(self, X: Any) -> Any:
        """Return what `coef_` multiplies: X itself, or the features of the kernel."""
        return self.kernel_.transform(X) if hasattr(self, "kernel_") else X

    def _seed(self) -> Any:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(2**31)
        validation.check_number(self.random_state, "random_state", inclusive=True, integer=True)
        return self.random_state


def _positions(scores: FloatArray, qid: NDArray[Any] | None) -> NDArray[np.int64]:
    """Return the position of each row within its query by one score per row, 1 = best."""
    codes = np.zeros(scores.size, dtype=np.int32) if qid is None else query_codes(qid)[1]
    order = np.lexsort((-scores, codes))
    sizes = np.bincount(codes)
    positions = np.empty(scores.size, dtype=np.int64)
    positions[order] = np.arange(scores.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return positions
