"""Read ratings: a user, an item and a number a line, whatever separates them."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._cells import _numbers, is_word
from pairrank.io._growing import GrowingArray
from pairrank.io._streams import first_bytes, name_of, open_source
from pairrank.io.csv_text import _decoded, _explained

ROLES = ("user", "item", "rating")

_NAMES = {"user": ("user", "userid"), "item": ("item", "itemid"), "rating": ("rating",)}
"""By role: what its column may be called, in small letters and without signs between them."""

_SEPARATORS = ("::", "\t", ";", "|", ",")
_BLOCK = 50_000


class RatingColumns(NamedTuple):
    """Ratings as a file has them.

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
    """Read a user, an item and a rating a line; other columns are passed over.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed. UTF-8, with or without a header.
    user, item, rating : str or int, optional
        The column's name, or its place counted from 1. None: the column named so ("user", "userId",
        "User-ID"), if there is one, else the first, the second, the third.
    separator : str, optional
        None: "::" as in MovieLens, a tab, ";", "|" or ",", whichever comes first in this list and
        cuts the first line into three cells or more, of which one is a number where any does.

    Returns
    -------
    RatingColumns
        In the file's order; `pairrank.recommend` takes it as it is.

    Raises
    ------
    FileFormatError
        No ratings, an unknown column, two roles in one column, a line that is too short, an empty
        name, a rating that is no finite number: with the line.
    FileAccessError
        A file that cannot be opened.

    Notes
    -----
    Costs O(n_ratings), and a sort of the names. Holds 24 bytes a rating beyond the names.

    Examples
    --------
    >>> import io
    >>> found = read_ratings(io.BytesIO(b"2::x::5\\n1::y::3\\n2::y::4\\n"))
    >>> found.user, found.user_ids, found.rating
    (array([1, 0, 1]), array([1, 2]), array([5., 3., 4.]))
    """
    name = name_of(source)
    wanted = dict(zip(ROLES, (user, item, rating), strict=True))
    with open_source(source) as stream:
        if first_bytes(stream).startswith(b"PAR1"):
            raise FileFormatError(f"{name} is Parquet; ratings are read from text: write it as CSV")
        with _decoded(stream, name) as text:
            n_blank, first = next(
                ((number, line) for number, line in enumerate(text) if line.strip()), (0, None)
            )
            if first is None:
                raise FileFormatError(f"{name}: no ratings; a line is a user, an item and a number")
            if separator == "":
                raise PairrankError("the separator is empty; name one, or leave it out")
            separator = _find_separator(first) if separator is None else separator
            lines = _Lines(name, separator, first, chain(repeat("\n", n_blank), [first], text))
            reader = _Reader(name, lines.header, wanted)
            for block in lines.blocks(skip=reader.has_header):
                reader.take(block)
    return reader.columns()


