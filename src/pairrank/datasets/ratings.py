"""The ratings tables: MovieLens, Jester, Book-Crossing, as users, items and ratings."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.datasets.files import find_home, open_file
from pairrank.datasets.record import DatasetRecord
from pairrank.exceptions import PairrankError
from pairrank.io import read_ratings

_GROUPLENS = "research only, no redistribution (GroupLens)"
_NOT_RATED = 99.0
_CORTES = "Cortes et al. 2007"


class Ratings(NamedTuple):
    """A ratings table.

    Attributes
    ----------
    user, item : int64 array of shape (n_ratings,)
        Indices into `user_ids` and `item_ids`.
    rating : float64 array of shape (n_ratings,)
    user_ids, item_ids : array
        The names that the files give, sorted.
    record : DatasetRecord
        `n_rows` counts the users, `n_columns` the items.
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64]
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    record: DatasetRecord


_RECORDS = (
    DatasetRecord(
        name="ml-100k",
        title="MovieLens 100K",
        source="https://grouplens.org/datasets/movielens/100k/ (Harper and Konstan 2015)",
        licence=_GROUPLENS,
        target="rating, 1 to 5",
        n_rows=943,
        n_columns=1682,
        files={"u.data.gz": "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"},
        reader="lines",
        settings={"separator": "\t"},
        papers=(_CORTES,),
        notes="a smaller set than the papers'",
    ),
    DatasetRecord(
        name="ml-1m",
        title="MovieLens 1M, five ratings lost",
        source="https://grouplens.org/datasets/movielens/1m/ (Harper and Konstan 2015)",
        licence=_GROUPLENS,
        target="rating, 1 to 5",
        n_rows=6040,
        n_columns=3706,
        files={
            "ratings_no_timestamp.dat.gz": (
                "3c97010deb7117c7ab7f51d27e498db8151225a1d09b953d1fcb2072749fce7f"
            )
        },
        reader="lines",
        settings={"separator": "::"},
        papers=("Raykar et al. 2007", _CORTES),
    ),
    DatasetRecord(
        name="jester",
        title="Jester jokes, the first third of its users",
        source="https://eigentaste.berkeley.edu/dataset/ (Goldberg et al. 2001)",
        licence="research only",
        target="rating, -10 to 10",
        n_rows=24983,
        n_columns=100,
        files={
            "jester-data-1.zip": "4adf783a1e03bd3be063315cb6e0a064fe63e983fd289d01b8e401a8e6c41e5f"
        },
        reader="table",
        settings={"member": "jester-data-1.csv"},
        papers=(_CORTES,),
    ),
    DatasetRecord(
        name="book_crossing_partial",
        title="Book-Crossing, the first explicit ratings of 1,149,780",
        source="http://www2.informatik.uni-freiburg.de/~cziegler/BX/ (Ziegler et al. 2005)",
        licence="research, when acknowledged",
        target="rating, 1 to 10",
        n_rows=3878,
        n_columns=21691,
        files={
            "BX-Book-Ratings.first60144.csv.gz": (
                "cb6798f80058bdddf239c1ff6db0d6c86b03c18f7018fbb0a43bf108d8252d64"
            )
        },
        reader="lines",
        settings={"separator": ",", "explicit": True},
        papers=(_CORTES,),
        notes="ratings of 0, which mean that a book was only seen, are left out",
    ),
)
RATINGS: dict[str, DatasetRecord] = {record.name: record for record in _RECORDS}


def load_ratings(name: str, data_home: str | os.PathLike[str] | None = None) -> Ratings:
    """Load a registered ratings table from a local folder; nothing is fetched.

    Parameters
    ----------
    name : "ml-100k", "ml-1m", "jester" or "book_crossing_partial"
    data_home : path-like, optional
        The folder that holds one folder a set. None: the environment variable PAIRRANK_DATA.

    Returns
    -------
    Ratings

    Raises
    ------
    DatasetNotFoundError
        No folder is named, or a file is missing; the message says where the set can be had.
    FileFormatError
        A file whose checksum differs from the registered one.
    PairrankError
        A name that is not known.
    """
    if name not in RATINGS:
        raise PairrankError(f"no ratings table {name!r}; there are {', '.join(sorted(RATINGS))}")
    record = RATINGS[name]
    users, items, rating = _READERS[record.reader](record, find_home(record, data_home))
    user_ids, user = np.unique(users, return_inverse=True)
    item_ids, item = np.unique(items, return_inverse=True)
    return Ratings(user, item, rating, user_ids, item_ids, record)


_Columns = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]


def _read_lines(record: DatasetRecord, home: Path) -> _Columns:
    """Read a user, an item and a rating per line; ratings of 0 may mean none."""
    (file,) = record.files
    found = read_ratings(open_file(record, home, file), separator=record.settings["separator"])
    kept = found.rating > 0.0 if record.settings.get("explicit") else slice(None)
    users, items = found.user_ids[found.user], found.item_ids[found.item]
    return users[kept], items[kept], found.rating[kept]


def _read_table(record: DatasetRecord, home: Path) -> _Columns:
    """Read a line per user and a column per item; the first column is the count."""
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
