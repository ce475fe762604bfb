"""Displays of one model: a metric over the queries, weights, ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import Features
from pairrank._validation import check_length, check_number
from pairrank.estimators._weights import feature_names
from pairrank.exceptions import PairrankError
from pairrank.metrics.tables import evaluate
from pairrank.plotting._common import (
    Display,
    constructor_docs,
    display_docs,
    edges_of,
)
from pairrank.preferences import Pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@display_docs
class QueryMetricDisplay(Display):
    """The histogram of a metric's values over the queries, with a line at their mean.

    Create it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        The metric of each query; NaN, where a query does not count, is left out.

    Attributes
    ----------
    ax_, figure_
    bars_ : list of matplotlib artists
        The bars of the histogram.

    Examples
    --------
    >>> display = QueryMetricDisplay.from_predictions(
    ...     [1, 0, 1, 0], [2.0, 1.0, 1.0, 2.0], qid=["a", "a", "b", "b"], metric="map")
    >>> display.values
    array([1. , 0.5])
    """

    bars_: Any

    def __init__(self, values: ArrayLike, metric: str) -> None:
        given = np.asarray(values, dtype=np.float64)
        self.values, self.metric = given[~np.isnan(given)], metric
        if not self.values.size:
            raise PairrankError(f"no query counts in {metric}: there is nothing to draw")

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        X: Features,
        y: ArrayLike | Pairs,
        *,
        qid: ArrayLike | None = None,
        metric: str = "ndcg@10",
        ax: Axes | None = None,
        **hist_kw: Any,
    ) -> Self:
        """Draw the metric of an estimator's predictions by query.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker, or any other with `predict`.
        """
        scores = estimator.predict(X)
        return cls.from_predictions(y, scores, qid=qid, metric=metric, ax=ax, **hist_kw)

    @classmethod
    @constructor_docs
    def from_predictions(
        cls,
        y_true: ArrayLike | Pairs,
        scores: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        metric: str = "ndcg@10",
        ax: Axes | None = None,
        **hist_kw: Any,
    ) -> Self:
        """Draw the metric of scores by query.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,), or Pairs
            Labels, or explicit comparisons for metrics of pairs.
        scores : array-like of shape (n_rows,)
            Higher is better.
        """
        display = cls(evaluate(y_true, scores, metric, qid=qid, per_query=True)[metric], metric)
        return display.plot(ax, **hist_kw)

    def plot(self, ax: Axes | None = None, **hist_kw: Any) -> Self:
        """Draw the histogram; return the display, with `ax_`, `figure_` and `bars_`."""
        ax = self._axes(ax)
        options = {"bins": 20, **hist_kw}
        if isinstance(options["bins"], int) and "range" not in options:
            options["bins"] = edges_of(self.values, options["bins"])
        _, _, self.bars_ = ax.hist(self.values, **options)
        mean = float(self.values.mean())
        ax.axvline(mean, color="0.3", linestyle="--", label=f"mean {mean:.3g}")
        ax.set(xlabel=self.metric, ylabel="queries")
        ax.legend()
        return self


Z = 1.959963984540054


@display_docs
class WeightsDisplay(Display):
    """The largest weights of a linear ranker as bars, with 95 % intervals where errors are known.

    Create it with `from_estimator`.

    Parameters
    ----------
    weights : array-like of shape (n_weights,)
        The weights, largest first.
    names : sequence of str
        The features.
    standard_errors : array-like of shape (n_weights,), optional
        Their standard errors; a weight without a finite one has no interval.

    Attributes
    ----------
    ax_, figure_
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> ranker = RankRLS().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 2])
    >>> WeightsDisplay.from_estimator(ranker).names
    ['f1', 'f2']
    """

    def __init__(
        self,
        weights: ArrayLike,
        names: Sequence[str],
        *,
        standard_errors: ArrayLike | None = None,
    ) -> None:
        self.weights, self.names = np.asarray(weights, dtype=np.float64), list(names)
        self.standard_errors = None if standard_errors is None else np.asarray(standard_errors)
        check_length(self.names, "names", self.weights.size)
        if self.standard_errors is not None:
            check_length(self.standard_errors, "standard_errors", self.weights.size)

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_weights: int = 20,
        ax: Axes | None = None,
        **bar_kw: Any,
    ) -> Self:
        """Draw the weights of largest size.

        Parameters
        ----------
        estimator : ranker
            A fitted linear ranker of one target.
        max_weights : int
            The number of weights shown, at most.
        """
        check_is_fitted(estimator)
        check_number(max_weights, "max_weights", integer=True)
        if not hasattr(estimator, "linear_coef"):
            raise PairrankError(
                f"a {type(estimator).__name__} has no weights: give a fitted ranker, such as the "
                "last step of a Pipeline"
            )
        coef = estimator.linear_coef()
        if coef.ndim > 1:
            raise PairrankError(
                f"the {type(estimator).__name__} has {len(coef)} targets: fit it with a single "
                "column of y"
            )
        largest = np.argsort(-np.abs(coef), kind="stable")[:max_weights]
        names, errors = feature_names(estimator), getattr(estimator, "standard_errors_", None)
        display = cls(
            coef[largest],
            [names[at] for at in largest.tolist()],
            standard_errors=None if errors is None else errors[largest],
        )
        return display.plot(ax, **bar_kw)

    def plot(self, ax: Axes | None = None, **bar_kw: Any) -> Self:
        """Draw the bars; return the display, with `ax_`, `figure_` and `bars_`."""
        ax, reach = self._axes_of_rows(ax, self.names), None
        if self.standard_errors is not None:
            known = np.isfinite(self.standard_errors)
            reach = np.where(known, Z * self.standard_errors, np.nan)
        places = np.arange(self.weights.size)
        self.bars_ = ax.barh(places, self.weights, xerr=reach, **{"capsize": 2, **bar_kw})
        ax.axvline(0.0, color="0.5", linewidth=0.8)
        ax.set_xlabel("weight" if reach is None else "weight, with its 95 % interval")
        return self


@display_docs
class RatingsDisplay(Display):
    """Scores with their intervals, best on top (a caterpillar plot).

    Create it with `from_estimator`.

    Parameters
    ----------
    items : array-like of shape (n_items,)
        Names, best first.
    scores, low, high : array-like of shape (n_items,)
        Scores and the ends of their intervals.

    Attributes
    ----------
    ax_, figure_
    errorbar_ : matplotlib ErrorbarContainer
        Points and intervals.

    Examples
    --------
    >>> from pairrank import BradleyTerry, RatingsDisplay
    >>> model = BradleyTerry().fit(["a", "b", "b", "c"], ["b", "a", "c", "a"])
    >>> RatingsDisplay.from_estimator(model).items
    ['b', 'c', 'a']
    """

    def __init__(
        self, items: ArrayLike, scores: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> None:
        self.items = [str(item) for item in np.asarray(items, dtype=object)]
        self.scores, self.low, self.high = (
            np.asarray(values, dtype=np.float64) for values in (scores, low, high)
        )
        for name in ("scores", "low", "high"):
            check_length(getattr(self, name), name, len(self.items))

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        *,
        top: int | None = None,
        ax: Axes | None = None,
        **errorbar_kw: Any,
    ) -> Self:
        """Draw the scores of a fitted BradleyTerry.

        Parameters
        ----------
        estimator : BradleyTerry
            Fitted with a covariance.
        """
        check_is_fitted(estimator)
        if top is not None:
            check_number(top, "top", integer=True)
        if not hasattr(estimator, "ranking_"):
            raise PairrankError(f"a {type(estimator).__name__} has no ranking: give a BradleyTerry")
        ranking = estimator.ranking_
        if "low" not in ranking:
            raise PairrankError("covariance=None gives no intervals: set covariance and fit again")
        columns = (ranking[name][:top] for name in ("item", "score", "low", "high"))
        return cls(*columns).plot(ax, **errorbar_kw)

    def plot(self, ax: Axes | None = None, **errorbar_kw: Any) -> Self:
        """Draw the scores; return the display, with `ax_`, `figure_` and `errorbar_`."""
        names = [item.replace("$", r"\$") for item in self.items]  # it would start a formula
        ax = self._axes_of_rows(ax, names)
        self.errorbar_ = ax.errorbar(
            self.scores,
            range(len(self.items)),
            xerr=np.array([self.scores - self.low, self.high - self.scores]),
            **{"fmt": "o", "markersize": 4, "capsize": 2, **errorbar_kw},
        )
        ax.set_xlabel("score")
        ax.grid(axis="x", alpha=0.3)
        return self
