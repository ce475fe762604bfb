"""pairrank report: write a page on how a model ranks rows, alone or beside another model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._judges import Ranker, rows_of
from pairrank.cli._rows import check_output, count_preferences
from pairrank.cli.evaluate import check_asked


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
    graph = getattr(own, "graph", "full") if graph is None else graph
    _, order = count_preferences(rows, graph, pairs or data)
    others = {} if against is None else {"other": rankers[1].estimator, "X_other": loaded[1].X}
    names = _names(model, against)
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


def _names(model: str, against: str | None) -> tuple[str, str]:
    """Return what the page calls the models: the names of their files, or their paths if equal."""
    names = Path(model).name, Path(against or "").name
    return (model, against) if against and names[0] == names[1] else names
