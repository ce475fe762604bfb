"""Several metrics at once, by query too; two score vectors compared over the queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_number, check_query_ids
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import OF_PAIRS, RowArguments, metric
from pairrank.metrics._names import metric_named
from pairrank.preferences import Pairs
from pairrank.preferences._codes import query_codes


@metric(OF_PAIRS, roles=True)
def evaluate(
    y_true: ArrayLike | Pairs,
    scores: ArrayLike,
    metrics: str | Iterable[str],
    *,
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> dict[str, Any]:
    """Return several metrics by name.

    Parameters
    ----------
    metrics : str or iterable of str
        Names as in `get_query_scorer`, such as "ndcg@10", "map" or "rbp:persistence=0.9".
    per_query : bool
        Return one value per query instead: the columns of a table.

    Returns
    -------
    dict
        {name: value}. With `per_query` {"qid": queries, name: values of shape (n_queries,)}, NaN
        where a query does not count in a metric, such as a query of one label in metrics of pairs.

    Examples
    --------
    >>> y, scores, qid = [1, 0, 1, 0], [2.0, 1.0, 1.0, 2.0], ["a", "a", "b", "b"]
    >>> evaluate(y, scores, ["map", "auc"], qid=qid)
    {'map': 0.75, 'auc': 0.5}
    >>> evaluate(y, scores, "map", qid=qid, per_query=True)["map"]
    array([1. , 0.5])
    """
    if not isinstance(metrics, Iterable):
        raise PairrankError(f"metrics must be a name or several, not {metrics!r}")
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    known = {name: metric_named(name) for name in names}
    if not known:
        raise PairrankError('metrics names none; give at least one, such as "ndcg@10"')
    found = {
        name: each.function(y_true, scores, **rows, **each.options, per_query=per_query)
        for name, each in known.items()
    }
    return columns_of(found, check_query_ids(rows.get("qid"))) if per_query else found


def columns_of(
    found: Mapping[str, Mapping[Any, float]], qid: NDArray[Any] | None
) -> dict[str, NDArray[Any]]:
    """Return the columns of a table with one row per query, from {query: value} of each metric.

    The one query of rows without `qid` is called None.
    """
    queries: NDArray[Any] = np.array([None]) if qid is None else query_codes(qid)[0]
    listed = queries.tolist()

    def column(values: Mapping[Any, float]) -> FloatArray:
        return np.array([values.get(query, np.nan) for query in listed], dtype=np.float64)

    return {"qid": queries, **{name: column(values) for name, values in found.items()}}


EXACT_UP_TO = 16
"""The number of queries with a difference up to which every pattern of signs is tried."""

_NUMBERS_A_BLOCK = 1 << 22

_DESCRIBED = entries("""
scores, other : array-like of shape (n_rows,)
    The scores of two models for the same rows; higher is better.
sample_weight : array-like of shape (n_rows,), optional
    Row weights, for metrics of pairs and of differences; every query counts alike.
