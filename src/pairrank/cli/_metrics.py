"""The table of what can be measured: one line a metric."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.cli._guard import complain
from pairrank.preferences import Pairs

if TYPE_CHECKING:
    from pairrank.io import Rows


class Metric(NamedTuple):
    """A function of pairrank.metrics with its options."""

    function: str
    options: dict[str, Any]
    gains: bool
    """Labels are gains: none is negative, and only queries can have weights, not rows."""
    pairs: bool = False
    """It judges preferences: those of an order graph, also of text labels, or comparisons."""
    asked: bool = False
    """It is shown only where it is asked for: much like another one, or by another name."""
    differences: bool = False
    """It holds differences of scores against those of labels, for models that learn them: less is
    better."""


METRICS: dict[str, Metric] = {
    "pairwise_accuracy": Metric("pairwise_accuracy", {}, gains=False, pairs=True),
    "mean_ndcg": Metric("mean_ndcg", {}, gains=True),
    "ndcg@10": Metric("ndcg_score", {"k": 10}, gains=True),
    "kendall_tau": Metric("kendall_tau", {}, gains=False),
    "wmw": Metric("wmw_score", {}, gains=False, pairs=True, asked=True),
    "msd": Metric("msd", {}, gains=False, differences=True),
    "m1d": Metric("m1d", {}, gains=False, differences=True, asked=True),
    "tube_cost": Metric("tube_cost", {}, gains=False, differences=True, asked=True),
}
"""Name at the command line -> what measures it."""


def measure(name: str, rows: Rows, scores: Any, graph: Any) -> float:
    """Return a metric of scores against the rows' labels; pairs are those of the graph."""
    from pairrank import metrics

    metric = METRICS[name]
    weight = None if metric.gains else rows.weight
    options = {**metric.options, "graph": graph} if metric.pairs else metric.options
    function = getattr(metrics, metric.function)
    return float(function(rows.y, scores, qid=rows.qid, sample_weight=weight, **options))


def measured(rows: Rows, *, wmw: bool, differences: bool) -> list[str]:
    """Return the names of the metrics to show: WMW alone, or all that judge such rows and model."""
    if wmw:
        return ["wmw"]
    compared = isinstance(rows.y, Pairs)
    return [
        name
        for name, metric in METRICS.items()
        if not metric.asked
        and (metric.pairs or not compared)
        and (differences or not metric.differences)
    ]


def measure_all(names: Iterable[str], rows: Rows, scores: Any, graph: Any) -> dict[str, float]:
    """Return metrics by name; NaN, with a warning, for those that the labels leave undefined."""
    undefined, wanted = _undefined(names, rows.y)
    if undefined:
        complain(f"{' and '.join(undefined)} need {wanted}.", kind="warning")
    return {
        name: math.nan if name in undefined else measure(name, rows, scores, graph)
        for name in names
    }


def _undefined(names: Iterable[str], y: Any) -> tuple[list[str], str]:
    """Return the metrics that cannot judge such labels, and what labels they need."""
    if isinstance(y, Pairs):
        return [], ""
    labels = np.asarray(y)
    if labels.dtype.kind not in "fiu":
        return [name for name in names if not METRICS[name].pairs], "labels that are numbers"
    if labels.min() < 0:
        return [name for name in names if METRICS[name].gains], "labels of 0 and more"
    return [], ""
