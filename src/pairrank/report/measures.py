"""The metrics of a page: values over all rows, spread over queries, values of each query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.metrics._names import metric_named
from pairrank.metrics.comparison import Comparison, compare_values
from pairrank.metrics.tables import columns_of
from pairrank.preferences import Pairs
from pairrank.preferences.roles import ROLES

MOST_GAINS = 20
"""Labels of more levels than this are not taken for grades, which NDCG is for."""

N_RESAMPLES = 1_999
LEVEL = 0.95


class Measure(NamedTuple):
    """A metric of one model.

    Attributes
    ----------
    name : str
    value : float
        Over all rows, as `pairrank.metrics` gives it.
    by_query : ndarray of shape (n_queries,)
        NaN for a query that does not count.
    greater_is_better : bool
    """

    name: str
    value: float
    by_query: FloatArray
    greater_is_better: bool

    @property
    def counted(self) -> FloatArray:
        """The values of the queries that count."""
        return self.by_query[~np.isnan(self.by_query)]

    @property
    def spread(self) -> dict[str, float]:
        """The mean, standard deviation and quantiles over the queries that count."""
        values = self.counted
        if not values.size:
            return dict.fromkeys(("mean", "sd", "low", "median", "high"), float("nan"))
        low, median, high = np.quantile(values, [0.1, 0.5, 0.9])
        sd = values.std(ddof=1) if values.size > 1 else np.nan
        return {"mean": values.mean(), "sd": sd, "low": low, "median": median, "high": high}


def usual_metrics(y: Any, layout: Mapping[str, Any], *, probabilities: bool) -> list[str]:
    """Return the names of the metrics that suit labels or comparisons; the first one sorts queries.

    `probabilities` says whether scores give probabilities of preferences.
    """
    names = ["pairwise_accuracy"] + ["log_loss"] * probabilities
    if isinstance(y, Pairs) or not layout.keys().isdisjoint(ROLES) or y.dtype.kind not in "fiu":
        return names
    grades = np.unique(y)
    if grades[0] >= 0 and grades.size <= MOST_GAINS and (grades == np.round(grades)).all():
        names = ["ndcg@10", *names, "map"]
    return [*names, "kendall_tau"]


def measure(
    name: str, y: Any, scores: FloatArray, layout: Mapping[str, Any], model: Any, graph: Any
) -> Measure:
    """Return a metric of scores; `layout` holds the queries and weights that are given."""
    metric = metric_named(name)
    by_query = metric.of(y, scores, layout, model, graph, per_query=True)
    values = columns_of({name: by_query}, layout.get("qid"))[name]
    value = float(metric.of(y, scores, layout, model, graph))
    return Measure(name, value, values, metric.greater_is_better)


def compared(first: Measure, second: Measure, seed: int) -> Comparison | None:
    """Return the comparison of two models by a metric; None for fewer than two queries."""
    both = ~(np.isnan(first.by_query) | np.isnan(second.by_query))
    if both.sum() < 2:
        return None
    return compare_values(first.by_query, second.by_query, N_RESAMPLES, LEVEL, seed)


def worst_and_best(
    values: FloatArray, sizes: NDArray[Any], *, greater_is_better: bool, most: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the places of the worst queries, worst first, and of the best ones, best first.

    No query is in both; of equal queries the one with more rows comes first.
    """
    counted = np.flatnonzero(~np.isnan(values))
    key = values[counted] if greater_is_better else -values[counted]
    n_worst = min(most, (counted.size + 1) // 2)
    worst = counted[np.lexsort((-sizes[counted], key))[:n_worst]]
    best = counted[np.lexsort((-sizes[counted], -key))]
    best = best[~np.isin(best, worst)][:most]
    return worst, best
