"""pairrank train: learn a model file from a file of rows."""

from __future__ import annotations

import re
import time
import warnings
from typing import Annotated, Any

import numpy as np
import typer

from pairrank._protocols import Status
from pairrank.cli import _options as options
from pairrank.cli._columns import to_remember, weights_by_role
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._models import learns_differences, make_ranker, models_where, wrong_usage
from pairrank.cli._options import graph_of, option
from pairrank.cli._output import Progress, report
from pairrank.cli._process import interrupted_code
from pairrank.cli._rows import (
    Wanted,
    check_output,
    count_preferences,
    is_streamed,
    load_rows,
    rows_in,
    stream_rows,
)
from pairrank.estimators import MODELS
from pairrank.exceptions import PairrankError
from pairrank.io import Rows
from pairrank.metrics._names import check_metrics, metric_named

_SHOWN = ("regularization", "n", "epsilon")
"""Parameters that the summary shows where a model has them."""

_FACTS = {
    "rows": "n_rows_",
    "features": "n_features_in_",
    "queries": "n_queries_",
    "n_pairs": "n_pairs_",
    "edges": "n_edges_",
    "objective": "objective_",
    "duality gap": "gap_",
    "iterations": "n_iter_",
    "status": "status_",
}
"""What else it shows, and the attribute that holds it."""


def train(
    data: options.Data,
    output: Annotated[str, options.output("The model file; - is stdout.", "MODEL")],
    *,
    model: Annotated[
        str,
        option(
            "Model",
            "The model to train; --help --model NAME shows its options.",
            **options.choice(*MODELS),
        ),
    ] = "ranksvm",
    pairs: options.PairsOption = None,
    valid: Annotated[str | None, option("Validation", "Validation rows.", metavar="FILE")] = None,
    valid_pairs: Annotated[
        str | None, option("Validation", "Comparisons of the --valid rows.", metavar="FILE")
    ] = None,
    metric: Annotated[
        str,
        option(
            "Validation",
            f"The metric on the --valid rows: {options.METRIC_NAMES}.",
            **options.METRIC,
        ),
    ] = "pairwise_accuracy",
    search: Annotated[
        bool,
        option("Validation", "Pick the strength that is best on the --valid rows.", "--search"),
    ] = False,
    columns: options.StreamedColumns,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    **params: Any,
) -> None:
    """Learn a ranking function from the rows of DATA and write it to MODEL.

    Ctrl-C ends the fit and keeps the best weights so far.
    """  # fmt: skip
    from pairrank.estimators.model_files import save_model

    ranker = make_ranker(model, params, search=search)
    check_options(model, ranker, params, pairs, columns)
    check_validation(ranker, metric, valid, valid_pairs, search=search)
    inputs = (data, pairs, valid, valid_pairs)
    check_output(output, *inputs, columns["query_sizes"], as_json=as_json)
    start, progress = time.perf_counter(), Progress(quiet=quiet)
    refused = {"--pairs": pairs, "--valid-pairs": valid_pairs, "--search": search}
    streamed = is_streamed(data, columns, refused)
    if streamed:
        check_streamed(model, ranker)
    rows, held = read(ranker, inputs, columns, progress, streamed, quiet)
    if held is not None:
        with named(str(valid)):
            check_metrics([metric], held.y)
        count_preferences(held, valid_pairs or str(valid), model=ranker)
    begun = time.perf_counter()
    with progress, named(pairs or data), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape(Status.INTERRUPTED.value))
        ranker, whole = fit(ranker, rows, held, metric if search else None, progress)
    seconds = {"seconds reading": begun - start, "seconds fitting": time.perf_counter() - begun}
    summary = summarise(ranker)
    if held is not None:
        scores = ranker.predict(held.X)
        summary[f"valid {metric}"] = metric_named(metric).of(held.y, scores, held.layout, ranker)
    if not streamed and rows.feature_names is not None:
        ranker.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    save_model(ranker, output, columns=to_remember(data, columns), zero_based=rows.zero_based)
    if not whole:
        print_message(f"interrupted: {output} holds the best weights so far.", kind="warning")
    title = f"Trained on {summary['rows']:,} rows"
    report(title, summary | seconds, output, quiet=quiet, as_json=as_json)
    if not whole:
        raise typer.Exit(interrupted_code())


def read(
    ranker: Any,
    inputs: tuple[str, str | None, str | None, str | None],
    columns: options.Columns,
    progress: Progress,
    streamed: bool,
    quiet: bool,
) -> tuple[Rows, Rows | None]:
    """Return training and validation rows, in memory or in blocks; set the ranker's graph."""
    data, pairs, valid, valid_pairs = inputs
    if streamed:
        blocks = stream_rows(data, columns, progress)
        rows, wanted = Rows(blocks), Wanted(features=blocks.feature_names)
    else:
        rows = load_rows(data, columns, pairs=pairs, quiet=quiet)
        wanted = Wanted(rows.X.shape[1], rows.feature_names, rows.zero_based)
    with named(data):
        labels = blocks.first_block().y if streamed else rows.y
        if labels is None:
            raise PairrankError("the rows have no labels: name their column with --label")
        if pairs is None and not learns_differences(ranker):
            ranker.set_params(graph=graph_of(ranker.graph, labels))
    if valid is None:
        return rows, None
    if not streamed:
        of_valid = columns | {"query_sizes": None}
        return rows, load_rows(valid, of_valid, wanted, pairs=valid_pairs, quiet=quiet)
    others = stream_rows(valid, columns, progress, wanted)
    with named(valid):
        return rows, rows_in(others, others.labels())


