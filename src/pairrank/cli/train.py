"""pairrank train: from a file of rows to a model file."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairrank._protocols import Status
from pairrank.cli import _options as options
from pairrank.cli._guard import complain
from pairrank.cli._interrupts import INTERRUPTED
from pairrank.cli._models import METRICS, MODELS, make_model, measure, one_of, positive
from pairrank.cli._report import Progress, print_facts, print_json
from pairrank.cli._rows import (
    Columns,
    check_inputs,
    check_output,
    facts_of,
    levels_of,
    load_rows,
    named,
    require_pairs,
)

if TYPE_CHECKING:
    from pairrank.io import Rows


def train(
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The model file; - is stdout.")
    ],
    model: Annotated[
        str, typer.Option(callback=one_of(MODELS), help=f"One of {', '.join(MODELS)}.")
    ] = "ranksvm",
    cost: Annotated[
        float, typer.Option("-C", callback=positive, help="Weight of the pairs against |w|^2/2.")
    ] = 1.0,
    normalize: options.NormalizeOption = options.Normalize.rows,
    graph: options.GraphOption = options.Graph.full,
    loss: Annotated[str | None, typer.Option(help="What a pair costs; the model's own.")] = None,
    tol: Annotated[
        float | None, typer.Option(callback=positive, help="Relative gradient at which to stop.")
    ] = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="At most so many steps.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of whatever is drawn.")] = None,
    valid: Annotated[
        str | None, typer.Option(metavar="FILE", help="Validation rows, measured by --metric.")
    ] = None,
    metric: Annotated[
        str, typer.Option(callback=one_of(METRICS), help=f"One of {', '.join(METRICS)}.")
    ] = "pairwise_accuracy",
    search: Annotated[
        bool, typer.Option("--search", help="Pick C from 2^-15 ... 2^10 on the --valid rows.")
    ] = False,
    label: options.Label = "label",
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    data_format: options.FormatOption = options.Format.auto,
    dtype: options.DtypeOption = options.Dtype.float64,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Learn a ranking function from the rows of DATA and write it to MODEL.

    Ctrl-C ends the descent and keeps the best weights so far.
    """
    check_usage(data, output, valid, search=search, as_json=as_json)
    check_output(output)
    columns = Columns(label, qid, weight, drop or (), data_format.value, dtype.value)
    rows = load_rows(data, columns)
    valid_rows = None if valid is None else load_like(rows, valid, columns, metric, graph.value)
    ranker = make_model(
        model,
        C=cost,
        normalize=None if normalize is options.Normalize.none else normalize.value,
        graph=graph.value,
        random_state=seed,
        **given(loss=loss, tol=tol, max_iter=max_iter),
    )
    levels = levels_of(rows, graph.value)
    require_pairs(levels, data)
    facts = facts_of(rows, levels)
    del levels
    start = time.perf_counter()
    with Progress(quiet=quiet, n_pairs=facts["n_pairs"]) as progress, quiet_interrupt():
        if search and valid_rows is not None:
            ranker, whole = search_cost(ranker, rows, valid_rows, metric, progress)
        else:
            ranker.fit(rows.X, rows.y, qid=rows.qid, sample_weight=rows.weight, callback=progress)
            whole = ranker.status_ != Status.INTERRUPTED.name.lower()
    summary = summarise(ranker, facts, time.perf_counter() - start)
    if valid_rows is not None:
        scores = ranker.predict(valid_rows.X)
        summary[f"valid {metric}"] = measure(metric, valid_rows, scores, graph.value)
    save(ranker, rows, output)
    report(summary, output, quiet=quiet, as_json=as_json)
    if not whole:
        complain(f"interrupted: {output} holds the best weights so far.", kind="warning")
        raise typer.Exit(INTERRUPTED)


def check_usage(data: str, output: str, valid: str | None, *, search: bool, as_json: bool) -> None:
    """Refuse options that cannot go together."""
    if search and valid is None:
        raise typer.BadParameter("--search picks C on validation rows: give --valid FILE.")
    if as_json and output == "-":
        raise typer.BadParameter("standard output takes the model or --json: name a file with -o.")
    check_inputs(data, valid)


def load_like(rows: Rows, source: str, columns: Columns, metric: str, graph: str) -> Rows:
    """Return the rows of another file with the same features, and a pair among them.

    Raises
    ------
    PairrankError
        If the metric cannot judge them, whatever the scores.
    """
    names = rows.feature_names
    others = load_rows(source, columns, n_features=rows.X.shape[1], features=names)
    require_pairs(levels_of(others, graph), source)
    with named(source):
        measure(metric, others, np.zeros(others.X.shape[0]), graph)
    return others


@contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Leave it to us to tell that Ctrl-C ended a fit, once the model is written."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape(Status.INTERRUPTED.value))
        yield


def search_cost(
    ranker: Any, rows: Rows, valid_rows: Rows, metric: str, progress: Progress
) -> tuple[Any, bool]:
    """Return the best ranker of the path over C, and whether the path was walked to its end.

    C runs from 2^-15 to 2^10, as in Lee & Lin 2014; best is by the metric on the validation rows,
    the smallest C of equals.
    """
    from pairrank.model_selection.path import PAPER_VALUES, regularization_path

    def judge(candidate: Any, X: Any, y: Any) -> float:
        value = measure(metric, valid_rows, candidate.predict(X), candidate.graph)
        progress.keep(
            f"C {candidate.C:<12g} {metric} {value:.5f}  objective {candidate.objective_:.6g}  "
            f"steps {candidate.n_iter_}"
        )
        return value

    path = regularization_path(
        ranker,
        rows.X,
        rows.y,
        values=PAPER_VALUES,
        qid=rows.qid,
        sample_weight=rows.weight,
        X_val=valid_rows.X,
        y_val=valid_rows.y,
        scoring=judge,
    )
    progress.keep(f"best: C {path.best_value:g}, {metric} {path.best_score:.5f}")
    return path.best_estimator, not path.interrupted


def given(**params: Any) -> dict[str, Any]:
    """Return the parameters that were given at the command line."""
    return {name: value for name, value in params.items() if value is not None}


def summarise(ranker: Any, facts: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return what is worth knowing of a fit."""
    return {
        "model": type(ranker).__name__,
        **facts,
        "C": ranker.C,
        "objective": float(ranker.objective_),
        "iterations": int(ranker.n_iter_),
        "status": ranker.status_,
        "seconds": seconds,
    }


def save(ranker: Any, rows: Rows, output: str) -> None:
    """Write the model file, with the features' names where the data had some."""
    if rows.feature_names is not None:
        ranker.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    ranker.save(output)


def report(summary: dict[str, Any], output: str, *, quiet: bool, as_json: bool) -> None:
    """Show the summary: JSON where asked for, else a table, beside the model if that is piped."""
    if as_json:
        print_json(summary)
    elif not quiet:
        print_facts(f"Trained on {summary['rows']:,} rows", summary, err=output == "-")
