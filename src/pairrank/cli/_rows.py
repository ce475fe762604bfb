"""Rows of DATA, in memory or block by block, and the checks of input and output files."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pairrank._validation import ALIGNED
from pairrank.cli._columns import (
    REMEMBERED,
    arguments_of,
    check_features,
    explained,
    format_in,
    has_names,
    read_as_labels,
    recalled,
    with_targets,
)
from pairrank.cli._errors import UsageError, named
from pairrank.cli._models import flag_of
from pairrank.cli._options import Columns, graph_of
from pairrank.cli._output import Progress
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.io import Rows, read_pairs, read_rows
from pairrank.io._streams import name_of, read_bytes, refuse_read_only, uncompressed
from pairrank.io.rows import IN_BLOCKS
from pairrank.preferences import Levels, Pairs
from pairrank.preferences.roles import ROLES

_IN_MEMORY = ("query_sizes", "time", "event")
"""Options of columns that need all rows in memory."""

JUDGING = tuple(role for role in REMEMBERED if role != "docid")
"""The remembered roles that measuring a model needs."""


class Wanted(NamedTuple):
    """What is known of rows before they are read, from a model or from its training rows.

    `n_features` and `features` are the number and the names of the features: only the named columns
    of CSV and Parquet are read; () reads none. `zero_based` says whether svmlight text counts
    features from 0, and `columns` are the remembered columns by role.
    """

    n_features: int | None = None
    features: Sequence[str] | None = None
    zero_based: bool | None = None
    columns: Mapping[str, str] = {}


UNKNOWN = Wanted()


def load_rows(
    source: str,
    columns: Columns,
    wanted: Wanted = UNKNOWN,
    *,
    roles: Collection[str] = JUDGING,
    pairs: str | None = None,
    docids: bool = False,
    quiet: bool = False,
) -> Rows:
    """Return the rows of a file or of standard input ("-"), with `y` the labels or comparisons.

    Columns that no option names are the remembered ones of `roles`. `pairs` is a file of
    comparisons of the rows; labels are then ignored. With `docids` every row must have a document
    identifier. The progress is shown on a terminal, unless `quiet`.
    """
    files_in(source, pairs, columns["query_sizes"])
    remembered = recalled(source, columns, wanted.columns, roles, pairs=pairs is not None)
    options = arguments_of(source, columns | remembered, features=wanted.features, docids=docids)
    is_censored = read_as_labels(options, pairs)
    if pairs is not None:
        options |= {"label": None, "ignore": [options["label"]] if options["label"] else []}
    options["zero_based"] = "auto" if wanted.zero_based is None else wanted.zero_based
    options |= {"n_features": wanted.n_features, "features": wanted.features}
    with Progress(f"reading {name_of(source)}", quiet=quiet) as line:
        options["callback"] = line.read if line.is_shown else None
        with explained(columns, remembered):
            rows = read_rows(source, **options)
    with named(source):
        if wanted.features is None:
            check_features(rows.feature_names or ())
        for name, part in rows.layout.items():
            ALIGNED[name](part, rows.X.shape[0])
        rows = with_targets(rows) if is_censored else rows
    if pairs is None:
        return rows
    return rows._replace(y=read_pairs(pairs, n_rows=rows.X.shape[0]))


def stream_rows(
    source: str,
    columns: Columns,
    line: Progress,
    wanted: Wanted = UNKNOWN,
    roles: Collection[str] = JUDGING,
) -> Any:
    """Return the rows of Parquet files as RowBlocks; the arguments are those of `load_rows`."""
    from pairrank.blocks import RowBlocks

    remembered = recalled(source, columns, wanted.columns, roles)
    given = arguments_of(source, columns | remembered, features=wanted.features)
    if wanted.features is None and given["docid"]:
        given["drop"].append(given["docid"])
    given["dtype"] = None if columns["dtype"] == "float64" else given["dtype"]
    chosen = {name: given[name] for name in (*IN_BLOCKS, "drop", "drop_text", "dtype")}
    if columns["memory_limit"] is not None:
        chosen["memory_limit"] = columns["memory_limit"]
    with explained(columns, remembered):
        blocks = RowBlocks.from_parquet(source, **chosen, features=wanted.features)
    if wanted.features is None:
        check_features(blocks.feature_names or ())
    return blocks._reporting(line.reading)


def rows_in(blocks: Any, labels: Any) -> Rows:
    """Return RowBlocks, and what was read of their labels, queries and weights, as rows."""
    parts = {role: getattr(labels, role) for role in ("y", "qid", *ROLES)}
    return Rows(blocks, weight=labels.sample_weight, **parts)


def is_streamed(data: str, columns: Columns, refused: dict[str, Any]) -> bool:
    """Whether --stream asks to read DATA block by block; a UsageError if that is impossible.

    `refused` are the options that need all rows in memory, by their flags, with their values.
    """
    paths = files_of(data)
    if not columns["stream"]:
        if paths != [data] or Path(data).is_dir():
            raise UsageError(f"{data} names several files: read them with --stream.")
        if columns["memory_limit"] is not None:
            raise UsageError("--memory-limit needs --stream.")
        if Path(data).is_file() and os.path.getsize(data) > memory_bytes():
            raise UsageError(f"{data} is larger than the memory: read it with --stream.")
        return False
    if data == "-":
        raise UsageError("--stream reads files again and again, not standard input: name a file.")
    if format_in(data, columns) != "parquet":
        same = " with the same options of columns" * has_names(paths[0], columns)
        stem, _ = os.path.splitext(uncompressed(paths[0]))
        command = shlex.join(["pairrank", "convert", paths[0], f"{stem}.parquet"])
        raise UsageError(f"--stream reads Parquet: convert text first{same}, {command}.")
    for flag, given in (refused | {flag_of(name): columns[name] for name in _IN_MEMORY}).items():
        if given:
            raise UsageError(f"{flag} needs all rows in memory: leave out {flag} or --stream.")
    return True


def memory_bytes() -> int:
    """Return the memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def files_of(data: str) -> list[str]:
    """Return the files that DATA names: those of a pattern or a folder, or DATA itself."""
    if os.path.isdir(data):
        return sorted(str(path) for path in Path(data).rglob("*") if path.is_file())
    found = [data] if data == "-" or os.path.exists(data) else glob.glob(data, recursive=True)
    if not found:
        raise PairrankError(f"cannot read {data!r}: there is no such file; check the path")
    return sorted(found)


