"""Ratings tables: MovieLens, Jester and Book-Crossing from files, and artificial ones."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.datasets.generators import _check_sizes, _rng
from pairrank.datasets.record import DatasetRecord, find_home, open_file
from pairrank.exceptions import PairrankError
from pairrank.io import read_ratings

_GROUPLENS = "research only, no redistribution (GroupLens)"
_NOT_RATED = 99.0
_CORTES = "Cortes et al. 2007"
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
        notes="Ratings of 0, which mean that a book was seen but not rated, are left out.",
    ),
)
RATINGS: dict[str, DatasetRecord] = {record.name: record for record in _RECORDS}


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
    if name not in RATINGS:
        raise PairrankError(f"no ratings table {name!r}; there are {', '.join(sorted(RATINGS))}")
    record = RATINGS[name]
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


def make_ratings(
    n_users: int = 100,
    n_items: int = 200,
    *,
    rank: int = 3,
    density: float = 0.2,
    noise: float = 0.3,
    random_state: Any = None,
) -> _Columns:
    """Make ratings from 1 to 5 as a low-rank matrix plus offsets and noise.

    The value of item v for user u is the inner product of `rank` normal numbers each, plus an
    offset of v, an offset of u and noise; the rated values are cut at their quintiles. The number
    of ratings per user is about exponential; items with higher offsets are rated more often. Every
    user rates at least 4 items.

    Parameters
    ----------
    n_users, n_items : int
        At least 4 items.
    rank : int
    density : float
        About the share of user-item pairs with a rating.
    noise : float
        Standard deviation of the noise; that of the inner products is about 1.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    user : int64 array of shape (n_ratings,)
    item : int64 array of shape (n_ratings,)
    rating : float64 array of shape (n_ratings,)
        By user, then by item.

    Raises
    ------
    PairrankError
        If a size is below 1.

    Notes
    -----
    Costs O(n_users n_items).

    Examples
    --------
    >>> user, item, rating = make_ratings(5, 20, random_state=0)
    >>> np.unique(rating)
    array([1., 2., 3., 4., 5.])
    """
    _check_sizes(n_users=n_users, n_items=n_items - 3, rank=rank)
    rng = _rng(random_state)
    tastes = rng.normal(size=(n_users, rank)) @ rng.normal(size=(n_items, rank)).T / np.sqrt(rank)
    worth = rng.normal(size=n_items)
    liking = tastes + worth + rng.normal(size=(n_users, 1)) / 2
    liking += noise * rng.normal(size=liking.shape)
    activity = rng.exponential(size=(n_users, 1))
    chance = np.minimum(1.0, density * activity * np.exp(worth - worth.max() / 4))
    draws = rng.random(liking.shape) / np.maximum(chance, 1e-300)
    least = np.partition(draws, 3, axis=1)[:, 3:4]
    user, item = np.nonzero(draws <= np.maximum(1.0, least))
    found = liking[user, item]
    edges = np.quantile(found, [0.2, 0.4, 0.6, 0.8])
    return user, item, 1.0 + np.searchsorted(edges, found)
