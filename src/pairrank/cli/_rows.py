"""Reading rows and checking input and output files, for every command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairrank.cli._censored import read_as_labels, with_targets
from pairrank.cli._columns import arguments_of, check_features, split_names, with_label
from pairrank.cli._errors import UsageError, named
from pairrank.cli._graphs import graph_of
from pairrank.cli._models import flag_of
from pairrank.cli._options import Columns
from pairrank.cli._progress import ReadingLine
from pairrank.cli._streaming import files_of
from pairrank.exceptions import FileFormatError, NoPairsError, PairrankError
from pairrank.preferences import Levels, Pairs
from pairrank.preferences.roles import ROLES

if TYPE_CHECKING:
    from pairrank.io import Rows


def load_rows(
    source: str,
    columns: Columns,
    *,
    n_features: int | None = None,
    features: Sequence[str] | None = None,
    pairs: str | None = None,
    zero_based: bool | None = None,
    docids: bool = False,
    comments: bool = False,
    quiet: bool = False,
) -> Rows:
    """Return the rows of a file or of standard input ("-"), with `y` the labels or comparisons.

    `n_features` and `features` are the number and the names of a model's features: only the named
    columns of CSV and Parquet are read; () reads no features. `zero_based` says whether its
    svmlight text counted features from 0. `pairs` is a file of comparisons of the rows; labels are
    then ignored. With `docids` every row must have a document identifier; `comments` keeps those of
    svmlight text. The progress is shown on a terminal, unless `quiet`.
    """
    from pairrank._validation import ALIGNED
    from pairrank.io import read_pairs, read_rows
    from pairrank.io._streams import name_of

    check_files(source, pairs, columns["query_sizes"])
    options = arguments_of(source, columns, docids=docids)
    is_censored = read_as_labels(options, pairs)
    if pairs is not None:
        options |= {"label": None, "ignore": [options["label"]] if options["label"] else []}
    options["drop"] = () if features else split_names(columns["drop"])
    options["zero_based"] = "auto" if zero_based is None else zero_based
    options["dtype"] = np.dtype(columns["dtype"])
    given = {"features": features, "n_features": n_features, "comments": comments, **options}
    try:
        with ReadingLine(name_of(source), quiet=quiet) as line:
            rows = read_rows(source, callback=line if line.is_shown else None, **given)
    except FileFormatError as error:
        raise with_label(error, columns) from None
    with named(source):
        if features is None:
            check_features(rows.feature_names or ())
        for name, part in rows.layout.items():
            ALIGNED[name](part, rows.X.shape[0])
        rows = with_targets(rows) if is_censored else rows
    if pairs is None:
        return rows
    compared: Any = read_pairs(pairs, n_rows=rows.X.shape[0])
    return rows._replace(y=compared)


def check_files(*sources: str | None) -> None:
    """Refuse a source that does not exist, and standard input for two inputs."""
    check_inputs(*sources)
    for path in sources:
        if path is not None and path != "-" and not Path(path).exists():
            raise PairrankError(f"cannot read {path!r}: there is no such file; check the path")


def check_inputs(*sources: str | None) -> None:
    """Refuse standard input for two inputs, as wrong usage."""
    if sources.count("-") > 1:
        raise UsageError("standard input (-) holds one input, not two: name a file.")


def check_output(path: str, *inputs: str | None, as_json: bool = False) -> None:
    """Refuse an output that cannot be written or is also an input, before any work."""
    from pairrank.io._atomic import refuse_read_only

    if path == "-":
        if as_json:
            raise UsageError("standard output takes the results or --json: name a file with -o.")
        return
    if not path:
        raise PairrankError("the output's name is empty; name a file, or - for standard output")
    target = Path(path)
    if target.is_dir():
        raise PairrankError(f"{path}: is a folder; name a file to write")
    if not target.parent.is_dir():
        raise PairrankError(f"{path}: its folder does not exist; make it, or name another")
    if not os.access(target.parent, os.W_OK):
        raise PairrankError(f"{path}: its folder cannot be written; name another")
    refuse_read_only(path)
    if target.exists():
        named = (path for source in inputs if source and source != "-" for path in files_of(source))
        for source in named:
            if Path(source).exists() and target.samefile(source):
                raise PairrankError(
                    f"{path}: is an input too, and would be lost; name another file"
                )


def names_in(text: str, flag: str) -> list[str]:
    """Return the names in an option's text, or those in its file, @FILE, one per line."""
    from pairrank.io._streams import name_of, read_bytes

    if text.startswith("@"):
        source = text.removeprefix("@")
        try:
            names = read_bytes(source).decode("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise PairrankError(f"{name_of(source)}: is not UTF-8 text; convert it") from None
    else:
        names = text.split(",")
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise PairrankError(f"{flag} holds no name; leave it out, or name at least one")
    return names


def count_preferences(rows: Rows, graph: Any, source: str) -> int:
    """Return the number of preferences, of Pairs that of comparisons with their ties.

    An error is raised if none prefers a row.
    """
    with named(source):
        if not isinstance(rows.y, Pairs):
            order = graph_of(graph, rows.y)
            labels: Any = rows.y
            levels = Levels.build(labels, graph=order, **rows.layout)
            levels.require_pairs()
            return int(levels.n_pairs)
        if rows.y.magnitude is not None and not rows.y.magnitude.any():
            raise NoPairsError("every comparison is a tie (magnitude 0): none prefers a row")
        n_rows = rows.X.shape[0]
        rows.y.preferred().bound(n_rows, **rows.layout).require_pairs()
        return rows.y.signed().bound(n_rows, **rows.layout).n_comparisons


def weights_by_role(columns: Columns) -> str:
    """Return the options that give weights by role, for messages; "" if there are none."""
    given = (role for role in (*ROLES, "event") if columns.get(role) is not None)
    return " and ".join(map(flag_of, given))


def facts_of(rows: Rows) -> dict[str, Any]:
    """Return the numbers of rows and features, and of queries and levels of positive weight."""
    facts: dict[str, Any] = {"rows": rows.X.shape[0], "features": rows.X.shape[1]}
    counted = slice(None) if rows.weight is None else rows.weight > 0
    facts["queries"] = 1 if rows.qid is None else int(np.unique(rows.qid[counted]).size)
    if not isinstance(rows.y, Pairs):
        facts["levels"] = int(np.unique(np.asarray(rows.y)[counted]).size)
    return facts
