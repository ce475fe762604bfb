"""The tables of what can be trained and what can be measured: one line for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pairrank.io import Rows

MODELS: dict[str, str] = {
    "ranksvm": "RankSVM",
}
"""Name at the command line -> class of the estimator."""

METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "pairwise_accuracy": ("pairwise_accuracy", {}),
    "mean_ndcg": ("mean_ndcg", {}),
    "ndcg@10": ("ndcg_score", {"k": 10}),
    "kendall_tau": ("kendall_tau", {}),
}
"""Name at the command line -> function of pairrank.metrics and its options."""


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


def measure(name: str, rows: Rows, scores: Any) -> float:
    """Return a metric of scores against the rows' labels."""
    from pairrank import metrics

    function, options = METRICS[name]
    value = getattr(metrics, function)(
        rows.y, scores, qid=rows.qid, sample_weight=rows.weight, **options
    )
    return float(value)
