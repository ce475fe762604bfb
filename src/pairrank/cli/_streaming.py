"""Rows that commands read block by block: when, from which files, and what cannot be streamed."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.cli import _options as options
from pairrank.cli._columns import arguments_of, check_features, has_names, split_names, with_label
from pairrank.cli._errors import UsageError, print_message
from pairrank.cli._models import flag_of
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import COMPRESSED_SUFFIXES
from pairrank.io.dispatch import format_of
from pairrank.io.rows import IN_BLOCKS, ROW_COLUMNS

if TYPE_CHECKING:
    from pairrank.blocks import RowBlocks
    from pairrank.blocks._contracts import RowBlock
    from pairrank.blocks.local_passes import ReadingHook
    from pairrank.io import Rows

_IN_MEMORY = ("query_sizes", "time", "event")
"""Options of columns that need all rows in memory."""
_NAMED = " Then name the columns of queries and documents, if any: --qid qid --docid docid."


class Streaming(NamedTuple):
    """The options of rows that are read block by block."""

    stream: bool = False
    memory_limit: float | None = None


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
        if streaming.memory_limit is not None:
            raise UsageError("--memory-limit needs --stream.")
        return False
    if data == "-":
        raise UsageError("--stream reads files again and again, not standard input: name a file.")
    if with_format(data, columns)["format"] != "parquet":
        why = "--stream reads Parquet" if streaming.stream else f"{data} is larger than the memory"
        named = "" if has_names(paths[0], columns) else _NAMED
        raise UsageError(f"{why}: convert text first, {conversion_of(paths[0], columns)}.{named}")
    asked = {**refused, **{flag_of(name): columns.get(name) for name in _IN_MEMORY}}
    for flag, given in asked.items():
        if given:
            other = "; or leave out --stream" if streaming.stream else f" ({data} is larger)"
            remedy = (instead or {}).get(flag, "leave it out")
            raise UsageError(f"{flag} needs all rows in memory: {remedy}{other}.")
    if not streaming.stream:
        print_message(
            f"{data}: {size / 1e9:,.1f} GB are more than the memory, {memory_bytes() / 1e9:,.1f} "
            "GB; rows are read block by block, as with --stream.",
            kind="warning",
        )
    return True


def conversion_of(path: str, columns: options.Columns) -> str:
    """Return the command that converts text to Parquet."""
    stem = path
    for suffix in COMPRESSED_SUFFIXES:
        stem = stem.removesuffix(suffix)
    words = ["pairrank", "convert", path, f"{os.path.splitext(stem)[0]}.parquet"]
    roles = ROW_COLUMNS if has_names(path, columns) else ()
    for name in (*roles, "query_sizes"):
        words += [flag_of(name), columns[name]] if columns.get(name) else []
    for column in columns["drop"] or ():
        words += ["--drop", column]
    words += ["--drop-text"] * bool(columns["drop_text"])
    for name, usual in (("format", "auto"), ("dtype", "float64")):
        words += [flag_of(name), columns[name]] if columns[name] != usual else []
    return shlex.join(words)


def streamed(
    data: str,
    columns: options.Columns,
    streaming: Streaming,
    report: ReadingHook | None = None,
    *,
    features: Sequence[str] | None = None,
) -> RowBlocks:
    """Return the rows of Parquet files as blocks; the options are those of `load_rows`."""
    from pairrank.blocks import RowBlocks

    given = arguments_of(data, with_format(data, columns), docids=False)
    documents = [given["docid"]] if given["docid"] else []
    limit = streaming.memory_limit
    more: dict[str, Any] = {} if limit is None else {"memory_limit": limit}
    try:
        blocks = RowBlocks.from_parquet(
            data,
            **{role: given[role] for role in IN_BLOCKS},
            features=features,
            drop=[] if features else [*split_names(columns["drop"]), *documents],
            drop_text=bool(given["drop_text"]),
            dtype=np.float32 if columns["dtype"] == "float32" else None,
            **more,
        )
    except FileFormatError as error:
        raise with_label(error, columns) from None
    if features is None:
        check_features(blocks.feature_names or ())
    return blocks._reporting(report)


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
