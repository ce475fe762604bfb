"""pairrank export: write a linear model for a search engine, a database or a program."""

from __future__ import annotations

from typing import Annotated, Any

from pairrank._validation import names_matched
from pairrank.cli import _options as options
from pairrank.cli._errors import print_message
from pairrank.cli._judges import Ranker
from pairrank.cli._rows import check_output, load_rows, names_in
from pairrank.export.formats import FORMATS, format_named
from pairrank.io.rows import numbered_names


def export(
    model: options.ModelFile,
    *,
    output: Annotated[str, options.output("The exported model; - is stdout.", "FILE")] = "-",
    format: Annotated[
        str | None,
        options.option(
            "Output",
            "The exported model's format; if left out, by FILE's suffix: .onnx, .csv, .sql.",
            **options.choice(*FORMATS),
        ),
    ] = None,
    feature_names: Annotated[
        str | None,
        options.option(
            "Output",
            "One name per feature, separated by commas, or a file of one name per line; if left "
            "out, the model's names, or f1, f2, ..., as svmlight text numbers features (from f0 if "
            "that of the training counts from 0).",
            metavar="NAMES|@FILE",
        ),
    ] = None,
    name: Annotated[
        str | None,
        options.option(
            "Output",
            "elasticsearch, opensearch, solr: the model's name; pairrank if left out.",
            metavar="NAME",
        ),
    ] = None,
    check: Annotated[
        str | None,
        options.option(
            "Data",
            "Rows: compare their order, as the format's readers compute it, with the model's.",
            metavar="DATA",
        ),
    ] = None,
    label: options.Unlabelled = None,
    qid: Annotated[str | None, options.column("CSV, Parquet: the column of queries.")] = None,
) -> None:
    """Write a linear model for a search engine, a database or a program.

    Search engines and ONNX compute in float32, so rows with nearly equal scores may change places.
    --check names the queries in which they do.
    """
    from pairrank.export import export as write

    names = None if feature_names is None else names_in(feature_names, "--feature-names")
    check_output(output, model, check)
    ranker = Ranker(model)
    given = None
    if check is not None:
        others = {column.name: column.default for column in options.COLUMNS}
        named = {**others, "label": label or "", "qid": qid}
        rows = load_rows(check, named, ranker.wanted, roles=("qid",))
        given = rows.X, rows.qid
    has_names = FORMATS[format_named(format, output)].has_names
    if names is None and has_names and ranker.wanted.features is None and ranker.wanted.zero_based:
        names = numbered_names(int(ranker.estimator.n_features_in_), zero_based=True)
    asked: dict[str, Any] = {"feature_names": names, "name": name, "check": given}
    with names_matched():
        result = write(ranker.estimator, output, format, **asked)
    if result is not None and not result.n_changed:
        print_message(f"{result}.", kind="check")
