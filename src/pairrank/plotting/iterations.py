"""IterationCurveDisplay: validation scores at each iteration."""

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
    from matplotlib.lines import Line2D


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

    lines_: list[Line2D]

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
