"""Displays of curves: validation scores by iteration, scores or weights by strength."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pairrank.exceptions import PairrankError
from pairrank.plotting._common import (
    STRENGTHS,
    Display,
    check_lengths,
    constructor_docs,
    display_docs,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ERROR = "ranking error"


@display_docs
class IterationCurveDisplay(Display):
    """Ranking error by iteration, as in Airola et al. 2010, Figs. 1 and 2.

    The curve shows where more iterations overfit. The curves of several rankers, say of early
    stopping and of some penalties, are compared on the same axes. Create it with `from_estimator`.

    Parameters
    ----------
    curves : list of array-like, each of shape (n_iterations + 1,)
        Errors, starting with the error of zero weights; NaN is not drawn. With another `metric`,
        its scores, higher is better.
    labels : list of str
        The legend of each curve.
    metric : str, default "ranking error"
        What the curves are: "ranking error", or the name of the ranker's `validation_metric`.

    Attributes
    ----------
    ax_, figure_, lines_

    See Also
    --------
    pairrank.RankRLS : The curves are 1 minus its `validation_scores_`, or with another
        `validation_metric` these scores.

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0, 1, 1, 2]
    >>> ranker = RankRLS(solver="cg").fit(X, y, X_val=X, y_val=y)
    >>> display = IterationCurveDisplay.from_estimator(ranker, draw=False)
    >>> display.labels, float(display.curves[0][0])
    (['alpha = 1'], 0.5)
    """

    def __init__(self, curves: list[ArrayLike], labels: list[str], *, metric: str = _ERROR) -> None:
        check_lengths(curves=curves, labels=labels)
        self.curves = [np.asarray(curve, dtype=np.float64) for curve in curves]
        self.labels = list(labels)
        self.metric = metric

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        *,
        draw: bool = True,
        ax: Axes | None = None,
        mark_best: bool = True,
        **line_kw: Any,
    ) -> Self:
        """Draw the curve of a ranker that was fitted with validation rows, one per target.

        Parameters
        ----------
        estimator : ranker, or Pipeline that ends with one
            Fitted with validation rows.
        mark_best : bool
            Mark the best point of each curve.
        """
        ranker = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        check_is_fitted(ranker)
        if not hasattr(ranker, "history_") or not hasattr(ranker, "validation_scores_"):
            raise PairrankError(
                f"this {type(ranker).__name__} holds no validation scores of iterations to draw: "
                "fit a ranker with X_val and y_val"
            )
        metric = getattr(ranker, "validation_metric", None) or _ERROR
        scores, label = np.atleast_2d(ranker.validation_scores_), _label_of(ranker)
        curves = list(1 - scores if metric == _ERROR else scores)
        several = [f"{label}, target {target}" for target in range(len(curves))]
        display = cls(curves, several if len(curves) > 1 else [label], metric=metric)
        return display.plot(ax, mark_best=mark_best, **line_kw) if draw else display

    def plot(self, ax: Axes | None = None, *, mark_best: bool = True, **line_kw: Any) -> Self:
        """Draw the curves; return the display, with `ax_`, `figure_` and `lines_`."""
        ax = self._axes(ax)
        self.lines_ = []
        for curve, label in zip(self.curves, self.labels, strict=True):
            (line,) = ax.plot(np.arange(curve.size), curve, **{"label": label, **line_kw})
            self.lines_.append(line)
            if mark_best:
                choose = np.nanargmin if self.metric == _ERROR else np.nanargmax
                best = int(choose(curve))
                ax.plot(best, curve[best], marker="o", color=line.get_color(), label="_best")
        ax.set(xlabel="iteration", ylabel=f"{self.metric} on the validation rows")
        if len(ax.get_legend_handles_labels()[1]) > 1:
            ax.legend()
        return self


def _label_of(ranker: Any) -> str:
    """Return how strongly a ranker is regularised, powers of two as powers; else its class."""
    name = next((name for name in STRENGTHS if hasattr(ranker, name)), None)
    if name is None:
        return type(ranker).__name__
    value = getattr(ranker, f"{name}_", getattr(ranker, name))
    if value == 0 or getattr(ranker, "regularization", None) == "iteration":
        return "no penalty"
    fraction, power = np.frexp(value)
    if fraction == 0.5 and not 0 <= power - 1 <= 3:
        return rf"{name} = $2^{{{power - 1}}}$"
    return f"{name} = {value:g}"


@display_docs
class RegularizationPathDisplay(Display):
    """Validation scores, or weights, along the values of a strength such as C.

    Create it with `from_path` or `from_estimator`.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        The values of the parameter, ascending.
    curves : array-like of shape (n_curves, n_values)
        Scores or weights at each value; NaN is not drawn.
    param : str
        The name of the parameter.
    ylabel : str
        What the curves show.
    spread : array-like of shape (n_curves, n_values), optional
        The standard deviation of each point, drawn as a band.
    best : float, optional
        The chosen value, marked by a line.

    Attributes
    ----------
    ax_, figure_, lines_

    Examples
    --------
    >>> from pairrank import RankSVMCV
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]] * 4, [0, 1, 2, 0] * 4
    >>> search = RankSVMCV([0.1, 1.0], cv=2).fit(X, y)
    >>> display = RegularizationPathDisplay.from_estimator(search, draw=False)
    >>> display.param, display.values.tolist(), display.best
    ('C', [0.1, 1.0], 0.1)
    """

    def __init__(
        self,
        values: ArrayLike,
        curves: ArrayLike,
        *,
        param: str,
        ylabel: str,
        spread: ArrayLike | None = None,
        best: float | None = None,
    ) -> None:
        self.values, self.curves = np.asarray(values, float), np.atleast_2d(curves)
        self.spread = None if spread is None else np.atleast_2d(spread)
        self.param, self.ylabel, self.best = param, ylabel, best

    @classmethod
    @constructor_docs
    def from_path(
        cls,
        path: Any,
        *,
        weights: bool = False,
        draw: bool = True,
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the scores or the weights of a path.

        Parameters
        ----------
        path : RegularizationPath
            What `pairrank.regularization_path` returned.
        weights : bool
            Draw a curve for each weight of `coefs`, in place of the validation scores.
        """
        if path.scores is None and not weights:
            raise PairrankError(
                "the path has no validation scores: give X_val and y_val to regularization_path, "
                "or draw its weights (weights=True)"
            )
        best = None if path.best_index is None else path.best_value
        curves = path.coefs.reshape(len(path.values), -1).T if weights else path.scores
        label = "weight" if weights else "score on the validation rows"
        display = cls(path.values, curves, param=path.param, ylabel=label, best=best)
        return display.plot(ax, **line_kw) if draw else display

    @classmethod
    @constructor_docs
    def from_estimator(
        cls, estimator: Any, *, draw: bool = True, ax: Axes | None = None, **line_kw: Any
    ) -> Self:
        """Draw the mean score over folds at each value, with its standard deviation.

        Parameters
        ----------
        estimator : RankSVMCV, RankNCGCV or RankRLSCV
            A fitted search.
        """
        check_is_fitted(estimator)
        param = next((name for name in STRENGTHS if hasattr(estimator, f"{name}s_")), None)
        if param is None:
            raise PairrankError(
                f"a {type(estimator).__name__} tries no values: give a fitted RankSVMCV, RankNCGCV "
                "or RankRLSCV"
            )
        scores = estimator.validation_scores_
        by_target = scores if scores.ndim == 3 else scores[:, :, None]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Mean of empty slice|Degrees of freedom")
            means, spread = np.nanmean(by_target, axis=0).T, np.nanstd(by_target, axis=0).T
        chosen = getattr(estimator, f"{param}_")
        display = cls(
            getattr(estimator, f"{param}s_"),
            means,
            param=param,
            ylabel="score of the folds",
            spread=spread if len(scores) > 1 else None,
            best=float(chosen) if np.ndim(chosen) == 0 else None,
        )
        return display.plot(ax, **line_kw) if draw else display

    def plot(self, ax: Axes | None = None, **line_kw: Any) -> Self:
        """Draw the curves; return the display, with `ax_`, `figure_` and `lines_`."""
        ax = self._axes(ax)
        self.lines_ = []
        for at, curve in enumerate(self.curves):
            (line,) = ax.plot(self.values, curve, **{"marker": ".", **line_kw})
            self.lines_.append(line)
            if self.spread is not None:
                low, high = curve - self.spread[at], curve + self.spread[at]
                ax.fill_between(self.values, low, high, color=line.get_color(), alpha=0.2)
        if self.best is not None:
            ax.axvline(self.best, color="0.5", linestyle="--")
        ax.set(xscale="log", xlabel=self.param, ylabel=self.ylabel)
        return self
