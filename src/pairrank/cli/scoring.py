"""pairrank predict and pairrank evaluate: apply a model file to rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._graphs import graph_of
from pairrank.cli._models import learns_differences
from pairrank.cli._report import print_facts, print_json
from pairrank.cli._rows import (
    check_inputs,
    check_output,
    count_preferences,
    load_rows,
    weights_by_role,
)
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import Metric, metric_named
from pairrank.preferences import Pairs
from pairrank.preferences.roles import ROLES

if TYPE_CHECKING:
    from pairrank.io import Rows

SHOWN = ("pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", "msd")
"""The default metrics of `evaluate`; errors only for models that learn differences."""


def predict(
    model: options.ModelFile,
    data: options.Data,
    *,
    output: Annotated[str, options.output("One score per line; - is stdout.", "SCORES")] = "-",
    label: options.Unlabelled = None,
    columns: options.Columns,
) -> None:
    """Write the score of every row of DATA, in order; higher is better."""  # fmt: skip
    from pairrank.io import atomic_write

    check_inputs(model, data)
    check_output(output, model, data)
    ranker = Ranker(model)
    scores = ranker.scores(ranker.load_rows(data, {"label": label, **columns}))
    with atomic_write(output, "w") as file:
        for start in range(0, len(scores), 65536):
            block = scores[start : start + 65536].tolist()
            file.write("".join(f"{score!r}\n" for score in block))


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    *,
    graph: options.GraphOption = None,
    pairs: options.PairsOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Show only this; may be repeated: {options.METRIC_NAMES}.", **options.METRIC
        ),
    ] = None,
    wmw: Annotated[
        bool, typer.Option("--wmw", help="The Wilcoxon-Mann-Whitney statistic: --metric wmw.")
    ] = False,
    columns: options.Columns,
    as_json: options.Json = False,
) -> None:
    """Measure how well a model ranks the rows of DATA, by their labels or by --pairs.

    The pairs are those of --graph, or of the model's own graph. Costs of tubes use the model's
    epsilon and n.
    """
    asked = [*(metric or ()), *(["wmw"] if wmw else [])]
    if pairs is not None and graph is not None:
        raise UsageError("--pairs says what is preferred to what: leave out --graph.")
    if pairs is not None and any(metric_named(name).judges != "preferences" for name in asked):
        raise UsageError("--pairs are judged by --metric pairwise_accuracy, wmw or log_loss.")
    by_role = weights_by_role(columns)
    if by_role and any(metric_named(name).judges != "preferences" for name in asked):
        raise UsageError(f"{by_role}: taken by --metric pairwise_accuracy, wmw and log_loss only.")
    check_inputs(model, data, pairs)
    ranker = Ranker(model)
    rows = ranker.load_rows(data, columns, pairs)
    order = getattr(ranker.estimator, "graph", "full") if graph is None else graph
    n_pairs = count_preferences(rows, order, pairs or data)
    if pairs is None:
        order = graph_of(order, rows.y)
    if asked:
        with named(data):
            check_metrics(asked, rows)
    scores = ranker.scores(rows)
    unfit = {} if asked else unfit_metrics(ranker.usual_metrics(rows), rows)
    if unfit:
        needs = " and ".join(sorted(set(unfit.values())))
        print_message(f"{' and '.join(unfit)} need {needs}.", kind="warning")
    record = {
        name: math.nan if name in unfit else measure(name, rows, scores, ranker.estimator, order)
        for name in asked or ranker.usual_metrics(rows)
    }
    record["n_pairs"] = n_pairs
    if as_json:
        print_json(record)
    else:
        print_facts(f"{model} on {data}", record)


def measure(name: str, rows: Rows, scores: Any, model: Any, graph: Any = None) -> float:
    """Return a metric of a model's scores over a graph; None: the model's own.

    A metric gets the weights that it knows: only those of preferences have winners and losers.
    """
    metric = metric_named(name)
    left_out = {"gains": ("sample_weight", *ROLES), "numbers": ROLES}.get(metric.judges, ())
    given = {name: part for name, part in rows.layout.items() if name not in left_out}
    arguments = metric.arguments(model)
    if graph is not None and "graph" in metric.own:
        arguments["graph"] = graph
    return float(metric.function(rows.y, scores, **given, **arguments))


def unfit_metrics(names: Iterable[str], rows: Rows) -> dict[str, str]:
    """Return the metrics that cannot judge these rows, with the labels that each needs."""
    needs = {name: _needed(metric_named(name), rows.y) for name in names}
    return {name: needed for name, needed in needs.items() if needed}


def check_metrics(names: Iterable[str], rows: Rows) -> None:
    """Raise a PairrankError if a metric cannot judge the rows."""
    for name, needed in unfit_metrics(names, rows).items():
        raise PairrankError(f"{name} needs {needed}; use --metric pairwise_accuracy")


def _needed(metric: Metric, y: Any) -> str:
    """Return the kind of labels that a metric needs, "" if these are of that kind."""
    if isinstance(y, Pairs) or metric.judges == "preferences":
        return ""
    labels = np.asarray(y)
    if labels.dtype.kind not in "fiu":
        return "labels that are numbers"
    return "labels of 0 and more" if metric.judges == "gains" and labels.min() < 0 else ""


class Ranker:
    """A model from a file; it reads rows with features matched by name or position."""

    def __init__(self, path: str) -> None:
        from pairrank.estimators.model_files import load_model

        self.estimator = load_model(path)
        names = getattr(self.estimator, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]

    def usual_metrics(self, rows: Rows) -> list[str]:
        """Return the names of the default metrics for these rows and this model."""
        pairs_only = isinstance(rows.y, Pairs) or not rows.layout.keys().isdisjoint(ROLES)
        return [
            name
            for name in SHOWN
            if (metric_named(name).judges == "preferences" or not pairs_only)
            and (metric_named(name).greater_is_better or learns_differences(self.estimator))
        ]

    def load_rows(self, source: str, columns: options.Columns, pairs: str | None = None) -> Rows:
        """Return the rows of a file with the model's features, in the model's order."""
        n_features = int(self.estimator.n_features_in_)
        return load_rows(source, columns, n_features=n_features, features=self.names, pairs=pairs)

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row, higher is better."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.estimator.predict(rows.X), dtype=np.float64)
