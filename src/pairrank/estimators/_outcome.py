"""What a fit by squares ends in: validation errors to watch, and the fitted attributes."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from pairrank._protocols import FloatArray, Solution, Status
from pairrank.estimators._holdout import RankingError, Watch
from pairrank.exceptions import PairrankError, ZeroWeightsWarning
from pairrank.preferences import Pairs


class Held(NamedTuple):
    """Validation rows: X of their own, or some rows of the training X (`rows`)."""

    X: Any
    rows: NDArray[np.intp] | None
    y: Any
    qid: NDArray[Any] | None
    weight: FloatArray | None
    n_targets: int

    def errors(self) -> list[RankingError]:
        """Return the ranking error of each target; one that all share is one object."""
        if isinstance(self.y, Pairs) or self.y.ndim == 1:
            return [RankingError(self.y, self.qid, self.weight)] * self.n_targets
        return [RankingError(column, self.qid, self.weight) for column in self.y.T]


def conclude(
    estimator: Any,
    solutions: list[Solution],
    watches: list[Watch] | None,
    targets: list[Any],
    *,
    keep_best: bool,
) -> None:
    """Set what was found as fitted attributes; warn where a target did not converge.

    With `keep_best` the weights are those of the least validation error. A target that an
    interrupt left out has weights of zero.
    """
    if any(solution.status is Status.OVERFLOW for solution in solutions):
        raise PairrankError(Status.OVERFLOW.value)
    several = len(targets) > 1
    kept = [
        _kept(solution, None if watches is None else watches[at], keep_best)
        for at, solution in enumerate(solutions)
    ]
    coefs = np.zeros((len(targets), kept[0].solution.coef.size))
    coefs[: len(kept)] = [one.solution.coef for one in kept]
    worst = min(kept, key=lambda one: one.solution.status.ok).solution.status
    histories = [solution.history for solution in solutions]
    estimator.coef_ = coefs if several else coefs[0]
    estimator.n_iter_ = max(solution.n_iter for solution in solutions)
    estimator.best_iteration_ = kept[-1].iteration
    estimator.status_ = worst.name.lower()
    estimator.history_ = histories if several else histories[0]
    estimator.objective_ = float(sum(one.objective for one in kept))
    estimator.__dict__.pop("validation_curve_", None)
    if watches is not None:
        curves = np.full((len(targets), estimator.n_iter_ + 1), np.nan)
        for curve, watch in zip(curves, watches, strict=True):
            curve[: len(watch.curve)] = watch.curve[: curve.size]
        estimator.validation_curve_ = curves if several else curves[0]
    if not worst.ok:
        warnings.warn(worst.value, ConvergenceWarning, stacklevel=3)
    warn_of_zero_weights(estimator, worst)


_TRY = {"C": "raise C", "alpha": "lower alpha", "nu": "raise nu"}


def warn_of_zero_weights(estimator: Any, status: Status) -> None:
    """Warn where a fit that counts as finished has learnt nothing, and say what to try.

    Called by what `fit` calls: the warning points at the caller of `fit`.
    """
    zero = ~np.atleast_2d(estimator.coef_).any(axis=1)
    if not zero.any() or not status.ok or status is Status.STOPPED:
        return
    remedies = [remedy for name, remedy in _TRY.items() if hasattr(estimator, name)]
    of_target = f" of target {int(zero.argmax())}" if zero.size > 1 else ""
    reasons = "features are equal within queries, or so small that the penalty outweighs the loss"
    if getattr(estimator, "n", 2) == 1 or hasattr(estimator, "epsilon"):
        reasons += ", or most labels of a query are (nearly) equal"
        remedies += ["set n=2"] * (estimator.n == 1)
        remedies += ["lower epsilon"] * hasattr(estimator, "epsilon")
    warnings.warn(
        f"coef_{of_target} is all zero, so every row has the same score: {reasons}. Scale the "
        f"features to unit variance, {', '.join(remedies)}, or lower tol",
        ZeroWeightsWarning,
        stacklevel=4,
    )


class _Kept(NamedTuple):
    solution: Solution
    iteration: int
    objective: float


def _kept(solution: Solution, watch: Watch | None, keep_best: bool) -> _Kept:
    """Return the weights that a target keeps, the iteration that they are of, and its objective."""
    iteration = solution.n_iter
    if watch is not None and keep_best and watch.best is not None:
        iteration = watch.best_iteration
        status = Status.VALIDATED if watch.ran_out else solution.status
        solution = solution._replace(coef=watch.best, status=status)
    values = [step.value for step in solution.history]
    return _Kept(solution, iteration, values[iteration] if values else float("nan"))
