"""Rankers of numeric labels with one or several targets, and losses of their differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pairrank import _validation as validation
from pairrank import threads
from pairrank._arrays import as_array
from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes
from pairrank.estimators._base import BaseRanker
from pairrank.estimators._descent import Method
from pairrank.estimators._differences import minimizer
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._rows import Rows, columns_of
from pairrank.exceptions import PairrankError
from pairrank.kernels import require_square
from pairrank.losses import Square, Tube
from pairrank.objective import Problem
from pairrank.objective.normal_equations import block_rows
from pairrank.preferences import Differences, Pairs
from pairrank.preferences.roles import OF_DIFFERENCES

_ASYMMETRY = 1e-8
_LARGEST = 1e150
"""The squared difference of two such labels is 4e300: ten million of them can be summed."""


class TargetsMixin(BaseRanker):
    """A ranker that learns the weights of each column of labels from rows or a kernel matrix.

    Parameters
    ----------
    validation_metric : str or None, default None
        The metric that judges the validation rows at each iteration, such as "ndcg@10" (see
        `pairrank.model_selection.get_query_scorer`). None is pairwise accuracy, the mean over
        queries, of Pairs over all comparisons: 1 less the ranking error (Eq. 1 of Airola et al.
        2010; of Pairs Eq. 2 over their number).

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features), float64
        The weights; with a kernel, those of its features. Where a "precomputed" kernel matrix is
        solved as it is (not by SVRank or n = 1): dual coefficients, one per training row.
    n_pairs_ : int
        The number of differences, n^2 in a query of n rows, or of comparisons.
    n_features_in_, feature_names_in_
    """

    _role_refusal, _solves_kernels = OF_DIFFERENCES, True
    graph = "full"
    _least_iterations = 1

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several targets are accepted too."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_rows(self, X: Any, y: Any, layout: Mapping[str, Any], *, reset: bool = True) -> Rows:
        rows = super()._check_rows(X, y, layout, reset=reset)
        if isinstance(rows.y, Pairs):
            if rows.y.magnitude is not None:
                _check_size(rows.y.magnitude, "magnitude")
            return rows._replace(y=rows.y.bound(rows.X.shape[0], ties=False))
        return rows

    def _accuracy(self, held: Rows) -> str:
        name = super()._accuracy(held)
        return name if isinstance(held.y, Pairs) else f"{name}:average=queries"

    def _check_y(self, y: Any, n_rows: int | None) -> FloatArray:
        return checked_targets(y, n_rows)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        X = validation.check_features(self, X, reset=reset)
        if self._is_precomputed and reset:
            _require_kernel_matrix(X)
        return X


@ranker
class DifferenceRanker(TargetsMixin, SolvedRanker, ABC):
    r"""A ranker that minimises penalty/2 \|w\|^2 + C_ (or 1) times a loss of all differences.

    Attributes
    ----------
    validation_scores_ : ndarray of shape (n_iter_ + 1,) or (n_targets, n_iter_ + 1)
        The metric on the validation rows at each iteration, where there are such rows; an error or
        a cost is negated. NaN after the last iteration of a target.
    gap_, kernel_
    """

    _: KW_ONLY
    solver: str = "auto"
    warm_start: bool = False

    _mean_cost: ClassVar[bool] = False
    """Whether a query counts by its mean cost, not by the sum over its rows."""

    @property
    def _penalty(self) -> float:
        """Twice the factor of the squared norm."""
        return 2.0

    @abstractmethod
    def _loss(self) -> Square | Tube:
        """Return the cost of a difference."""

    def _method(self) -> Method:
        return Method(self.solver, float(self.tol), int(self.max_iter), self._seed())

    def _preferences(self, rows: Rows) -> Differences | Pairs:
        if isinstance(rows.y, Pairs):
            pairs = rows.y.bound(rows.X.shape[0], ties=False, **rows.layout)
            pairs.require_pairs()
            return pairs
        columns = columns_of(rows.y)
        differences = Differences.build(columns[0], **rows.layout)
        differences.require_pairs(columns)
        return differences

    def _solver_of(self, rows: Rows, features: Any, preferences: Differences | Pairs) -> Solve:
        is_kernel = self._is_precomputed and not self._maps_features
        problem = Problem(features, preferences, self._loss(), self._penalty, is_kernel=is_kernel)
        return minimizer(problem, self._method())

    def _prepare_blocks(self, passes: Passes, catalog: Any) -> Any:
        from pairrank.blocks.differences import prepare_differences

        return prepare_differences(passes, catalog, self._loss(), mean_cost=self._mean_cost)

    def _block_solver(self, passes: Passes, prepared: Any) -> Solve:
        from pairrank.blocks.problem import BlockProblem

        factor = getattr(self, "C_", 1.0)
        problem = BlockProblem(passes, prepared, self._loss(), self._penalty, factor)
        return minimizer(problem, self._method())


def checked_targets(y: Any, n_rows: int | None = None) -> FloatArray:
    """Return finite labels as float64 of shape (n_rows,) or, if several, (n_rows, n_targets)."""
    columns = as_array(y, "y")
    if columns.ndim == 2 and columns.shape[1] > 1:
        each = [checked_targets(columns[:, at], n_rows) for at in range(columns.shape[1])]
        return np.column_stack(each)
    labels = validation.check_labels(y, n_rows)
    if labels.dtype.kind not in "biuf":
        raise PairrankError(
            "y holds text, but differences of labels need numbers: replace each label by its value"
        )
    _check_size(labels, "y")
    return labels


def _check_size(values: FloatArray, name: str) -> None:
    """Raise a PairrankError where the squares of differences of values could overflow."""
    size = np.abs(values)
    if size.max(initial=0.0) > _LARGEST:
        row = int(size.argmax())
        raise PairrankError(
            f"{name}[{row}] = {values[row]:g} is too large, because differences are squared: scale "
            f"the values of {name} to at most {_LARGEST:g}"
        )


def _require_kernel_matrix(K: Any) -> None:
    """Raise a PairrankError where a kernel matrix is not square or not symmetric; O(size)."""
    require_square(K)
    size = K.shape[0]
    gap = largest = 0.0
    for rows in threads.blocks(size, size if sparse.issparse(K) else block_rows(size)):
        gap = max(gap, float(abs(K[rows] - K[:, rows].T).max()))
        largest = max(largest, float(abs(K[rows]).max()))
    allowed = _ASYMMETRY if K.dtype == np.float64 else 1e-4
    if gap > allowed * largest:
        kind = "sparse " if sparse.issparse(K) else ""
        raise PairrankError(
            f"the {kind}kernel matrix is not symmetric: two entries that should be equal differ "
            f"by {gap:g}; pass (K + K')/2, or a symmetric kernel"
        )
