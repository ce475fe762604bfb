"""Tallies: metrics as sums that are added over sets of whole queries.

A tally is an array of two sums: what is gained, and what can be gained; their ratio is the metric.
"""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.metrics._inputs import RowArguments, check_preferences, check_rows, ratios
from pairrank.metrics.gains import ndcg_score
from pairrank.metrics.lists import is_relevant
from pairrank.metrics.pairwise import right_and_total


def tally_pairs(
    y: Any,
    scores: Any,
    *,
    graph: Any = "full",
    ties: Literal["half", "correct", "error"] = "half",
    average: Literal["pairs", "queries", "edges"] = "pairs",
    **rows: Unpack[RowArguments],
) -> FloatArray:
    """Return the tally of `pairwise_accuracy`."""
    judged, preferences = check_preferences(y, scores, graph, rows)
    right, total = right_and_total(judged, preferences, ties, by_edge=average == "edges")
    if average == "queries":
        return np.array([np.nansum(ratios(right, total)), np.count_nonzero(total)])
    return np.array([right.sum(), total.sum()], dtype=np.float64)


def tally_classes(
    y: Any, scores: Any, *, relevant_from: float | None = None, **how: Any
) -> FloatArray:
    """Return the tally of `auc_score`."""
    labels = check_rows(y, scores, {}).labels
    return tally_pairs(is_relevant(labels, relevant_from).astype(float), scores, **how)


def tally_lists(
    y: Any, scores: Any, *, qid: Any = None, sample_weight: Any = None, **how: Any
) -> FloatArray:
    """Return the tally of `ndcg_score`: the sum of the values of queries, by their weights."""
    qid = np.zeros(len(y), dtype=np.int64) if qid is None else qid
    values = ndcg_score(y, scores, qid=qid, sample_weight=sample_weight, per_query=True, **how)
    weights = dict.fromkeys(values, 1.0)
    if sample_weight is not None:
        order = np.argsort(sample_weight)  # the last row of a query gives its largest weight
        weights = dict(zip(qid[order].tolist(), sample_weight[order].tolist(), strict=True))
    tallies = [(weights[query] * value, weights[query]) for query, value in values.items()]
    return np.reshape(tallies, (-1, 2)).sum(axis=0)