""")


class Comparison(NamedTuple):
    """Two models compared by one metric, over the queries that count for both.

    Attributes
    ----------
    n_queries : int
        The queries with a value for both models.
    mean, other_mean : float
        The mean over these queries of the metric of each model.
    difference : float
        mean - other_mean.
    low, high : float
        The ends of the bootstrap interval of the difference.
    p_value : float
        Two-sided, of the hypothesis that in every query the two models may be swapped.
    exact : bool
        Whether every pattern of swaps was counted, not a sample.
    """

    n_queries: int
    mean: float
    other_mean: float
    difference: float
    low: float
    high: float
    p_value: float
    exact: bool


@metric(OF_PAIRS, _DESCRIBED, roles=True)
def compare_scores(
    y_true: ArrayLike | Pairs,
    scores: ArrayLike,
    other: ArrayLike,
    name: str = "ndcg@10",
    *,
    n_resamples: int = 9999,
    confidence_level: float = 0.95,
    random_state: int = 0,
    **rows: Unpack[RowArguments],
) -> Comparison:
    """Compare the scores of two models by a metric's values in each query.

    The p-value is that of the paired randomisation test: how often the mean difference would be as
    large as it is, or larger, if the two models were swapped at random in every query. The
    interval is the percentile bootstrap's: the queries are drawn with replacement.

    Parameters
    ----------
    name : str
        The metric, as in `get_query_scorer`.
    n_resamples : int
        The number of random swaps, and of bootstrap samples. With at most 16 queries that differ,
        every pattern of swaps is counted instead.
    confidence_level : float
        The level of the interval, in (0, 1).
    random_state : int
        The seed; the same seed gives the same result.

    Returns
    -------
    Comparison

    Notes
    -----
    Costs two evaluations, and O(n_resamples n_queries).

    References
    ----------
    Smucker, Allan & Carterette 2007, "A comparison of statistical significance tests for
    information retrieval evaluation".

    Examples
    --------
    >>> y, qid = [1, 0] * 6, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    >>> found = compare_scores(y, [2, 1] * 6, [1, 2] * 6, "map", qid=qid)
    >>> found.difference, found.p_value, found.exact
    (0.5, 0.03125, True)
    """
    check_resampling(n_resamples, confidence_level, random_state)
    first, second = (
        evaluate(y_true, each, name, per_query=True, **rows)[name] for each in (scores, other)
    )
    return compare_values(first, second, n_resamples, confidence_level, random_state)


def check_resampling(n_resamples: Any, confidence_level: Any, random_state: Any) -> None:
    """Raise a PairrankError where an argument is out of range."""
    check_number(n_resamples, "n_resamples", integer=True)
    check_number(confidence_level, "confidence_level", below=1.0)
    check_number(random_state, "random_state", inclusive=True, integer=True)


def compare_values(
    first: FloatArray,
    second: FloatArray,
    n_resamples: int,
    confidence_level: float,
    random_state: int,
) -> Comparison:
    """Compare two models by their values in each query; NaN where a query does not count."""
    counted = ~(np.isnan(first) | np.isnan(second))
    first, second = first[counted], second[counted]
    if first.size < 2:
        raise PairrankError(
            f"the queries that count for both models are {first.size}: a comparison needs at least "
            "2, so give rows of several queries (qid)"
        )
    differences = first - second
    if not np.isfinite(differences).all():
        raise PairrankError("a query's value is infinite, so models cannot be compared by it")
    generator = np.random.default_rng(random_state)
    low, high = _bootstrap(differences, n_resamples, confidence_level, generator)
    p_value, exact = _randomisation(differences, n_resamples, generator)
    means = float(first.mean()), float(second.mean())
    return Comparison(first.size, *means, float(differences.mean()), low, high, p_value, exact)


def _bootstrap(
    differences: FloatArray, n_resamples: int, level: float, generator: np.random.Generator
) -> tuple[float, float]:
    """Return the percentile interval of the mean over queries drawn with replacement."""
    from scipy.stats import bootstrap

    found = bootstrap(
        (differences,), np.mean, n_resamples=n_resamples, confidence_level=level,
        method="percentile", vectorized=True, random_state=generator,
        batch=max(1, _NUMBERS_A_BLOCK // differences.size),
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)


def _randomisation(
    differences: FloatArray, n_resamples: int, generator: np.random.Generator
) -> tuple[float, bool]:
    """Return the share of sign patterns whose sum is as large as the observed, and if all are seen.

    Sums that differ by their rounding only count as equal: a sum of n terms is off by at most
    n eps times the sum of sizes, and a sampled one, formed as 2 a - b, by three times that.
    """
    differs = differences[differences != 0]
    observed = abs(differs.sum())
    least = observed - 4 * differs.size * np.finfo(float).eps * np.abs(differs).sum()
    if differs.size <= EXACT_UP_TO:
        sums = np.zeros(1)
        for difference in differs:
            sums = np.concatenate((sums + difference, sums - difference))
        return float(np.mean(np.abs(sums) >= least)), True
    n_bytes, total, as_large = -(-differs.size // 8), differs.sum(), 1
    block = max(1, _NUMBERS_A_BLOCK // differs.size)
    for start in range(0, n_resamples, block):
        size = (min(block, n_resamples - start), n_bytes)
        drawn = generator.integers(0, 256, size, dtype=np.uint8)
        kept = np.unpackbits(drawn, axis=1, count=differs.size)
        as_large += int(np.count_nonzero(np.abs(2.0 * (kept @ differs) - total) >= least))
    return as_large / (n_resamples + 1), False
