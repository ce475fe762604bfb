"""pairrank compare: models side by side on the same folds of the rows of a file."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._models import wrong_usage
from pairrank.cli._options import graph_of, option
from pairrank.cli._output import Progress, print_json, print_lines, print_table
from pairrank.cli._process import interrupted_code
from pairrank.cli._rows import check_output, load_rows
from pairrank.cli.evaluate import check_asked, check_table


def compare(
    data: options.Data,
    *,
    models: Annotated[
        str,
        option(
            "Model",
            "The models, separated by commas: rankncg, ranksvm, rankrls, mprank, svrank, hull, "
            "pairwise, rankboost, ranknet; of scikit-learn ridge, gradient_boosting, "
            "logistic_regression; of LightGBM lambdarank; of XGBoost rank:ndcg, rank:pairwise.",
            metavar="NAMES",
        ),
    ] = "rankncg,ranksvm,rankrls,ridge,gradient_boosting",
    baseline: Annotated[
        str | None,
        option("Model", "Test all models against this one only, not all pairs.", metavar="NAME"),
    ] = None,
    standardize: Annotated[
        bool, option("Model", "Standardise features by the training rows.")
    ] = True,
    graph: options.GraphOption = None,
    metric: options.Metrics = None,
    folds: Annotated[int, option("Validation", "Folds of queries, or of rows.", min=2)] = 5,
    repeats: Annotated[
        int, option("Validation", "How often folds are drawn, with other seeds.", min=1)
    ] = 1,
    inner_folds: Annotated[
        int, option("Validation", "Folds that choose strengths; 0: default strengths.", min=0)
    ] = 3,
    resamples: Annotated[
        int, option("Validation", "Random swaps, and bootstrap samples, of tests.", min=1)
    ] = 9999,
    seed: Annotated[
        int, option("Validation", "Of folds, models and tests.", min=0, max=2**32 - 1)
    ] = 0,
    columns: options.Columns,
    output: Annotated[
        list[str] | None,
        options.output(
            "A file to write; may be repeated: .html, .md, .csv, .parquet or .json.",
            "FILE",
        ),
    ] = None,
    per_query: options.PerQuery = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Compare models on the same folds of DATA: quality, time, and tests of their differences.

    Strengths are chosen by the first metric in inner folds of the training rows. With queries,
    tests are over queries (paired randomisation), else over folds (corrected resampled t); p-values
    are Holm's. A model that cannot take the data gets its reason, and the others go on. Ctrl-C
    shows what is finished.
    """  # fmt: skip
    from pairrank.comparison import compare as compare_models
    from pairrank.comparison.cells import check_inner_folds
    from pairrank.comparison.models import models_named

    asked, files = list(metric or ()), list(output or ())
    check_asked(asked, None, graph, columns)
    with wrong_usage(("models", "baseline", "inner_cv")):
        models_named(models, baseline)
        check_inner_folds(inner_folds)
    _check_files(files, per_query, data, columns["query_sizes"])
    rows = load_rows(data, columns, quiet=quiet)
    order = graph_of("full" if graph is None else graph, rows.y)
    with named(data), Progress("comparing", quiet=quiet):
        found = compare_models(
            rows.X, rows.y, **rows.layout, models=models, metrics=asked or None,
            cv=folds, n_repeats=repeats, inner_cv=inner_folds, graph=order,
            standardize=standardize, baseline=baseline, n_resamples=resamples,
            random_state=seed,
        )  # fmt: skip
    for path in files:
        found.save(path)
    if per_query is not None:
        found.save(per_query, "queries")
    if as_json:
        print_json(found.record())
    elif not quiet:
        table = found.means()
        print_table(f"{len(found.models)} models on {data}", table.columns, table.rows)
        print_lines(*table.notes)
    if found.interrupted:
        print_message("interrupted: these are the finished folds.", kind="warning")
        raise typer.Exit(interrupted_code())


def _check_files(files: list[str], per_query: str | None, *inputs: str | None) -> None:
    """Refuse files that cannot be written, or whose names end in another way, before any work."""
    from pairrank.comparison.results import suffix_of

    written = [os.path.realpath(path) for path in (*files, per_query) if path is not None]
    if len(set(written)) < len(written):
        raise UsageError("A file would be written twice: name another file for one of them.")
    for path in files:
        suffix_of(path)
        check_output(path, *inputs)
    if per_query is not None:
        check_table(per_query, *inputs)
