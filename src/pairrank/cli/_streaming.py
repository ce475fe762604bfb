"""Rows that commands read block by block: when, from which files, and what cannot be streamed."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.cli import _options as options
from pairrank.cli._columns import arguments_of, check_features, split_names, with_label
from pairrank.cli._errors import UsageError, print_message
from pairrank.cli._models import flag_of
from pairrank.cli._progress import ReadingLine
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import format_of
from pairrank.io.rows import IN_BLOCKS

if TYPE_CHECKING:
    from pairrank.blocks import RowBlocks
    from pairrank.blocks._contracts import RowBlock
    from pairrank.blocks.local_passes import ReadingHook
    from pairrank.io import Rows

_IN_MEMORY = ("query_sizes", "time", "event")
"""Options of columns that need all rows in memory."""


class Streaming(NamedTuple):
    """The options of rows that are read block by block."""

    stream: bool = False
    memory_limit: float | None = None
    cache: str | None = None


def is_streamed(
    data: str,
    columns: options.Columns,
    streaming: Streaming,
    refused: dict[str, Any],
    instead: Mapping[str, str] | None = None,
) -> bool:
    """Whether to read DATA block by block: --stream says so, or it is larger than the memory.

    `refused` are the options that cannot be streamed, by their flags, with their values; `instead`
    says what does their work on blocks, for some of them.
    """
    paths = files_of(data)
    size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    is_large = size > memory_bytes()
    if not streaming.stream and not is_large:
        if paths != [data] or Path(data).is_dir():
            raise UsageError(f"{data} names several files: read them with --stream.")
        if streaming.memory_limit is not None or streaming.cache is not None:
            raise UsageError("--memory-limit and --cache need --stream.")
        return False
    asked = {**refused, **{flag_of(name): columns.get(name) for name in _IN_MEMORY}}
    for flag, given in asked.items():
        if given:
            other = "; or leave out --stream" if streaming.stream else f" ({data} is larger)"
            remedy = (instead or {}).get(flag, "leave it out")
            raise UsageError(f"{flag} needs all rows in memory: {remedy}{other}.")
    if data == "-":
        raise UsageError("--stream reads files again and again, not standard input: name a file.")
    if not streaming.stream:
        print_message(
            f"{data}: {size / 1e9:,.1f} GB are more than the memory, {memory_bytes() / 1e9:,.1f} "
            "GB; rows are read block by block, as with --stream.",
            kind="warning",
        )
    return True


def streamed(
    data: str,
    columns: options.Columns,
    streaming: Streaming,
    report: ReadingHook | None = None,
    *,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    quiet: bool = False,
) -> RowBlocks:
    """Return the rows of DATA as blocks; the options are those of `load_rows`."""
    from pairrank.blocks import RowBlocks

    columns = with_format(data, columns)
    kind = columns["format"]
    if kind == "svmlight":
        _refuse_weights(data, columns)
    if kind != "parquet" and streaming.cache is None:
        name = "CSV" if kind == "csv" else "svmlight text"
        raise UsageError(f"{name} is parsed once into a folder: name the folder with --cache.")
    shared: dict[str, Any] = {}
    if streaming.memory_limit is not None:
        shared["memory_limit"] = streaming.memory_limit
    with ReadingLine(data, quiet=quiet) if kind != "parquet" else nullcontext() as line:
        if line is not None:
            shared |= {"cache": streaming.cache, "callback": line if line.is_shown else None}
        if kind == "svmlight":
            blocks = RowBlocks.from_svmlight(
                files_of(data),
                zero_based="auto" if zero_based is None else zero_based,
                n_features=n_features,
                dtype=columns["dtype"],
                **shared,
            )
        else:
            blocks = _from_table(data, columns, features, shared)
    return blocks.reporting(report)


def _from_table(
    data: str, columns: options.Columns, features: Sequence[str] | None, shared: dict[str, Any]
) -> RowBlocks:
    """Return the rows of Parquet or CSV files as blocks."""
    from pairrank.blocks import RowBlocks

    given = arguments_of(data, columns, docids=False)
    documents = [given["docid"]] if given["docid"] else []
    table: dict[str, Any] = {
        **{role: given[role] for role in IN_BLOCKS},
        "features": features,
        "drop": [] if features else [*split_names(columns["drop"]), *documents],
        "drop_text": bool(given["drop_text"]),
    }
    try:
        if columns["format"] == "csv":
            _check_header(files_of(data)[0], table)
            return RowBlocks.from_csv(files_of(data), dtype=columns["dtype"], **table, **shared)
        dtype = np.float32 if columns["dtype"] == "float32" else None
        blocks = RowBlocks.from_parquet(data, dtype=dtype, **table, **shared)
    except FileFormatError as error:
        raise with_label(error, columns) from None
    if features is None:
        check_features(blocks.feature_names or ())
    return blocks


def _check_header(path: str, table: dict[str, Any]) -> None:
    """Refuse columns of CSV text before it is parsed into a folder."""
    from pairrank.io.csv_blocks import csv_features

    roles = {role: table[role] for role in IN_BLOCKS}
    found = csv_features(
        path,
        roles,
        features=table["features"],
        drop=table["drop"],
        drop_text=table["drop_text"],
    )
    if table["features"] is None:
        check_features(found)


def _refuse_weights(data: str, columns: options.Columns) -> None:
    """Refuse options of columns that svmlight text cannot have."""
    given = arguments_of(data, columns, docids=False)
    for role in ("weight", "winner_weight", "loser_weight"):
        if given[role]:
            raise PairrankError(f"{data}: svmlight text cannot hold {flag_of(role)}; give Parquet")


def memory_bytes() -> int:
    """Return the memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def files_of(data: str) -> list[str]:
    """Return the files that DATA names: those of a pattern or a folder, or DATA itself."""
    if data != "-" and not Path(data).exists() and glob.has_magic(data):
        found = sorted(glob.glob(data, recursive=True))
        if not found:
            raise PairrankError(f"cannot read {data!r}: no file has such a name; check the path")
        return found
    if Path(data).is_dir():
        return sorted(str(path) for path in Path(data).rglob("*") if path.is_file())
    return [data]


def with_format(data: str, columns: options.Columns) -> options.Columns:
    """Return the options of columns with the format of DATA: that of a folder is Parquet."""
    is_folder = columns["format"] == "auto" and Path(data).is_dir()
    return {**columns, "format": "parquet" if is_folder else format_of(data, columns["format"])}


def as_rows(n_rows: int, block: RowBlock) -> Rows:
    """Return rows of blocks as the rows of a file, without features."""
    from pairrank.io import Rows

    return Rows(
        np.empty((n_rows, 0)),
        block.y,
        block.qid,
        block.sample_weight,
        winner_weight=block.winner_weight,
        loser_weight=block.loser_weight,
    )