def files_in(*sources: str | None) -> list[str]:
    """Return the files that all sources name; refuse standard input for two of them."""
    if sources.count("-") > 1:
        raise UsageError("standard input (-) holds one input, not two: name a file.")
    return [each for source in sources if source is not None for each in files_of(source)]


def check_output(path: str, *inputs: str | None, as_json: bool = False) -> None:
    """Refuse an output that cannot be written or is also an input, before any work."""
    if path == "-" and as_json:
        raise UsageError("standard output takes the results or --json: name a file with -o.")
    sources = files_in(*inputs)
    if path == "-":
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
    if any(target.exists() and Path(each).exists() and target.samefile(each) for each in sources):
        raise PairrankError(f"{path}: is an input too, and would be lost; name another file")


def names_in(text: str, flag: str) -> list[str]:
    """Return the names in an option's text, or those in its file, @FILE, one per line."""
    names = text.split(",")
    if text.startswith("@"):
        source = text.removeprefix("@")
        try:
            names = read_bytes(source).decode("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise PairrankError(f"{name_of(source)}: is not UTF-8 text; convert it") from None
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise PairrankError(f"{flag} holds no name; leave it out, or name at least one")
    return names


def count_preferences(
    rows: Rows, source: str, *, graph: Any = None, model: Any = None
) -> tuple[int, Any]:
    """Return the number of preferences, and the graph of the labels: by default the model's own.

    Of Pairs these are comparisons with their ties. An error is raised if none prefers a row.
    """
    labels = rows.y
    graph = getattr(model, "graph", "full") if graph is None else graph
    with named(source):
        if not isinstance(labels, Pairs):
            graph = graph_of(graph, labels)
            levels = Levels.build(labels, graph=graph, **rows.layout)
            levels.require_pairs()
            return int(levels.n_pairs), graph
        if labels.magnitude is not None and not labels.magnitude.any():
            raise NoPairsError("every comparison is a tie (magnitude 0): none prefers a row")
        n_rows = rows.X.shape[0]
        labels.preferred().bound(n_rows, **rows.layout).require_pairs()
        return labels.signed().bound(n_rows, **rows.layout).n_comparisons, graph
