"""The table of metrics by name, for scorers, searches and the command line."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from pairrank._validation import ALIGNED
from pairrank.exceptions import PairrankError
from pairrank.metrics import differences, gains, lists, pairwise
from pairrank.preferences import Pairs
from pairrank.preferences.roles import ROLES

_NOT_NAMED = ("k", "groups", "per_query")
"""Options of metrics that a name does not give as "option=value"."""


class Metric(NamedTuple):
    """A function of `pairrank.metrics` and how to use it."""

    function: Callable[..., Any]
    judges: Literal["preferences", "lists", "gains", "numbers"] = "numbers"
    """What it compares scores with: preferences (an order graph, also of text labels, or Pairs),
    ranked lists (any numbers; queries may have weights, rows may not), gains (the same with labels
    of at least 0), or any numbers."""
    greater_is_better: bool = True
    own: tuple[str, ...] = ()
    """Arguments whose defaults are the model's parameters of the same names."""
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the function by name."""
        return inspect.signature(self.function).parameters

    @property
    def has_k(self) -> bool:
        """Whether it can be cut at the first k positions, and so has the names "name@k"."""
        return "k" in self.parameters

    @property
    def needs_k(self) -> bool:
        """Whether it has no value without k."""
        return self.has_k and self.parameters["k"].default is inspect.Parameter.empty

    @property
    def row_arguments(self) -> list[str]:
        """The `ALIGNED` arguments that its function takes."""
        parameters = self.parameters
        whole = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        return [name for name in ALIGNED if whole or name in parameters]

    def rows_of(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """Return the queries and weights that it can use.

        Rows of ranked lists have no weights of their own, and only pairs have winners and losers.
        """
        taken = ["qid"] if self.judges in ("lists", "gains") else self.row_arguments
        return {name: part for name, part in rows.items() if name in taken}

    @property
    def weighs_roles(self) -> bool:
        """Whether it takes weights by role."""
        return set(ROLES) <= set(self.row_arguments)

    @property
    def named_options(self) -> list[str]:
        """The options that a name can give."""
        others = (*self.row_arguments, *_NOT_NAMED)
        return [
            name
            for name, each in self.parameters.items()
            if each.kind is each.KEYWORD_ONLY and name not in others
        ]

    def with_option(self, name: Any, option: str, value: Any, written: str) -> Metric:
        """Return the metric with one more option, which was `written` for the metric `name`."""
        if option not in self.named_options:
            listed = ", ".join(f"{each}=..." for each in self.named_options) or "none"
            raise PairrankError(
                f"metric {name!r}: {written!r} is not one of its options; it takes {listed}"
            )
        if option in self.options:
            raise PairrankError(f"metric {name!r} sets {option} twice; give it once")
        return self._replace(options={**self.options, option: value})

    def lacks(self, y: Any) -> str:
        """Return the kind of labels that it needs where y is of another kind; "" if it can judge.

        y are checked labels, or Pairs.
        """
        if self.judges == "preferences":
            return ""
        if isinstance(y, Pairs) or np.asarray(y).dtype.kind not in "fiu":
            return "labels that are numbers"
        return "labels of 0 and more" if self.judges == "gains" and np.min(y) < 0 else ""

    def of(
        self, y: Any, scores: Any, rows: Mapping[str, Any], model: Any = None, graph: Any = None,
        **more: Any,
    ) -> Any:  # fmt: skip
        """Return its value for scores, with what it takes of queries, weights and the model.

        A graph replaces that of the model; `more` are further options.
        """
        given = {**self.arguments(model), **more}
        if graph is not None and "graph" in self.own and "graph" not in self.options:
            given["graph"] = graph
        return self.function(y, scores, **self.rows_of(rows), **given)

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
    "pairwise_accuracy": Metric(pairwise.pairwise_accuracy, "preferences", own=("graph",)),
    "wmw": Metric(pairwise.wmw_score, "preferences", own=("graph",)),
    "auc": Metric(pairwise.auc_score),
    "log_loss": Metric(
        pairwise.pairwise_log_loss, "preferences", greater_is_better=False, own=("graph",)
    ),
    "kendall_tau": Metric(pairwise.kendall_tau),
    "mean_ndcg": Metric(gains.mean_ndcg, "gains"),
    "ndcg": Metric(gains.ndcg_score, "gains"),
    "map": Metric(lists.mean_average_precision, "lists"),
    "average_precision": Metric(lists.mean_average_precision, "lists"),
    "mrr": Metric(lists.mean_reciprocal_rank, "lists"),
    "precision": Metric(lists.precision_at_k, "lists"),
    "recall": Metric(lists.recall_at_k, "lists"),
    "err": Metric(gains.expected_reciprocal_rank, "gains"),
    "rbp": Metric(lists.rank_biased_precision, "lists"),
    "msd": Metric(differences.msd, greater_is_better=False),
    "m1d": Metric(differences.m1d, greater_is_better=False),
    "tube_cost": Metric(differences.tube_cost, greater_is_better=False, own=("epsilon", "n")),
    "hinge_rank_cost": Metric(differences.hinge_rank_cost, greater_is_better=False),
    "hinge_magnitude_cost": Metric(differences.hinge_magnitude_cost, greater_is_better=False),
}
"""Name -> metric. A metric with `k` also has the names "name@k", such as "ndcg@10"; some have only
these. ":option=value,option=value" at the end of a name sets further options."""


def check_metrics(names: Iterable[str], y: Any) -> None:
    """Raise a PairrankError if a metric is not known, or cannot judge labels or comparisons."""
    for name in names:
        needed = metric_named(name).lacks(y)
        if needed:
            raise PairrankError(f"{name} needs {needed}; use the metric pairwise_accuracy")


def metric_names() -> str:
    """Return all names for messages and help, separated by commas."""
    whole = [name for name, each in METRICS.items() if not each.needs_k]
    return ", ".join([*whole, *(f"{name}@k" for name, each in METRICS.items() if each.has_k)])


def metric_named(name: Any) -> Metric:
    """Return the metric of a name: one in METRICS, perhaps with "@k" and ":option=value,...".

    Raises
    ------
    PairrankError
        If there is no such metric, or it does not take an option.

    Examples
    --------
    >>> metric_named("precision@5:relevant_from=2").options
    {'k': 5, 'relevant_from': 2}
    """
    position, colon, settings = str(name).partition(":")
    known, at, depth = position.partition("@")
    metric = METRICS.get(known)
    if metric is None or (at and not metric.has_k):
        raise PairrankError(
            f"there is no metric {name!r}{_near(position)}; use one of {metric_names()}"
        )
    if (metric.needs_k and not at) or (at and not (depth.isdecimal() and int(depth))):
        raise PairrankError(
            f"there is no metric {name!r}: {known} needs a position of 1 or more, such as "
            f"{known}@10"
        )
    metric = metric._replace(options={"k": int(depth)} if at else {})
    return _with_settings(metric, name, settings) if colon else metric


def _near(name: str) -> str:
    """Return the name that is most like a wrong one, as a question; "" if none is."""
    known, at, depth = name.partition("@")
    near = difflib.get_close_matches(known.lower(), METRICS, n=1)
    ending = at + depth if near and METRICS[near[0]].has_k else ""
    return f" (did you mean {near[0]}{ending}?)" if near else ""


def _with_settings(metric: Metric, name: Any, settings: str) -> Metric:
    """Return the metric with the options in "option=value,option=value"."""
    for setting in settings.split(","):
        option, _, text = setting.partition("=")
        metric = metric.with_option(name, option if text else "", _value(text), setting)
    with warnings.catch_warnings(action="ignore"):
        try:  # the metric's own error for options out of range
            metric.function([0.0, 0.0], [0.0, 1.0], **metric.options)
        except PairrankError as error:
            raise PairrankError(f"metric {name!r}: {error}") from None
    return metric


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def metric_of(function: Callable[..., Any], options: Mapping[str, Any]) -> Metric:
    """Return a function's metric in the table, or else a new one, where greater is better."""
    listed = [metric for metric in METRICS.values() if metric.function is function]
    return (listed[0] if listed else Metric(function))._replace(options=dict(options))
