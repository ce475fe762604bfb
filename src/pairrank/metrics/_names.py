"""The table of metrics by name, for scorers, searches and the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from pairrank.exceptions import PairrankError
from pairrank.metrics.correlation import kendall_tau
from pairrank.metrics.differences import (
    hinge_magnitude_cost,
    hinge_rank_cost,
    m1d,
    msd,
    tube_cost,
)
from pairrank.metrics.ndcg import mean_ndcg, ndcg_score
from pairrank.metrics.pairwise import pairwise_accuracy, wmw_score

_NO_OPTIONS: Mapping[str, Any] = {}


class Metric(NamedTuple):
    """A function of `pairrank.metrics` and how to use it."""

    function: Callable[..., Any]
    judges: Literal["preferences", "gains", "numbers"] = "numbers"
    """What it compares scores with: preferences (an order graph, also of text labels, or Pairs),
    gains (labels of at least 0; queries may have weights, rows may not), or any numbers."""
    greater_is_better: bool = True
    own: tuple[str, ...] = ()
    """Arguments whose defaults are the model's parameters of the same names."""
    options: Mapping[str, Any] = _NO_OPTIONS

    @property
    def has_k(self) -> bool:
        """Whether it can be cut at the first k positions, and so has the names "name@k"."""
        return "k" in inspect.signature(self.function).parameters

    def arguments(self, model: Any = None) -> dict[str, Any]:
        """Return the options, and the model's parameters where an option is not given.

        A value that `fit` derived, such as `epsilon_`, comes before the parameter itself.
        """
        of_model = {
            name: getattr(model, f"{name}_", getattr(model, name))
            for name in self.own
            if hasattr(model, name)
        }
        return {**of_model, **self.options}


METRICS: dict[str, Metric] = {
    "pairwise_accuracy": Metric(pairwise_accuracy, "preferences", own=("graph",)),
    "wmw": Metric(wmw_score, "preferences", own=("graph",)),
    "kendall_tau": Metric(kendall_tau),
    "mean_ndcg": Metric(mean_ndcg, "gains"),
    "ndcg": Metric(ndcg_score, "gains"),
    "msd": Metric(msd, greater_is_better=False),
    "m1d": Metric(m1d, greater_is_better=False),
    "tube_cost": Metric(tube_cost, greater_is_better=False, own=("epsilon", "n")),
    "hinge_rank_cost": Metric(hinge_rank_cost, greater_is_better=False),
    "hinge_magnitude_cost": Metric(hinge_magnitude_cost, greater_is_better=False),
}
"""Name -> metric; "name@k" is a metric with `k` at position k, such as "ndcg@10"."""


def metric_names() -> str:
    """Return all names for messages and help, separated by commas."""
    return ", ".join([*METRICS, *(f"{name}@k" for name, each in METRICS.items() if each.has_k)])


def metric_named(name: Any) -> Metric:
    """Return the metric of a name in METRICS, or of "name@k".

    Raises
    ------
    PairrankError
        If there is no such metric.
    """
    known, at, depth = str(name).partition("@")
    metric = METRICS.get(known)
    if metric is not None and not at:
        return metric
    if metric is not None and metric.has_k and depth.isdecimal() and int(depth):
        return metric._replace(options={"k": int(depth)})
    raise PairrankError(f"there is no metric {name!r}; use one of {metric_names()}")


def metric_of(function: Callable[..., Any], options: Mapping[str, Any]) -> Metric:
    """Return a function's metric in the table, or else a new one, where greater is better."""
    listed = [metric for metric in METRICS.values() if metric.function is function]
    return (listed[0] if listed else Metric(function))._replace(options=dict(options))
