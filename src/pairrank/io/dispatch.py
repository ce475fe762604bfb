"""Read or write rows in the format that the file's name tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from pairrank.exceptions import PairrankError
from pairrank.io._atomic import STANDARD_STREAM
from pairrank.io._streams import COMPRESSED_SUFFIXES
from pairrank.io.rows import Rows

FORMAT_OF_SUFFIX = {
    ".txt": "svmlight",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".dat": "svmlight",
    ".letor": "svmlight",
    ".csv": "csv",
    ".parquet": "parquet",
}
FORMATS = ("svmlight", "csv", "parquet")


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

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input.
    format : {"auto", "svmlight", "csv", "parquet"}
        "auto" goes by the end of the name: .txt .svm .svmlight .libsvm .dat .letor, .csv, .parquet,
        also with .gz, .bz2 or .xz behind it.
    label, qid, weight, features, drop, ignore
        Columns of CSV and Parquet, see `read_csv`; svmlight text has none, they are not looked at.
    n_features : int, optional
        Columns of X: svmlight rows with fewer are padded, with more refused; CSV and Parquet must
        have as many.
    dtype : float64 or float32
    comments : bool
        Whether to keep svmlight's comments.

    Returns
    -------
    Rows

    Raises
    ------
    PairrankError
        A format that is not known, and what `read_svmlight`, `read_csv` and `read_parquet` raise.
    """
    kind = format_of(source, format)
    if kind == "svmlight":
        from pairrank.io.svmlight import read_svmlight

        return read_svmlight(source, n_features=n_features, dtype=dtype, comments=comments)
    if kind == "csv":
        from pairrank.io.csv_text import read_csv as read_table
    else:
        from pairrank.io.parquet import read_parquet as read_table
    rows = read_table(
        source, label=label, qid=qid, weight=weight, features=features, drop=drop, ignore=ignore,
        dtype=dtype,
    )  # fmt: skip
    if n_features is not None and rows.X.shape[1] != n_features:
        raise PairrankError(
            f"{source}: {rows.X.shape[1]} feature columns, {n_features} are expected; name them "
            "with features, or leave the others out with drop"
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

    Parameters
    ----------
    target : str, path-like or binary file object
        "-" is standard output.
    rows : Rows
        What is written.
    format : {"auto", "svmlight", "csv", "parquet"}
        "auto" goes by the end of the name.
    label, qid, weight : str
        Names of the columns of CSV and Parquet.
    """
    kind = format_of(target, format)
    if kind == "svmlight":
        from pairrank.io.svmlight_writer import write_svmlight

        write_svmlight(target, rows)
        return
    if kind == "csv":
        from pairrank.io.csv_text import write_csv as write_table
    else:
        from pairrank.io.parquet import write_parquet as write_table
    write_table(target, rows, label=label, qid=qid, weight=weight)
