"""Regularisation paths: one fit per value, each started from the last solution."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from pairrank._arrays import as_float_array
from pairrank._protocols import FloatArray
from pairrank.estimators._base import BaseRanker
from pairrank.estimators._rows import are_given
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics._inputs import AllRowArguments, rows_given, takes_rows
from pairrank.model_selection.scorers import get_query_scorer, ranker_in, requested
from pairrank.preferences import Pairs


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """The fits of `regularization_path`.

    Attributes
    ----------
    param : str
        The parameter that varied.
    values : float64 array of shape (n_values,)
        Its values, ascending.
    coefs : float64 array of shape (n_values, n_features)
        The weights at each; (n_values, 0) of a ranker that has none, such as RankBoost.
    scores : float64 array of shape (n_values,), or None
        The scores on the validation rows; None without them.
    n_iters : int64 array of shape (n_values,)
        Solver iterations that each fit took.
    best_index : int, or None
        The index of the highest score, of equals the most regularised; None without a score.
    best_estimator : estimator, or None
        The fitted estimator at that value.
    interrupted : bool
        Whether Ctrl-C ended the path. It then holds the values that were finished; if there are
        none, the weights so far at the first value.
    """

    param: str
    values: FloatArray
    coefs: FloatArray
    scores: FloatArray | None
    n_iters: NDArray[np.int64]
    best_index: int | None
    best_estimator: Any
    interrupted: bool = False

    @property
    def best_value(self) -> float:
        """The value at `best_index`."""
        return float(self.values[self._best()])

    @property
    def best_score(self) -> float:
        """The score at `best_index`."""
        return float(np.asarray(self.scores)[self._best()])

    @property
    def best_params(self) -> dict[str, float]:
        """The value at `best_index` as arguments of `set_params`."""
        return {self.param: self.best_value}

    def _best(self) -> int:
        if self.best_index is None:
            raise NoPairsError(
                "no value is best: pass X_val and y_val, with a pair among the validation rows"
            )
        return self.best_index


@takes_rows("", "_val")
def regularization_path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param: str = "C",
    values: ArrayLike = BaseRanker._searched,
    X_val: Any = None,
    y_val: Any = None,
    scoring: str | Callable[..., float] = "pairwise_accuracy",
    warm_start: bool = False,
    fit_params: Mapping[str, Any] | None = None,
    **rows: Unpack[AllRowArguments],
) -> RegularizationPath:
    """Fit an estimator at each value of a parameter and choose by validation rows.

    With its defaults and validation rows this is the paper's search over C.

    Parameters
    ----------
    estimator : estimator
        A ranker, or a Pipeline that ends in one (then `param` is such as "rank_svm__C"). It is
        cloned, not changed.
    X : array-like, CSR matrix or frame of shape (n_rows, n_features), or RowBlocks
        Training rows.
    y : array-like of shape (n_rows,), or Pairs
        Labels or comparisons; None for RowBlocks, which hold their labels.
    param : str
        The parameter to vary.
    values : array-like of float, shape (n_values,)
        Its values, taken in ascending order.
    X_val, y_val : optional
        Validation rows; without them nothing is scored and no value is best. Pairs as `y_val`
        without X_val compare training rows: comparisons that were held out, as by `pair_folds`.
        Of RowBlocks, `RowBlocks.labels` gives y_val and qid_val.
    scoring : str or callable
        A name that `get_query_scorer` knows, or a scorer. "log_loss" suits Pairs and `RankNCG`.
    warm_start : bool
        Start each fit from the solution of the last one, if the estimator can, and stop at a tenth
        of its `tol`: otherwise the start could already pass its test of convergence. False starts
        each fit from zero, as in the paper.
    fit_params : mapping, optional
        Further arguments of every fit, such as the X_val and y_val that stop
        ``RankRLS(regularization="hybrid")``. The path's own validation rows are not passed to fit.
    qid, sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
        Queries and row weights of the training rows, as in the estimator's fit.
    qid_val, sample_weight_val, winner_weight_val, loser_weight_val : array-like, optional
        Those of the validation rows; without X_val those of the training rows, unless given.

    Returns
    -------
    RegularizationPath
        The record of values, coefs, scores, n_iters, best_index, best_estimator and interrupted.

    Raises
    ------
    ValueError
        If there are no values, X_val or y_val is missing among arguments of validation rows, or the
        estimator refuses its input.

    Notes
    -----
    Costs one fit per value; a warm start takes a few iterations.

    References
    ----------
    Lee & Lin 2014, Section 4.4.

    Examples
    --------
    >>> from pairrank import RankSVM
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0, 1, 1, 2]
    >>> path = regularization_path(RankSVM(), X, y, values=[0.01, 1.0], X_val=X, y_val=y)
    >>> path.best_params, path.scores
    ({'C': 0.01}, array([1., 1.]))
    """
    grid = _as_grid(values)
    scorer = get_query_scorer(scoring)
    training, validation = rows_given(rows, "", "_val")
    if X_val is None and isinstance(y_val, Pairs):
        X_val, validation = X, {**training, **validation}
    is_judged = are_given(X_val, y_val, validation)
    training.update(fit_params or {})
    judged = requested(scorer, validation)
    model, stated = _clone_for(estimator, param, warm_start)
    whole = isinstance(model.get_params()[param], Integral)
    fits: list[tuple[FloatArray, int]] = []
    scores: list[float] = []
    strongest_last = param.rpartition("__")[2] == "alpha"
    best, highest, interrupted = None, -np.inf, False
    for value in grid:
        model.set_params(**{param: int(value) if whole else float(value)})
        try:
            model.fit(X, y, **training)
            ranker = ranker_in(model)
            interrupted = getattr(ranker, "status_", None) == "interrupted"
            if interrupted and fits:
                break
            score = float(scorer(model, X_val, y_val, **judged)) if is_judged else np.nan
        except KeyboardInterrupt:
            if not fits:
                raise
            interrupted = True
            break
        if score > highest or (strongest_last and score == highest > -np.inf):
            best, highest = (len(fits), copy.deepcopy(model)), score
        fits.append((np.array(getattr(ranker, "coef_", ())), int(getattr(ranker, "n_iter_", 0))))
        scores.append(score)
        if interrupted:
            break
    coefs, n_iters = zip(*fits, strict=True)
    index, chosen = best or (None, None)
    return RegularizationPath(
        param=param,
        values=grid[: len(fits)],
        coefs=np.array(coefs),
        scores=np.array(scores) if is_judged else None,
        n_iters=np.array(n_iters, dtype=np.int64),
        best_index=index,
        best_estimator=None if chosen is None else chosen.set_params(**stated),
        interrupted=interrupted,
    )


def _as_grid(values: ArrayLike, name: str = "values") -> FloatArray:
    grid = np.unique(as_float_array(values, name))
    if grid.size == 0:
        raise PairrankError("there are no values to try")
    return grid


def _clone_for(estimator: Any, param: str, warm_start: bool) -> tuple[Any, dict[str, Any]]:
    """Return a clone set for a path, and the original values of the parameters that were set."""
    model = clone(estimator)
    known = model.get_params()
    if param not in known:
        choices = ", ".join(sorted(known))
        raise PairrankError(f"the estimator has no parameter {param!r}; it has {choices}")
    step = param.removesuffix(param.rpartition("__")[2])
    wanted: dict[str, Any] = {}
    if step + "warm_start" in known:
        wanted[step + "warm_start"] = warm_start
        if warm_start and isinstance(known.get(step + "tol"), Real):
            wanted[step + "tol"] = known[step + "tol"] / 10
    return model.set_params(**wanted), {name: known[name] for name in wanted}


def check_positive_values(values: ArrayLike, name: str) -> FloatArray:
    """Return a checked grid of positive numbers, ascending."""
    grid = _as_grid(values, name)
    wrong = ~(np.isfinite(grid) & (grid > 0))
    if wrong.any():
        raise PairrankError(f"{name} must be finite and greater than 0 (got {grid[wrong][0]})")
    return grid
