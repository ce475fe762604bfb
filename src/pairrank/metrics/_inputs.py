"""Shared parts of metrics: checked input, rows by query, means over pairs of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._validation import (
    check_choice,
    check_labels,
    check_numbers,
    check_query_ids,
    check_weights,
)
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.preferences._codes import query_codes

FloatArray = NDArray[np.float64]


class Judged(NamedTuple):
    """Checked input: labels (or Pairs), scores, query identifiers and row weights."""

    labels: Any
    scores: FloatArray
    qid: NDArray[Any] | None
    weight: FloatArray | None


def check_rows(
    y_true: Any, scores: Any, qid: Any, sample_weight: Any, *, text: bool = False
) -> Judged:
    """Return labels, scores, queries and weights as checked arrays of one length."""
    judged = check_scored(None, scores, qid, sample_weight)
    labels = check_labels(y_true, name="y_true")
    if labels.dtype.kind not in "fiu" and not text:
        raise PairrankError(
            "y_true holds text, which has no order of its own: give numbers, or an OrderGraph "
            "to a metric that takes a graph"
        )
    if labels.size != judged.scores.size:
        raise PairrankError(
            f"y_true has {labels.size} entries but there are {judged.scores.size} scores: give one "
            "per row"
        )
    return judged._replace(labels=labels)


def check_scored(y_true: Any, scores: Any, qid: Any, sample_weight: Any) -> Judged:
    """Check all arguments but `y_true`."""
    values = check_numbers(scores, "scores")
    weight = check_weights(sample_weight, values.size)
    return Judged(y_true, values, check_query_ids(qid, values.size), weight)


class ByQuery(NamedTuple):
    """Rows by query, without those of weight 0.

    order: the user's row at each place, (n_kept,); starts: where each query begins,
    (n_queries + 1,); identifiers: the queries, (n_queries,); None where there is no qid.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    identifiers: NDArray[Any] | None


def by_query(judged: Judged) -> ByQuery:
    """Order the rows by query, stably; O(m), or O(m log m) where identifiers are unordered."""
    from pairrank.compiled.layout import counting_order

    kept = np.arange(judged.scores.size)
    if judged.weight is not None:
        kept = np.flatnonzero(judged.weight > 0)
    if judged.qid is None:
        stops = [0, kept.size] if kept.size else [0]
        return ByQuery(kept, np.array(stops, dtype=np.int64), None)
    identifiers, codes = query_codes(judged.qid[kept])
    sizes = np.bincount(codes, minlength=identifiers.size)
    order = counting_order(codes, identifiers.size, np.empty(0, dtype=np.int32))
    return ByQuery(kept[order], np.append(0, np.cumsum(sizes)).astype(np.int64), identifiers)


def identifiers_of(judged: Judged) -> NDArray[Any] | None:
    """Return the queries in the order in which `Levels` and `by_query` number them."""
    if judged.qid is None:
        return None
    qid = judged.qid if judged.weight is None else judged.qid[judged.weight > 0]
    return query_codes(qid)[0]


def as_mapping(
    identifiers: NDArray[Any] | None, values: FloatArray, counted: NDArray[np.bool_]
) -> dict[Any, float]:
    """Return {query: value} of the queries that count; without qid the one query is None."""
    names = [None] * values.size if identifiers is None else identifiers.tolist()
    return {
        name: value
        for name, value, inside in zip(names, values.tolist(), counted.tolist(), strict=True)
        if inside
    }


def nothing_to_measure(what: str) -> float:
    """Warn that no query counts, and return NaN."""
    warnings.warn(f"{what}, so the metric is NaN", NoPairsWarning, stacklevel=3)
    return float("nan")


def mean_over_differences(
    y_true: Any,
    scores: Any,
    *,
    qid: Any,
    sample_weight: Any,
    average: str,
    per_query: bool,
    mean_of: Callable[[FloatArray, FloatArray, FloatArray, NDArray[np.int64]], FloatArray],
) -> Any:
    """Return the mean over the queries of the values of `mean_of`.

    Parameters
    ----------
    y_true, scores, qid, sample_weight : array-like of shape (n_rows,)
        As in the metrics.
    average : {"pairs", "queries"}
        A query counts by the square of its weight, or all queries count alike.
    per_query : bool
        Return {qid: value} instead.
    mean_of : callable
        Takes labels, scores and weights by query, which it may overwrite, and the starts of the
        queries; a query's weights sum to 1. Returns one value per query.
    """
    check_choice(average, "average", ("pairs", "queries"))
    judged = check_rows(y_true, scores, qid, sample_weight)
    rows = by_query(judged)
    if rows.starts.size == 1:
        return {} if per_query else nothing_to_measure("there is no row")
    weight = np.ones(rows.order.size) if judged.weight is None else judged.weight[rows.order]
    totals = np.add.reduceat(weight, rows.starts[:-1])
    shares = weight / np.repeat(totals, np.diff(rows.starts))
    labels = judged.labels[rows.order].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        means = mean_of(labels, judged.scores[rows.order], shares, rows.starts)
    if per_query:
        return as_mapping(rows.identifiers, means, np.ones(means.size, dtype=bool))
    if average == "queries":
        return float(means.mean())
    scaled = np.ldexp(totals, -np.frexp(totals.max())[1])
    return float(np.average(means, weights=scaled**2))


def residuals(labels: FloatArray, scores: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Return scores minus labels, up to a constant per query.

    The score nearest to zero is subtracted first. A common offset of a query's scores then costs no
    digits, and one huge score costs the others none.
    """
    sizes = np.diff(starts)
    least = np.repeat(np.minimum.reduceat(np.abs(scores), starts[:-1]), sizes)
    above = np.logical_or.reduceat(scores == least, starts[:-1])
    base = labels[starts[:-1]]
    return (scores - np.where(np.repeat(above, sizes), least, -least)) - (
        labels - np.repeat(base, sizes)
    )
