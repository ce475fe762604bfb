"""Rows: the content of a file of rows, and the rules of all formats."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import Array
from pairrank.exceptions import FileFormatError, PairrankError

_PLAIN_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})\Z")
_WHOLE_NUMBER = re.compile(r"\s*[+-]?[0-9]+(\.0*)?\s*\Z")
_EXACT_UP_TO = 2.0**53
_MOST_LISTED = 10


class Rows(NamedTuple):
    """The rows of a file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Features, float64 or float32.
    y : ndarray of shape (n_rows,) or None
        Labels: float64, or text if the classes are names; None if no label was read.
    qid : ndarray of shape (n_rows,) or None
        Query of each row: int64, float64 or text.
    weight : ndarray of shape (n_rows,) or None
        Row weights, float64.
    feature_names : list of str or None
    winner_weight, loser_weight : ndarray of shape (n_rows,) or None
        Weights of rows in the pairs that they win, and in those that they lose, float64.
    docid : ndarray of shape (n_rows,) or None
        Identifier of each row's document: int64, float64 or text.
    zero_based : bool or None
        Whether svmlight text counts features from 0; None for other formats.
    """

    X: Any
    y: Any = None
    qid: Array | None = None
    weight: Array | None = None
    feature_names: list[str] | None = None
    winner_weight: Array | None = None
    loser_weight: Array | None = None
    docid: Array | None = None
    zero_based: bool | None = None

    @property
    def layout(self) -> dict[str, Any]:
        """Queries and weights as arguments of `fit` and of metrics, where there are any."""
        parts = {
            "qid": self.qid,
            "sample_weight": self.weight,
            "winner_weight": self.winner_weight,
            "loser_weight": self.loser_weight,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def part(self, role: str) -> Array | None:
        """Return the column of a role of ROW_COLUMNS, if there is one."""
        found: Array | None = getattr(self, ROW_COLUMNS[role].field)
        return found


class RowColumn(NamedTuple):
    """A column of a table with one value per row that is not a feature."""

    field: str
    """The field of Rows that holds it."""
    kind: str
    """How it is read: labels, identifiers or numbers, each a method of `_arrow.Table`."""
    holds: str
    """What it holds, in help and messages."""


ROW_COLUMNS = {
    "label": RowColumn("y", "labels", "labels"),
    "qid": RowColumn("qid", "identifiers", "queries"),
    "weight": RowColumn("weight", "numbers", "row weights"),
    "winner_weight": RowColumn("winner_weight", "numbers", "row weights in the pairs won"),
    "loser_weight": RowColumn("loser_weight", "numbers", "row weights in the pairs lost"),
    "docid": RowColumn("docid", "identifiers", "document identifiers"),
}
"""Parameter of `read_rows` -> column. A line here and a field of Rows add a column everywhere."""

IN_SVMLIGHT = ("label", "qid", "docid")
"""The columns that svmlight text can hold; a docid is in the comment of its row."""

IN_BLOCKS = ("label", "qid", "weight", "winner_weight", "loser_weight")
"""The columns that blocks of rows hold beside X, in the order of a block."""


def named_columns(columns: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns that have a name, by role; raise a PairrankError for an unknown role."""
    unknown = ", ".join(sorted(columns.keys() - ROW_COLUMNS.keys()))
    if unknown:
        raise PairrankError(f"there is no column {unknown}; name {', '.join(ROW_COLUMNS)}")
    return {role: column for role, column in columns.items() if column is not None}


