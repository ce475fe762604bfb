"""pairrank train: learn a model file from a file of rows."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairrank._protocols import Status
from pairrank.cli import _options as options
from pairrank.cli._columns import to_remember
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._graphs import graph_of
from pairrank.cli._learnt import Learnt, learn_streamed, summarise
from pairrank.cli._models import MODELS, flag_of, learns_differences, make_ranker
from pairrank.cli._options import option
from pairrank.cli._process import interrupted_code
from pairrank.cli._progress import Progress, Stopwatch
from pairrank.cli._report import report
from pairrank.cli._rows import (
    check_inputs,
    check_output,
    count_preferences,
    facts_of,
    load_rows,
    weights_by_role,
)
from pairrank.cli._streaming import Streaming, is_streamed
from pairrank.cli.scoring import check_metrics, measure
from pairrank.metrics._names import metric_named

if TYPE_CHECKING:
    from pairrank.io import Rows


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
    columns: options.Columns,
    stream: options.Stream = False,
    memory_limit: options.MemoryLimit = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    **params: Any,
) -> None:
    """Learn a ranking function from the rows of DATA and write it to MODEL.

    Ctrl-C ends the fit and keeps the best weights so far.
    """  # fmt: skip
    from pairrank.estimators.model_files import save_model

    ranker = make_ranker(model, params, search=search)
    if pairs is not None:
        check_pairs(model, params)
    check_validation(ranker, metric, valid, valid_pairs, search=search)
    check_roles(model, columns)
    inputs = (data, pairs, valid, valid_pairs)
    check_inputs(*inputs)
    check_output(output, *inputs, columns["query_sizes"], as_json=as_json)
    spent = Stopwatch()
    streaming = Streaming(stream, memory_limit)
    refused = {"--pairs": pairs, "--valid-pairs": valid_pairs, "--search": search}
    instead = {"--search": search_of_blocks(model)} if search else None
    if is_streamed(data, columns, streaming, refused, instead):
        learnt = learn_streamed(
            model, ranker, data, columns, streaming, valid, metric, spent, quiet=quiet
        )
    else:
        learnt = learn(model, ranker, inputs, columns, metric, spent, search=search, quiet=quiet)
    ranker, whole = learnt.ranker, learnt.whole
    summary = learnt.summary | spent.seconds
    save_model(ranker, output, columns=learnt.columns, zero_based=learnt.zero_based)
    if not whole:
        print_message(f"interrupted: {output} holds the best weights so far.", kind="warning")
    title = f"Trained on {summary['rows']:,} rows"
    report(title, summary, output, quiet=quiet, as_json=as_json)
    if not whole:
        raise typer.Exit(interrupted_code())


def learn(
    model: str,
    ranker: Any,
    inputs: tuple[str, str | None, str | None, str | None],
    columns: options.Columns,
    metric: str,
    spent: Stopwatch,
    *,
    search: bool,
    quiet: bool,
) -> Learnt:
    """Read the rows and fit the ranker to them, or choose it by a search."""
    data, pairs, valid, valid_pairs = inputs
    rows = load_rows(data, columns, pairs=pairs, quiet=quiet)
    if pairs is None and not learns_differences(ranker):
        with named(data):
            ranker.set_params(graph=graph_of(ranker.graph, rows.y))
    judged = None
    if valid is not None:
        judged = load_judged(valid, columns, rows, ranker, metric, valid_pairs, quiet=quiet)
    spent.on("reading")
    with Progress(quiet=quiet) as progress, named(pairs or data), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape(Status.INTERRUPTED.value))
        ranker, whole = fit(model, ranker, rows, judged, metric if search else None, progress)
    spent.on("fitting")
    summary = summarise(model, ranker, facts_of(rows))
    if judged is not None:
        summary[f"valid {metric}"] = measure(metric, judged, ranker.predict(judged.X), ranker)
    if rows.feature_names is not None:
        ranker.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    return Learnt(ranker, whole, summary, to_remember(data, columns), rows.zero_based)


def search_of_blocks(model: str) -> str:
    """Return what picks a model's strength where rows are read block by block."""
    flag, searcher = flag_of(MODELS[model].strength), f"{MODELS[model].estimator}CV"
    known = hasattr(import_module("pairrank.model_selection"), searcher)
    in_python = f" (in Python: {searcher} with X_val=RowBlocks)" * known
    return f"train once per {flag} with --valid, and keep the best model{in_python}"


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
    if valid is None and any(needs.values()):
        asked = next(flag for flag, needed in needs.items() if needed)
        raise UsageError(f"{asked} needs validation rows: give --valid FILE.")
    if ranker._stops_early and metric != "pairwise_accuracy":
        ranker.set_params(validation_metric=metric)
    if valid_pairs is not None and metric_named(metric).judges != "preferences":
        raise UsageError(f"--valid-pairs cannot be judged by {metric}; use pairwise_accuracy.")


