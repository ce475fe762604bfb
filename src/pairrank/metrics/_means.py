"""Means over all ordered pairs of rows of each query, ties and both directions included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._validation import check_choice
from pairrank.metrics._inputs import (
    FloatArray,
    as_mapping,
    by_query,
    check_rows,
    nothing_to_measure,
)


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
    """Return the mean over the queries of what `mean_of` finds for each.

    Parameters
    ----------
    y_true, scores, qid, sample_weight : array-like of shape (n_rows,)
        As metrics take them.
    average : {"pairs", "queries"}
        Queries weigh the square of their weight, or the same.
    per_query : bool
        Return {qid: value} instead.
    mean_of : callable
        Takes labels, scores and weights by query, all its own, and where each query begins; a
        query's weights sum to 1. Returns a value a query.
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
    """Return scores less labels, up to a constant a query; one near all scores is taken off first.

    It is the score nearest to zero: an offset that a query's scores share costs no digits then, and
    one huge score costs the others none.
    """
    sizes = np.diff(starts)
    least = np.repeat(np.minimum.reduceat(np.abs(scores), starts[:-1]), sizes)
    above = np.logical_or.reduceat(scores == least, starts[:-1])
    base = labels[starts[:-1]]
    return (scores - np.where(np.repeat(above, sizes), least, -least)) - (
        labels - np.repeat(base, sizes)
    )
