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
    left = iter(blocks)
    first = next(left)
    texts = _texts(first, state_width=True)
    start = next(texts)  # what cannot be written is refused before the file is opened
    with open_target(target) as file:
        file.write(start)
        file.writelines(texts)
        for rows in left:
            file.writelines(_texts(rows, state_width=False))


def _texts(rows: Rows, *, state_width: bool) -> Iterator[bytes]:
    """Yield the lines of rows, some at a time; `state_width`: as one row at least must do."""
    _check(rows)
    heads, tails = _heads(rows), _tails(rows)
    for start in range(0, len(heads), _ROWS_A_BLOCK):
        stop = min(start + _ROWS_A_BLOCK, len(heads))
        lines = [
            f"{heads[row]} {pairs}{tails[row] if tails else ''}\n"
            for row, pairs in enumerate(_pairs(rows.X, start, stop, state_width), start)
        ]
        yield "".join(lines).encode("utf-8", "surrogateescape")


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


def _heads(rows: Rows) -> list[str]:
    """Return the label and the qid of each row, as text."""
    labels = [_short(value) for value in np.asarray(rows.y, dtype=np.float64).tolist()]
    if rows.qid is None:
        return labels
    return [f"{label} qid:{qid}" for label, qid in zip(labels, _words(rows, "qid"), strict=True)]


def _tails(rows: Rows) -> list[str] | None:
    """Return the comment of each row, with its document identifier."""
    return (
        None if rows.docid is None else [f" # docid = {docid}" for docid in _words(rows, "docid")]
    )


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


def _short(value: float) -> str:
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _pairs(X: Any, start: int, stop: int, state_width: bool) -> Iterator[str]:
    """Yield the index:value pairs of rows start to stop as text."""
    number = "{}:{:.9g}".format if X.dtype == np.float32 else "{}:{!r}".format
    if isinstance(X, np.ndarray):
        columns = range(1, X.shape[1] + 1)
        for row in X[start:stop].tolist():
            yield " ".join(map(number, columns, row))
        return
    block = X[start:stop].tocsr()
    block.sum_duplicates()
    bounds = block.indptr.tolist()
    last = X.shape[1]
    is_stated = not state_width or X.shape[1] == 0 or (X.indices == last - 1).any()
    for row in range(stop - start):
        entries = slice(bounds[row], bounds[row + 1])
        indices = (block.indices[entries] + 1).tolist()
        values = block.data[entries].tolist()
        if start == 0 and row == 0 and not is_stated:
            indices, values = [*indices, last], [*values, 0.0]
        yield " ".join(map(number, indices, values))
