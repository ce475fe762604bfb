"""Plots of the validation error at each iteration."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import Status
from pairrank._validation import ALIGNED
from pairrank.exceptions import PairrankError
from pairrank.plotting._pyplot import pyplot_or_remedy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D


class IterationCurveDisplay:
    """Ranking error by iteration, one curve per alpha (Airola et al. 2010, Figs. 1 and 2).

    The curves compare early stopping with the penalty, and show where more iterations overfit.
    Create it with `from_estimator`.

    Parameters
    ----------
    curves : list of array-like, each of shape (n_iterations + 1,)
        Errors, starting with the error of zero weights; NaN is not drawn.
    labels : list of str
        The legend of each curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One line per curve.

    See Also
    --------
    pairrank.RankRLS : The curves are 1 minus its `validation_scores_`.

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0, 1, 1, 2]
    >>> display = IterationCurveDisplay.from_estimator(
    ...     RankRLS(), X, y, alphas=[0.0, 1.0], X_val=X, y_val=y, draw=False)
    >>> display.labels, [float(curve[0]) for curve in display.curves]
    (['no penalty', 'alpha = 1'], [0.5, 0.5])
    """

    ax_: Axes
    figure_: Figure | SubFigure
    lines_: list[Line2D]

    def __init__(self, curves: list[ArrayLike], labels: list[str]) -> None:
        if len(curves) != len(labels):
            raise PairrankError(f"there are {len(curves)} curves and {len(labels)} labels")
        self.curves = [_as_curve(curve, at) for at, curve in enumerate(curves)]
        self.labels = list(labels)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        alphas: ArrayLike | None = None,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        sample_weight_val: Any = None,
        draw: bool = True,
        ax: Axes | None = None,
        mark_best: bool = True,
        **line_kw: Any,
    ) -> Self:
        """Draw the curve of a fitted ranker, or fit RankRLS at each alpha and draw them all.

        Parameters
        ----------
        estimator : RankRLS, or any ranker or Pipeline fitted with validation rows
            Without X, the fitted estimator. With X, a RankRLS: clones of it are fitted at each
            alpha until they converge or reach max_iter; patience is ignored.
        X : array-like, CSR matrix or frame of shape (n_rows, n_features), optional
            Training rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs, optional
            Their labels.
        alphas : array-like of float, optional
            The alphas to fit; 0 is no penalty. None: the estimator's own alpha, or 0 with
            ``regularization="iteration"``.
        qid, sample_weight : array-like of shape (n_rows,), optional
            Queries and weights of the training rows.
        X_val, y_val, qid_val, sample_weight_val : optional
            The validation rows, needed where X is given.
        draw : bool
            False: do not draw; call `plot` later.
        ax : matplotlib Axes, optional
            Where to draw; None: a new figure.
        mark_best : bool
            Mark the least error of each curve.
        **line_kw : Any
            Passed to matplotlib's `plot`.

        Returns
        -------
        IterationCurveDisplay

        Raises
        ------
        ValueError
            If there is no validation error to draw.
        ImportError
            If `draw` is True and matplotlib is not installed.

        Notes
        -----
        Costs one fit by conjugate gradients for each alpha.
        """
        given = locals()
        if draw:
            pyplot_or_remedy()
        if X is None:
            if alphas is not None or y is not None:
                raise PairrankError("alphas and y need X: give X, y, X_val and y_val")
            display = cls(*_of_fitted(estimator))
        else:
            if y is None or X_val is None or y_val is None:
                raise PairrankError("a fit needs X, y, X_val and y_val: give all four")
            names = {name + twin for name in ALIGNED for twin in ("", "_val")} & given.keys()
            rows = {name: given[name] for name in ("X_val", "y_val", *sorted(names))}
            display = cls(*_of_fits(estimator, X, y, alphas, rows))
        return display.plot(ax, mark_best=mark_best, **line_kw) if draw else display

    def plot(self, ax: Axes | None = None, *, mark_best: bool = True, **line_kw: Any) -> Self:
        """Draw the curves; return the display, with `ax_`, `figure_` and `lines_`.

        The parameters are those of `from_estimator`; an ImportError says that matplotlib is needed.
        """
        pyplot = pyplot_or_remedy()
        if ax is None:
            _, ax = pyplot.subplots()
        self.lines_ = []
        for curve, label in zip(self.curves, self.labels, strict=True):
            (line,) = ax.plot(np.arange(curve.size), curve, **{"label": label, **line_kw})
            self.lines_.append(line)
            if mark_best:
                best = int(np.nanargmin(curve))
                ax.plot(best, curve[best], marker="o", color=line.get_color(), label="_best")
        ax.set(xlabel="iteration", ylabel="ranking error on the validation rows")
        if len(self.curves) > 1:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _as_curve(values: ArrayLike, at: int) -> NDArray[np.float64]:
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 1 or not np.isfinite(curve).any():
        raise PairrankError(f"curve {at} must be numbers in one dimension, got shape {curve.shape}")
    return curve


def _of_fitted(estimator: Any) -> tuple[list[ArrayLike], list[str]]:
    """Return the curves of a fitted ranker, one per target, and their labels."""
    ranker = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    check_is_fitted(ranker)
    if not hasattr(ranker, "validation_scores_"):
        raise PairrankError(
            f"this {type(ranker).__name__} holds no validation scores to draw: fit it with X_val "
            "and y_val"
        )
    curve, name = 1 - ranker.validation_scores_, next(iter(signature(type(ranker)).parameters))
    early = getattr(ranker, "regularization", None) == "iteration"
    return _labelled(curve, _name_of(0.0 if early else getattr(ranker, name), name))


def _of_fits(
    estimator: Any, X: Any, y: Any, alphas: ArrayLike | None, rows: dict[str, Any]
) -> tuple[list[ArrayLike], list[str]]:
    """Fit at every alpha until convergence, and return the curves and their labels."""
    known = estimator.get_params()
    missing = [name for name in ("alpha", "regularization", "patience") if name not in known]
    if missing:
        raise PairrankError(
            f"a {type(estimator).__name__} has no parameter {missing[0]!r}: only RankRLS is fitted "
            "at several alphas"
        )
    curves: list[ArrayLike] = []
    labels: list[str] = []
    if alphas is None:
        alphas = 0.0 if known["regularization"] == "iteration" else known["alpha"]
    if not np.size(alphas):
        raise PairrankError("alphas is empty: give at least one")
    for alpha in np.ravel(alphas).tolist():
        kind = {"regularization": "tikhonov", "alpha": alpha}
        if alpha == 0:
            kind = {"regularization": "iteration", "patience": known["max_iter"]}
        ranker = clone(estimator).set_params(solver="cg", **kind)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", Status.MAX_ITER.value, ConvergenceWarning)
            ranker.fit(X, y, **rows)
        more = _labelled(1 - ranker.validation_scores_, _name_of(alpha))
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
