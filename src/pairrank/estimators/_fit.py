"""FittedRanker: the `fit` of every ranker; SolvedRanker: weights that a solver finds."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from itertools import zip_longest
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from pairrank import _validation as validation
from pairrank import threads
from pairrank._protocols import Callback, Features, FloatArray, Status
from pairrank.blocks import RowBlocks, refuse_given
from pairrank.estimators._base import AnyKernel, BaseRanker, Seed
from pairrank.estimators._descent import combined, progress_printer
from pairrank.estimators._docstrings import of_rows, ranker
from pairrank.estimators._rows import (
    Judge,
    Rows,
    Watch,
    columns_of,
    draw_held_rows,
    judge_of,
    keep,
    keep_counts,
    row_scores,
)
from pairrank.exceptions import PairrankError, ZeroWeightsWarning
from pairrank.metrics._inputs import AllRowArguments, rows_given, takes_rows
from pairrank.metrics._names import metric_named
from pairrank.preferences import Pairs

Solve = Callable[[Any, Any, Any], Any]
"""From the labels of a target (None: the only target), a start and a callback to a Solution."""

_OPTIONAL = dict.fromkeys(
    ["coef_cov_", "standard_errors_", "flat_directions_", "limit_qid_", "partial_coef_"]
)
"""Attributes that not every fit sets; those of an earlier fit are removed."""

_TINY = 1e-100
"""Weights below this may have scores of 0 by underflow: only then are scores computed."""

_REMEDIES = {
    "C": "raise C",
    "alpha": "lower alpha",
    "nu": "raise nu",
    "epsilon": "lower epsilon",
}
"""The remedy for weights that are all zero, by parameter."""


class FittedRanker(BaseRanker, ABC):
    """A ranker with the one `fit`.

    A ranker defines `_preferences` and `_solver_of`, extends `_check_parameters`, and where needed
    overrides `_accuracy`, `_keep` and `_conclude`. It stops early by validation rows if
    `_stops_early`; where it has a `validation_fraction` it draws them.
    """

    @of_rows
    @takes_rows("", "_val")
    def fit(
        self,
        X: Features | RowBlocks,
        y: ArrayLike | Pairs | None = None,
        *,
        X_val: Features | RowBlocks | None = None,
        y_val: ArrayLike | Pairs | None = None,
        callback: Callback | None = None,
        **rows_by_name: Unpack[AllRowArguments],
    ) -> Self:
        """Learn the weights from every pair.

        Parameters
        ----------
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs
            Labels: numbers, or text where `graph` is an OrderGraph; or explicit comparisons.
            RankRLS, MPRank and SVRank learn weights for each of several columns;
            ConvexHullRanker takes labels only.
        X_val, y_val, qid_val, sample_weight_val, winner_weight_val, loser_weight_val : optional
            Validation rows, for `validation_scores_` and for stopping early (see `patience`).
        callback : callable, optional
            Called with a `Step` (RankBoost: alphas as `coef`) after every iteration; returning True
            stops the fit.

        Returns
        -------
        self
        """
        layout, held_layout = rows_given(rows_by_name, "", "_val")
        if isinstance(X, RowBlocks) and hasattr(self, "_prepare_blocks"):
            from pairrank.estimators._blocks import fit_on_passes, held_passes

            refuse_given(y=y, **layout)
            passes, scale = X._passes(), getattr(X._scaler, "scale_", 1.0)
            given = held_passes(X_val, y_val, held_layout, passes)
            return fit_on_passes(self, passes, held=given, callback=callback, scale=scale)
        self._check_parameters()
        rows = self._check_rows(X, y, layout)
        targets = columns_of(rows.y)
        held = self._check_held(X_val, y_val, held_layout, len(targets))
        rows, held = self._hold_out(rows, held)
        preferences = self._preferences(rows)
        judges = [] if held is None else self._judges(held, len(targets))
        features = self._learnt_features(rows.X)
        watches = [] if held is None else self._watches(held, judges, features)
        starts = self._starts(len(targets), features.shape[1])
        keep_counts(self, rows, preferences)
        if len(targets) == 1 and not isinstance(preferences, Pairs):  # these hold what is learnt
            rows, targets = rows._replace(y=None), [None]
        with threads.blas_for(features):
            solve = self._solver_of(rows, features, preferences)
            solutions = self._solve(solve, targets, starts, watches, callback)
        status = self._keep(solutions, watches, len(targets))
        self._warn(status, row_scores(features))
        self._conclude(rows, features, preferences, solutions)
        return self

    def _solve(
        self,
        solve: Solve,
        targets: Sequence[Any],
        starts: Sequence[Any],
        watches: list[Watch],
        *callbacks: Callback | None,
    ) -> list[Any]:
        """Return the solution of each target up to one that was interrupted."""
        printer, solutions = progress_printer(self.verbose, self.n_pairs_), []
        for at, (target, start) in enumerate(zip(targets, starts, strict=True)):
            watch = watches[at] if watches else None
            solutions.append(solve(target, start, combined(printer, watch, *callbacks)))
            if solutions[-1].status is Status.INTERRUPTED:
                break
        return solutions

    def _check_parameters(self) -> None:
        """Check the parameters that all rankers share; each ranker adds its own."""
        if self._maps_features:
            self._kernel.check()
        validation.check_choices(self)
        if self.validation_metric is not None:
            metric_named(self.validation_metric)
        if self.patience is not None:
            validation.check_number(self.patience, "patience", low=1, inclusive=True, integer=True)
        fraction = getattr(self, "validation_fraction", 0.5)
        validation.check_number(fraction, "validation_fraction", below=1.0)

    @abstractmethod
    def _preferences(self, rows: Rows) -> Any:
        """Return the preferences of the first target; raise an error if there are none."""

    @abstractmethod
    def _solver_of(self, rows: Rows, features: Any, preferences: Any) -> Solve:
        """Return the function that solves for a target."""

    @property
    def _stops_early(self) -> bool:
        """Whether the best iterate on validation rows is kept, and `patience` may end the fit."""
        return self.patience is not None

    def _needs_held(self, wanted: str) -> str:
        """Return the message of a fit that stops early and has no validation rows."""
        return (
            f"patience={self.patience} stops the fit by validation rows, and there are none: pass "
            f"{wanted} to fit, or leave patience=None"
        )

    def _hold_out(self, rows: Rows, held: Rows | None) -> tuple[Rows, Rows | None]:
        """Return the rows to learn from and the validation rows, drawn if none were given."""
        if held is not None or not self._stops_early:
            return rows, held
        if hasattr(self, "validation_fraction"):
            generator = np.random.default_rng(self._seed())
            return draw_held_rows(rows, float(self.validation_fraction), generator)
        raise PairrankError(self._needs_held("X_val and y_val (and qid_val)"))

    def _judges(self, held: Rows, n_targets: int) -> list[Judge]:
        """Return the functions that judge each target; a single column is used for all targets."""
        columns = columns_of(held.y)
        if len(columns) == n_targets > 1:
            return [judge_of(self, held._replace(y=column)) for column in columns]
        return [judge_of(self, held)] * n_targets

    def _conclude(self, rows: Rows, features: Any, preferences: Any, solutions: list[Any]) -> None:
        """Set further fitted attributes."""

    def _watches(self, held: Rows, judges: list[Judge], features: Any) -> list[Watch]:
        """Return the callbacks that score iterates on the validation rows, one per target."""
        scores = row_scores(features if held.X is None else self._features(held.X), held.places)
        patience = self.patience if self._stops_early else None
        return [Watch(judge, scores, patience) for judge in judges]

    def _starts(self, n_targets: int, n_features: int) -> Any:
        """Return the start of each target: the previous weights with `warm_start`, else None.

        Those of an interrupted fit on blocks, if any, come first.
        """
        partial: Any = getattr(self, "partial_coef_", None)
        if self.warm_start and n_targets == 1 and np.shape(partial) == (n_features,):
            return [partial]
        if not self.warm_start or not hasattr(self, "coef_"):
            return [None] * n_targets
        coefs = np.atleast_2d(self.coef_)
        if coefs.shape != (n_targets, n_features):
            raise PairrankError(
                f"warm_start: coef_ is of {coefs.shape[0]} targets and {coefs.shape[1]} features, "
                f"but y has {n_targets} and X {n_features}"
            )
        return coefs

    @abstractmethod
    def _keep(self, solutions: list[Any], watches: list[Watch], n_targets: int) -> Status:
        """Set the solutions as fitted attributes; return the status of the worst target."""

    @abstractmethod
    def _warn(self, status: Status, scores: Callable[[FloatArray], FloatArray]) -> None:
        """Warn where a fit did not converge, or scores all rows alike."""


@ranker
class SolvedRanker(FittedRanker, ABC):
    """A ranker whose weights a solver finds.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_
    n_pairs_, n_rows_, n_queries_, n_ties_
    validation_scores_, n_features_in_, feature_names_in_
    """

    _: KW_ONLY
    tol: float = 1e-3
    max_iter: int = 1000
    kernel: AnyKernel = None
    validation_metric: str | None = None
    patience: int | None = None
    verbose: int = 0
    random_state: Seed = None

    _least_iterations = 0

    def _check_parameters(self) -> None:
        least = self._least_iterations
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", low=least, inclusive=True, integer=True)
        super()._check_parameters()

    def _check_blocks(self) -> None:
        """Raise a PairrankError where a parameter needs all rows in memory.

        A ranker that learns from blocks defines `_prepare_blocks(passes, catalog)`, which lays them
        out and returns what has `n_pairs` and `n_ties` (or None), and `_block_solver(passes,
        prepared)`, which returns the function that solves for a target, by number.
        """
        if not self._is_linear:
            raise PairrankError(
                f"kernel={self.kernel!r} needs all rows in memory: map the blocks by features of "
                "the kernel, as those of pairrank.Kernel, and leave kernel=None"
            )

    def _keep(self, solutions: list[Any], watches: list[Watch], n_targets: int) -> Status:
        """Set the solutions as fitted attributes; return the status of the worst target.

        Targets that an interrupt left out have zero weights.
        """
        if any(solution.status is Status.OVERFLOW for solution in solutions):
            raise PairrankError(Status.OVERFLOW.value)
        several = n_targets > 1
        histories = [solution.history for solution in solutions]
        kept = [self._kept(*pair) for pair in zip_longest(solutions, watches[: len(solutions)])]
        weights, statuses, iterations, values = zip(*kept, strict=True)
        self.objective_, self.best_iteration_ = float(sum(values)), iterations[-1]
        coefs = np.zeros((n_targets, weights[0].size))
        coefs[: len(kept)] = weights
        status = min(statuses, key=lambda one: one.ok)
        self.coef_ = coefs if several else coefs[0]
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.status_ = status.name.lower()
        self.history_ = histories if several else histories[0]
        gaps = [getattr(steps[-1], "gap", np.nan) if steps else np.nan for steps in histories]
        curves = np.full((n_targets, self.n_iter_ + 1), np.nan)
        for curve, watch in zip(curves, watches, strict=False):
            curve[: len(watch.curve)] = watch.curve[: curve.size]
        scores = (curves if several else curves[0]) if watches else None
        gap = None if np.isnan(gaps).any() else float(sum(gaps))
        keep(self, gap_=gap, validation_scores_=scores, **_OPTIONAL)
        return status

    def _warn(self, status: Status, scores: Callable[[FloatArray], FloatArray]) -> None:
        """Warn where a target did not converge, or where a finished fit scores all rows 0."""
        if not status.ok:
            warnings.warn(status.value, ConvergenceWarning, stacklevel=3)
        if not status.ok or status is Status.STOPPED or not hasattr(self, "coef_"):
            return
        zero = np.array(
            [
                np.abs(coef).max(initial=0.0) < _TINY and not scores(coef).any()
                for coef in np.atleast_2d(self.coef_)
            ]
        )
        if not zero.any():
            return
        remedies = [remedy for name, remedy in _REMEDIES.items() if name in self.get_params()]
        of_target = f" of target {int(zero.argmax())}" if zero.size > 1 else ""
        warnings.warn(
            f"coef_{of_target} is all zero, or too small for scores other than 0, so every row has "
            "the same score: features are equal within queries, or so small that the penalty "
            "outweighs the loss, or most labels of a query are (nearly) equal. Scale the features "
            f"to unit variance, {', '.join(remedies)}, or lower tol",
            ZeroWeightsWarning,
            stacklevel=3,
        )

    def _kept(self, solution: Any, watch: Watch | None) -> tuple[FloatArray, Status, int, float]:
        """Return the weights kept of a target, their status, iteration and objective.

        They are the solution's, or those of the best iterate on validation rows if it stops early.
        """
        values = [step.value for step in solution.history] or [float("nan")]
        if watch is None or watch.best is None or not self._stops_early:
            return solution.coef, solution.status, solution.n_iter, values[-1]
        status = Status.VALIDATED if watch.ran_out else solution.status
        return watch.best, status, watch.best_iteration, values[watch.best_iteration]
