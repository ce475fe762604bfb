"""read_rows and write_rows: the format follows from the file's name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from pairrank.exceptions import PairrankError
from pairrank.io._streams import (
    STANDARD_STREAM,
    AnyFile,
    AnyPath,
    ReadingCallback,
    name_of,
    reads,
    uncompressed,
    writes,
)
from pairrank.io.query_sizes import with_queries
from pairrank.io.rows import IN_SVMLIGHT, ROW_COLUMNS, Rows, listed, named_columns
from pairrank.io.svmlight import read_text
from pairrank.io.svmlight_writer import write_lines
from pairrank.io.tables import read_table, roles_of, write_table

FORMATS = ("svmlight", "csv", "parquet")
FORMAT_OF_SUFFIX = {
    **dict.fromkeys([".txt", ".svm", ".svmlight", ".libsvm", ".dat", ".letor"], "svmlight"),
    ".csv": "csv",
    ".parquet": "parquet",
}


def format_of(source: Any, format: str = "auto") -> str:
    """Return `format`, or for "auto" that of the file's suffix, below those of compression.

    Standard streams and file objects are svmlight text.

    Examples
    --------
    >>> format_of("train.txt.gz"), format_of("clicks.csv"), format_of("-")
    ('svmlight', 'csv', 'svmlight')
    """
    if format != "auto":
        if format not in FORMATS:
            raise PairrankError(f"no format {format!r}; there are {', '.join(FORMATS)} and auto")
        return format
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == STANDARD_STREAM:
        return "svmlight"
    suffix = os.path.splitext(uncompressed(os.fspath(source)))[1].lower()
    if suffix not in FORMAT_OF_SUFFIX:
        raise PairrankError(
            f"{os.fspath(source)}: the suffix is of no known format; use one of "
            f"{', '.join(FORMAT_OF_SUFFIX)}, or pass format"
        )
    return FORMAT_OF_SUFFIX[suffix]


@reads
def read_rows(
    source: AnyFile,
    *,
    format: str = "auto",
    label: str | None = "label",
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    ignore: Sequence[str] = (),
    drop_text: bool = False,
    query_sizes: AnyPath | None = None,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: Any = np.float64,
    callback: ReadingCallback = None,
    **columns: str | None,
) -> Rows:
    """Read rows from svmlight text, CSV or Parquet.

    CSV is UTF-8 text with a header. In CSV and Parquet, labels, queries and row weights are found
    by the name of their column, and every other column is a feature.

    A line of svmlight text, such as LETOR's, is `label [qid:query] index:value ... [# comment]`;
    blank lines and lines of comment only are ignored. It has no column names: those of labels and
    queries are ignored, and those of weights refused. With any `docid` document identifiers are
    read from the comments, `# docid = X` or `# X`. X is CSR if the text has entries for less than
    a quarter of the values.

    Rows without queries take them from a side file, if there is one: LightGBM's `DATA.query` or
    XGBoost's `DATA.group`, with the number of rows of each query, one per line.

    Parameters
    ----------
    label : str, optional
        The column of labels. None reads rows without labels, as for prediction.
    features : sequence of str, optional
        The feature columns, in this order. None: all other columns, in the file's order. An empty
        list reads no features of CSV and Parquet, but refuses columns with the name of a role that
        they are not given.
    drop, ignore : sequence of str
        Columns to leave out: those to drop must exist, those to ignore need not.
    drop_text : bool
        Whether to leave out columns of text as features; False refuses them. In CSV, a column is
        text if its first 100 rows hold more words than numbers.
    query_sizes : str or path-like, optional
        The side file; None looks for one beside a named file.
    n_features : int, optional
        Columns of X. CSV and Parquet must have this many. svmlight text that leaves out entries may
        also leave out the last features, which are then 0; if every row states the features 1 to
        fewer, it is of another set of features, and refused. None: as many as the file has.
    zero_based : bool or "auto"
        Whether svmlight text counts features from 0. "auto": if it has a feature 0.
    **columns : str, optional
        `qid`, `weight`, `winner_weight`, `loser_weight`, `docid`: the columns of queries, of row
        weights, of row weights in the pairs that a row wins and in those that it loses, and of
        document identifiers.

    Returns
    -------
    Rows
        Labels are float64 if all are numbers (booleans are 0 and 1), text if none is; qids are
        int64 if all are written as whole numbers, else text as in the file.

    Notes
    -----
    O(cells); numbers are rounded correctly. CSV is parsed by pyarrow, and read again row by row
    only to find the line of an error. In addition to X, memory holds the columns, and the content
    of Parquet and of standard input; of svmlight text a few blocks of 2 MiB, which threads share.

    Examples
    --------
    >>> import io
    >>> rows = read_rows(io.BytesIO(b"grade,query,a,b\\n1,x,2,3\\n0,x,4,5\\n"), format="csv",
    ...                  label="grade", qid="query")
    >>> rows.X, rows.y, rows.feature_names
    (array([[2., 3.],
           [4., 5.]]), array([1., 0.]), ['a', 'b'])
    """
    named = named_columns({"label": label, **columns})
    kind = format_of(source, format)
    if kind == "svmlight":
        for role in named.keys() - IN_SVMLIGHT:
            raise PairrankError(
                f"{name_of(source)}: svmlight text cannot hold {ROW_COLUMNS[role].holds}, so "
                f"there is no column {named[role]!r}; give CSV or Parquet"
            )
        rows = read_text(
            source,
            zero_based=zero_based,
            n_features=n_features,
            dtype=dtype,
            docids="docid" in named,
            callback=callback,
        )
    else:
        roles = roles_of(named, features, drop, ignore, drop_text=drop_text)
        rows = read_table(source, kind, roles, dtype, callback)
        _check_width(source, rows, n_features)
    [rows] = with_queries([rows], source, query_sizes)
    return rows


def _check_width(source: Any, rows: Rows, n_features: int | None) -> None:
    found = rows.X.shape[1]
    if n_features is not None and found != n_features:
        others = "; leave out those that are not features with --drop (in Python drop=)"
        raise PairrankError(
            f"{name_of(source)}: {found} feature columns, but {n_features} are expected; "
            f"they are {listed(rows.feature_names or ())}"
            + (others if found > n_features else "; the file is of another set of features")
        )


@writes
def write_rows(
    target: AnyFile,
    rows: Rows,
    *,
    format: str = "auto",
    **columns: str | None,
) -> None:
    """Write rows as svmlight text, CSV or Parquet, atomically; see `read_rows`.

    Numbers are exact when read again. In CSV and Parquet, features without names are called f1, f2,
    ..., as svmlight text numbers them (f0, f1, ... if it counts from 0); zeros of sparse X are
    written.

    svmlight text has indices from 1, no feature names, and document identifiers as comments,
    `# docid = X`. Dense X is written with its zeros, CSR with its stored entries; if its last
    column is empty, the first row gets an explicit 0 there, which keeps the number of columns.

    Parameters
    ----------
    **columns : str, optional
        `label`, `qid`, `weight`, `winner_weight`, `loser_weight`, `docid`: other names for these
        columns of CSV and Parquet.
    """
    write_blocks(target, [rows], format_of(target, format), named_columns(columns))


def write_blocks(
    target: Any, blocks: Iterable[Rows], format: str, columns: Mapping[str, str]
) -> None:
    """Write blocks of rows to one file; see `write_rows`."""
    if format == "svmlight":
        write_lines(target, blocks)
    else:
        write_table(target, blocks, format, columns)
