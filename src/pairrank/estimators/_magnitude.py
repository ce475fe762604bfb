"""MagnitudeRanker: the fit that MPRank and SVRank share, and the bound on its error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Callback, FloatArray, Solution
from pairrank.estimators._descent import Method
from pairrank.estimators._differences import minimizer
from pairrank.estimators._holdout import Watch, row_scores
from pairrank.estimators._multi_target import MultiTargetRanker, checked_targets, columns_of
from pairrank.estimators._outcome import conclude
from pairrank.estimators._stability import limits_of, radius_of_kernel, radius_of_rows
from pairrank.exceptions import PairrankError
from pairrank.losses import Square, Tube
from pairrank.metrics.stability import StabilityBound, stability_bound
from pairrank.objective import Problem
from pairrank.preferences import Differences, Pairs

PENALTY = 2.0
"""The squared norm counts whole, and solvers halve their penalty."""


class MagnitudeRanker(MultiTargetRanker, ABC):
    r"""A ranker that minimises \|w\|^2 + C times the mean cost of a query's differences.

    Its parameters are checked by `_check_parameters`; `_loss` is the cost.
    """

    C: float
    n: int
    solver: str
    tol: float
    max_iter: int
    gap_: float

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
        """Learn the weights from every difference.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
            With ``kernel="precomputed"`` the kernel matrix of the rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs
            Numbers, or explicit comparisons; each column of numbers has weights of its own.
        qid : array-like of shape (n_rows,), optional
            Query identifiers, any hashable values in any order; None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), optional
            A pair weighs the product of its rows' weights, m_q is a query's weight.
        X_val, y_val, qid_val, sample_weight_val : optional
            Validation rows, for `validation_curve_`.
        callback : callable, optional
            Called with a `Step` after every iteration; returning True stops the fit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Before any work, if input is not finite, lengths differ, a parameter is out of range, or
            there is no comparison to learn from.
        """
        self._check_parameters()
        X, y, qid, weight = self._check_fit_input(X, y, qid, sample_weight)
        targets = columns_of(y)
        preferences = _mean_costs(y, qid, weight, X.shape[0], float(self.C))
        held = self._given(X_val, y_val, qid_val, sample_weight_val, len(targets))
        if len(targets) == 1:
            y, targets = None, [None]  # the labels of one target are in `preferences`
        errors = None if held is None else held.errors()
        features = self._learnt_features(X)
        watches = None
        if held is not None and errors is not None:
            scores = row_scores(self._features(held.X))
            watches = [Watch(error, scores, patience=None) for error in errors]
        self.n_pairs_ = preferences.n_pairs
        starts = self._starts(len(targets), features.shape[1])
        is_kernel = self._is_precomputed and not self._maps_features
        problem = Problem(features, preferences, self._loss(), PENALTY, is_kernel=is_kernel)
        solve = minimizer(problem, Method(self.solver, float(self.tol), int(self.max_iter)))
        solutions = self._solve_each(solve, targets, starts, watches, callback)
        conclude(self, solutions, watches, targets, keep_best=False)
        self._keep_gap(solutions)
        return self

    def stability_bound(self, X: Any, y: Any, *, delta: float = 0.05) -> StabilityBound:
        r"""Return how far the true error may be from the one on these training rows.

        `pairrank.metrics.stability_bound` with kappa and M filled in: kappa is the largest distance
        of a row from zero, or from the mean of the rows if that is less (only differences count);
        M = range(y)/2 + kappa (C max(0, range(y) - epsilon)^n/2)^(1/2), for h has no offset, so
        that y may be centred at the middle of its range, and \|h\|^2 is at most the objective at 0,
        whatever rows of such labels are drawn.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
            The training rows; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_rows,)
            Their labels, as one query.
        delta : float, default 0.05
            The probability that the bound fails.

        Returns
        -------
        StabilityBound

        Raises
        ------
        ValueError
            If the ranker is not fitted, y is Pairs or of several targets, X or y are not finite, or
            delta is no probability.

        Notes
        -----
        The bound assumes rows drawn independently and alike, that no row to come lies farther out
        or has a label outside the range of these, and a kernel chosen without looking at them:
        gamma="scale" and the landmarks of "nystroem" are not. Costs O(n_rows n_features).

        Examples
        --------
        >>> from pairrank import MPRank
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2]
        >>> bound = MPRank(C=0.5).fit(X, y).stability_bound(X, y)
        >>> bound.kappa, bound.M, bound.is_vacuous
        (1.5, 2.5, True)
        """
        check_is_fitted(self)
        if isinstance(y, Pairs):
            raise PairrankError(
                "the bound is of rows drawn independently, and Pairs are not: give labels"
            )
        X = self._check_rows(X, reset=False)
        labels = checked_targets(y, X.shape[0])
        if labels.ndim > 1:
            raise PairrankError(f"y has {labels.shape[1]} targets: ask for the bound of one")
        in_kernel = self._is_precomputed and not hasattr(self, "feature_map_")
        radius = radius_of_kernel(X) if in_kernel else radius_of_rows(self._features(X))
        n = int(self.n)
        limits = limits_of(radius, labels, C=float(self.C), n=n, epsilon=self._epsilon)
        return stability_bound(float(self.C), limits.kappa, limits.M, X.shape[0], n, delta)

    @abstractmethod
    def _loss(self) -> Square | Tube:
        """Return what a difference costs."""

    def _keep_gap(self, solutions: list[Solution]) -> None:
        """Set how far the objective, summed over targets, may be above its minimum, if known."""
        self.__dict__.pop("gap_", None)
        gaps = [one.history[-1].gap if one.history else np.nan for one in solutions]
        if not np.isnan(gaps).any():
            self.gap_ = float(sum(gaps))

    @property
    def _epsilon(self) -> float:
        """What a difference may be off by at no cost."""
        return 0.0

    def _check_parameters(self) -> None:
        """Check the parameters that both share; each ranker adds its own."""
        validation.check_number(self.C, "C")
        if not np.isfinite(2.0 * float(self.C)):
            raise PairrankError(f"C = {self.C!r} is so large that 2 C is no number; lower it")
        validation.check_power(self.n)
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", low=1, inclusive=True, integer=True)
        self._check_kernel()

    def _check_operator(self, X: LinearOperator, *, reset: bool) -> None:
        if self._maps_features:
            raise PairrankError(
                "X is a LinearOperator, which shows no entries: give the kernel matrix itself, or "
                "take MPRank(n=2), which needs products alone"
            )
        super()._check_operator(X, reset=reset)


def _mean_costs(
    y: Any, qid: NDArray[Any] | None, weight: FloatArray | None, n_rows: int, C: float
) -> Differences | Pairs:
    """Return the differences of the first target, each of query q weighing C w_i w_j/m_q^2.

    In `Differences` a pair weighs w_i w_j/(2 m_q), so rows get the weights 2 C w_i/m_q, which make
    up 2 C a query. Comparisons weigh C/T, T their total weight.
    """
    if isinstance(y, Pairs):
        pairs = y.bound(n_rows, qid=qid, sample_weight=weight, ties=False)
        pairs.require_pairs()
        pairs.pair_scale = C / pairs.pair_weight
        return pairs
    differences = Differences.build(columns_of(y)[0], qid, sample_weight=weight)
    total = np.where(differences.query_weight > 0, 2.0 * C, 0.0)
    if weight is None and differences.query_of is None:
        by_row = np.broadcast_to(2.0 * C / n_rows, n_rows)
    else:
        by_row = 2.0 * C * differences.share()
    return replace(differences, weight=by_row, query_weight=total)
