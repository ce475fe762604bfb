"""pairrank predict and pairrank evaluate: a model file at work on rows."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairrank.cli import _options as options
from pairrank.cli._guard import complain
from pairrank.cli._models import METRICS, measure
from pairrank.cli._report import print_facts, print_json
from pairrank.cli._rows import (
    Columns,
    check_inputs,
    check_output,
    levels_of,
    load_rows,
    require_pairs,
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
    check_output(output)
    ranker = Ranker(model)
    columns = Columns(label, qid, weight, drop or (), data_format.value, dtype.value)
    scores = ranker.scores(ranker.load_rows(data, columns))
    with atomic_write(output, "w") as file:
        for start in range(0, len(scores), 65536):
            block = scores[start : start + 65536].tolist()
            file.write("".join(f"{score!r}\n" for score in block))


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    label: options.Label = "label",
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    data_format: options.FormatOption = options.Format.auto,
    dtype: options.DtypeOption = options.Dtype.float64,
    as_json: options.Json = False,
) -> None:
    """Measure how well a model ranks the labelled rows of DATA."""
    check_inputs(model, data)
    ranker = Ranker(model)
    columns = Columns(label, qid, weight, drop or (), data_format.value, dtype.value)
    rows = ranker.load_rows(data, columns)
    graph = ranker.estimator.graph
    levels = levels_of(rows, graph)
    require_pairs(levels, data)
    record = measure_all(rows, ranker.scores(rows), graph)
    record["n_pairs"] = int(levels.n_pairs)
    if as_json:
        print_json(record)
    else:
        print_facts(f"{model} on {data}", record)


def measure_all(rows: Rows, scores: Any, graph: Any) -> dict[str, Any]:
    """Return every metric; NaN, with a warning, for those that the labels leave undefined."""
    labels = np.asarray(rows.y)
    undefined: list[str] = []
    if labels.dtype.kind not in "fiu":
        undefined = [name for name, metric in METRICS.items() if not metric.graph]
        complain(f"{' and '.join(undefined)} need labels that are numbers.", kind="warning")
    elif labels.min() < 0:
        undefined = [name for name, metric in METRICS.items() if metric.gains]
        complain(f"{' and '.join(undefined)} need labels of 0 and more.", kind="warning")
    return {
        name: math.nan if name in undefined else measure(name, rows, scores, graph)
        for name in METRICS
    }


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

    def load_rows(self, source: str, columns: Columns) -> Rows:
        """Return the rows of a file with the model's features, in the model's order."""
        n_features = int(self.estimator.n_features_in_)
        return load_rows(source, columns, n_features=n_features, features=self.names)

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row, higher is better."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(self.estimator.predict(rows.X), dtype=np.float64)
