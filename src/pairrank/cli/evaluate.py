"""pairrank predict, evaluate and report: scores of rows by a model, and how well it ranks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pairrank.cli import _options as options
from pairrank.cli._columns import require_queries, weights_by_role
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._judges import Ranker, judge_of, judged, rows_of
from pairrank.cli._models import learns_differences, wrong_usage
from pairrank.cli._output import print_facts, print_json, print_table
from pairrank.cli._rows import check_output, count_preferences, files_in, is_streamed, load_rows
from pairrank.io import Rows, to_run, write_run
from pairrank.io._streams import atomic_write
from pairrank.io.dispatch import format_of
from pairrank.io.tables import write_columns
from pairrank.metrics._names import METRICS, check_metrics, metric_named
from pairrank.metrics.tables import check_resampling, columns_of, compare_values
from pairrank.preferences.roles import ROLES


def predict(
    model: options.ModelFile,
    data: options.Data,
    *,
    output: Annotated[str, options.output("One score per line; - is stdout.", "SCORES")] = "-",
    run: Annotated[
        str | None,
        options.option(
            "Output",
            "Write a TREC run of this name: query Q0 document rank score TAG, best first, equal "
            "scores in falling order of the document.",
            metavar="TAG",
        ),
    ] = None,
    label: options.Unlabelled = None,
    columns: options.StreamedColumns,
) -> None:
    """Write the score of every row of DATA, in order; higher is better.

    A run names documents by the comments of svmlight text, # docid = X, or by --docid.
    """  # fmt: skip
    if run is not None and len(run.split()) != 1:
        raise UsageError("--run takes a name without blanks.")
    check_output(output, model, data, columns["query_sizes"])
    ranker = Ranker(model)
    given = {**columns, "label": label or ""}
    refused = {"--run": run, "--docid": columns["docid"]}
    if is_streamed(data, given, refused):
        write_scores(output, ranker.streamed(data, given, roles=())[1])
        return
    roles = () if run is None else ("qid", "docid")
    rows = load_rows(data, given, ranker.wanted, roles=roles, docids=run is not None)
    if run is None:
        write_scores(output, ranker.scores(rows))
        return
    with named(data):
        require_queries(rows, "--run needs", data, columns)
        write_run(output, to_run(rows.qid, rows.docid, ranker.scores(rows)), tag=run)


def write_scores(output: str, scores: Any) -> None:
    """Write one score per line."""
    with atomic_write(output) as file:
        file.writelines(f"{float(score)!r}\n".encode() for score in scores)


SHOWN = ("pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", "msd")
"""The default metrics; errors only for models that learn differences."""


def evaluate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file, or a file of one score per row.")
    ],
    data: options.Data,
    *,
    against: options.Against = None,
    graph: options.GraphOption = None,
    pairs: options.PairsOption = None,
    metric: options.Metrics = None,
    resamples: Annotated[
        int | None,
        options.option("Validation", "Random swaps, and bootstrap samples; 9999 if left out."),
    ] = None,
    seed: Annotated[
        int | None, options.option("Validation", "Seed of --resamples; 0 if left out.")
    ] = None,
    columns: options.StreamedColumns,
    per_query: options.PerQuery = None,
    as_json: options.Json = False,
) -> None:
    """Measure how well a model ranks the rows of DATA, by their labels or by --pairs.

    The pairs are those of --graph, or of the model's own graph. Costs of tubes use the model's
    epsilon and n. --against, which may be a file of scores too, shows the means over queries of
    both, their difference with its bootstrap interval, and the p-value of the paired randomisation
    test.
    """  # fmt: skip
    asked = list(metric or ())
    check_asked(asked, pairs, graph, columns)
    resampling = check_resamples(against, resamples, seed)
    inputs = (model, data, pairs, against, columns["query_sizes"])
    if per_query is not None:
        check_table(per_query, *inputs)
    files_in(*inputs)
    judges = [judge_of(path) for path in (model, against) if path is not None]
    rows, scores = judged(judges, data, columns, pairs)
    own = judges[0].estimator
    n_pairs, order = count_preferences(rows, pairs or data, graph=graph, model=own)
    names = asked or usual_metrics(rows, own)
    with named(data):
        for flag, given in {"--per-query": per_query, "--against": against}.items():
            if given is not None:
                require_queries(rows, f"{flag} needs", data, columns)
        check_metrics(names, rows.y)

    def value(name: str, scores: Any, **more: Any) -> Any:
        return metric_named(name).of(rows.y, scores, rows.layout, own, order, **more)

    tables = []
    if per_query is not None or against is not None:
        tables = [
            columns_of({name: value(name, each, per_query=True) for name in names}, rows.qid)
            for each in scores
        ]
    if per_query is not None:
        first, *others = tables
        beside = {f"{name}_against": other[name] for other in others for name in names}
        write_columns(per_query, {**first, **beside})
    if against is not None:
        title = f"{model} against {against} on {data}"
        with named(data):
            print_comparison(title, names, tables, resampling, as_json=as_json)
        return
    record = {name: value(name, scores[0]) for name in names} | {"n_pairs": n_pairs}
    if as_json:
        print_json(record)
    else:
        print_facts(f"{model} on {data}", record)


def check_asked(asked: list[str], pairs: str | None, graph: Any, columns: options.Columns) -> None:
    """Refuse metrics that cannot judge comparisons, or that take no weights by role."""
    if pairs is not None and graph is not None:
        raise UsageError("--pairs says what is preferred to what: leave out --graph.")
    if pairs is not None and any(metric_named(name).judges != "preferences" for name in asked):
        able = ", ".join(name for name, each in METRICS.items() if each.judges == "preferences")
        raise UsageError(f"--pairs are judged by --metric {able}.")
    by_role = weights_by_role(columns)
    if by_role and not all(metric_named(name).weighs_roles for name in asked):
        able = ", ".join(name for name, each in METRICS.items() if each.weighs_roles)
        raise UsageError(f"{by_role}: taken by --metric {able} only.")


def check_table(path: str, *inputs: str | None) -> None:
    """Refuse a table that is neither CSV nor Parquet, or cannot be written."""
    if path == "-" or format_of(path) not in ("csv", "parquet"):
        raise UsageError("--per-query writes a table: name a file that ends in .csv or .parquet.")
    check_output(path, *inputs)


def usual_metrics(rows: Rows, model: Any) -> list[str]:
    """Return the names of the default metrics for these rows and this model, if it is one."""
    by_role = not rows.layout.keys().isdisjoint(ROLES)
    errors_too = model is not None and learns_differences(model)
    return [
        name
        for name in SHOWN
        if not metric_named(name).lacks(rows.y)
        and (metric_named(name).weighs_roles or not by_role)
        and (metric_named(name).greater_is_better or errors_too)
    ]


def check_resamples(
    against: str | None, resamples: int | None, seed: int | None
) -> tuple[int, float, int]:
    """Return the arguments of `compare_values`; raise an error if they are out of range."""
    if against is None and (resamples is not None or seed is not None):
        flag = "--seed" if resamples is None else "--resamples"
        raise UsageError(f"{flag} is used with --against MODEL only.")
    found = 9999 if resamples is None else resamples, 0.95, 0 if seed is None else seed
    with wrong_usage(("n_resamples", "random_state")):
        check_resampling(*found)
    return found


def print_comparison(
    title: str,
    names: Iterable[str],
    tables: Sequence[Mapping[str, Any]],
    resampling: tuple[int, float, int],
    *,
    as_json: bool,
) -> None:
    """Print the comparison of two tables of values per query, by each metric."""
    first, second = tables
    found = {name: compare_values(first[name], second[name], *resampling) for name in names}
    if as_json:
        print_json({name: each._asdict() for name, each in found.items()})
        return
    rows = (
        (name, f"{each.mean:.4g}", f"{each.other_mean:.4g}", f"{each.difference:.3g}",
         f"{each.low:.3g} to {each.high:.3g}", f"{each.p_value:.2g}")
        for name, each in found.items()
    )  # fmt: skip
    counts = [each.n_queries for each in found.values()]
    shown = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
    columns = ["", "mean", "against", "difference", "95 % interval", "p"]
    print_table(f"{title}, means over {shown} queries", columns, rows)


def report(
    model: options.ModelFile,
    data: options.Data,
    *,
    output: Annotated[str, options.output("The HTML page; - is stdout.", "FILE")] = "report.html",
    against: options.Against = None,
    graph: options.GraphOption = None,
    pairs: options.PairsOption = None,
    metric: options.Metrics = None,
    title: Annotated[
        str | None, options.option("Output", "The heading of the page.", metavar="TEXT")
    ] = None,
    seed: Annotated[
        int, options.option("Validation", "Of the samples and the comparison.", min=0)
    ] = 0,
    columns: options.Columns,
) -> None:
    """Write a page on how a model ranks the rows of DATA, by their labels or by --pairs.

    It shows metrics by query, the worst and best queries row by row, weights, the scores of each
    label, and the calibration of RankNCG's probabilities. It needs jinja2 and matplotlib.
    """
    from pairrank.report.page import page_template
    from pairrank.report.page import report as report_on

    asked = list(metric or ())
    check_asked(asked, pairs, graph, columns)
    check_output(output, model, data, pairs, against)
    if against is not None and model == against:
        raise UsageError("--against names the same model: name another one.")
    page_template()
    paths = [path for path in (model, against) if path is not None]
    rankers = [Ranker(path) for path in paths]
    loaded = rows_of(rankers, data, columns, pairs)
    rows, own = loaded[0], rankers[0].estimator
    _, order = count_preferences(rows, pairs or data, graph=graph, model=own)
    others = {} if against is None else {"other": rankers[1].estimator, "X_other": loaded[1].X}
    names = Path(model).name, Path(against or "").name
    of_rows = "standard input" if data == "-" else Path(data).name
    with named(data):
        page = report_on(
            own, rows.X, rows.y, **rows.layout, **others, metrics=asked or None,
            graph=order, names=names, random_state=seed,
            title=title or f"Report on {names[0]}, rows of {of_rows}",
        )  # fmt: skip
    page.save(output)
    if output != "-":
        print_message(f"{output} is written: {len(page.html) / 1e3:,.0f} kB.", kind="report")
