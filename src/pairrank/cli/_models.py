"""The tables of what can be trained and what can be measured: one line for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from pairrank.io import Rows

MODELS: dict[str, str] = {
    "ranksvm": "RankSVM",
}
"""Name at the command line -> class of the estimator."""


class Metric(NamedTuple):
    """A function of pairrank.metrics with its options."""

    function: str
    options: dict[str, Any]
    gains: bool
    """Labels are gains: none is negative, and only queries can have weights, not rows."""
    graph: bool = False
    """It judges the pairs of an order graph, which is the model's own, also of text labels."""


METRICS: dict[str, Metric] = {
    "pairwise_accuracy": Metric("pairwise_accuracy", {}, gains=False, graph=True),
    "mean_ndcg": Metric("mean_ndcg", {}, gains=True),
    "ndcg@10": Metric("ndcg_score", {"k": 10}, gains=True),
    "kendall_tau": Metric("kendall_tau", {}, gains=False),
}
"""Name at the command line -> what measures it."""


def one_of(table: dict[str, Any]) -> Callable[[str], str]:
    """Return a check that an option's value is a name in a table."""

    def check(name: str) -> str:
        if name not in table:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(sorted(table))}")
        return name

    return check


def positive(value: float | None) -> float | None:
    """Check that an option's value is a positive finite number."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value} is no positive number")
    return value


def make_model(name: str, **params: Any) -> Any:
    """Return a new estimator of this name with these parameters."""
    from pairrank.estimators.model_files import ESTIMATORS

    attribute = MODELS[name]
    return getattr(import_module(ESTIMATORS[attribute]), attribute)(**params)


def measure(name: str, rows: Rows, scores: Any, graph: Any) -> float:
    """Return a metric of scores against the rows' labels; pairs are those of the model's graph."""
    from pairrank import metrics

    metric = METRICS[name]
    weight = None if metric.gains else rows.weight
    options = {**metric.options, "graph": graph} if metric.graph else metric.options
    function = getattr(metrics, metric.function)
    return float(function(rows.y, scores, qid=rows.qid, sample_weight=weight, **options))