class _Lines:
    """Cells by line, with the numbers of the lines."""

    def __init__(self, name: str, separator: str, first: str, lines: Iterable[str]) -> None:
        self.name = name
        self.separator = separator
        self.lines = lines
        self.header = next(self._cells([first]))[1]

    def blocks(self, *, skip: bool) -> Iterator[list[tuple[int, list[str]]]]:
        """Yield blocks of numbered lines, that of the header left out."""
        numbered = self._cells(self.lines)
        if skip:
            next(numbered)
        while block := list(islice(numbered, _BLOCK)):
            yield block

    def _cells(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        if len(self.separator) > 1:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.strip("\r\n").split(self.separator)
            return
        reader = csv.reader(lines, delimiter=self.separator, strict=True)
        with _explained(self.name, reader):
            for cells in reader:
                if len(cells) > 1 or any(map(str.strip, cells)):
                    yield reader.line_num, cells


class _Reader:
    """Takes blocks of cells; keeps users and items as codes."""

    def __init__(self, name: str, first: Sequence[str], wanted: dict[str, Any]) -> None:
        self.name = name
        self.places = _find_places(name, first, wanted)
        self.least = max(self.places) + 1
        user, item, rating = (first[place] for place in self.places)
        self.has_header = is_word(rating) and not (_is_number(user) or _is_number(item))
        self.code_of: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.codes = (GrowingArray(np.int64), GrowingArray(np.int64))
        self.rating = GrowingArray(np.float64)

    def take(self, block: list[tuple[int, list[str]]]) -> None:
        """Keep the ratings of a block of lines."""
        try:
            texts = [[cells[place] for _, cells in block] for place in self.places]
        except IndexError:
            raise self._refusal(block) from None
        values = _numbers(texts[2], len(block))
        if values is None:
            raise self._refusal(block)
        for names, code_of, codes in zip(texts, self.code_of, self.codes, strict=False):
            known = len(code_of)
            found = [code_of.setdefault(name, len(code_of)) for name in names]
            if not all(map(str.strip, islice(code_of, known, None))):
                raise self._refusal(block)
            codes.append(np.array(found, dtype=np.int64))
        self.rating.append(values)

    def columns(self) -> RatingColumns:
        """Return what was kept, the names sorted."""
        if not len(self.rating):
            raise FileFormatError(f"{self.name}: no ratings below the header")
        (user_ids, user), (item_ids, item) = (
            _sorted(code_of, codes.take())
            for code_of, codes in zip(self.code_of, self.codes, strict=True)
        )
        return RatingColumns(user, item, self.rating.take(), user_ids, item_ids)

    def _refusal(self, block: list[tuple[int, list[str]]]) -> FileFormatError:
        """Return the error that says which line is none of a rating."""
        for line, cells in block:
            what = self._fault(cells)
            if what:
                return FileFormatError(f"{self.name}, line {line}: {what}; mend or drop the line")
        raise AssertionError("a block is refused without a line to blame")

    def _fault(self, cells: list[str]) -> str | None:
        if len(cells) < self.least:
            return f"{_counted(cells)}, column {self.least} is needed"
        named, item, rating = (cells[place] for place in self.places)
        if not (named.strip() and item.strip()):
            return f"the {'item' if named.strip() else 'user'} is empty"
        return None if _is_number(rating) else f"the rating {rating!r} is no finite number"


def _find_places(name: str, first: Sequence[str], wanted: dict[str, Any]) -> tuple[int, ...]:
    """Return where user, item and rating stand in a line."""
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
                f"{', '.join(map(repr, header))}: name one of these, or its place from 1"
            )
        places.append(place)
    if max(places) >= len(header):
        raise FileFormatError(
            f"{name}: the first line has {_counted(header)}, column {max(places) + 1} is needed; "
            "check the separator and the columns"
        )
    if len(set(places)) < len(places):
        raise PairrankError(
            f"{name}: user, item and rating are columns {', '.join(str(at + 1) for at in places)}; "
            "give each a column of its own"
        )
    return tuple(places)


def _find_separator(first: str) -> str:
    """Return what most likely stands between the cells of a file with this first line."""
    cuts = {separator: _cut(first, separator) for separator in _SEPARATORS}
    enough = [separator for separator, cells in cuts.items() if len(cells) >= len(ROLES)]
    numbered = (separator for separator in enough if any(map(_is_number, cuts[separator])))
    most = max(cuts, key=lambda separator: len(cuts[separator]))
    return next(numbered, enough[0] if enough else most)


def _cut(line: str, separator: str) -> list[str]:
    if len(separator) > 1:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:
        return []


def _is_number(cell: str) -> bool:
    return _numbers([cell], 1) is not None


def _counted(cells: Sequence[str]) -> str:
    return f"{len(cells)} cell{'s' if len(cells) > 1 else ''}"


def _sorted(
    code_of: dict[str, int], codes: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return names in order, whole numbers as numbers, and the codes that go with them."""
    names: NDArray[Any] = np.array([name.strip() for name in code_of])
    plain = all(name.isdecimal() and name.isascii() and str(int(name)) == name for name in names)
    if plain and names.dtype.itemsize < 19 * 4:
        names = names.astype(np.int64)
    found, index = np.unique(names, return_inverse=True)
    return found, index[codes]
