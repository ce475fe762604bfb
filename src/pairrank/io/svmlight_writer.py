"""Rows written as svmlight text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pairrank.exceptions import PairrankError
from pairrank.io._streams import open_target
from pairrank.io.rows import IN_SVMLIGHT, ROW_COLUMNS, Rows, check_rows

_ROWS_A_BLOCK = 256


def write_lines(target: Any, blocks: Iterable[Rows]) -> None:
    """Write blocks of rows of one width, as described in `write_rows`; O(entries)."""
    with open_target(target) as file:
        for number, rows in enumerate(blocks):
            _check(rows)
            X = rows.X if number else _stating_width(rows.X)
            file.writelines(_texts(rows._replace(X=X)))


def _stating_width(X: Any) -> Any:
    """Return X with an explicit 0 in the last column of the first row, if that column is empty."""
    if isinstance(X, np.ndarray):
        return X
    X, last = X.tocsr(), X.shape[1] - 1
    if last < 0 or (X.indices == last).any():
        return X
    end, row_ends = X.indptr[1], X.indptr[1:] + 1
    indices, values = np.insert(X.indices, end, last), np.insert(X.data, end, 0.0)
    return type(X)((values, indices, np.append(0, row_ends)), shape=X.shape)


def _texts(rows: Rows) -> Iterator[bytes]:
    """Yield the lines of rows, some at a time."""
    numbers = np.asarray(rows.y, dtype=np.float64).tolist()
    heads = [repr(number).removesuffix(".0") for number in numbers]
    if rows.qid is not None:
        heads = [f"{head} qid:{qid}" for head, qid in zip(heads, _words(rows, "qid"), strict=True)]
    tails = [""] * len(heads)
    if rows.docid is not None:
        tails = [f" # docid = {docid}" for docid in _words(rows, "docid")]
    for start in range(0, len(heads), _ROWS_A_BLOCK):
        some = slice(start, start + _ROWS_A_BLOCK)
        lines = zip(heads[some], _pairs(rows.X[some]), tails[some], strict=True)
        text = "".join(f"{head} {pairs}{tail}\n" for head, pairs, tail in lines)
        yield text.encode("utf-8", "surrogateescape")


def _check(rows: Rows) -> None:
    check_rows(rows)
    if rows.y is None or np.asarray(rows.y).dtype.kind not in "iufb":
        raise PairrankError(
            "svmlight text needs a number as label for every row; turn the classes into numbers, "
            "or write CSV or Parquet"
        )
    for role, column in ROW_COLUMNS.items():
        if role not in IN_SVMLIGHT and rows.part(role) is not None:
            raise PairrankError(
                f"svmlight text cannot hold {column.holds}; write CSV or Parquet, or drop them"
            )
    values = rows.X if isinstance(rows.X, np.ndarray) else rows.X.data
    if not np.isfinite(values).all() or not np.isfinite(np.asarray(rows.y)).all():
        raise PairrankError("X or y holds NaN or infinity; impute the value or drop the row")


def _words(rows: Rows, role: str) -> list[str]:
    """Return identifiers as text; raise a PairrankError for one that is no word."""
    words = [str(value) for value in np.asarray(rows.part(role)).tolist()]
    for row, word in enumerate(words):
        blank = min(word, default=" ") <= " " if role == "qid" else word.split() != [word]
        if blank or (role == "qid" and "#" in word):
            raise PairrankError(
                f"row {row} has the {role} {word!r}; in svmlight text a qid and a docid have no "
                "blanks, a qid has no '#', and neither is empty"
            )
    return words


def _pairs(X: Any) -> Iterator[str]:
    """Yield the index:value pairs of rows as text."""
    number = "{}:{:.9g}".format if X.dtype == np.float32 else "{}:{!r}".format
    if isinstance(X, np.ndarray):
        columns = range(1, X.shape[1] + 1)
        for row in X.tolist():
            yield " ".join(map(number, columns, row))
        return
    X.sum_duplicates()
    ends = X.indptr[1:-1]
    for indices, values in zip(np.split(X.indices + 1, ends), np.split(X.data, ends), strict=True):
        yield " ".join(map(number, indices.tolist(), values.tolist()))
