"""Ratings tables: MovieLens, Jester and Book-Crossing."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.io import read_ratings
from reproduction.data.record import DatasetRecord, find_home, open_file
from reproduction.data.registry import find_record

_NOT_RATED = 99.0
_Columns = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]


class Ratings(NamedTuple):
    """A ratings table.

    Attributes
    ----------
    user, item : int64 array of shape (n_ratings,)
        Indices into `user_ids` and `item_ids`.
    rating : float64 array of shape (n_ratings,)
    user_ids, item_ids : array
        The identifiers in the files, sorted.
    record : DatasetRecord
        `n_rows` counts the users, `n_columns` the items.
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64]
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    record: DatasetRecord


def load_ratings(name: str, data_home: str | os.PathLike[str] | None = None) -> Ratings:
    """Load a registered ratings table from a local folder, without a download.

    Parameters
    ----------
    name : "ml-100k", "ml-1m", "jester" or "book_crossing_partial"
    data_home : path-like, optional
        The folder with one folder per set. None: the environment variable PAIRRANK_DATA.

    Returns
    -------
    Ratings

    Raises
    ------
    DatasetNotFoundError
        If no folder is given or a file is missing; the message names the source.
    FileFormatError
        If a file's checksum differs from the registered one.
    PairrankError
        If the name is unknown.
    """
    record = find_record("ratings", "ratings table", name)
    users, items, rating = _READERS[record.reader](record, find_home(record, data_home))
    user_ids, user = np.unique(users, return_inverse=True)
    item_ids, item = np.unique(items, return_inverse=True)
    return Ratings(user, item, rating, user_ids, item_ids, record)


def _read_lines(record: DatasetRecord, home: Path) -> _Columns:
    """Read a user, an item and a rating per line; the settings may drop ratings of 0."""
    (file,) = record.files
    found = read_ratings(open_file(record, home, file), separator=record.settings["separator"])
    kept = found.rating > 0.0 if record.settings.get("explicit") else slice(None)
    users, items = found.user_ids[found.user], found.item_ids[found.item]
    return users[kept], items[kept], found.rating[kept]


def _read_table(record: DatasetRecord, home: Path) -> _Columns:
    """Read one line per user and one column per item, after a first column of counts."""
    (file,) = record.files
    with zipfile.ZipFile(open_file(record, home, file)) as archive:
        text = archive.read(record.settings["member"]).decode("ascii")
    table = np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2)[:, 1:]
    user, item = np.nonzero(table != _NOT_RATED)
    return user, item, table[user, item]


_READERS: dict[str, Callable[[DatasetRecord, Path], _Columns]] = {
    "lines": _read_lines,
    "table": _read_table,
}
