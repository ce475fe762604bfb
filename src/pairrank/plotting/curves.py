"""Displays of curves: validation scores by iteration, scores or weights by strength."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import Features, Status
from pairrank._validation import ALIGNED
from pairrank.exceptions import PairrankError
from pairrank.plotting._common import STRENGTHS, Display, constructor_docs, display_docs, pyplot_of
from pairrank.preferences import Pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ERROR = "ranking error"


@display_docs
class IterationCurveDisplay(Display):
    """Ranking error by iteration, one curve per strength (Airola et al. 2010, Figs. 1 and 2).

    The curves compare early stopping with the penalty, and show where more iterations overfit.
    Create it with `from_estimator`.

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
    >>> display = IterationCurveDisplay.from_estimator(
    ...     RankRLS(), X, y, values=[0.0, 1.0], X_val=X, y_val=y, draw=False)
    >>> display.labels, [float(curve[0]) for curve in display.curves]
    (['no penalty', 'alpha = 1'], [0.5, 0.5])
    """

    def __init__(self, curves: list[ArrayLike], labels: list[str], *, metric: str = _ERROR) -> None:
        if len(curves) != len(labels):
            raise PairrankError(f"there are {len(curves)} curves and {len(labels)} labels")
        self.curves = [_as_curve(curve, at) for at, curve in enumerate(curves)]
        self.labels = list(labels)
        self.metric = metric

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        X: Features | None = None,
        y: ArrayLike | Pairs | None = None,
        *,
        values: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        winner_weight: ArrayLike | None = None,
        loser_weight: ArrayLike | None = None,
        X_val: Features | None = None,
        y_val: ArrayLike | Pairs | None = None,
        qid_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        winner_weight_val: ArrayLike | None = None,
        loser_weight_val: ArrayLike | None = None,
        draw: bool = True,
        ax: Axes | None = None,
        mark_best: bool = True,
        **line_kw: Any,
    ) -> Self:
        """Draw the curve of a fitted ranker, or fit it at each of some values and draw them all.

        Parameters
        ----------
        estimator : ranker, or Pipeline fitted with validation rows
            Without X, the fitted estimator. With X, a ranker: clones of it are fitted at each
            value until they converge or reach max_iter; patience is ignored.
        X : array-like, CSR matrix or frame of shape (n_rows, n_features), optional
            Training rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs, optional
            Their labels.
        values : array-like of float, optional
            The values of alpha, C or nu to fit; of RankRLS, alpha = 0 is no penalty. None: the
            estimator's own, or 0 with ``regularization="iteration"``.
        qid, sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
            Queries and weights of the training rows.
        X_val, y_val, qid_val, sample_weight_val, winner_weight_val, loser_weight_val : optional
            The validation rows, needed where X is given.
        mark_best : bool
            Mark the best point of each curve.

        Notes
        -----
        Costs one fit for each value, of RankRLS by conjugate gradients.
        """
        given = locals()
        if draw:
            pyplot_of()
        if X is None:
            if values is not None or y is not None:
                raise PairrankError("values and y need X: give X, y, X_val and y_val")
            ranker = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
            check_is_fitted(ranker)
            display = cls(*_of_fitted(ranker), metric=_metric_of(ranker))
        else:
            if y is None or X_val is None or y_val is None:
                raise PairrankError("a fit needs X, y, X_val and y_val: give all four")
            names = {name + twin for name in ALIGNED for twin in ("", "_val")} & given.keys()
            rows = {name: given[name] for name in ("X_val", "y_val", *sorted(names))}
            display = cls(*_of_fits(estimator, X, y, values, rows), metric=_metric_of(estimator))
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
        if len(self.curves) > 1:
            ax.legend()
        return self


def _as_curve(values: ArrayLike, at: int) -> NDArray[np.float64]:
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or not np.isfinite(curve).any():
        raise PairrankError(f"curve {at} must be numbers in one dimension, got shape {curve.shape}")
    return curve


def _metric_of(ranker: Any) -> str:
    """Return what the ranker's curves show."""
    return getattr(ranker, "validation_metric", None) or _ERROR


def _of_fitted(ranker: Any) -> tuple[list[ArrayLike], list[str]]:
    """Return the curves of a fitted ranker, one per target, and their labels."""
    if not hasattr(ranker, "history_") or not hasattr(ranker, "validation_scores_"):
        raise PairrankError(
            f"this {type(ranker).__name__} holds no validation scores of iterations to draw: fit a "
            "ranker with X_val and y_val"
        )
    curve = ranker.validation_scores_
    if _metric_of(ranker) == _ERROR:
        curve = 1 - curve
    name = _strength_of(ranker)
    early = getattr(ranker, "regularization", None) == "iteration"
    value = 0.0 if early else getattr(ranker, f"{name}_", getattr(ranker, name))
    return _labelled(curve, _name_of(value, name))


def _strength_of(ranker: Any) -> str:
    """Return the name of the parameter that sets how strongly a ranker is regularised."""
    known = ranker.get_params(deep=False)
    names = [name for name in STRENGTHS if name in known and "max_iter" in known]
    if not names:
        raise PairrankError(
            f"a {type(ranker).__name__} is no ranker that iterates: give one, such as RankSVM, or "
            "for a Pipeline fit it with validation rows and leave out X"
        )
    return names[0]


def _of_fits(
    estimator: Any, X: Any, y: Any, values: ArrayLike | None, rows: dict[str, Any]
) -> tuple[list[ArrayLike], list[str]]:
    """Fit at every value until convergence, and return the curves and their labels."""
    name, known = _strength_of(estimator), estimator.get_params()
    of_squares = "regularization" in known
    if values is None:
        values = 0.0 if known.get("regularization") == "iteration" else known[name]
    if not np.size(values):
        raise PairrankError("values is empty: give at least one")
    curves: list[ArrayLike] = []
    labels: list[str] = []
    for value in np.ravel(np.asarray(values)).tolist():
        changed = {name: value, "patience": None}
        if of_squares:
            changed = {"regularization": "tikhonov", name: value, "solver": "cg"}
        if of_squares and value == 0:
            changed |= {"regularization": "iteration", "patience": known["max_iter"]}
        ranker = clone(estimator).set_params(**changed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", Status.MAX_ITER.value, ConvergenceWarning)
            ranker.fit(X, y, **rows)
        more = _of_fitted(ranker)
        curves, labels = curves + more[0], labels + more[1]
    return curves, labels


def _labelled(curve: NDArray[np.float64], name: str) -> tuple[list[ArrayLike], list[str]]:
    if curve.ndim == 1:
        return [curve], [name]
    return list(curve), [f"{name}, target {target}" for target in range(len(curve))]


def _name_of(value: float, name: str = "alpha") -> str:
    """Return the legend of a parameter's value, with powers of two as powers."""
    if value == 0:
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
