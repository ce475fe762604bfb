"""What every metric checks before any work, and the layout of rows by query."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._validation import as_float_array, check_labels, check_query_ids, check_weights
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
    """Return labels, scores, queries and weights as arrays of one length, or say what is wrong."""
    judged = check_scored(None, scores, qid, sample_weight)
    labels = check_labels(y_true)
    if labels.dtype.kind not in "fiu" and not text:
        raise PairrankError(
            "y_true holds text, which has no order of its own: give numbers, or an OrderGraph "
            "to a metric that takes a graph"
        )
    _same_length(labels, "y_true", judged.scores)
    return judged._replace(labels=labels)


def check_scored(y_true: Any, scores: Any, qid: Any, sample_weight: Any) -> Judged:
    """Check all but `y_true`, which is taken as it is."""
    values = check_scores(scores)
    queries = check_query_ids(qid)
    if queries is not None:
        _same_length(queries, "qid", values)
    if sample_weight is not None and np.ndim(sample_weight) == 1:
        _same_length(sample_weight, "sample_weight", values)
    return Judged(y_true, values, queries, check_weights(sample_weight, values.size))


def check_scores(scores: Any) -> FloatArray:
    """Return scores as a contiguous float64 array of one dimension, all finite."""
    values = as_float_array(scores, "scores")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise PairrankError(f"scores must have one dimension, got shape {values.shape}")
    if not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax())
        raise PairrankError(
            f"scores contains {values[row]} in row {row}; remove the row or replace the value"
        )
    return np.ascontiguousarray(values)


class ByQuery(NamedTuple):
    """Rows laid out by query, those of weight 0 left out.

    order: the user's row at each place, (n_kept,); starts: where each query begins,
    (n_queries + 1,); identifiers: the queries, (n_queries,); None where there is no qid.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    identifiers: NDArray[Any] | None


def by_query(judged: Judged) -> ByQuery:
    """Lay the rows out by query, stably; O(m), or O(m log m) where identifiers are unordered."""
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
    """Warn that no query counts, and return the NaN that the metric then is."""
    warnings.warn(f"{what}, so the metric is NaN", NoPairsWarning, stacklevel=3)
    return float("nan")


def _same_length(values: Any, name: str, scores: FloatArray) -> None:
    if len(values) != scores.size:
        raise PairrankError(
            f"{name} has {len(values)} entries but there are {scores.size} scores: one a row"
        )
