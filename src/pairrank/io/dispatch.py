"""Read or write rows in the format that the file's name tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from pairrank.exceptions import PairrankError
from pairrank.io._atomic import STANDARD_STREAM
from pairrank.io._streams import COMPRESSED_SUFFIXES, name_of
from pairrank.io.rows import Rows

FORMATS = ("svmlight", "csv", "parquet")
FORMAT_OF_SUFFIX = {
    **dict.fromkeys([".txt", ".svm", ".svmlight", ".libsvm", ".dat", ".letor"], "svmlight"),
    ".csv": "csv",
    ".parquet": "parquet",
}


def format_of(source: Any, format: str = "auto") -> str:
    """Return "svmlight", "csv" or "parquet" by the end of a file's name, compression aside.

    Standard streams and file objects are svmlight where `format` does not say otherwise.

    Parameters
    ----------
    source : str, path-like or file object
        What is read or written.
    format : {"auto", "svmlight", "csv", "parquet"}
        What was asked for.

    Returns
    -------
    str
        One of `FORMATS`.

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
    stem = os.fspath(source).lower()
    for suffix in COMPRESSED_SUFFIXES:
        stem = stem.removesuffix(suffix)
    suffix = os.path.splitext(stem)[1]
    if suffix not in FORMAT_OF_SUFFIX:
        raise PairrankError(
            f"{os.fspath(source)}: the name does not tell the format; end it in "
            f"{', '.join(FORMAT_OF_SUFFIX)}, or pass format"
        )
    return FORMAT_OF_SUFFIX[suffix]


def read_rows(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    format: str = "auto",
    label: str | None = "label",
    qid: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    ignore: Sequence[str] = (),
    n_features: int | None = None,
    dtype: Any = np.float64,
    comments: bool = False,
) -> Rows:
    """Read rows from svmlight text, CSV or Parquet.

    CSV is UTF-8 text with a header. In CSV and Parquet every column without another role is a
    feature, and labels, qids and weights go by the name of their column; svmlight text has no
    columns and ignores these arguments.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed.
    format : {"auto", "svmlight", "csv", "parquet"}
        "auto" goes by the end of the name: .txt .svm .svmlight .libsvm .dat .letor, .csv, .parquet,
        also with .gz, .bz2 or .xz behind it.
    label, qid, weight : str, optional
        Names of columns. `label=None` reads rows without labels, as for prediction.
    features : sequence of str, optional
        The feature columns, in this order. None: all the columns left, in the file's order.
    drop, ignore : sequence of str
        Columns to leave out: those to drop must be there, those to ignore need not.
    n_features : int, optional
        Columns of X: svmlight rows with fewer are padded, with more refused; CSV and Parquet must
        have as many.
    dtype : float64 or float32
        Of X.
    comments : bool
        Whether to keep svmlight's comments.

    Returns
    -------
    Rows
        Labels are float64 where all are numbers (booleans are 0 and 1), text where none is; qids
        are whole numbers where all are written as such, else text as in the file.

    Raises
    ------
    FileFormatError
        No rows, unknown columns, an empty cell, a feature that is no finite number or overflows
        float32, a label that float64 would round to another: with the column, and the line (of
        Parquet the row, counted from 0).
    FileAccessError
        A file that cannot be opened.
    PairrankError
        An unknown format; another number of features.

    Notes
    -----
    O(cells). CSV is parsed by pyarrow, in parallel, and read again line by line only to find the
    place of an error. Beyond X, memory holds the file and its columns.

    Examples
    --------
    >>> import io
    >>> rows = read_rows(io.BytesIO(b"grade,query,a,b\\n1,x,2,3\\n0,x,4,5\\n"), format="csv",
    ...                  label="grade", qid="query")
    >>> rows.X, rows.y, rows.feature_names
    (array([[2., 3.],
           [4., 5.]]), array([1., 0.]), ['a', 'b'])
    """
    kind = format_of(source, format)
    if kind == "svmlight":
        from pairrank.io.svmlight import read_svmlight

        return read_svmlight(source, n_features=n_features, dtype=dtype, comments=comments)
    from pairrank.io.tables import Roles, read_table

    rows = read_table(source, kind, Roles(label, qid, weight, features, drop, ignore), dtype)
    if n_features is not None and rows.X.shape[1] != n_features:
        raise PairrankError(
            f"{name_of(source)}: {rows.X.shape[1]} feature columns, {n_features} are expected; "
            "name them with features, or leave the others out with drop"
        )
    return rows


def write_rows(
    target: str | os.PathLike[str] | IO[bytes],
    rows: Rows,
    *,
    format: str = "auto",
    label: str = "label",
    qid: str = "qid",
    weight: str = "weight",
) -> None:
    """Write rows as svmlight text, CSV or Parquet, whole or not at all; see `read_rows`.

    Every number reads back the same. In CSV and Parquet, features without names are called x1, x2,
    ..., zeros of sparse X are written, comments are not.

    Parameters
    ----------
    target : str, path-like or binary file object
        "-" is standard output; svmlight text and CSV are compressed where the name ends in .gz,
        .bz2 or .xz.
    rows : Rows
        What is written.
    format : {"auto", "svmlight", "csv", "parquet"}
        "auto" goes by the end of the name.
    label, qid, weight : str
        Names of the columns of CSV and Parquet.

    Raises
    ------
    PairrankError
        A name that two columns share, parts of different lengths, what svmlight text cannot hold.
    FileAccessError
        The place cannot be written.
    """
    kind = format_of(target, format)
    if kind == "svmlight":
        from pairrank.io.svmlight_writer import write_svmlight

        write_svmlight(target, rows)
        return
    from pairrank.io.tables import Roles, write_table

    write_table(target, rows, kind, Roles(label, qid, weight))
