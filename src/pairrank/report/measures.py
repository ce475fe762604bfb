"""The numbers of a page: metrics by query, scores of each label, weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from pairrank._protocols import Array, FloatArray
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import check_metrics, metric_named
from pairrank.metrics.tables import columns_of
from pairrank.plotting.rankings import Z
from pairrank.preferences import Pairs
from pairrank.preferences.roles import ROLES
from pairrank.report.subject import Subject

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
        return {**spread_of(values), "sd": values.std(ddof=1) if values.size > 1 else np.nan}


def spread_of(values: FloatArray) -> dict[str, float]:
    """Return the mean, the 10 % and 90 % quantiles and the median of values; NaN without any."""
    names = ("mean", "low", "median", "high")
    if not values.size:
        return dict.fromkeys(names, np.nan)
    return dict(zip(names, [values.mean(), *np.quantile(values, [0.1, 0.5, 0.9])], strict=True))


def chosen_metrics(
    asked: Any, y: Any, layout: Mapping[str, Any], *, probabilities: bool = False
) -> list[str]:
    """Return the checked names of the metrics asked for, by default those that suit the labels.

    `probabilities` says whether scores give probabilities of preferences.
    """
    given = [asked] if isinstance(asked, str) else list(dict.fromkeys(asked or ()))
    check_metrics(given, y)
    if given:
        return given
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


MOST_QUERIES = 5
"""The queries shown of the worst, of the best, and of those that differ most."""


def worst_and_best(
    values: FloatArray, sizes: Array, *, greater_is_better: bool
) -> tuple[Array, Array]:
    """Return the places of the worst queries, worst first, and of the best ones, best first.

    No query is in both; of equal queries the one with more rows comes first.
    """
    counted = np.flatnonzero(~np.isnan(values))
    key = values[counted] if greater_is_better else -values[counted]
    n_worst = min(MOST_QUERIES, (counted.size + 1) // 2)
    worst = counted[np.lexsort((-sizes[counted], key))[:n_worst]]
    best = counted[np.lexsort((-sizes[counted], -key))]
    best = best[~np.isin(best, worst)][:MOST_QUERIES]
    return worst, best


MOST_LEVELS = 12
N_BANDS = 8
"""The number of bands into which more levels than `MOST_LEVELS` are merged."""


def score_levels(y: Array, scores: FloatArray, query_of: Array | None) -> list[dict[str, Any]]:
    """Return the spread of the scores of each label, lowest first; O(n_rows log n_rows).

    With queries the scores are less the mean of their query, because only rows of one query are
    compared. Many levels are merged into bands of about equal size.
    """
    if query_of is not None:
        sizes = np.bincount(query_of)
        scores = scores - (np.bincount(query_of, scores) / np.maximum(sizes, 1))[query_of]
    labels, codes = np.unique(y, return_inverse=True)
    bands = codes
    if labels.size > MOST_LEVELS:
        ends = np.quantile(codes, np.arange(1, N_BANDS) / N_BANDS, method="inverted_cdf")
        bands = np.searchsorted(ends, codes)
    found = []
    for band in np.unique(bands):
        of_band = codes[bands == band]
        names = dict.fromkeys(map(label_text, labels[[of_band.min(), of_band.max()]]))
        spread = spread_of(scores[bands == band])
        found.append({"label": " to ".join(names), "n_rows": of_band.size, **spread})
    return found


def label_text(label: Any) -> str:
    """Return a label, a number or text, as text."""
    return f"{label:g}" if isinstance(label, float) else str(label)


MOST_WEIGHTS = 25
_ROWS_A_BLOCK = 1 << 15


class Weight(NamedTuple):
    """A feature's weight; `low` and `high` are its 95 % interval.

    `effect` is the weight times the standard deviation of the feature over the rows, and
    `effect_error` its standard error. `other` is the weight of another model. What is not known is
    NaN.
    """

    name: str
    weight: float
    effect: float
    effect_error: float
    low: float
    high: float
    other: float


def largest_weights(subject: Subject, other: Subject | None = None) -> list[Weight]:
    """Return the weights of largest effect; O(n_rows n_features), or O(non-zeros).

    Raises a PairrankError if a feature is too large for its standard deviation.
    """
    weights = subject.ranker.linear_coef()
    deviations = _standard_deviations(subject.X)
    effects = weights * deviations
    if not np.isfinite(effects).all():
        at = int(np.argmin(np.isfinite(effects)))
        raise PairrankError(
            f"the standard deviation of feature {subject.names[at]} overflows: scale it down"
        )
    unknown = np.full(weights.size, np.nan)
    errors = getattr(subject.ranker, "standard_errors_", unknown)
    errors = np.where(np.isfinite(errors), errors, np.nan)
    beside = unknown
    if other is not None and other.is_linear and other.names == subject.names:
        beside = other.ranker.linear_coef()
    ends = weights - Z * errors, weights + Z * errors
    columns = np.array([weights, effects, errors * deviations, *ends, beside])
    largest = np.argsort(-np.abs(effects), kind="stable")[:MOST_WEIGHTS].tolist()
    return [Weight(subject.names[at], *columns[:, at].tolist()) for at in largest]


def _standard_deviations(X: Any) -> FloatArray:
    """Return the standard deviation of each feature, from blocks of rows; inf if it overflows."""
    scaler = StandardScaler(with_mean=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in gen_batches(X.shape[0], _ROWS_A_BLOCK):
            scaler.partial_fit(X[block])
    return np.sqrt(scaler.var_)
