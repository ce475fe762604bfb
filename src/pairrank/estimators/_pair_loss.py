"""PairLossRanker: the fit that rankers share whose loss sums over preferences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._protocols import Callback, FloatArray
from pairrank.estimators._descent import Method, combined, minimize, progress_printer
from pairrank.estimators._validated import ValidatedRanker
from pairrank.exceptions import PairrankError
from pairrank.objective import Problem
from pairrank.preferences import Preferences

REDUCTIONS = ("auto", "rows", "query", "sum")


class PairLossRanker(ValidatedRanker, ABC):
    """A ranker that minimises a smooth loss over every preference, and the squared norm.

    Its parameters are checked by `_check_parameters`, and make the problem by `_problem`.
    """

    reduction: str
    pair_sum: str
    solver: str
    tol: float
    max_iter: int
    warm_start: bool
    verbose: int

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        sample_weight_val: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the weights from every preference.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), or Pairs
            Labels (numbers, or text where `graph` is an OrderGraph), or explicit comparisons.
        qid : array-like of shape (n_rows,), optional
            Query identifiers, any hashable values in any order; None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        X_val, y_val, qid_val, sample_weight_val : optional
            Validation rows, for `validation_scores_`.
        callback : callable, optional
            Called with a `Step` after every iteration; returning True stops the fit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Before any work, if input is not finite, lengths differ, a parameter is out of range, or
            there is no preference to learn from.
        """
        self._check_parameters()
        X, y, identifiers, weights = self._check_fit_input(X, y, qid, sample_weight)
        self._check_beside(X, identifiers)
        checked_val = self._check_validation(X_val, y_val, qid_val, sample_weight_val)
        preferences = self._preferences(y, identifiers, weights, X.shape[0], self.reduction)
        n_pairs = preferences.n_pairs
        X = self._learnt_features(X)
        validate = self._validator(*checked_val)
        solution = minimize(
            self._problem(X, preferences),
            Method(self.solver, float(self.tol), int(self.max_iter), self._seed()),
            self._start(X.shape[1]),
            combined(progress_printer(self.verbose, n_pairs), validate, callback),
        )
        self._keep(solution)
        self.n_pairs_ = n_pairs
        self._conclude(X, preferences, identifiers, weights)
        return self

    def _check_parameters(self) -> None:
        """Check the parameters that all share; each ranker adds its own."""
        validation.check_choice(self.reduction, "reduction", REDUCTIONS)
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", inclusive=True, integer=True)
        self._check_kernel()

    @abstractmethod
    def _problem(self, X: Any, preferences: Preferences) -> Problem:
        """Return what the parameters ask for."""

    def _check_beside(self, X: Any, qid: NDArray[Any] | None) -> None:
        """Check what a ranker needs beside X and y."""

    def _conclude(
        self,
        X: Any,
        preferences: Preferences,
        qid: NDArray[Any] | None,
        sample_weight: FloatArray | None,
    ) -> None:
        """Set what a ranker offers beside the weights."""

    def _start(self, n_features: int) -> Any:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        if self.coef_.size != n_features:
            raise PairrankError(
                f"warm_start: coef_ has {self.coef_.size} features but X has {n_features}"
            )
        return self.coef_
