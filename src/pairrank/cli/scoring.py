"""pairrank predict and pairrank evaluate: a model file at work on rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairrank.cli import _options as options
from pairrank.cli._graphs import graph_of
from pairrank.cli._metrics import measure_all, measured
from pairrank.cli._models import learns_differences
from pairrank.cli._report import print_facts, print_json
from pairrank.cli._rows import (
    Columns,
    check_inputs,
    check_output,
    count_judged,
    load_rows,
)

if TYPE_CHECKING:
    from pairrank.io import Rows


def predict(
    model: options.ModelFile,
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="SCORES", help="One score a line; - is stdout.")
    ] = "-",
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="A column to leave out.")
    ] = None,
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    data_format: options.FormatOption = options.Format.auto,
    dtype: options.DtypeOption = options.Dtype.float64,
) -> None:
    """Write the score of every row of DATA, in its order; higher is better."""
    from pairrank.io import atomic_write

    check_inputs(model, data)
    check_output(output, model, data)
    ranker = Ranker(model)
    columns = Columns(label, qid, weight, drop or (), format=data_format.value, dtype=dtype.value)
    scores = ranker.scores(ranker.load_rows(data, columns))
    with atomic_write(output, "w") as file:
        for start in range(0, len(scores), 65536):
            block = scores[start : start + 65536].tolist()
            file.write("".join(f"{score!r}\n" for score in block))


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    graph: options.GraphOption = None,
    pairs: options.PairsOption = None,
    wmw: Annotated[
        bool,
        typer.Option("--wmw", help="The Wilcoxon-Mann-Whitney statistic over the graph, alone."),
    ] = False,
    label: options.Label = "label",
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    data_format: options.FormatOption = options.Format.auto,
    dtype: options.DtypeOption = options.Dtype.float64,
    as_json: options.Json = False,
) -> None:
    """Measure how well a model ranks the rows of DATA, by their labels or by --pairs.

    The pairs are those of --graph, or of the graph that the model has learnt from.
    """
    if pairs is not None and graph is not None:
        raise typer.BadParameter("--pairs says what is preferred to what: leave out --graph.")
    check_inputs(model, data, pairs)
    ranker = Ranker(model)
    columns = Columns(label, qid, weight, drop or (), format=data_format.value, dtype=dtype.value)
    rows = ranker.load_rows(data, columns, pairs)
    order = ranker.graph if graph is None else graph_of(graph, rows.y)
    n_pairs = count_judged(rows, order, pairs or data)
    names = measured(rows, wmw=wmw, differences=learns_differences(ranker.estimator))
    record = measure_all(names, rows, ranker.scores(rows), order)
    record["n_pairs"] = n_pairs
    if as_json:
        print_json(record)
    else:
        print_facts(f"{model} on {data}", record)


class Ranker:
    """A loaded model that takes rows as files have them, features matched by name or place.

    Parameters
    ----------
    path : str
        A model file.
    """

    def __init__(self, path: str) -> None:
        from pairrank.estimators.model_files import load_model

        self.estimator = load_model(path)
        names = getattr(self.estimator, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]

    @property
    def graph(self) -> Any:
        """The graph that it has learnt from; full where its kind knows none."""
        return getattr(self.estimator, "graph", "full")

    def load_rows(self, source: str, columns: Columns, pairs: str | None = None) -> Rows:
        """Return the rows of a file with the model's features, in the model's order."""
        return load_rows(
            source,
            columns,
            n_features=int(self.estimator.n_features_in_),
            features=self.names,
            pairs=pairs,
        )

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row, higher is better."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.estimator.predict(rows.X), dtype=np.float64)
