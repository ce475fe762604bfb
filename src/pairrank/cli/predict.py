"""pairrank predict: the score of every row of a file, or a TREC run."""

from __future__ import annotations

from typing import Annotated, Any

from pairrank.cli import _options as options
from pairrank.cli._columns import how_to_name_queries
from pairrank.cli._errors import UsageError, named
from pairrank.cli._judges import Ranker
from pairrank.cli._rows import check_output, is_streamed, load_rows
from pairrank.exceptions import PairrankError
from pairrank.io import to_run, write_run
from pairrank.io._streams import atomic_write


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
    check_output(output, model, data, columns["query_sizes"])
    ranker = Ranker(model)
    given = {**columns, "label": label or ""}
    refused = {"--run": run, "--docid": columns["docid"]}
    if is_streamed(data, given, stream, memory_limit, refused):
        write_scores(output, ranker.streamed(data, given, memory_limit, roles=())[1])
        return
    roles = () if run is None else ("qid", "docid")
    rows = load_rows(data, given, ranker.wanted, roles=roles, docids=run is not None)
    if run is None:
        write_scores(output, ranker.scores(rows))
        return
    with named(data):
        if rows.qid is None:
            raise PairrankError(f"--run needs queries: {how_to_name_queries(data, columns)}")
        write_run(output, to_run(rows.qid, rows.docid, ranker.scores(rows)), tag=run)


def write_scores(output: str, scores: Any) -> None:
    """Write one score per line."""
    with atomic_write(output) as file:
        for start in range(0, len(scores), 65536):
            block = scores[start : start + 65536].tolist()
            file.write("".join(f"{score!r}\n" for score in block).encode())