def listed(names: Iterable[Any]) -> str:
    """Return names in quotes; of a long list the first ten and the number of the others."""
    quoted = list(map(repr, names))
    more = len(quoted) - _MOST_LISTED
    return ", ".join(quoted[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def numbered_names(n_features: int, zero_based: bool | None = None) -> list[str]:
    """Return names of features without names: f and the number in svmlight text."""
    first = 0 if zero_based else 1
    return [f"f{number}" for number in range(first, first + n_features)]


def refuse_unnamed(names: Iterable[str], *, file: str = "") -> None:
    """Refuse columns with the name of a role that they are not given, but for labels.

    `file` is the file in the message, if the caller does not add it.
    """
    where = f"{file}: " if file else ""
    for name in names:
        if name in ROW_COLUMNS and name != "label":
            flag = f"--{name.replace('_', '-')}"
            raise PairrankError(
                f"{where}column {name!r} would be a feature; pass {flag} {name} or --drop {name} "
                "(rename it if it is a feature)"
            )


def no_column(unknown: Sequence[str], known: Sequence[str]) -> str:
    """Return the sentence about columns that do not exist, with a near name for a single one."""
    near = []
    if len(unknown) == 1:
        folded = {name.casefold(): name for name in known}
        near = difflib.get_close_matches(unknown[0].casefold(), list(folded), n=1)
    hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
    return f"no column {listed(unknown)}{hint}; the columns are {listed(known)}"


def check_rows(rows: Rows) -> None:
    """Raise where `rows` are not Rows, or their parts do not fit together; O(1)."""
    if not isinstance(rows, Rows):
        raise PairrankError(f"expected Rows(X, y, qid), got {type(rows).__name__}")
    if rows.X.ndim != 2:
        raise PairrankError(f"X has {rows.X.ndim} dimensions; rows need two, (n_rows, n_features)")
    n_rows, n_features = rows.X.shape
    if n_rows == 0:
        raise PairrankError("there are no rows to write")
    for role, column in ROW_COLUMNS.items():
        name, part = column.field, rows.part(role)
        if part is not None and len(part) != n_rows:
            raise PairrankError(f"{name} has {len(part)} elements, X has {n_rows} rows")
    if rows.feature_names is not None and len(rows.feature_names) != n_features:
        raise PairrankError(
            f"feature_names has {len(rows.feature_names)} names, X has {n_features} columns"
        )


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of X, which must be float64 or float32."""
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise PairrankError(f"dtype must be float64 or float32 (got {np.dtype(dtype)})")
    return np.dtype(dtype)


def names_of(file: str, what: str, texts: Sequence[str]) -> Array:
    """Return distinct texts as int64 if all are whole numbers, else as text.

    Only the form that `str(int)` writes is a whole number: "01" and "1" are two names.
    """
    if all(map(_PLAIN_INTEGER.match, texts)):
        return np.array([int(text) for text in texts], dtype=np.int64)
    for text in texts:
        if "\0" in text:
            raise FileFormatError(
                f"{file}: the {what} {text!r} holds a NUL character, which arrays of text drop; "
                "remove it"
            )
    return np.array(texts, dtype=str)


def refuse_merged_labels(
    labels: Array, text_of: Callable[[int], str], place: Callable[[int], str]
) -> None:
    """Raise a FileFormatError for a whole number that float64 rounds to another.

    `text_of` is the label of a row as in the file; `place` describes a row: "data.csv, line 3".
    """
    for row in np.flatnonzero(np.abs(labels) >= _EXACT_UP_TO).tolist():
        text = text_of(row)
        if _WHOLE_NUMBER.match(text) and int(text.partition(".")[0]) != int(labels[row]):
            raise FileFormatError(
                f"{place(row)}: the label {text.strip()} is not exact in float64, which would "
                f"merge it with others (whole numbers are exact up to 2**53); use smaller ones"
            )


def narrowed(values: Array, dtype: np.dtype[Any], place: Callable[[int], str]) -> Array:
    """Return finite float64 values as `dtype`, or raise a FileFormatError for the first overflow.

    `place` describes where a value is: "data.csv, line 3: column 'a'".
    """
    with np.errstate(over="ignore"):
        kept = values.astype(dtype, copy=False)
    overflows = np.isinf(kept)
    if overflows.any():
        at = int(overflows.argmax())
        raise FileFormatError(
            f"{place(at)}: {float(values[at])!r} overflows float32; read it as float64 "
            "(--dtype float64), or scale it"
        )
    return kept


def number(text: str) -> float | None:
    """Return the number that a text writes, NaN and infinity included; None if it is not one.

    Underscores (1_000), which Python allows, are refused.
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def is_word(text: str) -> bool:
    """Whether a cell is text: neither empty nor a number, NaN and infinity included."""
    return number(text) is None and bool(text.strip())


def is_finite(text: str) -> bool:
    """Whether a text is a finite number."""
    value = number(text)
    return value is not None and math.isfinite(value)
