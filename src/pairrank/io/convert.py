"""convert: text that need not fit into memory becomes Parquet, or another format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._streams import (
    AnyFile,
    AnyPath,
    ReadingCallback,
    delete_leftovers,
    is_file,
    name_of,
    read_bytes,
    writes,
)
from pairrank.io.dispatch import format_of, write_blocks
from pairrank.io.query_sizes import with_queries
from pairrank.io.rows import (
    ROW_COLUMNS,
    Rows,
    check_dtype,
    named_columns,
    refuse_unnamed,
)
from pairrank.io.svmlight import SvmlightText
from pairrank.io.tables import (
    Roles,
    chosen_columns,
    content_of,
    read_table,
    roles_of,
    rows_of,
)
from pairrank.io.trec import documents_of


@writes
def convert(
    source: AnyFile,
    target: AnyFile,
    *,
    format: str = "auto",
    to: str = "auto",
    label: str | None = "label",
    drop: Sequence[str] = (),
    drop_text: bool = False,
    query_sizes: AnyPath | None = None,
    dtype: Any = np.float64,
    callback: ReadingCallback = None,
    **columns: str | None,
) -> None:
    """Write the rows of a file in another format: text as Parquet for `RowBlocks.from_parquet`.

    Columns keep their names; svmlight text gets `label`, `qid`, `docid` and `f1`, `f2`, .... Of CSV
    and svmlight text on a disk, memory holds a few blocks only: it is read twice, once for the
    numbers of rows and features and the types of columns. The target changes only if all rows are
    written. What a killed conversion to the same target has left is deleted.

    Parameters
    ----------
    source, target : str, path-like or binary file object
        "-" is standard input or output. Standard input and Parquet are read as wholes.
    to : {"auto", "svmlight", "csv", "parquet"}
        As `format`, of the target.
    label, drop, drop_text, query_sizes
        As for `read_rows`.
    **columns : str, optional
        As for `read_rows`. The comments of svmlight text give document identifiers without `docid`.

    Notes
    -----
    Costs two readings of the text and O(cells).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pairrank.io import read_rows
    >>> folder = tempfile.TemporaryDirectory()
    >>> text, rows = pathlib.Path(folder.name, "a.txt"), pathlib.Path(folder.name, "a.parquet")
    >>> _ = text.write_text("2 qid:7 1:0.5 2:1\\n0 qid:7 2:3\\n")
    >>> convert(text, rows)
    >>> read_rows(rows, qid="qid").X.tolist()
    [[0.5, 1.0], [0.0, 3.0]]
    >>> folder.cleanup()
    """
    kind, into = format_of(source, format), format_of(target, to)
    named = named_columns({"label": label, **columns})
    dtype, roles = check_dtype(dtype), roles_of(named, drop=drop, drop_text=drop_text)
    blocks: Iterable[Rows]
    if kind == "svmlight":
        blocks = _svmlight_blocks(source, dtype, callback)
    elif kind == "csv":
        blocks = _csv_blocks(source, roles, dtype, callback)
    else:
        blocks = [read_table(source, kind, roles, dtype)]
    blocks = with_queries(blocks, source, query_sizes)
    if isinstance(target, str | os.PathLike):
        delete_leftovers(target)
    write_blocks(target, blocks, into, {role: named.get(role, role) for role in ROW_COLUMNS})


def _svmlight_blocks(
    source: Any, dtype: np.dtype[Any], callback: ReadingCallback
) -> Iterator[Rows]:
    """Yield the rows of svmlight text, with the document identifiers in their comments, if any."""
    content = source if is_file(source) else read_bytes(source)
    text = SvmlightText(content, name_of(source), dtype, callback)
    for _ in text.blocks():
        pass
    shape, extent, is_named = text.shape(), text.extent, None
    for block in text.blocks(comments=True):
        if text.extent != extent:
            raise FileFormatError(
                f"{text.name}: the text has changed while it was read; convert it again"
            )
        first = text.n_rows - len(block.labels)
        docid = documents_of(text.name, block.comments, first, is_named)
        is_named = docid is not None
        # some blocks may have whole numbers only
        yield shape.rows(block)._replace(docid=None if docid is None else docid.astype(str))


def _csv_blocks(
    source: Any, roles: Roles, dtype: np.dtype[Any], callback: ReadingCallback
) -> Iterator[Rows]:
    """Yield the rows of CSV text."""
    text: Any = content_of(source, "csv", callback)
    named = roles.columns
    features, numbers, texts = chosen_columns(text, roles)
    refuse_unnamed(features, file=text.name)
    identifiers = [role for role in ("qid", "docid") if role in named]
    as_text = {
        role
        for part in text.parts(numbers[:1], texts)
        for role in identifiers
        if part.identifiers(named[role]).dtype.kind == "U"
    }
    kind = ""
    for part in text.parts(numbers, texts):
        rows = rows_of(part, named, features, dtype)
        # some parts may have whole numbers only
        rows = rows._replace(**{role: getattr(rows, role).astype(str) for role in as_text})
        kind = kind or ("" if rows.y is None else rows.y.dtype.kind)
        if rows.y is not None and rows.y.dtype.kind != kind:
            raise FileFormatError(
                f"{part.place(0)}: from here on labels are {_KINDS[rows.y.dtype.kind]}, and "
                f"{_KINDS[kind]} before; use numbers for all rows, or names for all"
            )
        yield rows


_KINDS = {"f": "numbers", "U": "names"}
