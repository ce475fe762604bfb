"""Tallies: metrics as sums that are added over sets of whole queries."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from pairrank.exceptions import NoPairsWarning
from pairrank.metrics._inputs import RowArguments, check_preferences, check_rows
from pairrank.metrics.gains import ndcg_score
from pairrank.metrics.lists import is_relevant
from pairrank.metrics.pairwise import right_and_total


class Tally(NamedTuple):
    """The sum of what is gained, and of what can be gained; their ratio is the metric."""

    gained: float
    total: float

    def plus(self, other: Tally) -> Tally:
        """Return the tally of both sets of queries together."""
        return Tally(self.gained + other.gained, self.total + other.total)

    def value(self, nothing: str) -> float:
        """Return the metric; NaN with a NoPairsWarning, for the reason `nothing`, if total is 0."""
        if self.total == 0:
            warnings.warn(f"{nothing}, so the metric is NaN", NoPairsWarning, stacklevel=4)
            return float("nan")
        return float(self.gained / self.total)


def tally_pairs(
    y: Any,
    scores: Any,
    *,
    graph: Any = "full",
    ties: Literal["half", "correct", "error"] = "half",
    average: Literal["pairs", "queries", "edges"] = "pairs",
    **rows: Unpack[RowArguments],
) -> Tally:
    """Return the tally of `pairwise_accuracy`."""
    judged, preferences = check_preferences(y, scores, graph, rows)
    right, total = right_and_total(judged, preferences, ties, by_edge=average == "edges")
    if average != "queries":
        return Tally(float(right.sum()), float(total.sum()))
    counted = total > 0
    return Tally(float((right[counted] / total[counted]).sum()), int(np.count_nonzero(counted)))


def tally_classes(y: Any, scores: Any, *, relevant_from: float | None = None, **how: Any) -> Tally:
    """Return the tally of `auc_score`."""
    labels = check_rows(y, scores, {}).labels
    return tally_pairs(is_relevant(labels, relevant_from).astype(float), scores, **how)


def tally_lists(
    y: Any, scores: Any, *, qid: Any = None, sample_weight: Any = None, **how: Any
) -> Tally:
    """Return the tally of `ndcg_score`: the sum of the values of queries, by their weights."""
    qid = np.zeros(len(y), dtype=np.int64) if qid is None else qid
    values = ndcg_score(y, scores, qid=qid, sample_weight=sample_weight, per_query=True, **how)
    weights = dict.fromkeys(values, 1.0)
    if sample_weight is not None:
        order = np.argsort(sample_weight)  # the last row of a query gives its largest weight
        weights = dict(zip(qid[order].tolist(), sample_weight[order].tolist(), strict=True))
    gained = sum(weights[query] * value for query, value in values.items())
    return Tally(float(gained), float(sum(weights[query] for query in values)))
