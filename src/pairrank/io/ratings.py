"""read_ratings: users, items and ratings from text or Parquet."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._arrow import ParquetData, Table, is_parquet
from pairrank.io._csv import CsvText
from pairrank.io._streams import name_of, read_bytes
from pairrank.io.rows import is_finite, is_word, listed

ROLES = ("user", "item", "rating")

_NAMES = {"user": ("user", "userid"), "item": ("item", "itemid"), "rating": ("rating",)}
"""The column names of each role, in lower case, letters and digits only."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_SEPARATORS = ("::", "\t", ";", "|", ",")


class RatingColumns(NamedTuple):
    """The ratings in a file.

    Attributes
    ----------
    user, item : int64 array of shape (n_ratings,)
        Indices into `user_ids` and `item_ids`.
    rating : float64 array of shape (n_ratings,)
    user_ids, item_ids : ndarray
        The names, sorted: int64 where all are whole numbers, else text.
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64]
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]


def read_ratings(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    separator: str | None = None,
) -> RatingColumns:
    """Read a user, an item and a rating per line, or from a Parquet file; ignore other columns.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed. UTF-8, with or without a header.
    user, item, rating : str or int, optional
        The column's name, or its place counted from 1. None: the column of that name ("user",
        "userId", "User-ID"), if there is one, else the first, the second, the third.
    separator : str, optional
        None: the first of "::" (as in MovieLens), a tab, ";", "|" and "," that splits the first
        line into three cells or more, one of them a number; or else the first that splits it.

    Returns
    -------
    RatingColumns
        In the file's order; the functions of `pairrank.recommend` accept it.

    Raises
    ------
    FileFormatError
        If there is no rating, a column is unknown or has two roles, lines have different lengths, a
        name is empty, or a rating is not a finite number; the message names the line (of Parquet
        the row, from 0).
    FileAccessError
        If the file cannot be opened.

    Notes
    -----
    Costs O(n_ratings), and a sort of the names. Memory holds the file and its columns.

    Examples
    --------
    >>> import io
    >>> found = read_ratings(io.BytesIO(b"2::x::5\\n1::y::3\\n2::y::4\\n"))
    >>> found.user, found.user_ids, found.rating
    (array([1, 0, 1]), array([1, 2]), array([5., 3., 4.]))
    """
    if separator == "":
        raise PairrankError("the separator is empty; name one, or leave it out")
    name = name_of(source)
    wanted = dict(zip(ROLES, (user, item, rating), strict=True))
    table, columns = _read_table(read_bytes(source), name, wanted, separator)
    if len(table) == 0:
        raise FileFormatError(f"{name}: no ratings below the header")
    user_ids, users = _sorted(*table.names(columns[0]))
    item_ids, items = _sorted(*table.names(columns[1]))
    table.check_numbers(columns[2:], "ratings")
    return RatingColumns(users, items, table.numbers(columns[2]), user_ids, item_ids)


def read_titles(
    source: str | os.PathLike[str] | IO[bytes], *, separator: str | None = None
) -> dict[Any, str]:
    """Read the titles of items: a name and a title per line; ignore other columns.

    Parameters
    ----------
    source : str, path-like or binary file object
        As in `read_ratings`; text in UTF-8, or else Latin-1 as in MovieLens.
    separator : str, optional
        None: found as in `read_ratings`.

    Returns
    -------
    dict
        Title by name, and by number if the name is a whole number.

    Raises
    ------
    FileFormatError
        If there is no title, or a line has one cell only.
    FileAccessError
        If the file cannot be opened.

    Examples
    --------
    >>> import io
    >>> read_titles(io.BytesIO(b"x|Ran (1985)|Drama\\n7|Alien (1979)|Horror\\n"))
    {'x': 'Ran (1985)', '7': 'Alien (1979)', 7: 'Alien (1979)'}
    """
    data, name = read_bytes(source), name_of(source)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    separator = separator or _find_separator(text.encode())
    titles: dict[Any, str] = {}
    for number, line in enumerate(_LINE_END.split(text), start=1):
        cells = _cut(line, separator)
        if len(cells) < 2 and line.strip():
            raise FileFormatError(
                f"{name}, line {number}: no title after {separator!r} in {line[:40]!r}; add it, or "
                "drop the line"
            )
        if len(cells) >= 2:
            item = cells[0].strip()
            titles[item] = cells[1].strip()
            if item.isascii() and item.isdecimal():
                titles[int(item)] = titles[item]
    if not titles:
        raise FileFormatError(f"{name}: no titles; a line is an item and its title")
    return titles


def _read_table(
    data: bytes, name: str, wanted: dict[str, Any], separator: str | None
) -> tuple[Table, list[str]]:
    """Return the table of a file, and its columns of users, items and ratings."""
    if is_parquet(data):
        content = ParquetData(data, name)
        columns = [content.first[place] for place in find_columns(name, content.first, wanted)]
        return content.table(content.first, columns[2:], columns[:2], skip=True), columns
    text = CsvText(data, name, _find_separator(data) if separator is None else separator)
    if not text.first:
        raise FileFormatError(f"{name}: no ratings; a line is a user, an item and a number")
    places = find_columns(name, text.first, wanted)
    user, item, rating = (text.first[place] for place in places)
    has_header = is_word(rating) and not (is_finite(user) or is_finite(item))
    header = [str(place) for place in range(1, len(text.first) + 1)]
    for role, place in zip(ROLES, places, strict=True):
        header[place] = role
    return text.table(header, ROLES[2:], ROLES[:2], skip=has_header), list(ROLES)


def find_columns(name: str, first: Sequence[str], wanted: dict[str, Any]) -> tuple[int, ...]:
    """Return the columns of user, item and rating, counted from 0, by a header and the wishes."""
    header = [cell.strip() for cell in first]
    plain = ["".join(filter(str.isalnum, cell.lower())) for cell in header]
    places = []
    for role, default in zip(ROLES, range(3), strict=True):
        asked = wanted[role]
        if asked is None:
            place = next((plain.index(name) for name in _NAMES[role] if name in plain), default)
        elif str(asked).isdecimal() and int(asked) >= 1:
            place = int(asked) - 1
        elif asked in header:
            place = header.index(asked)
        else:
            raise FileFormatError(
                f"{name}: no column {asked!r} to take as the {role}; the first line is "
                f"{listed(header)}: name one of these, or its place from 1"
            )
        places.append(place)
    if max(places) >= len(header):
        raise FileFormatError(
            f"{name}: the first line has {_counted(header)}, but no column {max(places) + 1}; "
            "check the separator and the columns"
        )
    if len(set(places)) < len(places):
        raise PairrankError(
            f"{name}: user, item and rating are columns {', '.join(str(at + 1) for at in places)}; "
            "give each a column of its own"
        )
    return tuple(places)


def _find_separator(data: bytes) -> str:
    """Return the most likely separator of text, by its first line that is not blank."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace")
    first = next((line for line in lines if line.strip()), "")
    cuts = {separator: _cut(first, separator) for separator in _SEPARATORS}
    enough = [separator for separator, cells in cuts.items() if len(cells) >= len(ROLES)]
    numbered = (separator for separator in enough if any(map(is_finite, cuts[separator])))
    most = max(cuts, key=lambda separator: len(cuts[separator]))
    return next(numbered, enough[0] if enough else most)


def _cut(line: str, separator: str) -> list[str]:
    if len(separator) > 1:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _counted(cells: Sequence[str]) -> str:
    return f"{len(cells)} cell{'s' if len(cells) > 1 else ''}"


def _sorted(names: NDArray[Any], codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted names, without blanks around them, and each rating's index into them."""
    stripped = np.char.strip(names) if names.dtype.kind == "U" else names
    found, index = np.unique(stripped, return_inverse=True)
    return found, index[codes].astype(np.int64)