def check_options(
    model: str, ranker: Any, params: dict[str, Any], pairs: str | None, columns: options.Columns
) -> None:
    """Refuse comparisons and weights by role that the model does not learn from."""
    if pairs is not None and not ranker._learns_pairs:
        able = ", ".join(models_where(lambda kind: kind._learns_pairs))
        raise UsageError(f"Model {model} learns from labels, not from --pairs; use {able}.")
    if pairs is not None and "graph" in params:
        raise UsageError("--pairs says what is preferred to what: leave out --graph.")
    asked, reason = weights_by_role(columns), ranker._role_refusal
    if asked and reason:
        raise UsageError(f"Model {model} does not take {asked}: {reason}.")


def check_validation(
    ranker: Any, metric: str, valid: str | None, valid_pairs: str | None, *, search: bool
) -> None:
    """Refuse options that need validation rows without them; --metric also stops a fit early."""
    draws = hasattr(ranker, "validation_fraction")
    needs = {
        "--search": search,
        "--valid-pairs": valid_pairs is not None,
        "--patience": ranker._stops_early and not draws,
    }
    for flag, needed in needs.items():
        if valid is None and needed:
            raise UsageError(f"{flag} needs validation rows: give --valid FILE.")
    if ranker._stops_early and metric != "pairwise_accuracy":
        ranker.set_params(validation_metric=metric)
    if valid_pairs is not None and metric_named(metric).judges != "preferences":
        raise UsageError(f"--valid-pairs cannot be judged by {metric}; use pairwise_accuracy.")


def check_streamed(model: str, ranker: Any) -> None:
    """Refuse a model, or its options, that need all rows in memory."""
    if not hasattr(ranker, "_prepare_blocks"):
        able = ", ".join(models_where(lambda kind: hasattr(kind, "_prepare_blocks")))
        raise UsageError(
            f"Model {model} needs all rows in memory: leave out --stream, or use {able}."
        )
    with wrong_usage(ranker.get_params()):
        ranker._check_blocks()


def fit(
    ranker: Any, rows: Rows, held: Rows | None, metric: str | None, progress: Progress
) -> tuple[Any, bool]:
    """Return the fitted ranker, and whether the fit was not interrupted.

    With a metric the strength is searched: the ranker with the best metric on the validation rows
    is returned, and of equal ones the most regularised.
    """
    from pairrank.blocks import RowBlocks

    stopping: dict[str, Any] = {}
    if held is not None and ranker._stops_early:
        stopping = {"X_val": held.X}
        if not isinstance(held.X, RowBlocks):
            of_rows = {f"{name}_val": part for name, part in held.layout.items()}
            stopping |= {"y_val": held.y, **of_rows}
    if metric is None or held is None:
        with wrong_usage(["memory_limit"], PairrankError):
            ranker.fit(rows.X, rows.y, **rows.layout, callback=progress, **stopping)
        return ranker, ranker.status_ != Status.INTERRUPTED.name.lower()
    from pairrank.model_selection.path import regularization_path

    strength, known = ranker._strength, metric_named(metric)
    sign = 1.0 if known.greater_is_better else -1.0

    def judge(candidate: Any, X: Any, y: Any) -> float:
        value = known.of(y, candidate.predict(X), held.layout, candidate)
        progress.keep(
            f"{strength} {getattr(candidate, strength):<12g} {metric} {value:.5f}  "
            f"objective {candidate.objective_:.6g}  steps {candidate.n_iter_}"
        )
        return float(sign * value)

    path = regularization_path(
        ranker,
        rows.X,
        rows.y,
        param=strength,
        values=ranker._searched,
        **rows.layout,
        X_val=held.X,
        y_val=held.y,
        scoring=judge,
        fit_params=stopping,
    )
    progress.keep(f"best: {strength} {path.best_value:g}, {metric} {sign * path.best_score:.5f}")
    return path.best_estimator, not path.interrupted


def summarise(ranker: Any) -> dict[str, Any]:
    """Return the facts of a fit for its summary."""
    summary: dict[str, Any] = {"model": type(ranker).__name__}
    for name in (*_SHOWN, ranker._strength):
        value = getattr(ranker, f"{name}_", getattr(ranker, name, None))
        if value is not None:
            summary[name] = value
    if summary.get("regularization") == "iteration":
        del summary[ranker._strength]
    if hasattr(ranker, "kernel_"):
        summary["kernel"] = ranker.kernel_.function
        summary["kernel features"] = ranker.kernel_.n_components_
    if hasattr(ranker, "slacks_"):
        summary["rows outside limits"] = np.count_nonzero(ranker.slacks_)
    if ranker._stops_early:
        summary["best iteration"] = ranker.best_iteration_
        if ranker.validation_metric is None:
            summary["validation error"] = 1 - ranker.validation_scores_[ranker.best_iteration_]
    facts = {label: getattr(ranker, name, None) for label, name in _FACTS.items()}
    return summary | {label: value for label, value in facts.items() if value is not None}
