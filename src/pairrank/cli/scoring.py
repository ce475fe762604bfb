"""pairrank predict: apply a model file to rows; metrics of its scores."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from pairrank.cli import _options as options
from pairrank.cli._columns import (
    JUDGING,
    has_names,
    how_to_name_queries,
    recalled,
    with_origin,
)
from pairrank.cli._errors import UsageError, named
from pairrank.cli._progress import BlockLine
from pairrank.cli._rows import check_files, check_inputs, check_output, load_rows
from pairrank.cli._streaming import Streaming, as_rows, is_streamed, streamed, with_format
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import to_run, write_run
from pairrank.io._atomic import atomic_write
from pairrank.metrics._names import Metric, metric_named
from pairrank.preferences import Pairs

if TYPE_CHECKING:
    from pairrank.io import Rows


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
    columns: options.Columns,
    stream: options.Stream = False,
    memory_limit: options.MemoryLimit = None,
) -> None:
    """Write the score of every row of DATA, in order; higher is better.

    A run names documents by the comments of svmlight text, # docid = X, or by --docid.
    """  # fmt: skip
    if run is not None and len(run.split()) != 1:
        raise UsageError("--run takes a name without blanks.")
    check_inputs(model, data)
    check_output(output, model, data, columns["query_sizes"])
    ranker = Ranker(model)
    given = {**columns, "label": label or ""}
    streaming = Streaming(stream, memory_limit)
    if is_streamed(data, given, streaming, {"--run": run, "--docid": columns["docid"]}):
        scores, _ = ranker.streamed(data, given, streaming, recall=())
        write_scores(output, scores)
        return
    if run is None:
        write_scores(output, ranker.scores(ranker.load_rows(data, given, recall=())))
        return
    rows = ranker.load_rows(data, given, recall=("qid", "docid"), docids=True)
    with named(data):
        if rows.qid is None:
            raise PairrankError(f"--run needs queries: {how_to_name_queries(data, columns)}")
        scores = to_run(rows.qid, rows.docid, ranker.scores(rows))
        write_run(output, scores, tag=run)


def write_scores(output: str, scores: Any) -> None:
    """Write one score per line."""
    with atomic_write(output, "w") as file:
        for start in range(0, len(scores), 65536):
            block = scores[start : start + 65536].tolist()
            file.write("".join(f"{score!r}\n" for score in block))


def measure(
    name: str, rows: Rows, scores: Any, model: Any, graph: Any = None, **options: Any
) -> Any:
    """Return a metric of a model's scores over a graph; None: the model's own.

    A metric gets the weights that it knows: only those of preferences have winners and losers.
    `options` are further arguments of the metric.
    """
    metric = metric_named(name)
    arguments = {**metric.arguments(model), **options}
    if graph is not None and "graph" in metric.own and "graph" not in metric.options:
        arguments["graph"] = graph
    return metric.function(rows.y, scores, **metric.rows_of(rows.layout), **arguments)


def unfit_metrics(names: Iterable[str], rows: Rows) -> dict[str, str]:
    """Return the metrics that cannot judge these rows, with the labels that each needs."""
    needs = {name: _needed(metric_named(name), rows.y) for name in names}
    return {name: needed for name, needed in needs.items() if needed}


def check_metrics(names: Iterable[str], rows: Rows) -> None:
    """Raise a PairrankError if a metric cannot judge the rows."""
    for name, needed in unfit_metrics(names, rows).items():
        raise PairrankError(f"{name} needs {needed}; use --metric pairwise_accuracy")


def _needed(metric: Metric, y: Any) -> str:
    """Return the kind of labels that a metric needs, "" if these are of that kind."""
    if isinstance(y, Pairs) or metric.judges == "preferences":
        return ""
    labels = np.asarray(y)
    if labels.dtype.kind not in "fiu":
        return "labels that are numbers"
    return "labels of 0 and more" if metric.judges == "gains" and labels.min() < 0 else ""


@contextmanager
def rows_without_names() -> Iterator[None]:
    """Leave out scikit-learn's warning of rows without names: files were matched by name before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class Ranker:
    """A model from a file; it reads rows with features matched by name or position."""

    def __init__(self, path: str) -> None:
        from pairrank.estimators.model_files import read_ranker

        self.estimator, self.columns, self.zero_based = read_ranker(path)
        names = getattr(self.estimator, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]

    def load_rows(
        self,
        source: str,
        columns: options.Columns,
        pairs: str | None = None,
        *,
        recall: Collection[str] = JUDGING,
        docids: bool = False,
    ) -> Rows:
        """Return the rows of a file with the model's features, in the model's order.

        Columns that no option names are those of the training, if their role is in `recall`.
        """
        check_files(source, pairs, columns["query_sizes"])
        asked = self._asked(source, columns, recall, pairs=pairs is not None)
        try:
            return load_rows(
                source,
                asked,
                n_features=int(self.estimator.n_features_in_),
                features=self.names,
                zero_based=self.zero_based,
                pairs=pairs,
                docids=docids,
            )
        except FileFormatError as error:
            raise with_origin(error, asked, columns) from None

    def streamed(
        self,
        source: str,
        columns: options.Columns,
        streaming: Streaming,
        *,
        recall: Collection[str] = JUDGING,
        quiet: bool = False,
    ) -> tuple[Any, Rows]:
        """Return the scores of the rows of files, and the rows without features, in one pass."""
        known = with_format(source, columns)
        asked = self._asked(source, known, recall)
        with BlockLine(source, quiet=quiet) as line:
            try:
                blocks = streamed(
                    source,
                    asked,
                    streaming,
                    line,
                    features=self.names,
                )
            except FileFormatError as error:
                raise with_origin(error, asked, columns) from None
            scores, rows = blocks._scored(self.estimator, labelled=bool(recall))
        return scores, as_rows(len(scores), rows)

    def _asked(
        self,
        source: str,
        columns: options.Columns,
        recall: Collection[str],
        *,
        pairs: bool = False,
    ) -> options.Columns:
        """Return the options of columns, with those of the training where they are left out."""
        if not has_names(source, columns):
            return columns
        known = {role: name for role, name in self.columns.items() if role in recall}
        return recalled(columns, known, pairs=pairs)

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row, higher is better."""
        with rows_without_names():
            return np.asarray(self.estimator.predict(rows.X), dtype=np.float64)
