"""pairrank evaluate: measure how well a model ranks rows, and compare two models."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from numpy.typing import NDArray

from pairrank.cli import _options as options
from pairrank.cli._columns import how_to_name_queries
from pairrank.cli._comparison import check_resamples, print_comparison
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._graphs import graph_of
from pairrank.cli._judges import Judge, judge_of, load_rows_of
from pairrank.cli._models import learns_differences
from pairrank.cli._report import print_facts, print_json
from pairrank.cli._rows import check_inputs, check_output, count_preferences, weights_by_role
from pairrank.cli._streaming import Streaming, is_streamed
from pairrank.cli.scoring import check_metrics, measure, unfit_metrics
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import METRICS, metric_named
from pairrank.metrics.tables import columns_of
from pairrank.preferences import Pairs
from pairrank.preferences.roles import ROLES

if TYPE_CHECKING:
    from pairrank.io import Rows

SHOWN = ("pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", "msd")
"""The default metrics; errors only for models that learn differences."""


def evaluate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file, or a file of one score per row.")
    ],
    data: options.Data,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare with this model, or file of scores, over the queries.", metavar="MODEL"
        ),
    ] = None,
    graph: options.GraphOption = None,
    pairs: options.PairsOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Show only this; may be repeated: {options.METRIC_NAMES}; options after a colon: "
            "rbp:persistence=0.9.",
            **options.METRIC,
        ),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(help="--against: random swaps, and bootstrap samples; 9999 if left out."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="--against: their seed; 0 if left out.")] = None,
    columns: options.Columns,
    stream: options.Stream = False,
    memory_limit: options.MemoryLimit = None,
    per_query: Annotated[
        str | None,
        options.option(
            "Output",
            "Write the metrics of each query, one row each: .csv or .parquet.",
            metavar="FILE",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure how well a model ranks the rows of DATA, by their labels or by --pairs.

    The pairs are those of --graph, or of the model's own graph. Costs of tubes use the model's
    epsilon and n. --against shows the means over queries of both models, their difference with its
    bootstrap interval, and the p-value of the paired randomisation test.
    """  # fmt: skip
    asked = list(metric or ())
    check_asked(asked, pairs, graph, columns)
    check_inputs(model, data, pairs, against, columns["query_sizes"])
    resampling = check_resamples(against, resamples, seed)
    if per_query is not None:
        check_table(per_query, model, data, pairs, against, columns["query_sizes"])
    judges = [judge_of(path) for path in (model, against) if path is not None]
    streaming = Streaming(stream, memory_limit)
    loaded, scores = rows_and_scores(judges, data, columns, pairs, streaming)
    rows, own = loaded[0], judges[0].estimator
    order = getattr(own, "graph", "full") if graph is None else graph
    n_pairs = count_preferences(rows, order, pairs or data)
    if pairs is None:
        order = graph_of(order, rows.y)
    names = asked or usual_metrics(rows, own)
    with named(data):
        if rows.qid is None and (per_query is not None or against is not None):
            flag = "--against" if per_query is None else "--per-query"
            raise PairrankError(f"{flag} needs queries: {how_to_name_queries(data, columns)}")
        unfit = unfit_of(names, rows, asked=bool(asked))
        scores = scores or [judge.scores(each) for judge, each in zip(judges, loaded, strict=True)]
    value = partial(measure, rows=rows, model=own, graph=order)
    fit = [name for name in names if name not in unfit]
    tables = []
    if per_query is not None or against is not None:
        tables = [query_table(fit, partial(value, scores=each), rows) for each in scores]
    if per_query is not None:
        write_tables(per_query, *tables)
    if against is not None:
        title = f"{model} against {against} on {data}"
        with named(data):
            print_comparison(title, fit, tables, resampling, as_json=as_json)
        return
    record = {name: math.nan if name in unfit else value(name, scores=scores[0]) for name in names}
    record["n_pairs"] = n_pairs
    if as_json:
        print_json(record)
    else:
        print_facts(f"{model} on {data}", record)


def rows_and_scores(
    judges: list[Judge],
    data: str,
    columns: options.Columns,
    pairs: str | None,
    streaming: Streaming,
) -> tuple[list[Rows], list[Any]]:
    """Return the rows of a file for each judge, and the scores too where DATA is streamed."""
    if not is_streamed(data, columns, streaming, {"--pairs": pairs, "--docid": columns["docid"]}):
        return load_rows_of(judges, data, columns, pairs), []
    found = [judge.streamed(data, columns, streaming) for judge in judges]
    return [rows for _, rows in found], [scores for scores, _ in found]


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
    from pairrank.io.dispatch import format_of

    if path == "-" or format_of(path) not in ("csv", "parquet"):
        raise UsageError("--per-query writes a table: name a file that ends in .csv or .parquet.")
    check_output(path, *inputs)


def usual_metrics(rows: Rows, model: Any) -> list[str]:
    """Return the names of the default metrics for these rows and this model, if it is one."""
    pairs_only = isinstance(rows.y, Pairs) or not rows.layout.keys().isdisjoint(ROLES)
    errors_too = model is not None and learns_differences(model)
    return [
        name
        for name in SHOWN
        if (metric_named(name).judges == "preferences" or not pairs_only)
        and (metric_named(name).greater_is_better or errors_too)
    ]


def unfit_of(names: list[str], rows: Rows, *, asked: bool) -> Collection[str]:
    """Return the default metrics that cannot judge these rows, with a warning.

    For metrics that were asked for a PairrankError is raised instead.
    """
    if asked:
        check_metrics(names, rows)
    unfit = unfit_metrics(names, rows)
    if unfit:
        needs = " and ".join(sorted(set(unfit.values())))
        print_message(f"{' and '.join(unfit)} need {needs}.", kind="warning")
    return unfit


def query_table(names: list[str], value: Callable[..., Any], rows: Rows) -> dict[str, NDArray[Any]]:
    """Return the columns of a table of the metrics of each query."""
    return columns_of({name: value(name, per_query=True) for name in names}, rows.qid)


def write_tables(
    path: str, table: Mapping[str, Any], other: Mapping[str, Any] | None = None
) -> None:
    """Write the metrics of each query, and those of the model compared with."""
    from pairrank.io.columns import write_columns

    beside = {f"{name}_against": values for name, values in (other or {}).items() if name != "qid"}
    write_columns(path, {**table, **beside})
