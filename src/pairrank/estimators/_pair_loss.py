"""PairLossRanker: the fit that rankers share whose loss sums over preferences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._protocols import Callback, FloatArray, PairLoss
from pairrank.estimators._descent import combined, minimize, progress_printer
from pairrank.estimators._validated import ValidatedRanker
from pairrank.exceptions import PairrankError
from pairrank.preferences import Preferences


class Problem(NamedTuple):
    """What a ranker minimises, penalty/2 |w|^2 + factor * pair sum, and how."""

    loss: PairLoss
    factor: float
    penalty: float
    solver: str
    eps: float = 1e-6
    search: str = "wolfe"


class PairLossRanker(ValidatedRanker, ABC):
    """A ranker that minimises a smooth loss over every preference, and the squared norm.

    Its parameters are checked by `_check_parameters`, and make the problem by `_problem`.
    """

    reduction: str
    pair_sum: str
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
        n_pairs, problem = preferences.n_pairs, self._problem()
        X = self._learnt_features(X)
        validate = self._validator(*checked_val)
        solution = minimize(
            X,
            preferences,
            problem.loss,
            factor=problem.factor,
            penalty=problem.penalty,
            route=self.pair_sum,
            solver=problem.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            w0=self._start(X.shape[1]),
            seed=self._seed(),
            callback=combined(progress_printer(self.verbose, n_pairs), validate, callback),
            eps=problem.eps,
            search=problem.search,
        )
        self._keep(solution)
        self.n_pairs_ = n_pairs
        self._conclude(X, preferences, identifiers, weights)
        return self

    def _check_parameters(self) -> None:
        """Check the parameters that all share; each ranker adds its own."""
        validation.check_choices(self)
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", inclusive=True, integer=True)
        self._check_kernel()

    @abstractmethod
    def _problem(self) -> Problem:
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
