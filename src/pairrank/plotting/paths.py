"""RegularizationPathDisplay: scores or weights by strength."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pairrank.exceptions import PairrankError
from pairrank.plotting._common import Display, constructor_docs, display_docs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STRENGTHS = ("alpha", "C", "nu")
"""The parameters that set how strongly a ranker is regularised; each ranker has one."""


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
    >>> display = RegularizationPathDisplay.from_estimator(search)
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
        return display.plot(ax, **line_kw)

    @classmethod
    @constructor_docs
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **line_kw: Any) -> Self:
        """Draw the mean score over folds at each value, with its standard deviation.

        Parameters
        ----------
        estimator : RankSVMCV, RankNCGCV or RankRLSCV
            A fitted search.
        """
        check_is_fitted(estimator)
        param = next((name for name in _STRENGTHS if hasattr(estimator, f"{name}s_")), None)
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
        return display.plot(ax, **line_kw)

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
