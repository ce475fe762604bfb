"""Regularisation paths: one fit per value, each started from the last solution."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from pairrank._protocols import FloatArray
from pairrank._validation import as_float_array
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.model_selection.scorers import get_query_scorer, requested

PAPER_VALUES = tuple(2.0**power for power in range(-15, 11))
"""C = 2^-15 .. 2^10, the search of Lee & Lin 2014, Section 4.4."""

_PENALTIES = ("alpha",)
"""Parameters that multiply the penalty: larger values regularise more."""


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """What `regularization_path` found.

    Attributes
    ----------
    param : str
        The parameter that varied.
    values : float64 array of shape (n_values,)
        Its values, ascending.
    coefs : float64 array of shape (n_values, n_features)
        The weights at each.
    scores : float64 array of shape (n_values,), or None
        The scores on the validation rows; None without them.
    n_iters : int64 array of shape (n_values,)
        Solver iterations that each fit took.
    best_index : int, or None
        The index of the highest score, of equals the most regularised; None without a score.
    best_estimator : estimator, or None
        The fitted estimator at that value.
    interrupted : bool
        Whether Ctrl-C ended the path; it holds the values finished before, or, where there is none,
        the weights so far at the first value.
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


def regularization_path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param: str = "C",
    values: ArrayLike = PAPER_VALUES,
    qid: Any = None,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    qid_val: Any = None,
    sample_weight_val: Any = None,
    scoring: str | Callable[..., float] = "pairwise_accuracy",
    warm_start: bool = False,
    fit_params: Mapping[str, Any] | None = None,
) -> RegularizationPath:
    """Fit an estimator at each value of a parameter and choose by validation rows.

    With its defaults and validation rows this is the paper's search over C.

    Parameters
    ----------
    estimator : estimator
        A ranker, or a Pipeline that ends in one (then `param` is "rank_svm__C" or the like). It
        is cloned, and not changed.
    X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        Training rows.
    y : array-like of shape (n_rows,), or Pairs
        Labels or comparisons.
    param : str
        The parameter to vary.
    values : array-like of float, shape (n_values,)
        Its values, taken in ascending order.
    qid, sample_weight : array-like of shape (n_rows,), optional
        Queries and row weights of the training rows.
    X_val, y_val, qid_val, sample_weight_val : optional
        Validation rows; without them nothing is scored and no value is best.
    scoring : str or callable
        A name that `get_query_scorer` knows, or a scorer.
    warm_start : bool
        Start each fit from the solution of the last one, where the estimator can, and stop at a
        tenth of its `tol`, so that the start is not taken for the answer. False starts each fit
        from zero, as in the paper.
    fit_params : mapping, optional
        Further arguments of every fit, such as the X_val and y_val that stop
        ``RankRLS(regularization="hybrid")``; the path's own validation rows are not passed to fit.

    Returns
    -------
    RegularizationPath
        The record of values, coefs, scores, n_iters, best_index, best_estimator and interrupted.

    Raises
    ------
    ValueError
        If there are no values, validation rows are half given, or the estimator refuses its input.

    Notes
    -----
    Costs one fit per value; a warm start takes a few iterations. Ctrl-C ends the path: `values` and
    the rest hold the fits that were finished. A fit that was cut short is kept only where no other
    was finished.

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
    if (X_val is None) != (y_val is None):
        raise PairrankError("validation rows need both X_val and y_val")
    scorer = get_query_scorer(scoring)
    routed = {**_given(qid=qid, sample_weight=sample_weight), **(fit_params or {})}
    judged = requested(scorer, _given(qid=qid_val, sample_weight=sample_weight_val))
    model = _clone_for(estimator, param, warm_start)

    def score() -> float | None:
        return None if X_val is None else float(scorer(model, X_val, y_val, **judged))

    walk = _Walk(model, param.rpartition("__")[2] in _PENALTIES)
    for value in grid:
        model.set_params(**{param: float(value)})
        if not walk.goes_on(lambda: model.fit(X, y, **routed), score):
            break
    return walk.record(param, grid, _stated(estimator, param))


class _Walk:
    """The fits of a path that were finished, and the best of them.

    `stricter`: a larger value regularises more, so that the last of equals is the best.
    """

    def __init__(self, model: Any, stricter: bool) -> None:
        self.model = model
        self.stricter = stricter
        self.fits: list[tuple[FloatArray, int, float | None]] = []
        self.best: tuple[int, Any] | None = None
        self.interrupted = False

    def goes_on(self, fit: Callable[[], Any], score: Callable[[], float | None]) -> bool:
        """Fit, score and record one more value; False if Ctrl-C interrupted it."""
        try:
            fit()
            ranker = _last_step(self.model)
            self.interrupted = getattr(ranker, "status_", None) == "interrupted"
            if not (self.interrupted and self.fits):
                n_iter = int(getattr(ranker, "n_iter_", 0))
                self._note((np.array(ranker.coef_), n_iter, score()))
        except KeyboardInterrupt:
            if not self.fits:
                raise
            self.interrupted = True
        return not self.interrupted

    def _note(self, fit: tuple[FloatArray, int, float | None]) -> None:
        score = fit[2]
        best_score = -np.inf if self.best is None else self.fits[self.best[0]][2]
        better = False
        if score is not None and best_score is not None:
            better = score > best_score or (self.stricter and score == best_score)
        best = (len(self.fits), copy.deepcopy(self.model)) if better else self.best
        self.fits.append(fit)
        self.best = best

    def record(self, param: str, grid: FloatArray, stated: dict[str, Any]) -> RegularizationPath:
        """Return the record; the best estimator has its parameters as `stated`."""
        coefs, n_iters, scores = zip(*self.fits, strict=True)
        index, best = (None, None) if self.best is None else self.best
        return RegularizationPath(
            param=param,
            values=grid[: len(coefs)],
            coefs=np.array(coefs),
            scores=None if scores[0] is None else np.array(scores),
            n_iters=np.array(n_iters, dtype=np.int64),
            best_index=index,
            best_estimator=None if best is None else best.set_params(**stated),
            interrupted=self.interrupted,
        )


def _as_grid(values: ArrayLike) -> FloatArray:
    grid = np.unique(as_float_array(values, "values"))
    if grid.size == 0:
        raise PairrankError("there are no values to try")
    return grid


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _beside(param: str, name: str) -> str:
    """Return the name of another parameter of the same step of a pipeline."""
    step, dots, _ = param.rpartition("__")
    return f"{step}{dots}{name}"


def _clone_for(estimator: Any, param: str, warm_start: bool) -> Any:
    model = clone(estimator)
    known = model.get_params()
    if param not in known:
        choices = ", ".join(sorted(known))
        raise PairrankError(f"the estimator has no parameter {param!r}; it has {choices}")
    switch, tol = _beside(param, "warm_start"), _beside(param, "tol")
    if switch in known:
        model.set_params(**{switch: warm_start})
    if switch in known and warm_start and isinstance(known.get(tol), Real):
        model.set_params(**{tol: known[tol] / 10})
    return model


def _stated(estimator: Any, param: str) -> dict[str, Any]:
    """Return the original values of the parameters that `_clone_for` changed."""
    known = estimator.get_params()
    names = (_beside(param, "warm_start"), _beside(param, "tol"))
    return {name: known[name] for name in names if name in known}


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def check_positive_values(values: ArrayLike, name: str) -> FloatArray:
    """Return a checked grid of positive numbers, ascending."""
    grid = _as_grid(as_float_array(values, name))
    wrong = ~(np.isfinite(grid) & (grid > 0))
    if wrong.any():
        raise PairrankError(f"{name} must be finite and greater than 0 (got {grid[wrong][0]})")
    return grid
