"""pairrank compare: models side by side on the same folds of the rows of a file."""

from __future__ import annotations

import math
import os
from typing import Annotated, Any

import typer

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._graphs import graph_of
from pairrank.cli._options import option
from pairrank.cli._process import interrupted_code
from pairrank.cli._progress import Line
from pairrank.cli._report import print_json, print_lines, print_table
from pairrank.cli._rows import check_inputs, check_output, load_rows
from pairrank.cli.evaluate import check_asked, check_table
from pairrank.exceptions import PairrankError


def _check_models(text: Any) -> Any:
    from pairrank.comparison.models import check_names

    try:
        check_names(_split(text))
    except PairrankError as error:
        raise typer.BadParameter(f"{error}.") from None
    return text


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def compare(
    data: options.Data,
    *,
    models: Annotated[
        str,
        option(
            "Model",
            "The models, separated by commas: rankncg, ranksvm, rankrls, mprank, svrank, hull, "
            "pairwise, rankboost, ranknet; of scikit-learn ridge, linear_svr, gradient_boosting, "
            "random_forest, logistic_regression, svc_pairs, gaussian_process; of LightGBM "
            "lambdarank, rank_xendcg; of XGBoost rank:ndcg, rank:pairwise.",
            metavar="NAMES",
            callback=_check_models,
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
    metric: Annotated[
        list[str] | None,
        option(
            "Validation",
            "A metric; may be repeated; the first chooses strengths and sorts models. If left out, "
            f"those that suit the labels. One of {options.METRIC_NAMES}.",
            **options.METRIC,
        ),
    ] = None,
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
    time_limit: Annotated[
        float | None,
        option(
            "Validation",
            "The seconds that a model may take on a fold, choice included.",
            metavar="SECONDS",
        ),
    ] = None,
    columns: options.Columns,
    output: Annotated[
        list[str] | None,
        options.output(
            "A file to write; may be repeated: .html (a page with pictures), .md, .tex, .csv, "
            ".parquet or .json.",
            "FILE",
        ),
    ] = None,
    per_query: Annotated[
        str | None,
        option("Output", "Write the metrics per model and query: .csv, .parquet.", metavar="FILE"),
    ] = None,
    cells: Annotated[
        str | None,
        option(
            "Output",
            "Keep finished folds of models in this folder: the same command then goes on.",
            metavar="FOLDER",
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Compare models on the same folds of DATA: quality, time, and tests of their differences.

    Strengths are chosen in inner folds of the training rows. With queries, tests are over queries
    (paired randomisation), else over folds (corrected resampled t); p-values are Holm's. A model
    that cannot take the data gets its reason, and the others go on. Ctrl-C shows what is finished.
    """  # fmt: skip
    from pairrank.comparison import compare as compare_models
    from pairrank.comparison.files import record_of

    asked, files = list(metric or ()), list(output or ())
    check_asked(asked, None, graph, columns)
    check_inputs(data)
    _check_arguments(_split(models), baseline, inner_folds, time_limit)
    _check_files(files, per_query, data, columns["query_sizes"])
    rows = load_rows(data, columns, quiet=quiet)
    labels: Any = rows.y
    order = graph_of("full" if graph is None else graph, labels)
    with named(data), _CellLine(quiet=quiet) as line:
        found = compare_models(
            rows.X, labels, **rows.layout, models=_split(models), metrics=asked or None,
            cv=folds, n_repeats=repeats, inner_cv=inner_folds, graph=order,
            standardize=standardize, baseline=baseline, n_resamples=resamples,
            random_state=seed, time_limit=time_limit, cells=cells, callback=line,
        )  # fmt: skip
    for path in files:
        found.save(path)
    if per_query is not None:
        found.save(per_query, "queries")
    if as_json:
        print_json(record_of(found))
    elif not quiet:
        _print_results(found, data)
    if found.interrupted:
        goes_on = "" if cells is None else f"; the same command goes on from {cells}"
        print_message(f"interrupted: these are the finished folds{goes_on}.", kind="warning")
        raise typer.Exit(interrupted_code())


def _check_arguments(
    names: list[str], baseline: str | None, inner_folds: int, time_limit: float | None
) -> None:
    """Refuse arguments that do not go together, as wrong usage."""
    if not names:
        raise UsageError("--models names none: give at least one.")
    if baseline is not None and baseline not in names:
        raise UsageError(f"--baseline must be one of --models (got {baseline!r}).")
    if inner_folds == 1:
        raise UsageError("--inner-folds must be 0, or at least 2.")
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise UsageError(
            f"--time-limit must be a finite number greater than 0 (got {time_limit:g})."
        )


def _check_files(files: list[str], per_query: str | None, *inputs: str | None) -> None:
    """Refuse files that cannot be written, or whose names end in another way, before any work."""
    from pairrank.comparison.files import suffix_of
    from pairrank.comparison.page import template_of_page

    written = [os.path.realpath(path) for path in (*files, per_query) if path is not None]
    for place, path in enumerate(written):
        if path in written[:place]:
            raise UsageError(f"{path} would be written twice: name another file for one of them.")
    for path in files:
        if suffix_of(path) == ".html":
            template_of_page()
        check_output(path, *inputs)
    if per_query is not None:
        check_table(per_query, *inputs)


def _print_results(found: Any, data: str) -> None:
    """Print the table of means and its notes."""
    from pairrank.comparison.tables import table_of

    table = table_of(found, short=True)
    print_table(f"{len(found.models)} models on {data}", table.columns, table.rows)
    print_lines(*table.notes)


class _CellLine(Line):
    """The progress of a comparison; a callback of `compare`.

    On a terminal one line is rewritten; elsewhere there is a line per model and fold, which stays.
    """

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._now: Any = None

    def __call__(self, progress: Any) -> None:
        """Take where the comparison is."""
        self._now = progress
        if progress.cell is not None and not self.is_shown:
            self.keep(f"{progress.n_done} of {progress.n_cells}  {_ended(progress.cell)}")

    def text(self, seconds: float) -> str:
        """Return the line after some seconds, with those that are left if all go on as so far."""
        now = self._now
        if now is None:
            return "comparing"
        parts = [f"{now.n_done} of {now.n_cells}", _place(now)]
        if now.n_choice:
            parts.append(f"fit {now.n_fits + 1} of {now.n_choice} of the choice")
        parts.append(f"{seconds:.0f} s")
        if now.n_done:
            parts.append(f"{seconds * (now.n_cells - now.n_done) / now.n_done:.0f} s left")
        return "  ".join(parts)


def _place(where: Any) -> str:
    repeat = f" of repeat {where.repeat + 1}" if where.repeat else ""
    return f"{where.model}, fold {where.fold + 1}{repeat}"


def _ended(cell: Any) -> str:
    """Return how a model did on a fold."""
    if cell.reason:
        return f"{_place(cell)}: {cell.reason}"
    name, value = next(iter(cell.values.items()))
    return f"{_place(cell)}: {name} {value:.4g}, {cell.fit_seconds:.3g} s"
