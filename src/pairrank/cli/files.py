"""pairrank info, convert and export: describe a file, and write it in another format."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

from pairrank._validation import names_matched
from pairrank.cli import _options as options
from pairrank.cli._columns import arguments_of, explained, require_queries
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._judges import Ranker
from pairrank.cli._output import Progress, print_facts, print_json, print_table
from pairrank.cli._rows import (
    Wanted,
    check_output,
    count_preferences,
    load_rows,
    names_in,
)
from pairrank.export import formats
from pairrank.io._streams import name_of, uncompressed
from pairrank.io.dispatch import FORMATS, format_of
from pairrank.io.model_file import ModelRecord, is_model_file, read_model
from pairrank.io.rows import numbered_names

QRELS = "qrels"
"""The format and the suffix of TREC qrels, which rows are converted to."""


def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model file, or rows.")],
    *,
    graph: options.GraphOption = "full",
    columns: options.Columns,
    as_json: options.Json = False,
) -> None:
    """Describe a model file or a file of rows.

    Of a linear model it shows the largest weights, with standard errors if it was trained with
    --covariance.
    """
    from pairrank.estimators import RANKERS
    from pairrank.estimators._weights import largest_weights
    from pairrank.estimators.model_files import saved_of

    head: list[str] = []
    weights: list[Any] | None = None
    if is_model_file(file):
        model = read_model(file)
        record, weights = describe_model(model), []
        if model.estimator in RANKERS:
            head, weights = largest_weights(saved_of(model, file).estimator)
    else:
        record = describe_rows(file, columns, graph)
    if not as_json:
        print_facts(file, record)
        if weights:
            print_table("Features with the largest weights", head, weights)
        return
    if weights is not None:
        record["weights"] = [dict(zip(map(str.lower, head), row, strict=True)) for row in weights]
    print_json(record)


def describe_model(record: ModelRecord) -> dict[str, Any]:
    """Return a model's class, parameters, sizes and facts of its training."""
    from pairrank.estimators.model_files import COLUMNS

    facts: dict[str, Any] = {"model": record.estimator}
    info = dict(record.info)
    remembered = info.pop(COLUMNS, {})
    facts |= {name.rstrip("_"): value for name, value in info.items()}
    facts |= {f"column of {role}": column for role, column in remembered.items()}
    facts |= {f"param {name}": value for name, value in record.params.items()}
    facts |= {f"shape of {name}": np.shape(array) for name, array in record.arrays.items()}
    return facts


def describe_rows(source: str, columns: options.Columns, graph: Any) -> dict[str, Any]:
    """Return the numbers that describe a file of rows."""
    rows = load_rows(source, columns)
    n_pairs, _ = count_preferences(rows, source, graph=graph)
    X, weight = rows.X, rows.weight
    counted = slice(None) if weight is None else weight > 0
    stated = X.nnz if isinstance(X, sparse.csr_array) else np.count_nonzero(X)
    return {
        "rows": X.shape[0],
        "features": X.shape[1],
        "queries": 1 if rows.qid is None else np.unique(rows.qid[counted]).size,
        "levels": np.unique(np.asarray(rows.y)[counted]).size,
        "n_pairs": n_pairs,
        "share of non-zeros": stated / max(1, X.shape[0] * X.shape[1]),
        "weighted": weight is not None,
    }


def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Rows; - is stdin.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where to; - is stdout.")],
    *,
    to: Annotated[
        str,
        options.option(
            "Output",
            "TARGET's format; auto: by the file's name.",
            **options.choice("auto", *FORMATS, QRELS),
        ),
    ] = "auto",
    columns: options.Columns,
) -> None:
    """Write the rows of SOURCE to TARGET in another format: svmlight, CSV, Parquet or TREC qrels.

    Columns keep their names. Document identifiers are kept: those of --docid, or of svmlight
    comments, # docid = X. Text may be larger than the memory: it is read twice. TARGET changes only
    when all is written.
    """
    from pairrank.io import convert as converted
    from pairrank.io import to_qrels, write_qrels

    check_output(target, source, columns["query_sizes"])
    is_qrels = uncompressed(target).lower().endswith(f".{QRELS}")
    if to == QRELS or (to == "auto" and is_qrels):
        rows = load_rows(source, columns, Wanted(features=()), docids=True)
        with named(source):
            require_queries(rows, "qrels need", source, columns)
            write_qrels(target, to_qrels(rows.qid, rows.docid, rows.y))
        return
    format_of(target, to)
    given = arguments_of(source, columns)
    if given.pop("time") or given.pop("event"):
        raise UsageError("--time and --event name columns in train: leave them out.")
    with Progress(f"reading {name_of(source)}", quiet=False) as line, explained(columns, {}):
        converted(source, target, to=to, callback=line.read if line.is_shown else None, **given)


def export(
    model: options.ModelFile,
    *,
    output: Annotated[str, options.output("The exported model; - is stdout.", "FILE")] = "-",
    format: Annotated[
        str | None,
        options.option(
            "Output",
            "The exported model's format; if left out, by FILE's suffix: .onnx, .csv, .sql.",
            **options.choice(*formats.FORMATS),
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
    has_names = formats.FORMATS[formats.format_named(format, output)].has_names
    if names is None and has_names and ranker.wanted.features is None and ranker.wanted.zero_based:
        names = numbered_names(int(ranker.estimator.n_features_in_), zero_based=True)
    asked: dict[str, Any] = {"feature_names": names, "name": name, "check": given}
    with names_matched():
        result = write(ranker.estimator, output, format, **asked)
    if result is not None and not result.n_changed:
        print_message(f"{result}.", kind="check")
