"""A small ARFF reader: numeric and nominal attributes, dense rows."""

from __future__ import annotations

import csv
import re
from typing import IO, Any, NamedTuple

import numpy as np

from pairrank.exceptions import FileFormatError

_ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{]+)\s*(.*)\Z""", re.IGNORECASE)
_NUMERIC = ("numeric", "real", "integer")


class ArffTable(NamedTuple):
    """Numeric columns of an ARFF file, nominal attributes of words one-hot.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
    names : list of str
        Of the columns; one-hot columns are called attribute=value.
    n_dropped : int
        Rows left out because a value was missing.
    """

    values: np.ndarray[Any, Any]
    names: list[str]
    n_dropped: int


def read_arff(stream: IO[str], name: str, *, drop_missing: bool = False) -> ArffTable:
    """Read a dense ARFF file.

    A nominal attribute whose values are all numbers stays one column; one of words becomes a column
    of 0 and 1 a value, in the order of the header.

    Parameters
    ----------
    stream : text file object
    name : str
        What messages call it.
    drop_missing : bool
        Leave out rows with `?`; else they are an error.

    Raises
    ------
    FileFormatError
        A header or a row that cannot be read, with its line.

    Examples
    --------
    >>> import io
    >>> text = "@relation r\\n@attribute sex {M,F}\\n@attribute age real\\n@data\\nF,3\\nM,4\\n"
    >>> table = read_arff(io.StringIO(text), "r")
    >>> table.names, table.values.tolist()
    (['sex=M', 'sex=F', 'age'], [[0.0, 1.0, 3.0], [1.0, 0.0, 4.0]])
    """
    lines = enumerate(stream, 1)
    attributes = _read_header(lines, name)
    rows: list[list[float]] = []
    n_dropped = 0
    for number, line in lines:
        text = line.strip().rstrip(",")
        if not text or text.startswith("%"):
            continue
        cells = [cell.strip() for cell in next(csv.reader([text], quotechar="'"))]
        if len(cells) != len(attributes):
            raise FileFormatError(
                f"{name}, line {number}: {len(cells)} values for {len(attributes)} attributes"
            )
        if "?" in cells:
            if not drop_missing:
                raise FileFormatError(f"{name}, line {number}: a value is missing ('?')")
            n_dropped += 1
            continue
        rows.append(_encode(cells, attributes, name, number))
    if not rows:
        raise FileFormatError(f"{name}: no rows after @data")
    names = [column for attribute in attributes for column in attribute.columns]
    return ArffTable(np.array(rows), names, n_dropped)


class _Attribute(NamedTuple):
    name: str
    words: list[str] | None

    @property
    def columns(self) -> list[str]:
        if self.words is None:
            return [self.name]
        return [f"{self.name}={word}" for word in self.words]


def _read_header(lines: Any, name: str) -> list[_Attribute]:
    attributes: list[_Attribute] = []
    for number, line in lines:
        text = line.strip()
        if text.lower().startswith("@data"):
            if not attributes:
                raise FileFormatError(f"{name}, line {number}: @data without @attribute before it")
            return attributes
        if text.lower().startswith("@attribute"):
            attributes.append(_parse_attribute(text, name, number))
        elif text and not text.startswith(("%", "@relation", "@RELATION", "@Relation")):
            raise FileFormatError(f"{name}, line {number}: {text[:40]!r} has no place in a header")
    raise FileFormatError(f"{name}: no @data; the file is cut, or no ARFF")


def _parse_attribute(text: str, name: str, number: int) -> _Attribute:
    match = _ATTRIBUTE.match(text)
    if match is None:
        raise FileFormatError(f"{name}, line {number}: {text[:40]!r} is no attribute")
    label, kind = match.group(1).strip("'\""), match.group(2).strip()
    if kind.startswith("{") and kind.endswith("}"):
        words = [word.strip().strip("'\"") for word in kind[1:-1].split(",")]
        return _Attribute(label, None if all(map(_is_number, words)) else words)
    if kind.lower() not in _NUMERIC:
        raise FileFormatError(
            f"{name}, line {number}: attribute {label!r} is of type {kind!r}; only numbers and "
            "nominal values are read"
        )
    return _Attribute(label, None)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _encode(cells: list[str], attributes: list[_Attribute], name: str, number: int) -> list[float]:
    row: list[float] = []
    for cell, attribute in zip(cells, attributes, strict=True):
        if attribute.words is not None:
            if cell not in attribute.words:
                raise FileFormatError(
                    f"{name}, line {number}: {cell!r} is no value of {attribute.name!r}"
                )
            row += [float(cell == word) for word in attribute.words]
        elif _is_number(cell):
            row.append(float(cell))
        else:
            raise FileFormatError(
                f"{name}, line {number}: {cell!r} is no number ({attribute.name!r})"
            )
    return row
