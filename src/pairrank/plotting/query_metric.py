"""QueryMetricDisplay: a metric's values over the queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pairrank._protocols import Features
from pairrank.exceptions import PairrankError
from pairrank.metrics.tables import evaluate
from pairrank.plotting._common import Display, display_docs
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
    metric : str
        The name of the metric.

    Attributes
    ----------
    ax_, figure_
    bars_ : list of matplotlib artists
        The bars of the histogram.

    Examples
    --------
    >>> display = QueryMetricDisplay.from_predictions(
    ...     [1, 0, 1, 0], [2.0, 1.0, 1.0, 2.0], qid=["a", "a", "b", "b"], metric="map", draw=False)
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
    @display_docs
    def from_estimator(
        cls,
        estimator: Any,
        X: Features,
        y: ArrayLike | Pairs,
        *,
        qid: ArrayLike | None = None,
        metric: str = "ndcg@10",
        draw: bool = True,
        ax: Axes | None = None,
        **hist_kw: Any,
    ) -> Self:
        """Draw the metric of an estimator's predictions by query.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker, or any other with `predict`.
        metric : str
            As in `from_predictions`.

        Returns
        -------
        QueryMetricDisplay
        """
        scores = estimator.predict(X)
        return cls.from_predictions(
            y, scores, qid=qid, metric=metric, draw=draw, ax=ax, **hist_kw
        )  # fmt: skip

    @classmethod
    @display_docs
    def from_predictions(
        cls,
        y_true: ArrayLike | Pairs,
        scores: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        metric: str = "ndcg@10",
        draw: bool = True,
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
        metric : str
            A name as in `pairrank.model_selection.get_query_scorer`.

        Returns
        -------
        QueryMetricDisplay

        Raises
        ------
        ValueError
            If there is no such metric, it cannot judge the labels, or no query counts.
        """
        display = cls(evaluate(y_true, scores, metric, qid=qid, per_query=True)[metric], metric)
        return display.plot(ax, **hist_kw) if draw else display

    def plot(self, ax: Axes | None = None, **hist_kw: Any) -> Self:
        """Draw the histogram; return the display, with `ax_`, `figure_` and `bars_`."""
        ax = self._axes(ax)
        within = self.values.min() >= 0 and self.values.max() <= 1
        usual = {"bins": 20, "range": (0.0, 1.0) if within else None}
        _, _, self.bars_ = ax.hist(self.values, **{**usual, **hist_kw})
        mean = float(self.values.mean())
        ax.axvline(mean, color="0.3", linestyle="--", label=f"mean {mean:.3g}")
        ax.set(xlabel=self.metric, ylabel="queries")
        ax.legend()
        return self