def check_pairs(model: str, params: dict[str, Any]) -> None:
    """Refuse comparisons together with a graph, or for a model that learns from labels only."""
    if not MODELS[model].pairs:
        able = ", ".join(name for name, other in MODELS.items() if other.pairs)
        raise UsageError(f"Model {model} learns from labels, not from --pairs; use {able}.")
    if "graph" in params:
        raise UsageError("--pairs says what is preferred to what: leave out --graph.")


def check_roles(model: str, columns: options.Columns) -> None:
    """Refuse weights by role for a model whose loss does not know them."""
    asked, reason = weights_by_role(columns), MODELS[model].type._role_refusal
    if asked and reason:
        raise UsageError(f"Model {model} does not take {asked}: {reason}.")


def load_judged(
    source: str,
    columns: options.Columns,
    rows: Rows,
    ranker: Any,
    metric: str,
    pairs: str | None,
    *,
    quiet: bool,
) -> Rows:
    """Return the validation rows with the features of the training rows.

    Raises a PairrankError if the metric cannot judge them, or they have no preference.
    """
    n_features, names = rows.X.shape[1], rows.feature_names
    columns = {**columns, "query_sizes": None}
    judged = load_rows(
        source,
        columns,
        n_features=n_features,
        features=names,
        zero_based=rows.zero_based,
        pairs=pairs,
        quiet=quiet,
    )
    count_preferences(judged, getattr(ranker, "graph", "full"), pairs or source)
    with named(source):
        check_metrics([metric], judged)
    return judged


def fit(
    model: str, ranker: Any, rows: Rows, judged: Rows | None, metric: str | None, progress: Progress
) -> tuple[Any, bool]:
    """Return the fitted ranker, and whether the fit was not interrupted.

    With a metric the strength is searched: the ranker with the best metric on the judged rows is
    returned, and of equal ones the most regularised.
    """
    given, stopping = rows.layout, {}
    if judged is not None and ranker._stops_early:
        stopping = {"X_val": judged.X, "y_val": judged.y}
        stopping |= {f"{name}_val": part for name, part in judged.layout.items()}
    if metric is None or judged is None:
        ranker.fit(rows.X, rows.y, **given, callback=progress, **stopping)
        return ranker, ranker.status_ != Status.INTERRUPTED.name.lower()
    from pairrank.model_selection.path import regularization_path

    strength = MODELS[model].strength
    sign = 1.0 if metric_named(metric).greater_is_better else -1.0

    def judge(candidate: Any, X: Any, y: Any) -> float:
        value = measure(metric, judged, candidate.predict(X), candidate)
        progress.keep(
            f"{strength} {getattr(candidate, strength):<12g} {metric} {value:.5f}  "
            f"objective {candidate.objective_:.6g}  steps {candidate.n_iter_}"
        )
        return sign * value

    path = regularization_path(
        ranker,
        rows.X,
        rows.y,
        param=strength,
        values=MODELS[model].values(),
        **given,
        X_val=judged.X,
        y_val=judged.y,
        scoring=judge,
        fit_params=stopping,
    )
    progress.keep(f"best: {strength} {path.best_value:g}, {metric} {sign * path.best_score:.5f}")
    return path.best_estimator, not path.interrupted
