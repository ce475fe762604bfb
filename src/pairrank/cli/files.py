"""pairrank info and pairrank convert: what a file holds, and the same rows in another format."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

from pairrank.cli import _options as options
from pairrank.cli._graphs import graph_of
from pairrank.cli._report import print_facts, print_json
from pairrank.cli._rows import Columns, check_output, facts_of, load_rows, named, preferences_of


def info(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model file, or rows.")],
    label: options.Label = "label",
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    graph: options.GraphOption = None,
    data_format: options.FormatOption = options.Format.auto,
    as_json: options.Json = False,
) -> None:
    """Show what a model file or a file of rows holds."""
    from pairrank.io import is_model_file

    if is_model_file(file):
        record = describe_model(file)
    else:
        columns = Columns(label, qid, weight, drop or (), format=data_format.value)
        record = describe_rows(file, columns, graph or "full")
    if as_json:
        print_json(record)
    else:
        print_facts(file, record)


def describe_model(path: str) -> dict[str, Any]:
    """Return what is known of a model: its class, parameters, size and training."""
    from pairrank.io import read_model

    record = read_model(path)
    facts: dict[str, Any] = {"model": record.estimator}
    facts |= {name.rstrip("_"): value for name, value in record.info.items()}
    facts |= {f"param {name}": value for name, value in record.params.items()}
    facts |= {f"shape of {name}": np.shape(array) for name, array in record.arrays.items()}
    return facts


def describe_rows(source: str, columns: Columns, graph: str) -> dict[str, Any]:
    """Return the counts that describe a file of rows."""
    rows = load_rows(source, columns)
    with named(source):
        preferences = preferences_of(rows, graph_of(graph, rows.y))
    X = rows.X
    stated = X.nnz if isinstance(X, sparse.csr_array) else np.count_nonzero(X)
    facts = facts_of(rows, preferences)
    facts["share of non-zeros"] = stated / max(1, X.shape[0] * X.shape[1])
    facts["weighted"] = rows.weight is not None
    return facts


def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Rows; - is stdin.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where to; - is stdout.")],
    source_format: Annotated[
        options.Format, typer.Option("--from", help="SOURCE's format; auto goes by its name.")
    ] = options.Format.auto,
    target_format: Annotated[
        options.Format, typer.Option("--to", help="TARGET's format; auto goes by its name.")
    ] = options.Format.auto,
    label: options.Label = "label",
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    dtype: options.DtypeOption = options.Dtype.float64,
) -> None:
    """Write the rows of SOURCE to TARGET in another format: svmlight, CSV or Parquet."""
    from pairrank.io import write_rows

    check_output(target, source)
    columns = Columns(label, qid, weight, drop or (), format=source_format.value, dtype=dtype.value)
    rows = load_rows(source, columns)
    write_rows(target, rows, format=target_format.value)
